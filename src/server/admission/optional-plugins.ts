/**
 * The admission plugins without settings that are off by default. The code of a plugin is loaded only when the plugin is on.
 */
import type { AdmissionPlugin } from "#admission/plugin.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { ServedResources } from "#controllers/garbage-collector.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Lookups } from "../lookups.ts";
import type { ServerParts } from "../server-parts.ts";

interface OptionalPluginParts extends Pick<ServerParts, "domain"> {
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly lookups: Lookups;
  readonly authorizer: Authorizer;
  /** The client of the server itself. */
  readonly client: RestClient;
  readonly served: Pick<ServedResources, "list">;
}

const plugins: Readonly<Record<string, (parts: OptionalPluginParts) => Promise<AdmissionPlugin>>> = {
  AlwaysAdmit: async () => (await import("#admission/always.ts")).alwaysAdmit,
  AlwaysDeny: async () => (await import("#admission/always.ts")).alwaysDeny,
  AlwaysPullImages: async () => (await import("#admission/always-pull-images.ts")).alwaysPullImages,
  DenyServiceExternalIPs: async () => (await import("#admission/deny-service-external-ips.ts")).denyServiceExternalIps,
  async ExtendedResourceToleration(parts) {
    const { extendedResourceToleration } = await import("#admission/extended-resource-toleration.ts");
    return extendedResourceToleration(parts);
  },
  async LimitPodHardAntiAffinityTopology(parts) {
    const { limitPodAntiAffinity } = await import("#admission/limit-pod-anti-affinity.ts");
    return limitPodAntiAffinity(parts);
  },
  async NamespaceAutoProvision({ lookups, client }) {
    const { namespaceAutoProvision } = await import("#admission/namespace-exists.ts");
    return namespaceAutoProvision({
      getNamespace: lookups.getNamespace,
      create: (name) =>
        client.create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name } }),
    });
  },
  async NamespaceExists({ lookups }) {
    const { namespaceExists } = await import("#admission/namespace-exists.ts");
    return namespaceExists({ getNamespace: lookups.getNamespace });
  },
  async NodeRestriction({ domain, lookups, gates }) {
    const { nodeRestriction } = await import("#admission/node-restriction.ts");
    return nodeRestriction({
      domain,
      find: lookups.get.bind(lookups),
      limitsAudiences: gates.isOn("ServiceAccountNodeAudienceRestriction"),
      anyCertificates: gates.isOn("AllowInsecureKubeletCertificateSigningRequests"),
    });
  },
  async OwnerReferencesPermissionEnforcement({ authorizer, served }) {
    const { ownerReferencesPermission } = await import("#admission/owner-references-permission.ts");
    return ownerReferencesPermission({
      authorizer,
      resourcesOf: (apiVersion, kind) =>
        [...served.list()].filter((one) => one.kind === kind && apiVersionOf(one) === apiVersion),
    });
  },
};

/** Loads the enabled ones of these plugins. */
export async function optionalPlugins(
  enabled: readonly string[],
  parts: OptionalPluginParts,
): Promise<readonly AdmissionPlugin[]> {
  const names = Object.keys(plugins).filter((name) => enabled.includes(name));
  return Promise.all(names.map((name) => plugins[name]!(parts))); // a key
}
