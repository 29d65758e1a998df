/**
 * `npm run generate [-- --check]`: writes the interfaces of every group version, `src/api/<group>/<version>.ts`, from
 * the tables of `src/api/tables/types/`, in which a field is a line; and the kinds of the client library,
 * `src/client/kinds/<group>/<version>.ts`. With `--check` nothing is written, and a difference is a failure. `src/api/definitions.ts`, which reads the tables when the server runs, explains their
 * notation.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadDescriptions } from "#api/descriptions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { readCommandLine } from "./command-line.ts";
import { generateKinds, type KindRow, type TypeIndex } from "./generate-kinds.ts";
import { type FieldShape, generateTypes, type TypeShape } from "./generate-types.ts";
import { root } from "./steps.ts";

const source = join(root, "src");
const tables = join(source, "api", "tables");

/** The row of a field: `"<type> <marks> <protobuf number>"`, alone or with more data that interfaces do not show. */
type FieldRow = string | readonly [string, unknown];
type TypeRows = Readonly<Record<string, { readonly fields: Readonly<Record<string, FieldRow>> }>>;

/** Returns the text of every generated file, by its path below `src/`. */
export function generateFiles(): Map<string, string> {
  const types = new Map<string, TypeShape>();
  for (const file of readdirSync(join(tables, "types")).sort()) {
    const folder = file.replace(/\.json$/, "");
    const rows = JSON.parse(readFileSync(join(tables, "types", file), "utf8")) as TypeRows; // the form of the table
    for (const [name, { fields }] of Object.entries(rows)) {
      const shapes = Object.entries(fields).map(([field, row]) => [field, shapeOf(row, folder)] as const);
      types.set(`${folder}.${name}`, new Map(shapes));
    }
  }
  const comments = loadDescriptions(kubernetesDomain);
  const kinds = readTable<readonly KindRow[]>("kinds");
  const index = readTable<TypeIndex>("type-index");
  return new Map([
    ...[...generateTypes(types, comments)].map(([name, text]) => [`api/${name}`, text] as const),
    ...[...generateKinds({ kinds, index, types, comments })].map(([name, text]) => [`client/${name}`, text] as const),
  ]);
}

/** `T` is the form of the table. */
const readTable = <T>(name: string): T => JSON.parse(readFileSync(join(tables, `${name}.json`), "utf8")) as T;

function shapeOf(row: FieldRow, folder: string): FieldShape {
  const [type = "", marks = ""] = (typeof row === "string" ? row : row[0]).split(" ");
  return {
    // The name of a type of the same package begins with a dot.
    type: type.replace(/^((?:\[\]|\{\})*)\./, `$1${folder}.`),
    isPointer: marks.includes("p"),
    isOmitted: marks.includes("o") && !marks.includes("k"),
  };
}

const usage = `Writes the types of src/api/<group>/<version>.ts, and the kinds of src/client/kinds, from the tables in
src/api/tables.

Usage: npm run generate -- [options]

  --check       write nothing; fail when something would change
  -h, --help    print this`;

if (import.meta.main) {
  const { values } = readCommandLine(usage, { check: { type: "boolean" } });
  for (const [name, text] of generateFiles()) {
    const file = join(source, name);
    if (existsSync(file) && readFileSync(file, "utf8") === text) continue;
    if (values.check === true) {
      process.stderr.write(`generate: src/${name} is not what the tables give; run npm run generate\n`);
      process.exitCode = 1;
    } else {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, text);
      process.stdout.write(`wrote src/${name} (${text.length} bytes)\n`);
    }
  }
}
