/**
 * ResourceQuota: refuses writes that would exceed a quota of their namespace, and adds the others to the quota's status
 * before they are stored.
 */
import type { ResourceQuota } from "#api/core/v1.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { AdmissionPlugin } from "./plugin.ts";
import type { LimitedResource, Quotas } from "./quota.ts";

interface ResourceQuotaOptions {
  readonly quotas: Quotas;
  readonly limited: readonly LimitedResource[];
  /** The client that writes the status of quotas. */
  readonly client: RestClient;
}

export function resourceQuota({ quotas, limited, client }: ResourceQuotaOptions): AdmissionPlugin {
  const options = {
    limited,
    write(quota: ResourceQuota): Promise<unknown> {
      const { namespace = "", name = "" } = quota.metadata;
      const path = `/api/v1/namespaces/${namespace}/resourcequotas/${encodeURIComponent(name)}/status`;
      return client.update<ResourceQuota>(path, quota);
    },
  };
  return {
    name: "ResourceQuota",
    operations: ["CREATE", "UPDATE"],
    validate: (attributes) => (attributes.namespace === "" ? undefined : quotas.charge(attributes, options)),
  };
}
