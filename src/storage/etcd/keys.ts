/**
 * The keys of the store as etcd has them. They are those of kube-apiserver, so that either can take over the data of the
 * other; what only this server has lies under `binnacle/`.
 *
 *     /registry/core/nodes/n                   <prefix>/minions/n
 *     /registry/apps/deployments/ns/d          <prefix>/deployments/ns/d
 *     /registry/example.com/things/ns/t        <prefix>/example.com/things/ns/t
 *     /registry/binnacle/settings/api-domain   <prefix>/binnacle/settings/api-domain
 *     /registry/binnacle/servers/6e1b…         <prefix>/binnacle/servers/6e1b…
 *     /registry/masterleases/10.0.0.1          <prefix>/masterleases/10.0.0.1
 *     (a turn, which is not shown)             <prefix>/binnacle/turns/addresses
 *     (the fence of a process, not shown)      <prefix>/binnacle/fences/6e1b…
 *     (a copy that is not complete, not shown) <prefix>/binnacle/copies/unfinished
 */

/** The paths of built-in resources in etcd by `<group>/<resource>` of our keys: `core/nodes` is at `minions`. */
export type ResourcePaths = ReadonlyMap<string, string>;

const ownPrefix = "/registry/";
/** The group of keys that are no API objects. */
const ownGroup = "binnacle";
/** The groups of our own keys that other servers' stores do not show. */
const hiddenResources: ReadonlySet<string> = new Set(["turns", "fences", "copies"]);
/** The first part of the keys by which kube-apiservers that live are known. */
const kubeApiServers = "masterleases";
/** The first parts of keys that kube-apiservers keep for themselves: they make them anew. */
const keptByServers: ReadonlySet<string> = new Set([kubeApiServers, "peerserverleases", "ranges", "health"]);

export class EtcdKeys {
  /** The beginning of all keys, with its slash: `/registry/`. */
  readonly prefix: string;
  readonly #paths: ResourcePaths;
  /** `<group>/<resource>` by the path in etcd. */
  readonly #resources: ReadonlyMap<string, string>;

  constructor(prefix: string, paths: ResourcePaths) {
    this.prefix = `/${prefix.replace(/^\/+|\/+$/g, "")}/`;
    this.#paths = paths;
    this.#resources = new Map([...paths].map(([resource, path]) => [path, resource]));
  }

  /** Returns etcd's form of a key, or of the prefix of keys of one resource. */
  toEtcd(key: string): string {
    const end = endOfSegments(key, ownPrefix.length, 2);
    if (!key.startsWith(ownPrefix) || end === undefined) return this.prefix + key.slice(ownPrefix.length);
    const resource = key.slice(ownPrefix.length, end);
    return this.prefix + (this.#paths.get(resource) ?? resource) + key.slice(end);
  }

  /** Returns our form of a key of etcd; `undefined` for one that is not shown. */
  fromEtcd(key: string): string | undefined {
    if (!key.startsWith(this.prefix)) return undefined;
    const start = this.prefix.length;
    for (const segments of [2, 1]) {
      const end = endOfSegments(key, start, segments);
      const resource = end === undefined ? undefined : this.#resources.get(key.slice(start, end));
      if (resource !== undefined) return ownPrefix + resource + key.slice(end);
    }
    const [group = "", resource = "", name] = key.slice(start).split("/", 3);
    if (group === kubeApiServers && name === undefined && resource !== "") return ownPrefix + key.slice(start);
    if (name === undefined || (group === ownGroup && hiddenResources.has(resource))) return undefined;
    // A built-in resource has one path, and its objects are not shown twice.
    if (this.#paths.has(`${group}/${resource}`)) return undefined;
    // Other keys of kube-apiserver have no dot there, such as its allocations.
    return group === ownGroup || group.includes(".") ? ownPrefix + key.slice(start) : undefined;
  }

  /** Returns the key of the fence of a process (`fence.ts`). */
  fence(id: string): string {
    return `${this.prefix}${ownGroup}/fences/${id}`;
  }

  /** The key that says how far a copy into this prefix has come, and exists until it is complete (`copy/to-etcd.ts`). */
  get copy(): string {
    return `${this.prefix}${ownGroup}/copies/unfinished`;
  }

  /** The key whose writes bring etcd to the revision that a copy needs. */
  get burnt(): string {
    return `${this.prefix}${ownGroup}/copies/burnt`;
  }

  /** The beginnings of the keys of servers that run: Binnacle's, and kube-apiserver's. */
  get servers(): readonly string[] {
    return [`${this.prefix}${ownGroup}/servers/`, `${this.prefix}${kubeApiServers}/`];
  }

  /** Whether servers keep a key of etcd for themselves, so that it is no part of what they store for clients. */
  isOfServers(key: string): boolean {
    const [group = "", resource = ""] = key.slice(this.prefix.length).split("/", 2);
    if (group === ownGroup) return resource === "servers" || hiddenResources.has(resource);
    return keptByServers.has(group);
  }

  /** Returns the key whose revision says when a turn was last taken. */
  turn(name: string): string {
    return `${this.prefix}${ownGroup}/turns/${name}`;
  }
}

/** Returns the index of the slash after so many segments from `start` on; `undefined` when there are fewer. */
function endOfSegments(key: string, start: number, segments: number): number | undefined {
  let end = start - 1;
  for (let count = 0; count < segments; count++) {
    end = key.indexOf("/", end + 1);
    if (end < 0) return undefined;
  }
  return end;
}
