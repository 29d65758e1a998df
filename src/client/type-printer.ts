/**
 * Prints TypeScript for custom resources: for each served version of a definition its type, with the descriptions of the
 * schema, and its `Kind` as a value. The definitions need not be valid: what cannot be said is `unknown`, and nothing in
 * them can end a comment or a text.
 */
import { compareVersions } from "#meta/version-order.ts";
import { isObject } from "#std/is-object.ts";
import { commentLines, identifierOf, Names } from "./type-printer/names.ts";
import { SchemaPrinter } from "./type-printer/schema.ts";

/** The fields of a definition of a custom resource that are read here. */
interface Definition {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly versions: readonly Version[];
}

interface Version {
  readonly name: string;
  readonly schema: unknown;
}

/** A definition that cannot be read. */
export class DefinitionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "DefinitionError";
  }
}

interface PrintOptions {
  /** The package that the printed code imports its types from; default: `binnacle/client`. */
  readonly library?: string | undefined;
}

/**
 * Returns a file with the types and kinds of the definitions. The preferred version of a kind has its plain name, as
 * `Boat`; others have their version in it, as `BoatV1beta1`. Throws `DefinitionError`.
 */
export function printTypes(
  definitions: readonly unknown[],
  { library = "binnacle/client" }: PrintOptions = {},
): string {
  const names = new Names();
  const kinds = definitions.map(readDefinition).flatMap((definition) => {
    const versions = definition.versions.toSorted((a, b) => compareVersions(a.name, b.name));
    return versions.map((version, rank) => {
      const { group, kind } = definition;
      const base = identifierOf(kind);
      const own = rank === 0 ? [base] : [`${base}${identifierOf(version.name)}`];
      const name = names.take([...own, `${base}${identifierOf(version.name)}`, `${base}${identifierOf(group)}`]);
      return { definition, version, name };
    });
  });
  const parts = kinds.map(({ definition, version, name }) => printKind(definition, version, { name, names }));
  const imports = `import type { Kind, StoredObject } from ${JSON.stringify(library)};\n`;
  return `// Printed by \`binnacle types\`.\n${imports}${parts.map((part) => `\n${part}`).join("")}`;
}

/** Returns what is read of a definition. */
function readDefinition(value: unknown): Definition {
  const { kind, metadata, spec } = isObject(value) ? value : {};
  const called =
    isObject(metadata) && typeof metadata["name"] === "string" ? ` ${JSON.stringify(metadata["name"])}` : "";
  if (kind !== "CustomResourceDefinition" || !isObject(spec))
    throw new DefinitionError(`this is no CustomResourceDefinition${called}`);
  const { group, scope, names, versions } = spec;
  const texts = isObject(names) ? [group, names["kind"], names["plural"]] : [];
  if (texts.length === 0 || !texts.every((text) => typeof text === "string" && text !== "") || !Array.isArray(versions))
    throw new DefinitionError(`the definition${called} has no group, names or versions`);
  const [ownGroup, ownKind, plural] = texts as [string, string, string]; // checked above
  const served = versions.filter(isObject).filter((version) => version["served"] === true);
  return {
    group: ownGroup,
    kind: ownKind,
    plural,
    namespaced: scope !== "Cluster",
    versions: served.flatMap(({ name, schema }) =>
      typeof name === "string" ? [{ name, schema: isObject(schema) ? schema["openAPIV3Schema"] : undefined }] : [],
    ),
  };
}

interface PrintedName {
  readonly name: string;
  readonly names: Names;
}

function printKind(definition: Definition, version: Version, { name, names }: PrintedName): string {
  const { group, kind, plural: resource, namespaced } = definition;
  const schema = isObject(version.schema) ? version.schema : {};
  const printer = new SchemaPrinter();
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  const own = Object.keys(properties).filter((field) => !["apiVersion", "kind", "metadata"].includes(field));
  const parts: string[] = [];
  const fields = own.map((field) => {
    const property = properties[field];
    if (!isObject(property) || !isStructure(property)) return printer.field(schema, field, "  ");
    const part = names.take([`${name}${identifierOf(field)}`]);
    parts.push(`${printer.comment(property, "")}export interface ${part} ${printer.structure(property, "")}\n`);
    return printer.field(schema, field, "  ", part);
  });
  if (schema["x-kubernetes-preserve-unknown-fields"] === true) fields.push("  readonly [field: string]: unknown;\n");
  const comment = commentLines(typeof schema["description"] === "string" ? schema["description"] : "", "");
  const value = { group, version: version.name, kind, resource, namespaced };
  const texts = Object.entries(value).map(([field, text]) => `  ${field}: ${JSON.stringify(text)},\n`);
  return [
    `${comment}export interface ${name} extends StoredObject {\n${fields.join("")}}\n`,
    `${comment}export const ${name}: Kind<${name}> = {\n${texts.join("")}};\n`,
    ...parts,
  ].join("\n");
}

/** Whether a schema is printed as an interface of its own. */
const isStructure = (schema: Readonly<Record<string, unknown>>): boolean =>
  schema["type"] === "object" &&
  isObject(schema["properties"]) &&
  Object.keys(schema["properties"]).length > 0 &&
  schema["additionalProperties"] === undefined &&
  schema["nullable"] !== true;
