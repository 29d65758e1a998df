/** The resources of a server, read by discovery, and the resource that a word on the command line names. */
import { apiPathOf } from "#meta/group-version.ts";
import { ApiError } from "#client/api-error.ts";
import type { RestClient } from "#client/rest-client.ts";
import { StartError } from "#std/start-error.ts";

export interface DiscoveredResource {
  /** The name of the group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  /** The names of groups of kinds that the resource belongs to, such as `all`. */
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

interface Groups {
  readonly groups?: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
}

interface Resources {
  readonly resources?: readonly {
    readonly name: string;
    readonly singularName?: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
    readonly verbs?: readonly string[];
  }[];
}

export interface Discovered {
  /**
   * The resources in the order of groups, those of the preferred version first in each group. Subresources are left
   * out.
   */
  readonly resources: readonly DiscoveredResource[];
  /** Group versions whose resources could not be read, with the reason: their servers may be down. */
  readonly missing: readonly string[];
}

/** Reads the resources from the server; `versions` selects all versions of the groups, or only the preferred ones. */
export async function discover(client: RestClient, versions: "all" | "preferred"): Promise<Discovered> {
  const get = <T>(path: string): Promise<T> => client.call<T>({ method: "GET", path });
  const { groups = [] } = await get<Groups>("/apis");
  const wanted = [{ group: "", version: "v1" }];
  for (const { name, versions: served, preferredVersion } of groups) {
    const first = preferredVersion?.version ?? served[0]?.version ?? "";
    const others =
      versions === "all" ? served.map(({ version }) => version).filter((version) => version !== first) : [];
    for (const version of [first, ...others]) wanted.push({ group: name, version });
  }
  const missing: string[] = [];
  const lists = await Promise.all(
    wanted.map(async ({ group, version }) => {
      const path = apiPathOf({ group, version });
      try {
        const { resources = [] } = await get<Resources>(path);
        return resources.filter(({ name }) => !name.includes("/")).map((one) => servedResource(group, version, one));
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        missing.push(`${path}: ${error.said}`);
        return [];
      }
    }),
  );
  return { resources: lists.flat(), missing };
}

const servedResource = (
  group: string,
  version: string,
  {
    name,
    singularName = "",
    kind,
    namespaced,
    shortNames = [],
    categories = [],
    verbs = [],
  }: NonNullable<Resources["resources"]>[number],
): DiscoveredResource => ({
  group,
  version,
  kind,
  resource: name,
  singular: singularName === "" ? kind.toLowerCase() : singularName,
  shortNames,
  categories,
  namespaced,
  verbs,
});

/** Returns the resources of a category, such as `all`, each in its first version; none if there is no such category. */
export function resourcesOfCategory({ resources }: Discovered, word: string): readonly DiscoveredResource[] {
  const members = resources.filter(({ categories }) => categories.includes(word.toLowerCase()));
  return members.filter(
    (one, at) => members.findIndex(({ group, resource }) => group === one.group && resource === one.resource) === at,
  );
}

/**
 * Returns the resource that a word names, as in kubectl: plural, singular, kind or short name, alone or with `.GROUP`
 * or `.VERSION.GROUP`. Throws `StartError`.
 */
export function resourceNamed({ resources, missing }: Discovered, word: string): DiscoveredResource {
  const [name = "", ...rest] = word.toLowerCase().split(".");
  const fits = ({ group, version }: DiscoveredResource): boolean => {
    if (rest.length === 0) return true;
    if (rest.join(".") === group) return true;
    return version === rest[0] && rest.slice(1).join(".") === group;
  };
  const candidates = resources.filter(fits);
  const match =
    candidates.find(({ resource }) => resource === name) ??
    candidates.find(({ singular, kind }) => singular === name || kind.toLowerCase() === name) ??
    candidates.find(({ shortNames }) => shortNames.includes(name));
  if (match !== undefined) return match;
  const unknown = missing.length === 0 ? "" : ` (not asked: ${missing.join("; ")})`;
  throw new StartError(`the server has no resource ${JSON.stringify(word)}${unknown}`);
}

/** Returns the path of a collection. Throws `NoName` if the namespace is not a name. */
export function collectionPath(of: DiscoveredResource, namespace: string): string {
  const namespacePath = of.namespaced && namespace !== "" ? `/namespaces/${pathPart(namespace)}` : "";
  return `${apiPathOf(of)}${namespacePath}/${of.resource}`;
}

/** Thrown for a text that no object can have as its name. */
export class NoName extends StartError {}

/** Returns a name encoded as a part of a path. Throws `NoName` for a text that would change the path. */
export function pathPart(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/")) {
    throw new NoName(`${JSON.stringify(name)} is no name of an object`);
  }
  return encodeURIComponent(name);
}
