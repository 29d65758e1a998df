/** The kinds of a server, read by discovery, and the paths of their objects. */
import type { Api } from "./api.ts";

export interface ServedKind {
  /** The name of the group; empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name. */
  readonly resource: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
}

interface GroupList {
  readonly groups?: readonly {
    readonly name: string;
    readonly versions: readonly { readonly version: string }[];
    readonly preferredVersion?: { readonly version: string };
  }[];
}

interface ResourceList {
  readonly resources?: readonly {
    readonly name: string;
    readonly kind: string;
    readonly namespaced: boolean;
    readonly verbs?: readonly string[];
    readonly shortNames?: readonly string[];
  }[];
}

interface KindList {
  /** The kinds in their preferred versions, which can be read. */
  readonly kinds: readonly ServedKind[];
  /** Groups whose server does not answer. */
  readonly missing: readonly string[];
}

/** Reads the kinds: the core group first, then the others as the server orders them. */
export async function readKinds(api: Api): Promise<KindList> {
  const { groups = [] } = await api.get<GroupList>("/apis");
  const missing: string[] = [];
  const versions = groups.flatMap(({ name, versions: served, preferredVersion }) => {
    const first = preferredVersion?.version ?? served[0]?.version ?? "";
    // Other versions may have kinds that the preferred one lacks.
    return [first, ...served.map(({ version }) => version).filter((one) => one !== first)].map((version) => ({
      group: name,
      version,
    }));
  });
  const lists = await Promise.all(
    [{ group: "", version: "v1" }, ...versions].map(async ({ group, version }) => {
      try {
        const { resources = [] } = await api.get<ResourceList>(groupPath(group, version));
        return resources.map(({ name, kind, namespaced, verbs = [], shortNames = [] }): ServedKind => {
          return { group, version, kind, resource: name, namespaced, verbs, shortNames };
        });
      } catch {
        missing.push(`${group}/${version}`);
        return [];
      }
    }),
  );
  const seen = new Set<string>();
  const kinds = lists.flat().filter(({ group, resource, verbs }) => {
    const key = `${resource}.${group}`;
    if (resource.includes("/") || seen.has(key) || !verbs.includes("list")) return false;
    seen.add(key);
    return true;
  });
  return { kinds, missing };
}

const groupPath = (group: string, version: string): string =>
  group === ""
    ? `/api/${encodeURIComponent(version)}`
    : `/apis/${encodeURIComponent(group)}/${encodeURIComponent(version)}`;

/** Returns the path of a collection; an empty namespace means all. */
export function collectionPath({ group, version, resource, namespaced }: ServedKind, namespace: string): string {
  const inside = namespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  return `${groupPath(group, version)}${inside}/${encodeURIComponent(resource)}`;
}

export const objectPath = (kind: ServedKind, namespace: string, name: string): string =>
  `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;

/** Returns the path of the history of an object, or of a collection, which Binnacle alone has. */
export function historyPath(
  { group, version, resource, namespaced }: ServedKind,
  namespace: string,
  name?: string,
): string {
  const inside = namespaced && namespace !== "" ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  const object = name === undefined ? "" : `/${encodeURIComponent(name)}`;
  const location = [group === "" ? "core" : group, version].map(encodeURIComponent).join("/");
  return `/binnacle/v1/history/${location}${inside}/${encodeURIComponent(resource)}${object}`;
}

/** Returns the name of a kind with its group, as kubectl takes it: `deployments.apps`. */
export const resourceName = ({ resource, group }: ServedKind): string =>
  group === "" ? resource : `${resource}.${group}`;

/** Returns the kind of a reference; `undefined` if it is not served. Other versions of the kind count. */
export function kindOf(kinds: readonly ServedKind[], apiVersion: string, name: string): ServedKind | undefined {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.lastIndexOf("/")) : "";
  return kinds.find((one) => one.kind === name && one.group === group);
}
