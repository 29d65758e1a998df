/**
 * Reads the discovery documents of an aggregated API server defensively: invalid entries are left out, and only texts
 * are copied into documents of this server. Source: upstream's discovery manager of `kube-aggregator`.
 */
import { isObject } from "#std/is-object.ts";

interface RemoteKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A resource in the form of aggregated discovery. */
export interface RemoteResource {
  readonly resource: string;
  readonly responseKind: RemoteKind;
  readonly scope: "Namespaced" | "Cluster";
  readonly singularResource: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly {
    readonly subresource: string;
    readonly responseKind: RemoteKind;
    readonly verbs: readonly string[];
  }[];
}

type Json = Readonly<Record<string, unknown>>;

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

const kindOf = (value: unknown): RemoteKind => {
  const of: Json = isObject(value) ? value : {};
  return { group: text(of["group"]), version: text(of["version"]), kind: text(of["kind"]) };
};

/** Reads an `APIGroupDiscoveryList`; `undefined` when the document does not have the version. */
export function resourcesOfAggregated(document: Json, group: string, version: string): RemoteResource[] | undefined {
  const item = objects(document["items"]).find(({ metadata }) => isObject(metadata) && metadata["name"] === group);
  const entry = objects(item?.["versions"]).find((candidate) => candidate["version"] === version);
  if (entry === undefined) return undefined;
  return objects(entry["resources"]).flatMap((of) => {
    const resource = text(of["resource"]);
    if (resource === "") return [];
    const subresources = objects(of["subresources"]).map((part) => ({
      subresource: text(part["subresource"]),
      responseKind: kindOf(part["responseKind"]),
      verbs: texts(part["verbs"]),
    }));
    return [
      remoteResource({
        resource,
        responseKind: kindOf(of["responseKind"]),
        isNamespaced: of["scope"] !== "Cluster",
        singular: text(of["singularResource"]),
        of,
        subresources,
      }),
    ];
  });
}

/** Reads an `APIResourceList`, the older form. */
export function resourcesOfList(document: Json): RemoteResource[] {
  const all = objects(document["resources"]);
  return all.flatMap((of) => {
    const resource = text(of["name"]);
    if (resource === "" || resource.includes("/")) return [];
    const subresources = all.flatMap((part) => {
      const name = text(part["name"]);
      if (!name.startsWith(`${resource}/`)) return [];
      const subresource = name.slice(resource.length + 1);
      return [{ subresource, responseKind: kindOf(part), verbs: texts(part["verbs"]) }];
    });
    return [
      remoteResource({
        resource,
        responseKind: kindOf(of),
        isNamespaced: of["namespaced"] === true,
        singular: text(of["singularName"]),
        of,
        subresources,
      }),
    ];
  });
}

interface Parts {
  readonly resource: string;
  readonly responseKind: RemoteKind;
  readonly isNamespaced: boolean;
  readonly singular: string;
  readonly of: Json;
  readonly subresources: NonNullable<RemoteResource["subresources"]>;
}

function remoteResource({ resource, responseKind, isNamespaced, singular, of, subresources }: Parts): RemoteResource {
  const shortNames = texts(of["shortNames"]);
  const categories = texts(of["categories"]);
  return {
    resource,
    responseKind,
    scope: isNamespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: texts(of["verbs"]),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}
