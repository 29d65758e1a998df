/**
 * `npm run generate [-- --check]`: writes the interfaces of every group version, `src/api/<group>/<version>.ts`, from
 * the tables of `src/api/tables/types/`, in which a field is a line. With `--check` nothing is written, and a
 * difference is a failure. `src/api/definitions.ts`, which reads the tables when the server runs, explains their
 * notation.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readCommandLine } from "./command-line.ts";
import { type FieldShape, generateTypes, type TypeShape } from "./generate-types.ts";
import { root } from "./steps.ts";

const api = join(root, "src", "api");
const tables = join(api, "tables", "types");

/** The row of a field: `"<type> <marks> <protobuf number>"`, alone or with more data that interfaces do not show. */
type FieldRow = string | readonly [string, unknown];
type TypeRows = Readonly<Record<string, { readonly fields: Readonly<Record<string, FieldRow>> }>>;

/** Returns the text of every generated file, by its path below `src/api/`. */
export function generateFiles(): Map<string, string> {
  const types = new Map<string, TypeShape>();
  for (const file of readdirSync(tables).sort()) {
    const folder = file.replace(/\.json$/, "");
    const rows = JSON.parse(readFileSync(join(tables, file), "utf8")) as TypeRows; // the form of the table
    for (const [name, { fields }] of Object.entries(rows)) {
      const shapes = Object.entries(fields).map(([field, row]) => [field, shapeOf(row, folder)] as const);
      types.set(`${folder}.${name}`, new Map(shapes));
    }
  }
  return generateTypes(types);
}

function shapeOf(row: FieldRow, folder: string): FieldShape {
  const [type = "", marks = ""] = (typeof row === "string" ? row : row[0]).split(" ");
  return {
    // The name of a type of the same package begins with a dot.
    type: type.replace(/^((?:\[\]|\{\})*)\./, `$1${folder}.`),
    isPointer: marks.includes("p"),
    isOmitted: marks.includes("o") && !marks.includes("k"),
  };
}

const usage = `Writes the types of src/api/<group>/<version>.ts from the tables in src/api/tables/types.

Usage: npm run generate -- [options]

  --check       write nothing; fail when something would change
  -h, --help    print this`;

if (import.meta.main) {
  const { values } = readCommandLine(usage, { check: { type: "boolean" } });
  for (const [name, text] of generateFiles()) {
    const file = join(api, name);
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    if (values.check === true) {
      process.stderr.write(`generate: src/api/${name} is not what the tables give; run npm run generate\n`);
      process.exitCode = 1;
    } else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      process.stdout.write(`wrote src/api/${name} (${text.length} bytes)\n`);
    }
  }
}
