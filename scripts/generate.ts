/**
 * `npm run generate [-- --facts DIR] [--check]`: turns the fact tables about the Kubernetes API into the compact
 * ones of `src/api/tables/` and the interfaces of every group version beside them. Descriptions are left out. With
 * `--check` nothing is written; a difference fails. The notation of the tables is explained in `src/api/definitions.ts`,
 * which reads most of them.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "./command-line.ts";
import { generateTypes } from "./generate-types.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));

/** The default folder of the facts. */
export const factsFolder = join(root, "..", "shared", "facts");

type Json = Record<string, unknown>;

interface FieldFacts {
  type: string;
  format?: string;
  required?: boolean;
  default?: unknown;
  ptr?: boolean;
  omitempty?: boolean;
  keep?: boolean;
  proto?: [number, string];
  [more: string]: unknown;
}

interface TypeFacts {
  gvk?: unknown;
  proto?: string;
  swagger?: boolean;
  go?: boolean;
  mapType?: string;
  "x-kubernetes-unions"?: unknown;
  fields: Record<string, FieldFacts>;
}

/** Go type names by definition and field; see the note in the file. */
type GoTypes = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Path below `src/api/` and text of every generated file. */
export function generateFiles(facts: string): Map<string, string> {
  const read = (name: string): Json => JSON.parse(readFileSync(join(facts, name), "utf8")) as Json;
  const served = read("schemas.json")["types"] as Record<string, TypeFacts>;
  const extra = read("schemas-extra.json")["types"] as Record<string, TypeFacts>;
  const goTypes = JSON.parse(readFileSync(join(root, "scripts", "go-types.json"), "utf8")) as GoTypes;
  const files = generateTypes({ ...served, ...extra });
  for (const [name, text] of typeTables({ ...served, ...extra }, goTypes)) files.set(`tables/${name}.json`, text);
  const rows: Readonly<Record<string, readonly Json[]>> = {
    kinds: read("kinds.json")["kinds"] as Json[],
    gates: (read("featuregates.json")["gates"] as Json[]).map(gate),
    selectors: (read("fieldselectors.json")["kinds"] as Json[]).filter((row) => row["group"] !== "*").map(selector),
    policy: policyRows(read("rbac-bootstrap.json")),
  };
  for (const [name, table] of Object.entries(rows)) files.set(`tables/${name}.json`, rowsText(table));
  return files;
}

/**
 * The rules of a role or binding, without notes of the facts. `policy-rows.json` has rows in which a running
 * kube-apiserver 1.32.1 differs from the facts, and missing ones; it wins.
 */
function policyRows(facts: Json): Json[] {
  const seen = JSON.parse(readFileSync(join(root, "scripts", "policy-rows.json"), "utf8")) as Json[];
  const id = (row: Json): string => [row["kind"], row["namespace"], row["name"]].join("/");
  const right = new Map(seen.map((row) => [id(row), row]));
  const kinds = ["clusterRoles", "clusterRoleBindings", "roles", "roleBindings"];
  return kinds.flatMap((list) => {
    const rows = (facts[list] as Json[]).map(({ doubt: _doubt, ...row }) => right.get(id(row)) ?? row);
    const more = seen.filter((row) => row["kind"] === rows[0]?.["kind"] && !rows.includes(row));
    return [...rows, ...more];
  });
}

/** One row a line keeps the diffs of a new release readable. */
const rowsText = (rows: readonly Json[]): string => `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`;

const membersText = (lines: readonly string[]): string => `{\n${lines.join(",\n")}\n}\n`;

const gate = (row: Json): Json => ({
  name: row["name"],
  default: row["default"],
  stage: row["stage"],
  ...(row["locked"] === true ? { locked: true } : {}),
  ...(row["apiserver"] === true ? { apiserver: true } : {}),
});

const selector = (row: Json): Json => ({
  group: row["group"],
  version: row["version"],
  kind: row["kind"],
  fields: row["fields"],
  ...(row["aliases"] === undefined ? {} : { aliases: row["aliases"] }),
});

/** A table for each package, and one of the kinds in all packages. */
function typeTables(all: Record<string, TypeFacts>, goTypes: GoTypes): Map<string, string> {
  const packages = new Map<string, string[]>();
  const index: Record<string, Record<string, unknown>> = {};
  for (const name of Object.keys(all).sort()) {
    const type = all[name]!;
    const [folder, short] = split(name);
    const lines = packages.get(folder) ?? [];
    packages.set(folder, lines);
    lines.push(`${JSON.stringify(short)}:${JSON.stringify(typeRow(type, folder, all, goTypes[name] ?? {}))}`);
    const kinds = (index[folder] ??= {});
    if (type.gvk !== undefined) kinds[short] = type.gvk;
  }
  const tables = new Map([...packages].map(([folder, lines]) => [`types/${folder}`, membersText(lines)]));
  const lines = Object.entries(index).map(([folder, kinds]) => `${JSON.stringify(folder)}:${JSON.stringify(kinds)}`);
  return tables.set("type-index", membersText(lines));
}

