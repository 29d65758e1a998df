/** The plugins of admission policies; parameters come from the stores. */
import type { MatchEnvironment } from "#admission/matching.ts";
import { mutatingAdmissionPolicy } from "#admission/mutating-policy.ts";
import type { AdmissionPlugin } from "#admission/plugin.ts";
import { type FindParams, type ParamObjects, validatingAdmissionPolicy } from "#admission/validating-policy.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Store } from "#registry/store.ts";
import type { Schema } from "#schema/schema.ts";
import type { AssembleConfig } from "../assemble-config.ts";
import { requiredSchema } from "../handler-parts.ts";
import type { ServerState } from "../state.ts";
import type { ServedForms } from "./object-forms.ts";

/** `mutating` is empty without the feature gate `MutatingAdmissionPolicy`. */
export function policyPlugins(
  { domain, clock, serving }: AssembleConfig,
  { policies, lookups, stores }: ServerState,
  more: { readonly authorizer: Authorizer; readonly forms: ServedForms; readonly table: () => ResourceTable },
): { readonly mutating: readonly AdmissionPlugin[]; readonly validating: AdmissionPlugin } {
  const { authorizer, forms, table } = more;
  const environment: MatchEnvironment = {
    equivalents: (resource, subresource) => forms.equivalents(resource, subresource),
    getNamespace: (name) => lookups.get("namespaces", "", name),
  };
  const findParams: FindParams = ({ group, version, kind }) => {
    const definition = table().findKind(group, version, kind);
    return definition?.stored === true ? paramObjects(stores.of(definition)) : undefined;
  };
  const options = { domain, clock, authorizer, forms, environment, findParams };
  const schemaOf = (kind: GroupVersionKind): Schema =>
    table().findKind(kind.group, kind.version, kind.kind)?.schema ?? requiredSchema(serving.tables, kind);
  return {
    mutating: serving.gates.isOn("MutatingAdmissionPolicy")
      ? [mutatingAdmissionPolicy(policies.mutating, { ...options, schemaOf })]
      : [],
    validating: validatingAdmissionPolicy(policies.validating, options),
  };
}

function paramObjects(store: Store): ParamObjects {
  return {
    namespaced: store.definition.namespaced,
    get(namespace, name) {
      const entry = store.peek(namespace, name);
      return entry === undefined ? undefined : store.object(entry);
    },
    list: (namespace, selector) =>
      store
        .peekAll(namespace)
        .filter(({ metadata }) => selector.matches(metadata.labels))
        .toArray(),
  };
}
