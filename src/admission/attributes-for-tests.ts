/** Attributes of writes, for tests of plugins. */
import { testContext } from "#meta/context-for-tests.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import type { AdmissionAttributes, MutationRound } from "./plugin.ts";

/** A create of `object` in namespace `n` by an administrator, with the changes of `more`. */
export function attributesOf(
  object: ApiObject | undefined,
  more: Partial<AdmissionAttributes> = {},
): AdmissionAttributes {
  return {
    context: testContext(),
    operation: "CREATE",
    resource: { group: "", version: "v1", resource: "configmaps" },
    kind: { group: "", version: "v1", kind: "ConfigMap" },
    namespace: "n",
    name: "",
    pathName: "",
    subresource: "",
    object,
    oldObject: undefined,
    dryRun: false,
    options: undefined,
    ...more,
  };
}

/** A claim for a gibibyte. */
export const claimAttributes = {
  resource: { group: "", version: "v1", resource: "persistentvolumeclaims" },
  kind: { group: "", version: "v1", kind: "PersistentVolumeClaim" },
} as const;

/** The round for plugins to which the number of the round does not matter. */
export const firstRound: MutationRound = { isSecond: false, repeat() {}, notes: new Map() };
