/**
 * The controllers that show this server in the API: by its identity Lease and, behind a feature gate, by
 * StorageVersions.
 */
import { hostname } from "node:os";
import { identityLeaseCollector, identityLeaseController, type ServerIdentity } from "#controllers/identity-lease.ts";
import { storageVersionControllers, type StoredResource } from "#controllers/storage-versions.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import type { Random } from "#std/random.ts";
import { identityLabelValue, serverIdAt } from "../identity.ts";
import type { KindsPlan } from "../served-kinds.ts";
import type { CacheReader } from "#storage/watch-cache.ts";
import type { Controllers } from "./pod-controllers.ts";

export interface Identity extends ServerIdentity {
  /** The resources that this server writes into StorageVersions; `undefined` when StorageVersions are not served. */
  readonly storedResources: readonly StoredResource[] | undefined;
}

interface IdentitySources {
  readonly plans: { readonly kinds: KindsPlan };
  readonly random: Random;
  readonly url: string;
  readonly cache: Pick<CacheReader, "isShared">;
}

/** Returns the identity of the server at a URL; `undefined` without the feature gate `APIServerIdentity`. */
export function planIdentity({ plans, random, url, cache }: IdentitySources): Identity | undefined {
  const { kinds } = plans;
  const { gates, table } = kinds;
  if (!gates.isOn("APIServerIdentity")) return undefined;
  const isServed = table.definitions.some(({ resource }) => resource === "storageversions");
  return {
    id: serverIdAt(Number(new URL(url).port || 443)),
    hostname: hostname(),
    labelValue: identityLabelValue,
    processId: random.uuid(),
    marksRenewals: cache.isShared,
    storedResources: isServed ? storedResources(kinds) : undefined,
  };
}

/** Returns the stored built-in resources. A resource with several versions, or in two groups, is listed once. */
function storedResources({ table, tables }: KindsPlan): StoredResource[] {
  const definitions = table.definitions.filter(({ stored }) => stored);
  const byStorage = Map.groupBy(definitions, ({ storage: { group, resource } }) => `${group}/${resource}`);
  return [...byStorage.values()].map((served) => {
    const { group, resource, version } = served[0]!.storage; // groups have members
    const encodingVersion = apiVersionOf({ group, version });
    const ownKinds = tables.kinds.filter((kind) => kind.group === group && kind.resource === resource);
    const decodable = [...ownKinds, ...served].map((one) => apiVersionOf(one));
    const own = served.filter((one) => one.group === group).map((one) => apiVersionOf(one));
    return {
      group,
      resource,
      encodingVersion,
      decodableVersions: [...new Set([encodingVersion, ...decodable])],
      servedVersions: own,
    };
  });
}

/** Returns the controllers that upstream runs inside the API server, so they cannot be deselected. */
export const identityControllers = (identity: Identity | undefined): Controllers =>
  identity === undefined
    ? {}
    : {
        "identity-lease-controller": identityLeaseController(identity),
        "identity-lease-collector": identityLeaseCollector(identity),
        "storage-version-updater":
          identity.storedResources && storageVersionControllers.updater(identity.id, identity.storedResources),
      };
