/**
 * Generates TypeScript interfaces from the tables of types, one module for each group version (`src/api/core/v1.ts`). A
 * field is optional if canonical JSON may omit it, and includes `null` if an empty value is written as null. A type
 * that is the same in several versions of a group is written once, in the version that clients prefer.
 */
import { isDeepStrictEqual } from "node:util";
import { compareVersions } from "#meta/version-order.ts";

export interface FieldShape {
  /** The type as in the tables (`src/api/definitions.ts`), with full names of types. */
  readonly type: string;
  readonly isPointer: boolean;
  /** Whether JSON omits the field if it is empty. */
  readonly isOmitted: boolean;
}

/** The fields of a type by name, in order. */
export type TypeShape = ReadonlyMap<string, FieldShape>;

/** The descriptions of a type and of its fields, each of which may be missing. */
export interface TypeComments {
  readonly text: string;
  readonly fields: ReadonlyMap<string, string>;
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const apiextensions = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/** The types whose JSON form is not a struct, or that have their own module: the TypeScript type and its module. */
const special: Readonly<Record<string, { readonly type: string; readonly from?: string }>> = {
  [`${meta}.Time`]: { type: "string" },
  [`${meta}.MicroTime`]: { type: "string" },
  [`${meta}.Duration`]: { type: "string" },
  [`${meta}.FieldsV1`]: { type: "Readonly<Record<string, unknown>>" },
  [`${meta}.ObjectMeta`]: { type: "ObjectMeta", from: "#meta/object-meta.ts" },
  [`${meta}.OwnerReference`]: { type: "OwnerReference", from: "#meta/object-meta.ts" },
  [`${meta}.ManagedFieldsEntry`]: { type: "ManagedFieldsEntry", from: "#meta/object-meta.ts" },
  "io.k8s.apimachinery.pkg.api.resource.Quantity": { type: "string" },
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": { type: "number | string" },
  "io.k8s.apimachinery.pkg.runtime.RawExtension": { type: "unknown" },
  // These two are internal types and never on the wire.
  "io.k8s.apimachinery.pkg.runtime.Object": { type: "unknown" },
  "io.k8s.apiserver.pkg.apis.apiserver.v1.IdentityConfiguration": { type: "unknown" },
  [`${apiextensions}.JSON`]: { type: "unknown" },
  [`${apiextensions}.JSONSchemaProps`]: { type: "JsonSchemaProps", from: "#schema/structural.ts" },
  [`${apiextensions}.JSONSchemaPropsOrArray`]: { type: "unknown" },
  [`${apiextensions}.JSONSchemaPropsOrBool`]: { type: "unknown" },
  [`${apiextensions}.JSONSchemaPropsOrStringArray`]: { type: "unknown" },
};

/** Whether a type has no interface of its own. */
export const isSpecial = (name: string): boolean => special[name] !== undefined;

const scalars: Readonly<Record<string, string>> = {
  s: "string",
  y: "string",
  i: "number",
  l: "Int64",
  d: "number",
  b: "boolean",
  a: "unknown",
};

/** Whether a type is the full name of a type; the names of scalars are single letters. */
const isName = (type: string): boolean => type.includes(".");

/** Returns `core/v1` for the package of a definition name; `undefined` for packages that are not group versions. */
export function moduleOf(folder: string): string | undefined {
  const parts = folder.split(".");
  const version = parts.at(-1)!;
  return /^v\d+((alpha|beta)\d+)?$/.test(version) ? `${parts.at(-2)}/${version}` : undefined;
}

function split(name: string): [folder: string, short: string] {
  const dot = name.lastIndexOf(".");
  return [name.slice(0, dot), name.slice(dot + 1)];
}

/** Returns the text of every module, by its path below `src/api/`. */
export function generateTypes(
  types: ReadonlyMap<string, TypeShape>,
  comments: ReadonlyMap<string, TypeComments> = new Map(),
): Map<string, string> {
  const names = new Map<string, string[]>();
  for (const name of [...types.keys()].sort()) {
    if (special[name] !== undefined) continue;
    const module = moduleOf(split(name)[0]);
    if (module !== undefined) names.set(module, [...(names.get(module) ?? []), name]);
  }
  const files = new Map<string, string>();
  const same = sameTypes([...names.keys()], types, comments);
  for (const [module, specialType] of names)
    files.set(`${module}.ts`, new ModuleWriter(module, types, comments, same).write(specialType));
  return files;
}

/** Returns the module that has a type already, for types that are the same in a preferred version of their group. */
function sameTypes(
  modules: readonly string[],
  types: ReadonlyMap<string, TypeShape>,
  comments: ReadonlyMap<string, TypeComments>,
): ReadonlyMap<string, string> {
  const versionOf = (module: string): string => module.slice(module.indexOf("/") + 1);
  const preferred = modules.toSorted((a, b) => compareVersions(versionOf(a), versionOf(b)));
  const same = new Map<string, string>();
  for (const name of types.keys()) {
    const [folder, short] = split(name);
    const own = moduleOf(folder);
    if (own === undefined || special[name] !== undefined) continue;
    const group = own.slice(0, own.indexOf("/") + 1);
    const parent = folder.slice(0, -versionOf(own).length);
    const twin = preferred
      .slice(0, preferred.indexOf(own))
      .filter((module) => module.startsWith(group))
      .find((module) => isSame(name, `${parent}${versionOf(module)}.${short}`, types, comments));
    if (twin !== undefined) same.set(name, twin);
  }
  return same;
}

/** Whether `one` has the fields of `other` and no other comments, and so have the types of its fields. */
function isSame(
  one: string,
  other: string,
  types: ReadonlyMap<string, TypeShape>,
  comments: ReadonlyMap<string, TypeComments>,
  assumed: ReadonlySet<string> = new Set(),
): boolean {
  if (one === other || assumed.has(one)) return true;
  const [fields, others] = [types.get(one), types.get(other)];
  if (split(one)[1] !== split(other)[1] || fields?.size !== others?.size) return false;
  if (fields === undefined || others === undefined || special[one] !== undefined) return false;
  if (comments.has(one) && !isDeepStrictEqual(comments.get(one), comments.get(other))) return false;
  const inner = new Set([...assumed, one]);
  const otherFields = [...others];
  return [...fields].every(([field, { type, ...marks }], index) => {
    const [otherField, { type: otherType, ...otherMarks }] = otherFields[index]!;
    const [form, base] = formOf(type);
    const [otherForm, otherBase] = formOf(otherType);
    return (
      isDeepStrictEqual([field, form, marks], [otherField, otherForm, otherMarks]) &&
      isSame(base, otherBase, types, comments, inner)
    );
  });
}

/** Splits a type into the marks of lists and maps, and the type of their members. */
function formOf(type: string): [form: string, base: string] {
  const base = type.replace(/^(?:\[\]|\{\})*/, "");
  return [type.slice(0, type.length - base.length), base];
}

class ModuleWriter {
  readonly #module: string;
  readonly #types: ReadonlyMap<string, TypeShape>;
  readonly #comments: ReadonlyMap<string, TypeComments>;
  /** The modules that have some of the types already. */
  readonly #same: ReadonlyMap<string, string>;
  readonly #imports = new Map<string, Set<string>>();

