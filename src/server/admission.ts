/** The admission plugins of a server, in upstream's order. They read other objects from memory. */
import { admissionChain } from "#admission/chain.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "#admission/certificates.ts";
import { defaultIngressClass } from "#admission/default-ingress-class.ts";
import { defaultTolerationSeconds } from "#admission/default-toleration-seconds.ts";
import { limitRanger } from "#admission/limit-ranger.ts";
import { namespaceLifecycle } from "#admission/namespace-lifecycle.ts";
import { paramPermission } from "#admission/param-permission.ts";
import { inPluginOrder } from "#admission/plugin-order.ts";
import type { AdmissionPlugin } from "#admission/plugin.ts";
import { tracedPlugin } from "#admission/traced-plugin.ts";
import { priority } from "#admission/priority.ts";
import { rbacEscalation } from "#admission/rbac-escalation.ts";
import { resourceQuota } from "#admission/resource-quota.ts";
import { runtimeClass } from "#admission/runtime-class.ts";
import { serviceAccount } from "#admission/service-account.ts";
import {
  claimResize,
  defaultStorageClass,
  defaultVolumeAttributesClass,
  storageProtection,
} from "#admission/storage.ts";
import { taintNodesByCondition } from "#admission/taint-nodes-by-condition.ts";
import type { WebhookLists } from "#admission/webhooks.ts";
import type { ApiTables } from "#api/definitions.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { RbacIndex } from "#authz/rbac-index.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { FindServiceAddress } from "#egress/service-address.ts";
import type { ServedResources } from "#controllers/garbage-collector.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { GroupVersionKind } from "#meta/group-version.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { StoredObjects } from "#registry/stored-object.ts";
import type { Stores } from "#registry/stores.ts";
import { StartError } from "#std/start-error.ts";
import { observeChain } from "./admission/chain-metrics.ts";
import { ServedForms } from "./admission/object-forms.ts";
import type { AdmissionFlags } from "./admission/flags.ts";
import type { Limits } from "./admission/limits.ts";
import type { AdmissionPlan } from "./admission/plan.ts";
import { optionalPlugins } from "./admission/optional-plugins.ts";
import { podSecurityPlugin } from "./admission/pod-security.ts";
import { policyPlugins } from "./admission/policies.ts";
import type { Policies } from "./admission/policy-handlers.ts";
import { openWebhooks } from "./admission/webhooks.ts";
import type { CacheReader } from "#storage/watch-cache.ts";
import { requiredSchema } from "./handler-parts.ts";
import type { Lookups, StoreFinder } from "./lookups.ts";
import type { ServerParts } from "./server-parts.ts";
import type { StoreFlags } from "./store/flags.ts";

interface AdmissionParts extends ServerParts {
  readonly options: AdmissionFlags & Pick<StoreFlags, "objectBytesMax">;
  readonly plan: AdmissionPlan;
  readonly cache: CacheReader;
  readonly tables: ApiTables;
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly objects: StoredObjects;
  readonly stores: Stores;
  readonly storeOf: StoreFinder;
  readonly lookups: Lookups;
  readonly limits: Limits;
  readonly rbacIndex: RbacIndex;
  readonly policies: Policies;
  readonly webhooks: WebhookLists;
  readonly serviceAddress: FindServiceAddress;
  readonly authorizer: Authorizer;
  /** The client of the server itself. */
  readonly client: RestClient;
  /** The served resources. */
  table(): ResourceTable;
  readonly served: Pick<ServedResources, "list">;
}

/** Rejects with `StartError` for plugins that are both enabled and disabled. */
export async function serverAdmission(parts: AdmissionParts) {
  const { plan, authorizer } = parts;
  const { enableAdmissionPlugins: enabled, disableAdmissionPlugins: disabled } = parts.options;
  refuseBoth(enabled, disabled);
  const configured = [...plan.configured.values()].map((planned) => planned.open(parts));
  const forms = servedForms(parts);
  const webhooks = openWebhooks(parts, forms);
  const policies = policyPlugins(parts, forms);
  const plugins = inPluginOrder([
    ...initialPlugins(parts),
    ...(await optionalPlugins(enabled, parts)),
    ...configured,
    ...policies.mutating,
    webhooks.mutating,
    policies.validating,
    webhooks.validating,
  ]);
  const all = [
    // Upstream checks params directly after the object's validation, outside of the plugins, so it cannot be disabled.
    params(parts),
    ...plugins.filter(({ name }) => !disabled.includes(name)),
    // This check is also outside of the plugins. It sees the object that they made, before validation.
    rbacEscalation({ authorizer, index: parts.rbacIndex }),
  ];
  const traced = parts.tracer === undefined ? all : all.map(tracedPlugin);
  const chain = admissionChain(traced, observeChain(parts.metrics, parts.clock));
  return {
    chain,
    /** Closes the connections of plugins to other servers. */
    close: () => {
      webhooks.close();
      for (const one of configured) one.close?.();
    },
  };
}

