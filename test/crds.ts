/** Custom resource definitions for tests. */
import type { ObjectBody } from "./objects.ts";

export const crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

interface DefinitionFields {
  readonly kind?: string;
  readonly scope?: "Cluster" | "Namespaced";
  readonly names?: object;
  /** The whole schema. */
  readonly schema?: object;
  /** The fields of the version beside its name and schema. */
  readonly version?: object;
  /** All versions. If they are given, `schema` and `version` are ignored. */
  readonly versions?: readonly object[];
}

/** Returns a definition in `group` in version `v1`, whose plural is derived from the kind, by default `widgets`. */
export function definition(group: string, fields: DefinitionFields = {}): ObjectBody {
  const { kind = "Widget", scope = "Cluster", names = {}, schema = { type: "object" }, version = {} } = fields;
  const plural = `${kind.toLowerCase()}s`;
  const only = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema }, ...version };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope, names: { plural, kind, ...names }, versions: fields.versions ?? [only] },
  };
}

/** Returns an object of such a kind. */
export const custom = (group: string, name: string, fields: object = {}, kind = "Widget"): ObjectBody => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name },
  ...fields,
});
