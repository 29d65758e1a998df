/**
 * What all built-in kinds do: who may write the status, and when the generation counts. A kind's own hooks run after
 * these. Source: the strategies in upstream's `pkg/registry`, of which nearly all say the same.
 */
import { fieldSetOf } from "#apply/field-set.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type Unstructured, nextGeneration, type ObjectMeta } from "#meta/object-meta.ts";
import type { Int64 } from "#std/int64.ts";
import type { Column, Conversion, Strategy, WriteAttributes } from "#registry/resource-definition.ts";

/** What kinds are told when their hooks are made. */
export interface KindEnvironment {
  readonly domain: ApiDomain;
  /** Whether a feature gate is on. */
  gate(name: string): boolean;
  /** Seconds an event is kept; 0 for ever. */
  readonly eventTtlSeconds: number;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** What a kind adds to the generic behaviour. */
export interface KindBehaviour {
  /** Hooks of the kind; each runs after the generic one. */
  readonly strategy?: Strategy;
  /** Columns of tables; left out: name and creation time. */
  readonly columns?: readonly Column[];
  /** To the stored version; left out: the versions differ in name only. */
  readonly conversion?: Conversion;
  /** A change of annotations counts as one of the desired state. */
  readonly annotationsCount?: boolean;
  /** Metadata that writing the status leaves as it was. */
  readonly statusKeeps?: readonly (keyof ObjectMeta)[];
  /** Finalizers may have any name. */
  readonly anyFinalizers?: boolean;
  /** Nobody owns metadata by writing the status. */
  readonly statusResetsMetadata?: boolean;
  /** Objects may be made with a status. */
  readonly statusOnCreate?: boolean;
}

export interface GenericOptions {
  readonly hasStatus: boolean;
  readonly generation: boolean;
  /** What a status is before anybody wrote one; `undefined` for no field at all. Asked for at the first write. */
  zeroStatus(): unknown;
}

/** Subresources that are the whole object, seen through rules of their own. The kind's hooks have the last word. */
const partSubresources: ReadonlySet<string> = new Set([
  "status",
  "finalize",
  "approval",
  "binding",
  "ephemeralcontainers",
  "eviction",
  "resize",
]);

/** The hooks of a kind: the generic rules, then its own. */
export function genericStrategy(options: GenericOptions, behaviour: KindBehaviour = {}): Strategy {
  const own = behaviour.strategy ?? {};
  const keepsStatus = options.hasStatus;
  const clearsStatus = keepsStatus && behaviour.statusOnCreate !== true;
  const prepareForCreate = (object: Unstructured, attributes: WriteAttributes): Unstructured => {
    const next = clearsStatus ? withStatus(object, options.zeroStatus()) : object;
    return own.prepareForCreate === undefined ? next : own.prepareForCreate(next, attributes);
  };
  const prepareForUpdate = (object: Unstructured, old: Unstructured, attributes: WriteAttributes): Unstructured => {
    if (partSubresources.has(attributes.subresource)) {
      let next = attributes.subresource === "status" ? onlyStatus(object, old, behaviour.statusKeeps ?? []) : object;
      if (options.generation) next = withGeneration(next, old.metadata.generation);
      return own.prepareForUpdate === undefined ? next : own.prepareForUpdate(next, old, attributes);
    }
    let next = keepsStatus ? withStatus(object, old["status"]) : object;
    if (own.prepareForUpdate !== undefined) next = own.prepareForUpdate(next, old, attributes);
    if (!options.generation) return next;
    const counts =
      !sameContent(next, old) ||
      (behaviour.annotationsCount === true && !sameTexts(next.metadata.annotations, old.metadata.annotations));
    return withGeneration(next, counts ? nextGeneration(old.metadata) : old.metadata.generation);
  };
  const resetByMain = keepsStatus ? fieldSetOf([["f:status"]]) : undefined;
  const resetByStatus = fieldSetOf([
    ["f:spec"],
    ...(behaviour.statusResetsMetadata === true ? [["f:metadata"]] : []),
    ...(behaviour.statusKeeps ?? []).map((key) => ["f:metadata", `f:${key}`]),
  ]);
  // Upstream: nobody owns anything by resizing.
  const resetByResize = fieldSetOf([["f:metadata"], ["f:spec"], ["f:status"]]);
  return {
    ...own,
    resetFields: (subresource) =>
      own.resetFields !== undefined
        ? own.resetFields(subresource)
        : subresource === "status"
          ? resetByStatus
          : subresource === "" || subresource === "finalize"
            ? resetByMain
            : subresource === "resize"
              ? resetByResize
              : undefined,
    ...(clearsStatus || own.prepareForCreate !== undefined ? { prepareForCreate } : {}),
    ...(options.hasStatus || options.generation || own.prepareForUpdate !== undefined ? { prepareForUpdate } : {}),
  };
}

function withStatus(object: Unstructured, status: unknown): Unstructured {
  if (object["status"] === status) return object;
  if (status !== undefined) return { ...object, status };
  const { status: _status, ...rest } = object;
  return rest;
}

/** The old object with the new status and the new metadata, but for what the kind keeps. */
function onlyStatus(object: Unstructured, old: Unstructured, keeps: readonly (keyof ObjectMeta)[]): Unstructured {
  let { metadata } = object;
  for (const key of keeps) {
    const { [key]: _new, ...rest } = metadata;
    const kept = old.metadata[key];
    metadata = (kept === undefined ? rest : { ...rest, [key]: kept }) as ObjectMeta; // the same keys
  }
  return withStatus({ ...old, metadata }, object["status"]);
}

function withGeneration(object: Unstructured, generation: Int64 | undefined): Unstructured {
  if (object.metadata.generation === generation) return object;
  const { generation: _generation, ...rest } = object.metadata;
  return { ...object, metadata: generation === undefined ? rest : { ...rest, generation } };
}

const outside: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);

/** Whether two objects are the same apart from their type, metadata and status. */
function sameContent(next: Unstructured, old: Unstructured): boolean {
  for (const key of Object.keys(next)) if (!outside.has(key) && !jsonEquals(next[key], old[key])) return false;
  for (const key of Object.keys(old)) if (!outside.has(key) && next[key] === undefined) return false;
  return true;
}

/** Absent and empty maps are the same. */
function sameTexts(
  next: Readonly<Record<string, string>> | undefined,
  old: Readonly<Record<string, string>> | undefined,
): boolean {
  return jsonEquals(next ?? {}, old ?? {});
}
