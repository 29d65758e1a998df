/** Definitions for tests of discovery and OpenAPI: built-in kinds without behaviour, and custom ones. */
import { type ApiTables, type KindFacts, loadDefinitions } from "#api/definitions.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { customFacts, withoutBehaviour } from "#registry/definition-for-tests.ts";
import { typedDecoder } from "#registry/object-decoder.ts";
import type { CustomResourceFacts, ResourceDefinition } from "#registry/resource-definition.ts";

export const kubernetesTables = loadDefinitions(kubernetesDomain);
export const platformTables = loadDefinitions(apiDomain("platform.io"));

/** Returns the definitions of every kind in the tables for which `serves` is true. */
export function builtinDefinitions(
  tables: ApiTables,
  serves: (kind: KindFacts) => boolean = ({ servedByDefault }) => servedByDefault,
): ResourceDefinition[] {
  return tables.kinds.filter(serves).map((facts) => {
    const { group, version, kind, resource, singular, listKind, namespaced, verbs, shortNames, categories } = facts;
    const { subresources, storageVersionHash, stored } = facts;
    const schema = tables.schema(facts.typeName);
    if (schema === undefined) throw new Error(`no schema of ${facts.typeName}`);
    return {
      ...withoutBehaviour,
      group,
      version,
      kind,
      resource,
      singular,
      listKind,
      namespaced,
      verbs,
      shortNames,
      categories,
      subresources,
      storageVersionHash,
      stored,
      storage: { group, version, kind, resource },
      schema,
      decoder: typedDecoder(() => schema),
    };
  });
}

interface CustomDefinitionOptions
  extends Partial<Pick<ResourceDefinition, "namespaced" | "subresources" | "selectableFields">>,
    Partial<Pick<CustomResourceFacts, "publishedSchema">> {}

/** Returns a custom resource in the form in which the extensions define it. */
export function customDefinition(
  group: string,
  version: string,
  kind: string,
  { publishedSchema = () => undefined, ...more }: CustomDefinitionOptions = {},
): ResourceDefinition {
  const singular = kind.toLowerCase();
  const resource = `${singular}s`;
  return {
    ...withoutBehaviour,
    group,
    version,
    kind,
    resource,
    singular,
    listKind: `${kind}List`,
    namespaced: true,
    verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"],
    shortNames: [],
    categories: [],
    subresources: [],
    storageVersionHash: "",
    stored: true,
    storage: { group, version, kind, resource },
    schema: { type: "object", fields: new Map() },
    decoder: typedDecoder(() => ({ type: "object", fields: new Map() })),
    custom: customFacts({ publishedSchema }),
    ...more,
  };
}
