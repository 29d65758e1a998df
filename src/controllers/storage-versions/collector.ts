/**
 * Removes servers without an identity Lease from StorageVersions (alpha), and deletes StorageVersions that have no server
 * left. Source: upstream's `controller/storageversiongc`.
 */
import type { StorageVersion } from "#api/apiserverinternal/v1alpha1.ts";
import type { Lease } from "#api/coordination/v1.ts";
import { ignoreNotFound } from "#client/rest-client.ts";
import { timestampOf } from "#meta/time.ts";
import type { Controller, ControllerEnvironment } from "../controller.ts";
import { ignoreCodes } from "../ignore-codes.ts";
import { type ServerIdentity, identityLeases } from "../identity-lease.ts";
import { inPages } from "../pages.ts";
import { objectPath } from "../paths.ts";
import { follow, workQueue } from "../reconcile.ts";
import { statusWith, storageVersionPath } from "./updater.ts";

const anyServer = "";

export const storageVersionCollector =
  ({ labelValue }: Pick<ServerIdentity, "labelValue">): Controller =>
  async (environment) => {
    const { domain, reader } = environment;
    const path = storageVersionPath(domain);
    const leases = identityLeases(domain);
    const queue = workQueue(environment, {
      name: "storage_version_garbage_collector_storageversions",
      workersMax: 1,
      work: (name) => collect(environment, name, labelValue),
      logKey: "storageVersion",
      failure: "could not take servers that are gone out of a storage version; trying again",
    });
    const add = ({ metadata, status }: StorageVersion): void => {
      if ((status.storageVersions ?? []).length > 0) queue.add(metadata.name ?? "");
    };
    const removed = async (serverId: string): Promise<void> => {
      for await (const version of inPages<StorageVersion>(reader, path)) {
        const { storageVersions = [] } = version.status;
        if (serverId === anyServer || storageVersions.some(({ apiServerID }) => apiServerID === serverId)) add(version);
      }
    };
    const servers = workQueue(environment, {
      name: "storage_version_garbage_collector_leases",
      workersMax: 1,
      work: removed,
      logKey: "lease",
      failure: "could not look for the storage versions of a server that is gone; trying again",
    });
    await Promise.all([
      follow<StorageVersion>(environment, {
        what: "storage versions",
        path,
        replaced: (versions) => versions.forEach(add),
        changed: (type, version) => {
          if (type !== "DELETED") add(version);
        },
      }),
      follow<Lease>(environment, {
        what: "identity leases",
        path: leases.path,
        changesOnly: true,
        // Removals of Leases may have been missed.
        replaced: () => servers.add(anyServer),
        changed: (type, { metadata }) => {
          const isIdentity = metadata.labels?.[leases.label] === labelValue;
          if (type === "DELETED" && isIdentity) servers.add(metadata.name ?? "");
        },
      }),
    ]);
  };

/** Decides by live reads: a server is gone when its Lease is missing, or is not an identity Lease. */
async function collect(
  { client, clock, domain }: ControllerEnvironment,
  name: string,
  labelValue: string,
): Promise<void> {
  const path = objectPath(storageVersionPath(domain), name);
  const leases = identityLeases(domain);
  const version = await ignoreNotFound(client.get<StorageVersion>(path));
  const entries = version?.status.storageVersions ?? [];
  if (version === undefined || entries.length === 0) return;
  const remaining: (typeof entries)[number][] = [];
  for (const entry of entries) {
    const lease = await ignoreNotFound(client.get<Lease>(objectPath(leases.path, entry.apiServerID ?? "")));
    if (lease?.metadata.labels?.[leases.label] === labelValue) remaining.push(entry);
  }
  if (remaining.length === entries.length) return;
  const { uid = "", resourceVersion = "" } = version.metadata;
  const written =
    remaining.length === 0
      ? client.delete(path, { preconditions: { uid, resourceVersion } })
      : client.update<StorageVersion>(`${path}/status`, {
          ...version,
          status: statusWith(version.status, remaining, timestampOf(clock.now())),
        });
  // Another writer was first; the watch will report it.
  await ignoreCodes([404, 409], written);
}
