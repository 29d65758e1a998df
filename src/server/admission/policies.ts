/** The admission plugins for policies; they read parameters from the stores. */
import type { MatchEnvironment } from "#admission/matching.ts";
import { mutatingAdmissionPolicy } from "#admission/mutating-policy.ts";
import type { AdmissionPlugin } from "#admission/plugin.ts";
import { type FindParams, type ParamObjects, validatingAdmissionPolicy } from "#admission/validating-policy.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { StoredObjects } from "#registry/stored-object.ts";
import type { Store } from "#registry/store.ts";
import type { Stores } from "#registry/stores.ts";
import type { Schema } from "#schema/schema.ts";
import { andThen } from "#std/maybe-promise.ts";
import type { Lookups } from "../lookups.ts";
import type { ServerParts } from "../server-parts.ts";
import type { ServedForms } from "./object-forms.ts";
import type { Policies } from "./policy-handlers.ts";
import { policyMetrics } from "./policy-metrics.ts";

interface PolicyParts extends Pick<ServerParts, "domain" | "clock" | "metrics"> {
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly objects: StoredObjects;
  readonly stores: Stores;
  readonly lookups: Lookups;
  readonly policies: Policies;
  readonly authorizer: Authorizer;
  /** The served resources. */
  table(): ResourceTable;
}

/** Returns the plugins. `mutating` is empty without the feature gate `MutatingAdmissionPolicy`. */
export function policyPlugins(
  { domain, clock, metrics, gates, objects, stores, lookups, policies, authorizer, table }: PolicyParts,
  forms: ServedForms,
): { readonly mutating: readonly AdmissionPlugin[]; readonly validating: AdmissionPlugin } {
  const environment: MatchEnvironment = {
    equivalents: (resource, subresource) => forms.equivalents(resource, subresource),
    getNamespace: lookups.getNamespace,
  };
  const findParams: FindParams = ({ group, version, kind }) => {
    const definition = table().findKind(group, version, kind);
    return definition?.stored === true ? paramObjects(stores.of(definition), objects) : undefined;
  };
  const options = { domain, clock, authorizer, forms, environment, findParams };
  const schemaOf = ({ group, version, kind }: GroupVersionKind): Schema | undefined =>
    table().findKind(group, version, kind)?.schema;
  return {
    mutating: gates.isOn("MutatingAdmissionPolicy")
      ? [mutatingAdmissionPolicy(policies.mutating, { ...options, schemaOf })]
      : [],
    validating: validatingAdmissionPolicy(policies.validating, {
      ...options,
      observed: policyMetrics(metrics, policies.validating),
    }),
  };
}

/** Returns the objects of a store for parameters. Labels are known without decoding an object. */
function paramObjects(store: Store, objects: StoredObjects): ParamObjects {
  return {
    namespaced: store.definition.namespaced,
    get(namespace, name) {
      const entry = store.peek(namespace, name);
      return entry === undefined ? undefined : andThen(store.convertWithWebhook([entry]), () => store.object(entry));
    },
    list(namespace, selector) {
      const entries = store.peekEntries(namespace);
      return andThen(store.convertWithWebhook(entries), () =>
        entries
          .filter((entry) => selector.matches(objects.labels(store.definition, entry)))
          .map((entry) => store.object(entry)),
      );
    },
  };
}
