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
  readonly subresources?: readonly RemoteSubresource[];
}

interface RemoteSubresource {
  readonly subresource: string;
  readonly responseKind: RemoteKind;
  readonly verbs: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

/** The maximum number of resources, subresources included, of a group version. Controllers follow each of them. */
const resourcesMax = 2000;

/** Throws when there are more entries than a group version may have. */
function checkNumber(entries: number): void {
  if (entries > resourcesMax) throw new Error(`the discovery document names more than ${resourcesMax} resources`);
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
const objects = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

const kindOf = (value: unknown): RemoteKind => {
  const of: Json = isObject(value) ? value : {};
  return { group: text(of["group"]), version: text(of["version"]), kind: text(of["kind"]) };
};

/**
 * Reads an `APIGroupDiscoveryList`; `undefined` when the document does not have the version. Throws when it names too many
 * resources.
 */
export function resourcesOfAggregated(document: Json, group: string, version: string): RemoteResource[] | undefined {
  const item = objects(document["items"]).find(({ metadata }) => isObject(metadata) && metadata["name"] === group);
  const entry = objects(item?.["versions"]).find((candidate) => candidate["version"] === version);
  if (entry === undefined) return undefined;
  const resources = objects(entry["resources"]);
  checkNumber(resources.reduce((sum, of) => sum + 1 + objects(of["subresources"]).length, 0));
  return resources.flatMap((of) => {
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

/** Reads an `APIResourceList`, the older form. Throws when it names too many resources. */
export function resourcesOfList(document: Json): RemoteResource[] {
  const all = objects(document["resources"]);
  checkNumber(all.length);
  const [resources, parts] = [new Map<Json, string>(), new Map<string, RemoteSubresource[]>()];
  for (const of of all) {
    const name = text(of["name"]);
    const slash = name.indexOf("/");
    if (slash < 0) {
      if (name !== "") resources.set(of, name);
      continue;
    }
    const part = { subresource: name.slice(slash + 1), responseKind: kindOf(of), verbs: texts(of["verbs"]) };
    const resource = name.slice(0, slash);
    const others = parts.get(resource);
    if (others === undefined) parts.set(resource, [part]);
    else others.push(part);
  }
  return Array.from(resources, ([of, resource]) =>
    remoteResource({
      resource,
      responseKind: kindOf(of),
      isNamespaced: of["namespaced"] === true,
      singular: text(of["singularName"]),
      of,
      subresources: parts.get(resource) ?? [],
    }),
  );
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
