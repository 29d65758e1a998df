/**
 * The strategy that all built-in kinds share: writes of the status, and generations. A kind's own hooks run after the
 * generic ones. Source: the strategies in upstream's `pkg/registry`, nearly all of which agree.
 */
import { fieldSetOf } from "#apply/field-set.ts";
import { jsonEquals, sameMembers } from "#apply/json-value.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type ApiObject, nextGeneration, type ObjectMeta, type Unstructured, withStatus } from "#meta/object-meta.ts";
import type { ResourceName } from "#meta/status-error.ts";
import type { Int64 } from "#std/int64.ts";
import type { Schema } from "#schema/schema.ts";
import {
  type Column,
  type Conversion,
  type RowCondition,
  type Strategy,
  type UpdateStrategy,
  type WriteAttributes,
} from "#registry/resource-definition.ts";
import type { DropFields, Write } from "./drop-fields.ts";

/** Settings passed to kinds when their hooks are created. */
export interface KindEnvironment {
  readonly domain: ApiDomain;
  /** Returns whether a feature gate is on. */
  gate(name: string): boolean;
  /** The lifetime of events in seconds; 0 for no expiry. */
  readonly eventTtlSeconds: number;
  /** Whether containers may be privileged. */
  readonly allowsPrivileged: boolean;
  /** Returns the milliseconds since the epoch. */
  now(): number;
  /** Returns the value of a JSON text as bodies are decoded, with exact numbers. Throws `DecodeError`. */
  decodeJson(text: string): unknown;
}

/**
 * Returns the schema of a kind, or of the type `type` of its group, in the version `version`; by default the version
 * for which the hooks are made. The schema is built at the first call.
 */
export type SchemaOfVersion = (version?: string, type?: string) => Schema;

/**
 * The behaviour of a kind beyond the tables and the generic strategy; there is one file for each kind. `Hub` is its
 * stored version.
 */
export interface KindBehaviour<T extends ApiObject = Unstructured, Hub extends ApiObject = T> {
  /** The hooks of the kind; each runs after the generic hook. */
  readonly strategy?: Strategy<T>;
  /** The columns of tables; by default the name and the creation time. */
  readonly columns?: readonly Column<T>[];
  /** Returns the conditions of an object's row in tables; by default rows have none. */
  readonly rowConditions?: (object: T) => readonly RowCondition[];
  /** Compares two objects by the order of their rows; by default rows have the order of names. */
  readonly rowOrder?: (one: T, other: T) => number;
  /** The conversion to the stored version; by default the versions differ in name only. */
  readonly conversion?: Conversion<T, Hub>;
  /** The members of metadata whose change increases the generation, as a change of the spec does. */
  readonly generationMetadata?: readonly ("annotations" | "labels")[];
  /** The members of metadata that a write of the status does not change. */
  readonly statusKeeps?: readonly (keyof ObjectMeta)[];
  /** Whether writes of the status do not own metadata. */
  readonly statusResetsMetadata?: boolean;
  /** Whether objects may be created with a status. */
  readonly statusOnCreate?: boolean;
  /** Whether updates of the main resource may change the status, too. */
  readonly statusOnUpdate?: boolean;
  /** Annotations that hold fields of the object: tables and metadata-only answers do not show them. */
  readonly fieldAnnotations?: readonly string[];
  /** Whether finalizers may have any name. */
  readonly anyFinalizers?: boolean;
  /** Whether DELETE answers with the deleted object; other kinds answer with a Status. */
  readonly returnsDeleted?: boolean;
  /** The rule, and two permissions below, of release 1.32 where the tables differ. */
  readonly nameRule?: string;
  readonly createOnUpdate?: boolean;
  readonly unconditionalUpdate?: boolean;
  readonly generation?: boolean;
  readonly selectableFields?: readonly string[];
  /** Whether errors about unknown fields of selectors name the kind. */
  readonly namesKindOfFields?: boolean;
  /** The release in which the kind became deprecated, if the tables do not have it. */
  readonly deprecated?: string;
  /** Returns the selector that `scale` shows; by default the label selector in `spec.selector`. */
  readonly scaleSelector?: (object: T) => string;
  /** The resource named in the 404 for the scale of a missing object; by default the object's. */
  readonly missingScale?: ResourceName;
}

/** Makes the behaviour of a kind in one of its versions. */
export type MakeBehaviour<T extends ApiObject = Unstructured, Hub extends ApiObject = T> = (
  environment: KindEnvironment,
  schemaOf: SchemaOfVersion,
) => KindBehaviour<T, Hub>;

/** A kind and the function that makes its behaviour. `group` is a group or `group/version`. */
export type KindRow = readonly [group: string, kind: string, make: MakeBehaviour];

export function row<T extends ApiObject, Hub extends ApiObject>(
  group: string,
  kind: string,
  make: MakeBehaviour<T, Hub>,
): KindRow {
  return [group, kind, make as unknown as MakeBehaviour]; // its schema makes every object of the kind a T
}

interface GenericOptions {
  readonly hasStatus: boolean;
  readonly generation: boolean;
  /** Whether updates check `generateName`; by default they do not. */
  readonly checksGenerateName?: boolean;
  /** Returns the status of a new object; `undefined` if it has no status. Called at the first write. */
  zeroStatus(): unknown;
  /** The functions that drop fields whose gates are off, for each kind of write. */
  readonly drops?: Readonly<Partial<Record<Write, DropFields | undefined>>>;
}

