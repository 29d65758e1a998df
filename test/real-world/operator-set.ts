/**
 * Sets of definitions like those of well-known operators, from the YAML files of this folder: the definitions as a
 * client sends them, and the steps of the tests. `!part NAME` is a schema of parts.yaml, which several operators copy.
 */
import { load } from "js-yaml";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expectations, yamlTag } from "../expectations.ts";
import type { ObjectBody } from "../objects.ts";
import type { Fields } from "../view.ts";

export interface OperatorSet {
  readonly title: string;
  readonly definitions: readonly ObjectBody[];
  /** Valid objects, and their expected fields after they are stored. */
  readonly accepted: readonly Accepted[];
  readonly refused: readonly Refused[];
  /** Unknown fields that are added to the first accepted object. */
  readonly unknown?: { readonly fields: object; readonly named: readonly string[] };
  readonly shared: Shared;
  readonly upgrade: Upgrade;
  /** Schemas in the OpenAPI v3 document by name, with expected fields. */
  readonly explained: readonly Explained[];
}

interface Accepted {
  readonly object: ObjectBody;
  readonly shows?: Fields;
}

interface Refused {
  readonly object: ObjectBody;
  /** The causes of the refusal, each as `field: message`. */
  readonly causes: readonly string[];
}

/** An object that two managers apply. */
interface Shared {
  readonly first: ObjectBody;
  readonly second: ObjectBody;
  readonly merged: Fields;
  /** A configuration that the second manager can apply only with `force`. */
  readonly disputed: ObjectBody;
  readonly disputedFields: readonly string[];
  readonly settled: Fields;
}

interface Upgrade {
  readonly kind: string;
  /** The `spec.versions` of the definition after the upgrade, in which a new one is stored. */
  readonly versions: readonly ObjectBody[];
  readonly stored: string;
  readonly storedVersions: readonly string[];
  /** An old object, and below its expected fields in the new version. */
  readonly old: string;
  readonly shows: Fields;
  /** The expected fields after a write, if they differ. */
  readonly rewritten?: Fields;
  /** An object that is written in the new version, and below its expected fields in an older version. */
  readonly fresh: ObjectBody;
  readonly olderVersion: string;
  readonly freshInOlder: Fields;
}

interface Explained {
  readonly groupVersion: string;
  readonly schema: string;
  readonly shows: Fields;
}

/**
 * A set as in its file. `descriptionWords` is the number of words of the descriptions that are added to all schemas,
 * since generated definitions have descriptions.
 */
type WrittenSet = OperatorSet & { readonly descriptionWords: number };

const read = (file: string): string => readFileSync(join(import.meta.dirname, file), "utf8");

const parts = load(read("parts.yaml"), { schema: expectations }) as Readonly<Record<string, unknown>>; // written by hand

const schema = expectations.withTags(
  yamlTag("!part", (name) => {
    if (!(name in parts)) throw new Error(`test/real-world/parts.yaml has no part ${name}`);
    return parts[name];
  }),
);

/** Reads the set of a file of this folder, whose name is given without `.yaml`. */
export function readOperatorSet(name: string): OperatorSet {
  const { descriptionWords, ...set } = load(read(`${name}.yaml`), { schema, filename: `${name}.yaml` }) as WrittenSet; // written by hand
  if (descriptionWords === 0) return set;
  return addDescriptions(set, descriptionWords);
}

/** Returns the set with a description at every field of its schemas. */
export function addDescriptions(set: OperatorSet, words: number): OperatorSet {
  const version = (from: ObjectBody): ObjectBody => {
    const { openAPIV3Schema } = from["schema"] as { readonly openAPIV3Schema: JsonSchema }; // a version has a schema
    return { ...from, schema: { openAPIV3Schema: addSchemaDescriptions(openAPIV3Schema, words, "the object") } };
  };
  return {
    ...set,
    definitions: set.definitions.map((definition) => {
      const spec = definition["spec"] as { readonly versions: readonly ObjectBody[] }; // a definition has a spec
      return { ...definition, spec: { ...spec, versions: spec.versions.map(version) } };
    }),
    upgrade: { ...set.upgrade, versions: set.upgrade.versions.map(version) },
  };
}

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly items?: JsonSchema;
  readonly additionalProperties?: JsonSchema | boolean;
}

const filler = "decides together with its neighbours what the controller makes of it and when that is looked at again";

/** Adds a different description to each field. Metadata must have none. */
function addSchemaDescriptions(schema: JsonSchema, words: number, path: string): JsonSchema {
  if (path === "metadata") return schema;
  const all = filler.split(" ");
  const description = [`At ${path}:`, ...Array.from({ length: words }, (_, i) => all[(i + path.length) % all.length]!)];
  const { properties, items, additionalProperties } = schema;
  return {
    description: description.join(" "),
    ...schema,
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, child]) => [name, addSchemaDescriptions(child, words, name)]),
      ),
    }),
    ...(items !== undefined && { items: addSchemaDescriptions(items, words, `items of ${path}`) }),
    ...(typeof additionalProperties === "object" && {
      additionalProperties: addSchemaDescriptions(additionalProperties, words, `values of ${path}`),
    }),
  } as JsonSchema; // of the same form
}
