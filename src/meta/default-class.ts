/** Annotations that mark the default class for claims and ingresses without one. */
import type { ApiDomain } from "./api-domain.ts";
import type { ApiObject } from "./object-meta.ts";

type ClassKind = "IngressClass" | "StorageClass" | "VolumeAttributesClass";

/**
 * Upstream's names for storage classes. For volume attributes classes upstream's printer knows only an alpha name that
 * no released document shows; ours is named after that of storage classes, and the alpha name works too.
 */
const annotations: Readonly<Record<ClassKind, readonly string[]>> = {
  IngressClass: ["ingressclass.kubernetes.io/is-default-class"],
  StorageClass: ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"],
  VolumeAttributesClass: [
    "volumeattributesclass.kubernetes.io/is-default-class",
    "volumeattributesclass.alpha.kubernetes.io/is-default-class",
  ],
};

/** Returns a check whether a class of this kind is marked as the default. */
export function defaultClassCheck(kind: ClassKind, domain: ApiDomain): (object: ApiObject) => boolean {
  const names = annotations[kind].map((name) => domain.rename(name));
  return (object) => names.some((name) => object.metadata.annotations?.[name] === "true");
}

/** Returns the default of `classes`: the newest, then the first by name; `undefined` when none is marked. */
export function defaultClass(
  classes: Iterable<ApiObject>,
  isDefault: (object: ApiObject) => boolean,
): ApiObject | undefined {
  let best: ApiObject | undefined;
  for (const candidate of classes) {
    if (isDefault(candidate) && (best === undefined || isPreferred(candidate, best))) best = candidate;
  }
  return best;
}

function isPreferred(one: ApiObject, other: ApiObject): boolean {
  const created = one.metadata.creationTimestamp ?? "";
  const otherCreated = other.metadata.creationTimestamp ?? "";
  if (created !== otherCreated) return created > otherCreated;
  return (one.metadata.name ?? "") < (other.metadata.name ?? "");
}
