/**
 * The strategy common to all built-in kinds: writes of the status, and generation. A kind's own hooks run after these.
 * Source: the strategies in upstream's `pkg/registry`, nearly all of which agree.
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
  type Strategy,
  type UpdateStrategy,
  type WriteAttributes,
} from "#registry/resource-definition.ts";
import type { DropFields, Write } from "./drop-fields.ts";

/** Settings passed to kinds when their hooks are created. */
export interface KindEnvironment {
  readonly domain: ApiDomain;
  /** Whether a feature gate is on. */
  gate(name: string): boolean;
  /** Seconds an event is kept; 0 for no expiry. */
  readonly eventTtlSeconds: number;
  /** Milliseconds since the epoch. */
  now(): number;
  /** The value of a JSON text as bodies are decoded, with exact numbers. Throws `DecodeError`. */
  decodeJson(text: string): unknown;
}

/**
 * The schema of a kind, or of another type of its group, in one of its versions, by default the one that hooks are made for;
 * built when first asked for.
 */
export type SchemaOfVersion = (version?: string, type?: string) => Schema;

/**
 * The behaviour of a kind beyond the tables and the generic strategy; one file per kind. `Hub` is its stored version.
 */
export interface KindBehaviour<T extends ApiObject = Unstructured, Hub extends ApiObject = T> {
  /** Hooks of the kind; each runs after the generic one. */
  readonly strategy?: Strategy<T>;
  /** Columns of tables; left out: name and creation time. */
  readonly columns?: readonly Column<T>[];
  /** The conversion to the stored version; left out: the versions differ in name only. */
  readonly conversion?: Conversion<T, Hub>;
  /** Metadata whose change counts as one of the desired state. */
  readonly generationMetadata?: readonly ("annotations" | "labels")[];
  /** Metadata that writing the status leaves as it was. */
  readonly statusKeeps?: readonly (keyof ObjectMeta)[];
  /** Writes of the status do not own metadata. */
  readonly statusResetsMetadata?: boolean;
  /** Objects may be made with a status. */
  readonly statusOnCreate?: boolean;
  /** Annotations that hold fields of the object: rows of tables and metadata alone do not show them. */
  readonly fieldAnnotations?: readonly string[];
  /** Finalizers may have any name. */
  readonly anyFinalizers?: boolean;
  /** DELETE answers with the object that went, where others answer with a Status. */
  readonly returnsDeleted?: boolean;
  /** The behaviour of 1.32 where the tables differ. */
  readonly nameRule?: string;
  readonly createOnUpdate?: boolean;
  readonly unconditionalUpdate?: boolean;
  readonly generation?: boolean;
  readonly selectableFields?: readonly string[];
  /** Errors about unknown fields of selectors name the kind. */
  readonly namesKindOfFields?: boolean;
  /** Release of deprecation, where the tables do not have it. */
  readonly deprecated?: string;
  /** The selector that `scale` shows; left out: the label selector in `spec.selector`. */
  readonly scaleSelector?: (object: T) => string;
  /** The resource named in the 404 for the scale of a missing object; by default the object's. */
  readonly missingScale?: ResourceName;
}

/** Makes the behaviour of a kind in one of its versions. */
export type MakeBehaviour<T extends ApiObject = Unstructured, Hub extends ApiObject = T> = (
  environment: KindEnvironment,
  schemaOf: SchemaOfVersion,
) => KindBehaviour<T, Hub>;

/** A kind by `group` or `group/version`, and the function that makes its behaviour. */
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
  /** The status of a new object; `undefined` for no field at all. Computed at the first write. */
  zeroStatus(): unknown;
  /** Writes drop these fields because their gates are off. */
  readonly drops?: Readonly<Partial<Record<Write, DropFields | undefined>>>;
}

/** A subresource that shows the whole object does this, beside the kind's own hooks, which have the last word. */
interface SubresourceRules {
  /** Its writes drop fields as this one does, because gates are off; left out: they drop nothing. */
  readonly drops?: Write;
  /** The new object as far as such a write may change it; left out: as it is. */
  prepare?(object: Unstructured, old: Unstructured, behaviour: KindBehaviour): Unstructured;
  /** Fields that such a write does not own; left out: it owns all that it changes. */
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
  // Upstream: a resize owns no fields.
  resize: {
    drops: "update",
    resets: () => ({ resetFields: fieldSetOf([["f:metadata"], ["f:spec"], ["f:status"]]) }),
  },
};

/** The hooks of a kind: the generic rules, then its own. */
export function genericStrategy(options: GenericOptions, behaviour: KindBehaviour = {}): Strategy {
  const own = behaviour.strategy ?? {};
  const keepsStatus = options.hasStatus;
  const clearsStatus = keepsStatus && behaviour.statusOnCreate !== true;
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
    ...own,
    subresources: Object.fromEntries(
      Object.entries(subresourceRules).map(([name, rules]) => {
        return [
          name,
          subresourceStrategy(rules, behaviour.strategy?.subresources?.[name], options, behaviour, mainResets),
        ];
      }),
    ),
    ...(clearsStatus || dropOnCreate !== undefined || own.prepareForCreate !== undefined ? { prepareForCreate } : {}),
    ...(options.hasStatus || options.generation || dropOnUpdate !== undefined || own.prepareForUpdate !== undefined
      ? { prepareForUpdate }
      : {}),
  };
}

/** The hooks of a subresource: the generic rules, then its own. */
function subresourceStrategy(
  rules: SubresourceRules,
  own: UpdateStrategy = {},
  { generation, drops = {} }: GenericOptions,
  behaviour: KindBehaviour,
  mainResets: UpdateStrategy,
): UpdateStrategy {
  const { validateUpdate, checkRules, warningsOnUpdate } = own;
  const drop = rules.drops === undefined ? undefined : drops[rules.drops];
  return {
    ...rules.resets?.(behaviour, mainResets),
    ...(own.resetFields === undefined ? {} : { resetFields: own.resetFields }),
    prepareForUpdate(object, old, attributes) {
      let next = rules.prepare?.(object, old, behaviour) ?? object;
      if (generation) next = withGeneration(next, old.metadata.generation);
      if (own.prepareForUpdate !== undefined) next = own.prepareForUpdate(next, old, attributes);
      return drop === undefined ? next : drop(next, old);
    },
    ...(validateUpdate === undefined ? {} : { validateUpdate }),
    ...(checkRules === undefined ? {} : { checkRules }),
    ...(warningsOnUpdate === undefined ? {} : { warningsOnUpdate }),
  };
}

/** Clients write these members of metadata; they are for `statusKeeps`. */
export const writtenMetadata = ["labels", "annotations", "finalizers", "ownerReferences"] as const;

/** The old object with the new status and the new metadata, but for what the kind keeps. */
function onlyStatus(object: Unstructured, old: Unstructured, keeps: readonly (keyof ObjectMeta)[]): Unstructured {
  let { metadata } = object;
  for (const key of keeps) {
    const { [key]: _new, ...rest } = metadata;
    const value = old.metadata[key];
    metadata = (value === undefined ? rest : { ...rest, [key]: value }) as ObjectMeta; // the same keys
  }
  return withStatus({ ...old, metadata }, object["status"]);
}

function withGeneration(object: Unstructured, generation: Int64 | undefined): Unstructured {
  if (object.metadata.generation === generation) return object;
  const { generation: _generation, ...rest } = object.metadata;
  return { ...object, metadata: generation === undefined ? rest : { ...rest, generation } };
}

/** Members whose changes do not count. */
const outside: ReadonlySet<string> = new Set(["apiVersion", "kind", "metadata", "status"]);
