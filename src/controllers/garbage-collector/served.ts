/** The served resources as the collector sees them: those it watches, and the resource of each referenced kind. */
import { objectPath } from "../paths.ts";
import { apiPathOf, apiVersionOf, type GroupVersionResource } from "#meta/group-version.ts";

export interface ServedResource extends GroupVersionResource {
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  /** Whether this server itself serves the resource. */
  readonly isLocal: boolean;
}

/** The resources that this server and those behind it serve. */
export interface ServedResources {
  /** Lists all main resources, in each group those of the preferred version first. */
  list(): Iterable<ServedResource>;
  /** Sets a listener that is called after every change, and sometimes without one. */
  onChange(changed: () => void): void;
}

/** Whether a resource is ignored. Upstream: there are too many events, and they expire by themselves. */
const isIgnored = ({ group, resource }: ServedResource, eventsGroup: string): boolean =>
  resource === "events" && (group === "" || group === eventsGroup);

const needed = ["delete", "list", "watch"];

export class ResourceMap {
  /** One version of each resource whose objects can be watched and deleted, by identity. */
  readonly watched: ReadonlyMap<string, ServedResource>;
  readonly #kinds = new Map<string, ServedResource>();
  readonly #watchedTypes = new Set<string>();

  /** `eventsGroup` is the group of events beside the core group. */
  constructor(resources: Iterable<ServedResource>, eventsGroup: string) {
    const watched = new Map<string, ServedResource>();
    const seen = new Set<string>();
    for (const resource of resources) {
      const { group, kind, verbs } = resource;
      if (verbs.includes("get")) {
        const key = `${apiVersionOf(resource)} ${kind}`;
        if (!this.#kinds.has(key)) this.#kinds.set(key, resource);
      }
      const name = `${group}/${resource.resource}`;
      if (seen.has(name) || isIgnored(resource, eventsGroup) || !needed.every((verb) => verbs.includes(verb))) continue;
      seen.add(name);
      this.#watchedTypes.add(`${group}/${kind}`);
      watched.set(`${name} ${resource.version} ${kind} ${resource.namespaced} ${resource.isLocal}`, resource);
    }
    this.watched = watched;
  }

  /** Finds the resource that a reference means; `undefined` when none is served. */
  find(apiVersion: string, kind: string): ServedResource | undefined {
    return this.#kinds.get(`${apiVersion} ${kind}`);
  }

  /** Whether the objects of a resource are watched. */
  isWatched({ group, kind }: ServedResource): boolean {
    return this.#watchedTypes.has(`${group}/${kind}`);
  }
}

/** Returns the path of the collection in all namespaces. */
export const collectionPath = (of: ServedResource): string => `${apiPathOf(of)}/${of.resource}`;

/** Returns the path of an object; the namespace does not matter for cluster-scoped resources. */
export const pathOf = (of: ServedResource, namespace: string, name: string): string =>
  objectPath(collectionPath(of), of.namespaced ? { namespace, name } : { name });