  constructor(
    module: string,
    types: ReadonlyMap<string, TypeShape>,
    comments: ReadonlyMap<string, TypeComments>,
    same: ReadonlyMap<string, string>,
  ) {
    this.#module = module;
    this.#types = types;
    this.#comments = comments;
    this.#same = same;
  }

  write(names: readonly string[]): string {
    const interfaces = names.filter((name) => !this.#same.has(name)).map((name) => this.#interface(name));
    const imports = [...this.#imports]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, what]) => importLine([...what].sort(), from));
    const shared = Map.groupBy(
      names.filter((name) => this.#same.has(name)),
      (name) => this.#same.get(name)!,
    );
    const exports = [...shared].map(([module, all]) =>
      exportOf(
        all.map((name) => ["type", split(name)[1]]),
        fileBeside(module),
      ),
    );
    return [
      "// Generated by `npm run generate`; do not edit.",
      `/** The types of ${this.#module} as canonical JSON has them. */`,
      ...imports,
      "",
      [...exports, ...interfaces].join("\n"),
    ].join("\n");
  }

  #interface(name: string): string {
    const fields = this.#types.get(name)!; // the name is one of them
    const isObject = fields.get("metadata")?.type === `${meta}.ObjectMeta`;
    if (isObject) this.#import("#meta/object-meta.ts", "ApiObject");
    const comments = this.#comments.get(name);
    let text = commentOf(comments?.text, "");
    text += `export interface ${split(name)[1]}${isObject ? " extends ApiObject" : ""} {\n`;
    for (const [field, shape] of fields) {
      if (isObject && (field === "metadata" || field === "apiVersion" || field === "kind")) continue;
      text += commentOf(comments?.fields.get(field), "  ");
      text += `  readonly ${/^[A-Za-z_$][\w$]*$/.test(field) ? field : JSON.stringify(field)}${this.#field(shape)};\n`;
    }
    return `${text}}\n`;
  }

  #field(shape: FieldShape): string {
    const isList = /^(\[\]|\{\}|y$)/.test(shape.type);
    const isStruct = !isList && this.#isStruct(shape.type) && !shape.isPointer;
    const type = this.#type(shape.type);
    if (shape.isOmitted && !isStruct) return `?: ${type}`;
    const isNullable = (shape.isPointer || isList || isTime(shape.type)) && type !== "unknown";
    return `: ${type}${isNullable ? " | null" : ""}`;
  }

  #isStruct(type: string): boolean {
    const specialType = special[type];
    return specialType === undefined ? isName(type) : specialType.from === "#meta/object-meta.ts";
  }

