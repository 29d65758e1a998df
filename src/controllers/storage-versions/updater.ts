/**
 * Writes StorageVersions (alpha): for each built-in resource, the version in which this server stores it, and the
 * versions that it reads and serves. They are written after the start, and again when others have changed or deleted
 * them. Source: upstream's `apiserver/pkg/storageversion` and KEP-2339.
 */
import { pause } from "#std/clock.ts";
import type { Lease } from "#api/coordination/v1.ts";
import type { ServerStorageVersion, StorageVersion, StorageVersionStatus } from "#api/apiserverinternal/v1alpha1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { identityLeases } from "../identity-lease.ts";
import { periodically } from "../repeat.ts";

/** The versions in which a resource is stored, can be read and is served, in the form of `apiVersion`. */
export interface StoredResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly encodingVersion: string;
  readonly decodableVersions: readonly string[];
  readonly servedVersions: readonly string[];
}

export const storageVersionPath = ({ rename }: ApiDomain): string =>
  `/apis/${rename("internal.apiserver.k8s.io")}/v1alpha1/storageversions`;

export const storageVersionsController =
  (serverId: string, resources: readonly StoredResource[]): Controller =>
  (environment) => {
    const failure = "could not write in which versions objects are stored; trying again";
    const updateAll = async (): Promise<void> => {
      await waitForLease(environment, serverId);
      for (const resource of resources) {
        if (environment.signal.aborted) return;
        await update(environment, serverId, resource);
      }
    };
    return periodically(environment, resyncMs, failure, updateAll, retryMs);
  };

/** Upstream's period. An object that is right is not written again. */
const resyncMs = 10 * 60_000;
const retryMs = 1000;
const leasePollMs = 100;
const attemptsMax = 5;

/** Waits for the Lease of this server, without which its entries would be removed. */
async function waitForLease({ client, clock, domain, signal }: ControllerEnvironment, serverId: string): Promise<void> {
  const path = `${identityLeases(domain).path}/${serverId}`;
  while (!signal.aborted && (await ignoreNotFound(client.get<Lease>(path))) === undefined)
    await pause(clock, leasePollMs, signal);
}

async function update(environment: ControllerEnvironment, serverId: string, resource: StoredResource): Promise<void> {
  const { client, clock, domain } = environment;
  const path = storageVersionPath(domain);
  const name = `${resource.group === "" ? "core" : resource.group}.${resource.resource}`;
  const { encodingVersion, decodableVersions, servedVersions } = resource;
  const own: ServerStorageVersion = { apiServerID: serverId, encodingVersion, decodableVersions, servedVersions };
  for (let attempt = 1; ; attempt++) {
    try {
      const present =
        (await ignoreNotFound(client.get<StorageVersion>(`${path}/${name}`))) ??
        (await client.create<StorageVersion>(path, { metadata: { name }, spec: {}, status: {} }));
      const before = present.status.storageVersions ?? [];
      const others = before.filter(({ apiServerID }) => apiServerID !== serverId);
      const at = before.findIndex(({ apiServerID }) => apiServerID === serverId);
      const entries = at < 0 ? [...others, own] : before.with(at, own);
      const status = statusWith(present.status, entries, timestampOf(clock.now()));
      if (JSON.stringify(status) === JSON.stringify(present.status)) return;
      await client.update<StorageVersion>(`${path}/${name}/status`, { ...present, status });
      return;
    } catch (error) {
      // Another server, or the collector, was first.
      const wasLate = error instanceof StatusError && [404, 409].includes(error.status.code);
      if (!wasLate || attempt === attemptsMax) throw error;
    }
  }
}

/**
 * Returns the status with these entries, and the fields derived from them. `now` is the time of a condition that
 * changes.
 */
export function statusWith(
  before: StorageVersionStatus,
  storageVersions: readonly ServerStorageVersion[],
  now: string,
): StorageVersionStatus {
  const [common, ...different] = new Set(storageVersions.map(({ encodingVersion = "" }) => encodingVersion));
  const isCommon = common !== undefined && different.length === 0;
  const type = "AllEncodingVersionsEqual";
  const old = before.conditions?.find((condition) => condition.type === type);
  const status = isCommon ? "True" : "False";
  const condition = {
    type,
    status,
    lastTransitionTime: old?.status === status ? old.lastTransitionTime : now,
    reason: isCommon ? "CommonEncodingVersionSet" : "CommonEncodingVersionUnset",
    message: isCommon ? "Common encoding version set" : "Common encoding version unset",
  };
  const others = before.conditions?.filter((one) => one.type !== type) ?? [];
  return {
    storageVersions,
    ...(isCommon ? { commonEncodingVersion: common } : {}),
    conditions: [...others, condition],
  };
}