/** Returns the plugins that are on by default, except webhooks and policies. */
function initialPlugins(parts: AdmissionParts): readonly AdmissionPlugin[] {
  const { domain, clock, random, plan, lookups, limits, client, cache } = parts;
  return [
    namespaceLifecycle({ domain, getNamespace: lookups.getNamespace, refresh: () => cache.fresh() }),
    limitRanger({ domain, ranges: limits.limitRanges }),
    serviceAccount({
      domain,
      clock,
      random,
      getAccount: (namespace, name) => lookups.get("serviceaccounts", namespace, name),
    }),
    taintNodesByCondition({ domain }),
    podSecurityPlugin(plan.podSecurity, parts),
    ...schedulingPlugins(parts),
    ...storagePlugins(parts),
    resize(domain, lookups),
    runtimeClass({ getClass: (name) => lookups.get("runtimeclasses.node.k8s.io", "", name) }),
    ...certificatePlugins(parts),
    defaultIngressClass({ domain, listClasses: () => lookups.list("ingressclasses.networking.k8s.io") }),
    resourceQuota({ quotas: limits.quotas, limited: plan.limitedResources, client }),
  ];
}

const params = ({ domain, authorizer, table, served, storeOf }: AdmissionParts): AdmissionPlugin =>
  paramPermission({
    domain,
    authorizer,
    resourceOf: (kind) => resourceOf(kind, table, served),
    policy: (resource, name) => newestPolicy(storeOf, resource, name),
  });

/** Returns the name of the resource with objects of this kind, on this server or an aggregated one. */
function resourceOf(
  { group, version, kind }: GroupVersionKind,
  table: () => ResourceTable,
  served: AdmissionParts["served"],
): string | undefined {
  const own = table().findKind(group, version, kind);
  if (own !== undefined) return own.resource;
  for (const one of served.list()) {
    if (one.kind === kind && one.group === group && one.version === version) return one.resource;
  }
  return undefined;
}

/** Returns the policy as it is stored now; `undefined` when it does not exist or cannot be read. */
async function newestPolicy(storeOf: StoreFinder, resource: string, name: string): Promise<ApiObject | undefined> {
  const store = storeOf(`${resource}.admissionregistration.k8s.io`);
  try {
    return store?.object(await store.get("", name, ""));
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

/** Throws `StartError` for plugins that are in both lists. */
function refuseBoth(enabled: readonly string[], disabled: readonly string[]): void {
  const both = enabled.filter((name) => disabled.includes(name)).toSorted();
  if (both.length === 0) return;
  throw new StartError(`[${both.join(" ")}] in enable-admission-plugins and disable-admission-plugins overlapped`);
}

/** Returns the plugins that give pods the fields that the scheduler needs. */
function schedulingPlugins({ domain, options, limits }: AdmissionParts): readonly AdmissionPlugin[] {
  return [
    priority({ domain, classes: limits.priorityClasses }),
    defaultTolerationSeconds({
      domain,
      notReadySeconds: options.defaultNotReadyTolerationSeconds,
      unreachableSeconds: options.defaultUnreachableTolerationSeconds,
    }),
  ];
}

const certificatePlugins = ({ domain, authorizer }: AdmissionParts): readonly AdmissionPlugin[] => [
  certificateApproval({ domain, authorizer }),
  certificateSigning({ domain, authorizer }),
  clusterTrustBundleAttest({ domain, authorizer }),
  certificateSubjectRestriction({ domain }),
];

const storageClasses = "storageclasses.storage.k8s.io";

function storagePlugins({ domain, gates, lookups }: AdmissionParts): readonly AdmissionPlugin[] {
  const attributesClasses = "volumeattributesclasses.storage.k8s.io";
  return [
    storageProtection({ domain }),
    defaultStorageClass({ domain, listClasses: () => lookups.list(storageClasses) }),
    ...(gates.isOn("VolumeAttributesClass")
      ? [defaultVolumeAttributesClass({ domain, listClasses: () => lookups.list(attributesClasses) })]
      : []),
  ];
}

const resize = (domain: ApiDomain, lookups: Lookups): AdmissionPlugin =>
  claimResize({
    getStorageClass: (name) => lookups.get(storageClasses, "", name),
    classAnnotation: domain.rename("volume.beta.kubernetes.io/storage-class"),
  });

function servedForms({ tables, options, table }: AdmissionParts): ServedForms {
  return new ServedForms({
    table,
    schemaOf: (gvk) => requiredSchema(tables, gvk),
    objectBytesMax: options.objectBytesMax,
  });
}
