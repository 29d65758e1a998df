/** The plugins of admission policies; parameters come from the stores. */
import type { MatchEnvironment } from "#admission/matching.ts";
import type { AdmissionPlugin } from "#admission/plugin.ts";
import { type FindParams, type ParamObjects, validatingAdmissionPolicy } from "#admission/validating-policy.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Store } from "#registry/store.ts";
import type { AssembleConfig } from "../assemble-config.ts";
import type { ServerState } from "../state.ts";
import type { ServedForms } from "./object-forms.ts";

export function policyPlugins(
  { domain, clock }: AssembleConfig,
  { policies, lookups, stores }: ServerState,
  more: { readonly authorizer: Authorizer; readonly forms: ServedForms; readonly table: () => ResourceTable },
): { readonly validating: AdmissionPlugin } {
  const { authorizer, forms, table } = more;
  const environment: MatchEnvironment = {
    equivalents: (resource, subresource) => forms.equivalents(resource, subresource),
    getNamespace: (name) => lookups.get("namespaces", "", name),
  };
  const findParams: FindParams = ({ group, version, kind }) => {
    const definition = table().findKind(group, version, kind);
    return definition?.stored === true ? paramObjects(stores.of(definition)) : undefined;
  };
  return {
    validating: validatingAdmissionPolicy(policies, { domain, clock, authorizer, forms, environment, findParams }),
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