/** The generic rules of a subresource that shows the whole object. The kind's own hooks run after them. */
interface SubresourceRules {
  /** The kind of write that drops the same gated fields; by default nothing is dropped. */
  readonly drops?: Write;
  /** Returns the new object with only the changes that such a write may make; by default all changes. */
  prepare?(object: Unstructured, old: Unstructured, behaviour: KindBehaviour): Unstructured;
  /** Returns the fields that such a write does not own; by default it owns every field that it changes. */
  resets?(behaviour: KindBehaviour, mainResets: UpdateStrategy): UpdateStrategy;
}

const subresourceRules: Readonly<Record<string, SubresourceRules>> = {
  status: {
    drops: "status",
    prepare: (object, old, { statusKeeps = [] }) => onlyStatus(object, old, statusKeeps),
    resets: ({ statusKeeps = [], statusResetsMetadata = false }) => ({
      resetFields: fieldSetOf([
        ["f:spec"],
        ...(statusResetsMetadata ? [["f:metadata"]] : []),
        ...statusKeeps.map((key) => ["f:metadata", `f:${key}`]),
      ]),
    }),
  },
  finalize: { resets: (_behaviour, mainResets) => mainResets },
  approval: {},
  binding: {},
  ephemeralcontainers: { drops: "update" },
  eviction: {},
  // Upstream: a resize does not own any fields.
  resize: {
    drops: "update",
    resets: () => ({ resetFields: fieldSetOf([["f:metadata"], ["f:spec"], ["f:status"]]) }),
  },
};

/** Returns the hooks of a kind: the generic rules run before its own hooks. */
export function genericStrategy(options: GenericOptions, behaviour: KindBehaviour = {}): Strategy {
  const own = behaviour.strategy ?? {};
  const keepsStatus = options.hasStatus && behaviour.statusOnUpdate !== true;
  const clearsStatus = options.hasStatus && behaviour.statusOnCreate !== true;
  const { create: dropOnCreate, update: dropOnUpdate } = options.drops ?? {};
  const prepareForCreate = (object: Unstructured, attributes: WriteAttributes): Unstructured => {
    let next = clearsStatus ? withStatus(object, options.zeroStatus()) : object;
    if (dropOnCreate !== undefined) next = dropOnCreate(next, undefined);
    return own.prepareForCreate === undefined ? next : own.prepareForCreate(next, attributes);
  };
  const prepareForUpdate = (object: Unstructured, old: Unstructured, attributes: WriteAttributes): Unstructured => {
    let next = keepsStatus ? withStatus(object, old["status"]) : object;
    if (dropOnUpdate !== undefined) next = dropOnUpdate(next, old);
    if (own.prepareForUpdate !== undefined) next = own.prepareForUpdate(next, old, attributes);
    if (!options.generation) return next;
    const counts =
      !sameMembers(next, old, outside) ||
      behaviour.generationMetadata?.some((key) => !jsonEquals(next.metadata[key] ?? {}, old.metadata[key] ?? {})) ===
        true;
    return withGeneration(next, counts ? nextGeneration(old.metadata) : old.metadata.generation);
  };
  const mainResets = keepsStatus ? { resetFields: fieldSetOf([["f:status"]]) } : {};
  return {
    ...mainResets,
    ...(options.checksGenerateName === true ? { checksGenerateName: true } : {}),
    ...own,
    subresources: Object.fromEntries(
      Object.entries(subresourceRules).map(([name, rules]) => [
        name,
        subresourceStrategy(rules, own.subresources?.[name], options, behaviour, mainResets),
      ]),
    ),
    prepareForCreate,
    prepareForUpdate,
  };
}

/** Returns the hooks of a subresource: the generic rules run before its own hooks. */
function subresourceStrategy(
  rules: SubresourceRules,
  own: UpdateStrategy = {},
  { generation, drops = {} }: GenericOptions,
  behaviour: KindBehaviour,
  mainResets: UpdateStrategy,
): UpdateStrategy {
  const drop = rules.drops === undefined ? undefined : drops[rules.drops];
  return {
    ...rules.resets?.(behaviour, mainResets),
    ...own,
    prepareForUpdate(object, old, attributes) {
      let next = rules.prepare?.(object, old, behaviour) ?? object;
      if (generation) next = withGeneration(next, old.metadata.generation);
      if (own.prepareForUpdate !== undefined) next = own.prepareForUpdate(next, old, attributes);
      return drop === undefined ? next : drop(next, old);
    },
  };
}

/** The members of metadata that clients write. */
export const writtenMetadata = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

/**
 * The members of metadata that writes of the status keep in kinds that are strict about them. Source: upstream's
 * `ResetObjectMetaForStatus`.
 */
export const keptByStatus = [...writtenMetadata, "deletionTimestamp"] as const;

/** Returns the old object with the new status and the new metadata, except the members of metadata in `keeps`. */
function onlyStatus(object: Unstructured, old: Unstructured, keeps: readonly (keyof ObjectMeta)[]): Unstructured {
  const { metadata } = withMetadataOf(old, object, keeps);
  return withStatus({ ...old, metadata }, object["status"]);
}

/** Returns the object with these members of the old object's metadata. */
export function withMetadataOf<T extends ApiObject>(old: T, object: T, keys: readonly (keyof ObjectMeta)[]): T {
  let { metadata } = object;
  for (const key of keys) {
    const { [key]: _new, ...rest } = metadata;
    const value = old.metadata[key];
    metadata = (value === undefined ? rest : { ...rest, [key]: value }) as ObjectMeta; // the same keys
  }
  return { ...object, metadata };
}

function withGeneration(object: Unstructured, generation: Int64 | undefined): Unstructured {
  if (object.metadata.generation === generation) return object;
  const { generation: _generation, ...rest } = object.metadata;
  return { ...object, metadata: generation === undefined ? rest : { ...rest, generation } };
}

/** The top-level members whose changes do not increase the generation. */
const outside: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);
