/** Definitions of resources without behaviour, for tests. */
import type { Schema } from "#schema/schema.ts";
import { typedDecoder } from "./object-decoder.ts";
import type { CustomResourceFacts, ResourceDefinition } from "./resource-definition.ts";

/** The members of the definition of a kind without any behaviour. */
export const withoutBehaviour = {
  nameRule: "dns1123subdomain",
  generation: false,
  defaultPropagation: "Background",
  returnDeletedObject: false,
  createOnUpdate: false,
  unconditionalUpdate: true,
  selectableFields: [],
  fieldAliases: {},
  columns: [],
  strategy: {},
} as const;

/** Makes the definition of the namespaced resource `things` of `example.com/v1`. */
export const thingDefinition = (schema: Schema, over: Partial<ResourceDefinition> = {}): ResourceDefinition => ({
  ...withoutBehaviour,
  group: "example.com",
  version: "v1",
  kind: "Thing",
  resource: "things",
  singular: "thing",
  listKind: "ThingList",
  namespaced: true,
  verbs: [],
  shortNames: [],
  categories: [],
  subresources: [],
  schema,
  decoder: typedDecoder(() => schema),
  storage: { group: "example.com", version: "v1", kind: "Thing", resource: "things" },
  storageVersionHash: "",
  stored: true,
  ...over,
});

/** Makes the facts of a custom resource with one version and no known fields. */
export const customFacts = (over: Partial<CustomResourceFacts> = {}): CustomResourceFacts => ({
  versions: new Map(),
  epoch: { name: "", retired: false },
  isTerminating: false,
  endOfService: new AbortController().signal,
  publishedSchema: () => undefined,
  ...over,
});