function split(name: string): [folder: string, short: string] {
  const dot = name.lastIndexOf(".");
  return [name.slice(0, dot), name.slice(dot + 1)];
}

function typeRow(
  type: TypeFacts,
  folder: string,
  all: Record<string, TypeFacts>,
  goTypes: Readonly<Record<string, string>>,
): Json {
  const fields: Json = {};
  for (const [name, facts] of Object.entries(type.fields)) {
    const more = fieldExtras(facts, all);
    if (goTypes[name] !== undefined) more["go"] = goTypes[name];
    const text = fieldText(facts, folder);
    fields[name] = Object.keys(more).length === 0 ? text : [text, more];
  }
  return {
    ...(type.swagger === false || type.go === true ? { hidden: 1 } : {}),
    ...(type.mapType === undefined ? {} : { mapType: type.mapType }),
    ...(type["x-kubernetes-unions"] === undefined ? {} : { unions: type["x-kubernetes-unions"] }),
    fields,
  };
}

const scalars: Readonly<Record<string, string>> = {
  string: "s",
  "string byte": "y",
  "integer int32": "i",
  "integer int64": "l",
  "number double": "d",
  boolean: "b",
  object: "a",
  any: "a",
};

/** `<type> <marks> <protobuf number>`, the last two left out when there are none. */
function fieldText(facts: FieldFacts, folder: string): string {
  const shape = /^(?:\[\]|\{\})*/.exec(facts.type)![0];
  const inner = facts.type.slice(shape.length);
  const [innerFolder, short] = split(inner);
  const reference = innerFolder === folder ? `.${short}` : inner;
  const format = facts.format === undefined ? "" : ` ${facts.format}`;
  const type = inner.startsWith("io.") ? reference : (scalars[inner + format] ?? scalars[inner]);
  if (type === undefined) throw new Error(`unknown type ${inner}${format}`);
  const marks =
    (facts.required === true ? "r" : "") +
    (facts.ptr === true ? "p" : "") +
    (facts.omitempty === true ? "o" : "") +
    (facts.keep === true ? "k" : "") +
    (hasZeroDefault(facts) ? "z" : "");
  const number = facts.proto === undefined ? "" : ` ${facts.proto[0]}`;
  return `${shape}${type}${marks !== "" || number !== "" ? ` ${marks || "-"}` : ""}${number}`;
}

const hasZeroDefault = (facts: FieldFacts): boolean =>
  ['""', "0", "false", "{}"].includes(JSON.stringify(facts.default));

const passedOn = [
  "enum",
  "itemEnum",
  "listType",
  "listMapKeys",
  "mapType",
  "patchStrategy",
  "patchMergeKey",
  "protoName",
  "protoIn",
];

function fieldExtras(facts: FieldFacts, all: Record<string, TypeFacts>): Json {
  const extras: Json = {};
  for (const key of passedOn) if (facts[key] !== undefined) extras[key] = facts[key];
  if (facts.default !== undefined && !hasZeroDefault(facts)) extras["default"] = facts.default;
  if (facts.proto !== undefined && facts.proto[1] !== protoType(facts, all)) extras["proto"] = facts.proto[1];
  return extras;
}

/** The protobuf type that follows from the field's own type. */
function protoType(facts: FieldFacts, all: Record<string, TypeFacts>): string {
  const inner = facts.type.replace(/^(\[\]|\{\})+/, "");
  const base =
    inner === "string"
      ? facts.format === "byte"
        ? "bytes"
        : "string"
      : inner === "integer"
        ? (facts.format ?? "int64")
        : inner === "boolean"
          ? "bool"
          : inner === "number"
            ? "double"
            : (all[inner]?.proto ?? inner);
  if (facts.type.startsWith("[]")) return `repeated ${base}`;
  return facts.type.startsWith("{}") ? `map<string,${base}>` : base;
}

const usage = `Writes src/api/tables and the types of src/api/GROUP/VERSION.ts from the fact tables of Kubernetes 1.32.

Usage: npm run generate -- [options]

  --facts DIR   folder of the fact tables (../shared/facts)
  --check       write nothing; fail when something would change
  -h, --help    print this`;

function main(): void {
  const { values } = readCommandLine(usage, { facts: { type: "string" }, check: { type: "boolean" } });
  const facts = values.facts ?? factsFolder;
  if (!existsSync(facts)) {
    console.error(`generate: no fact tables in ${facts}; name their folder with --facts DIR`);
    process.exitCode = 1;
    return;
  }
  for (const [name, text] of generateFiles(facts)) {
    const file = join(root, "src", "api", name);
    mkdirSync(dirname(file), { recursive: true });
    const same = existsSync(file) && readFileSync(file, "utf8") === text;
    if (same) continue;
    if (values.check === true) {
      console.error(`generate: src/api/${name} is not what the fact tables give; run npm run generate`);
      process.exitCode = 1;
    } else {
      writeFileSync(file, text);
      console.log(`wrote src/api/${name} (${text.length} bytes)`);
    }
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
