/** The sources of the quota controller: charges from admission, and the served resources. */
import type { Quotas } from "#admission/quota.ts";
import type { ServedResources } from "#controllers/garbage-collector.ts";
import type { QuotaCountOptions } from "#controllers/resource-quota.ts";
import { apiPathOf } from "#meta/group-version.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import { rateLimited } from "#std/log.ts";
import type { ServerParts } from "../server-parts.ts";

interface QuotaSources extends Pick<ServerParts, "clock" | "log"> {
  readonly quotas: Quotas;
  readonly periodMs: number;
  table(): ResourceTable;
  /** The resources of this server and of aggregated ones. */
  readonly served: ServedResources;
}

export function controlledQuotas({ quotas, periodMs, table, served, clock, log }: QuotaSources): QuotaCountOptions {
  return {
    periodMs,
    measure: (namespace, name) => quotas.measure(namespace, name),
    current: (namespace, name) => quotas.current(namespace, name),
    alone: (namespace, work) => quotas.alone(namespace, work),
    onOvercharged: (listener) => quotas.onOvercharged(listener),
    resourceOf: (name) => quotas.resourceOf(name),
    isConstant: (resource) => quotas.isConstant(resource),
    useOf: (resource, object) => quotas.useOf(resource, object),
    locationOf({ group, resource }) {
      const { definitions } = table();
      const definition = definitions.find(
        (one) => one.group === group && one.resource === resource && one.namespaced && one.stored,
      );
      if (definition !== undefined) return { path: apiPathOf(definition), isLocal: true };
      const remote = Iterator.from(served.list()).find(
        (one) =>
          !one.isLocal &&
          one.group === group &&
          one.resource === resource &&
          one.namespaced &&
          one.verbs.includes("list"),
      );
      return remote === undefined ? undefined : { path: apiPathOf(remote), isLocal: false };
    },
    onServed: served.onChange,
    failed: rateLimited(clock, (error) =>
      log.warn({ error }, "objects of an aggregated API were not counted for quotas"),
    ),
  };
}
