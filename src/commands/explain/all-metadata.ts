/** The metadata of all objects of a namespace or a cluster, of every kind that the caller may list. */
import { ApiError } from "#client/api-error.ts";
import { pagePath, pagesOf } from "#client/pages.ts";
import { itemsOf } from "#client/rest-client.ts";
import type { ObjectMeta, Unstructured } from "#meta/object-meta.ts";
import { collectionPath, type Discovered, type DiscoveredResource } from "../discovery.ts";
import type { OpenCluster } from "../open-cluster.ts";

/** The media type that asks for metadata alone. Servers that do not know it answer with whole objects. */
const acceptMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";

/** The number of kinds that are read at a time. */
const readersMax = 6;

export interface FoundObject {
  readonly resource: DiscoveredResource;
  readonly metadata: ObjectMeta;
}

/** A kind that could not be read. */
interface Unread {
  /** The plural name with the group. */
  readonly kind: string;
  readonly reason: string;
  /** Whether the caller may not list the kind. */
  readonly isForbidden: boolean;
}

export interface FoundObjects {
  readonly objects: readonly FoundObject[];
  readonly unread: readonly Unread[];
}

/** Returns sentences about kinds that could not be read: one for all that the caller may not list. */
export function unreadTexts(unread: readonly Unread[]): readonly string[] {
  const forbidden = unread.filter(({ isForbidden }) => isForbidden).map(({ kind }) => kind);
  const others = unread.filter(({ isForbidden }) => !isForbidden).map(({ kind, reason }) => `${kind}: ${reason}`);
  return [...(forbidden.length === 0 ? [] : [`you may not list ${forbidden.join(", ")}`]), ...others];
}

/** Kinds that own nothing and are owned by nothing. */
const looseKinds: ReadonlySet<string> = new Set(["events", "componentstatuses"]);

/** Returns the resources that can be listed and may own or be owned, each in its preferred version. */
function listable({ resources }: Discovered): readonly DiscoveredResource[] {
  const seen = new Set<string>();
  return resources.filter(({ group, resource, verbs }) => {
    const key = `${resource}.${group}`;
    if (seen.has(key) || !verbs.includes("list") || looseKinds.has(resource)) return false;
    seen.add(key);
    return true;
  });
}

/** Reads the metadata of the objects of a namespace; an empty one means of the whole cluster. */
export async function allMetadata(cluster: OpenCluster, namespace: string): Promise<FoundObjects> {
  const resources = listable(await cluster.discovered()).filter(({ namespaced }) => namespace === "" || namespaced);
  const waiting = resources.values();
  const objects: FoundObject[] = [];
  const unread: Unread[] = [];
  const reader = async (): Promise<void> => {
    for (const resource of waiting) {
      try {
        for await (const metadata of metadataOf(cluster, resource, namespace)) objects.push({ resource, metadata });
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        const kind = `${resource.resource}${resource.group === "" ? "" : `.${resource.group}`}`;
        unread.push({ kind, reason: error.said, isForbidden: error.code === 403 });
      }
    }
  };
  await Promise.all(Array.from({ length: readersMax }, reader));
  return { objects, unread: unread.sort((one, other) => (one.kind < other.kind ? -1 : 1)) };
}

async function* metadataOf(
  { rest }: OpenCluster,
  resource: DiscoveredResource,
  namespace: string,
): AsyncGenerator<ObjectMeta> {
  interface Page {
    readonly metadata?: { readonly continue?: string };
    readonly items?: readonly Unstructured[] | null;
  }
  const path = collectionPath(resource, namespace);
  const read = (token: string): Promise<Page> =>
    rest.call<Page>({ method: "GET", path: pagePath(path, token), accept: acceptMetadata });
  for await (const page of pagesOf(read)) {
    for (const { metadata } of itemsOf(page as { items: readonly Unstructured[] | null })) {
      const { managedFields: _, ...shown } = metadata;
      // The managers of what is being deleted say who set its finalizers.
      yield metadata.deletionTimestamp === undefined ? shown : metadata;
    }
  }
}