  #type(type: string): string {
    if (type.startsWith("[]")) return `readonly ${this.#member(type)}[]`;
    if (type.startsWith("{}")) return `Readonly<Record<string, ${this.#type(type.slice(2))}>>`;
    const specialType = special[type];
    if (specialType !== undefined) {
      if (specialType.from !== undefined) this.#import(specialType.from, specialType.type);
      return specialType.type;
    }
    if (!isName(type)) return this.#scalar(type);
    if (!this.#types.has(type)) throw new Error(`${this.#module}: the tables have no type ${type}`);
    const [folder, short] = split(type);
    const module = moduleOf(folder);
    if (module === undefined) return "unknown";
    const same = this.#same.get(type);
    if (module === this.#module && same !== undefined) this.#import(fileBeside(same), short);
    if (module === this.#module) return short;
    const isTaken = this.#types.has(`${this.#folder()}.${short}`);
    const name = isTaken ? `${pascal(module)}${short}` : short;
    this.#import(`../${module}.ts`, isTaken ? `${short} as ${name}` : short);
    return name;
  }

  #folder(): string {
    return split([...this.#types.keys()].find((name) => moduleOf(split(name)[0]) === this.#module)!)[0];
  }

  #member(type: string): string {
    const member = this.#type(type.slice(2));
    return /^readonly | \| /.test(member) ? `(${member})` : member;
  }

  #scalar(type: string): string {
    if (type === "l") this.#import("#std/int64.ts", "Int64");
    const scalar = scalars[type];
    if (scalar === undefined) throw new Error(`${this.#module}: there is no type ${JSON.stringify(type)}`);
    return scalar;
  }

  #import(from: string, name: string): void {
    const names = this.#imports.get(from) ?? new Set();
    this.#imports.set(from, names.add(name));
  }
}

const fileBeside = (module: string): string => `./${module.slice(module.indexOf("/") + 1)}.ts`;

const isTime = (type: string): boolean => type === `${meta}.Time` || type === `${meta}.MicroTime`;

const pascal = (module: string): string => {
  const [group = "", version = ""] = module.split("/");
  return `${group[0]!.toUpperCase()}${group.slice(1)}${version.toUpperCase()}`;
};

const lineLengthMax = 120;

/** Returns a text as a comment before a declaration; nothing for no text. */
export function commentOf(text = "", indent: string): string {
  if (text === "") return "";
  const line = `${indent}/** ${text} */`;
  if (line.length <= lineLengthMax) return `${line}\n`;
  const width = lineLengthMax - indent.length - 3;
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return `${indent}/**\n${lines.map((one) => `${indent} * ${one}\n`).join("")}${indent} */\n`;
}

function importLine(names: readonly string[], from: string): string {
  const line = `import type { ${names.join(", ")} } from "${from}";`;
  if (line.length <= lineLengthMax) return line;
  return `import type {\n${names.map((name) => `  ${name},\n`).join("")}} from "${from}";`;
}

/** Returns an export of names from a file; `type` before a name that is only a type. */
export function exportOf(names: readonly (readonly [string, string])[], from: string): string {
  const isTypes = names.every(([type]) => type === "type");
  const words = names.map(([type, name]) => (type === "" || isTypes ? name : `type ${name}`));
  const open = `export ${isTypes ? "type " : ""}{`;
  const line = `${open} ${words.join(", ")} } from "${from}";\n`;
  if (line.length <= lineLengthMax) return line;
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length + 5 > lineLengthMax) lines.push(`  ${word},`);
    else lines[lines.length - 1] = `${last} ${word},`;
  }
  return `${open}\n${lines.join("\n")}\n} from "${from}";\n`;
}
