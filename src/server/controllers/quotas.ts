/** The sources of the quota controller: charges from admission, and the served resources. */
import type { Quotas } from "#admission/quota.ts";
import type { QuotaCountOptions } from "#controllers/resource-quota.ts";
import { apiPathOf } from "#meta/group-version.ts";
import type { ResourceTable } from "#registry/resource-table.ts";

export function controlledQuotas(
  quotas: Quotas,
  periodMs: number,
  table: () => ResourceTable,
  onServed: (listener: () => void) => void,
): QuotaCountOptions {
  return {
    periodMs,
    measure: (namespace, name) => quotas.measure(namespace, name),
    current: (namespace, name) => quotas.current(namespace, name),
    alone: (namespace, work) => quotas.alone(namespace, work),
    onOvercharged: (listener) => quotas.onOvercharged(listener),
    resourceOf: (name) => quotas.resourceOf(name),
    isConstant: (resource) => quotas.isConstant(resource),
    useOf: (resource, object) => quotas.useOf(resource, object),
    groupVersionPath({ group, resource }) {
      const { definitions } = table();
      const definition = definitions.find(
        (one) => one.group === group && one.resource === resource && one.namespaced && one.stored,
      );
      return definition === undefined ? undefined : apiPathOf(definition);
    },
    onServed,
  };
}
