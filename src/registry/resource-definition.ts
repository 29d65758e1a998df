/**
 * A served resource: data (`ResourceDefinition`) and hooks (`Strategy`). Built-in kinds have the data of the generated
 * tables and the hooks of `kinds/`; a custom resource definition becomes the same at run time.
 */
import type { KindDescription, SubresourceFacts } from "#api/definitions.ts";
import type { Action } from "#meta/action.ts";
import type { FieldSet } from "#apply/field-set.ts";
import type { FieldError } from "#meta/field-error.ts";
import type { ApiObject, Unstructured } from "#meta/object-meta.ts";
import type { RequestContext } from "#meta/request-context.ts";
import type { ResourceName } from "#meta/status-error.ts";
import type { ObjectDecoder } from "./object-decoder.ts";
import type { Schema } from "#schema/schema.ts";
import type { Int64 } from "#std/int64.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";

/** A subresource (`status`, `scale`, `log`, …) with the kind of its bodies. */
export interface SubresourceDefinition
  extends Pick<SubresourceFacts, "name" | "group" | "version" | "kind" | "verbs">,
    Partial<Pick<SubresourceFacts, "connect" | "proxyPath">> {
  /** The definition of the Scale that the server makes of the object, if there is one. */
  readonly scale?: ScaleDefinition;
}

/** One column of a Table. */
export interface Column<T extends ApiObject = Unstructured> {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  /** 0 is always shown; 1 only with wide output. */
  readonly priority: number;
  /** Cell of one object. `nowMs` is the time of the request, for ages. */
  cell(object: T, nowMs: number): unknown;
}

/** The attributes of a write, for hooks. */
export interface WriteAttributes {
  readonly context: RequestContext;
  /** Empty for the main resource. */
  readonly subresource: string;
  readonly dryRun: boolean;
  /** Whether an object that is too large with its managedFields is stored without them. */
  readonly dropsManagedFields?: boolean;
}

/** An object with what it was given. */
export interface Allocated<T extends ApiObject = Unstructured> {
  readonly object: T;
  /**
   * Ends the hold of the write on it: the object has been written and holds it by itself, or will not be. May be called
   * again.
   */
  release(): void;
}

/** Hooks of updates, of the main resource or of one subresource. */
export interface UpdateStrategy<T extends ApiObject = Unstructured> {
  /** Runs before validation. */
  prepareForUpdate?(object: T, old: T, attributes: WriteAttributes): T;
  /** Findings beyond metadata (which the store checks itself). */
  validateUpdate?(object: T, old: T, attributes: WriteAttributes): readonly FieldError[];
  /** Findings that may take long, given those of `validate` or `validateUpdate`. `old` is `undefined` for a create. */
  checkRules?(
    object: T,
    old: T | undefined,
    found: readonly FieldError[],
    attributes: WriteAttributes,
  ): MaybePromise<readonly FieldError[]>;
  warningsOnUpdate?(object: T, old: T, attributes: WriteAttributes): readonly string[];
  /** Fields that such a write never changes, so never owns. */
  readonly resetFields?: FieldSet;
}

/**
 * Hooks of a kind; an omitted hook does nothing. Arguments are shared: a hook that changes an object returns a changed
 * copy. All objects are in the definition's own version.
 */
export interface Strategy<T extends ApiObject = Unstructured> extends UpdateStrategy<T> {
  /**
   * Hooks of updates through subresources, by name; one that is not named has those of the main resource. Built-in kinds
   * name all that have rules of their own (`kinds/generic.ts`), which do nothing but what the kind says.
   */
  readonly subresources?: Readonly<Record<string, UpdateStrategy<T>>>;
  /** Defaults the schema cannot say. Runs after decoding a request body and after reading an older stored form. */
  defaults?(object: T): T;
  /** Checks cost this beyond those of plain fields, in bytes of ordinary JSON; by it, requests are large or not. */
  weight?(object: T): number;
  /**
   * Sets fields derived from the name. Runs on creates once the name is known (generated ones too), before validation.
   */
  canonicalize?(object: T): T;
  /**
   * Allocates unique values (addresses, ports), before anything else of a create (`old` is undefined) or an update.
   * Throws when none is free, or a requested one is taken.
   */
  allocate?(object: T, old: T | undefined, attributes: WriteAttributes): MaybePromise<Allocated<T>>;
  /** Runs before validation of a create: resets the status, and drops disabled fields. */
  prepareForCreate?(object: T, attributes: WriteAttributes): T;
  /** Findings of a create, beyond metadata. */
  validate?(object: T, attributes: WriteAttributes): readonly FieldError[];
  /** Completes a new object, once nothing more is found about it. */
  complete?(object: T): T;
  warningsOnCreate?(object: T, attributes: WriteAttributes): readonly string[];
  /**
   * Finalizers beside `metadata.finalizers` that must be empty before a deleted object goes (a namespace's own list).
   */
  pendingFinalizers?(object: T): readonly string[];
  /** The object as its first delete request leaves it, beyond metadata (a namespace's phase). `old` is unmarked. */
  terminate?(object: T, old: T): T;
  /** Kinds that delete gracefully say how many seconds to wait, given what the request asked for. */
  graceSeconds?(object: T, requested: Int64 | undefined): Int64;
  /** Values of the selectable fields other than `metadata.name` and `metadata.namespace`. */
  fields?(object: T): Readonly<Record<string, string>>;
  /** Seconds until an object of this kind is dropped by itself; 0 for never. */
  ttlSeconds?(object: T): number;
  /** Called after a committed write: its answer waits until what follows from the write is in force. */
  afterCommit?(revision: Revision): MaybePromise<void>;
}

/** The hooks of an update through a subresource (empty: of the main resource). */
export function updateStrategy(strategy: Strategy, subresource: string): UpdateStrategy {
  const { subresources } = strategy;
  if (subresource === "" || subresources === undefined) return strategy;
  return Object.hasOwn(subresources, subresource) ? subresources[subresource]! : strategy;
}

/**
 * The conversion between a version that is served and the one that is stored (the hub). `fromHub` of a custom resource
 * takes objects of every stored version and returns its argument when only the type differs; that result stays valid
 * for the `epoch` of the definition.
 */
export interface Conversion<T extends ApiObject = Unstructured, Hub extends ApiObject = T> {
  /** Converts from this definition's version to the stored one; group, version and kind are set by the caller. */
  toHub(object: T): Hub;
  fromHub(object: Hub): T;
  /**
   * Returns what an update makes of a stored object, given what `toHub` made of it: the rest stays as it
   * is stored, which is more than this version can say.
   */
  keep?(object: Hub, stored: Hub, subresource: string): Hub;
  /** Takes the place of both functions between versions with different names. */
  readonly webhook?: WebhookConversion;
}

/** A conversion by a webhook: it takes time, and its results are kept with the stored objects (`StoredObjects.convertWithWebhook`). */
export interface WebhookConversion {
  /** Objects of one kind, in another version of it. One call for all. `signal` gives it up. */
  convert(objects: readonly Unstructured[], apiVersion: string, signal?: AbortSignal): Promise<readonly Unstructured[]>;
  /** The same without defaults, and with nothing pruned: what the webhook makes of objects. */
  convertRaw(
    objects: readonly Unstructured[],
    apiVersion: string,
    signal?: AbortSignal,
  ): Promise<readonly Unstructured[]>;
}

/** Identifies schemas; those of another epoch may be equal. */
export interface SchemaEpoch {
  /** No other epoch has this name. */
  readonly name: string;
  /** Whether no served resource uses these schemas any more. */
  retired: boolean;
}

/** The fields of objects that a Scale of them shows: paths as custom resource definitions write them. */
export interface ScaleDefinition {
  /** `.spec.replicas`; names between dots, from the root of the object. */
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** The path of the selector as text. Absent: none, or `selector` computes it. */
  readonly labelSelectorPath?: string;
  /** The selector of kinds that do not keep it as text. */
  selector?(object: Unstructured): string;
  /** The resource named in the 404 of a GET; by default the object's. */
  readonly missing?: ResourceName;
}

/** The facts that only custom resources have. */
export interface CustomResourceFacts {
  /** All versions of the kind by `apiVersion`, this one and those that are not served included. */
  readonly versions: ReadonlyMap<string, ResourceDefinition>;
  /** Identifies the schemas of this version and the stored one. */
  readonly epoch: SchemaEpoch;
  /** The definition is being deleted: no new objects. */
  readonly isTerminating: boolean;
  /** Aborted when watches must start again: the kind is no longer served, or in another way. */
  readonly endOfService: AbortSignal;
  /**
   * The schema for OpenAPI, `JSONSchemaProps` as their author wrote it, read when a document is built. `undefined`: an
   * object without known fields.
   */
  publishedSchema(): Readonly<Record<string, unknown>> | undefined;
}

export interface ResourceDefinition extends KindDescription {
  /** Present for custom resources only. How they are served otherwise than built-in kinds is in `serving-rules.ts`. */
  readonly custom?: CustomResourceFacts;
  /** These are served. */
  readonly subresources: readonly SubresourceDefinition[];
  /** Further subresources of 1.32, which are not served. */
  readonly unserved?: readonly SubresourceDefinition[];
  readonly schema: Schema;
  /** The decoder of bodies, patches and applied configurations. */
  readonly decoder: ObjectDecoder;
  /** The type as which it is stored: several versions, and both event groups, share one. */
  readonly storage: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
    readonly resource: string;
  };
  /** Absent when the stored form differs only in `apiVersion` and `kind`. */
  readonly conversion?: Conversion;
  /** The current objects of kinds that store none. Kind and version are added. */
  readonly computed?: () => readonly Unstructured[];
  /** POST actions that store nothing, by subresource (empty: the resource itself). */
  readonly actions?: ReadonlyMap<string, Action>;
  /** Finalizers may have any name, with or without a slash in it (custom resources and their definitions). */
  readonly anyFinalizers?: boolean;
  /** DELETE answers with the object that was removed instead of a Status. */
  readonly returnDeletedObject: boolean;
  /** Fields selectors may name beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly string[];
  /** Whether errors about unknown fields of selectors name the kind. Default: false. */
  readonly namesKindOfFields?: boolean;
  /** Annotations that hold fields of the object, which rows and metadata alone do not show. */
  readonly fieldAnnotations?: readonly string[];
  /** Empty: the default Table. */
  readonly columns: readonly Column[];
  readonly strategy: Strategy;
  /** Warning sent with every answer of a deprecated version. */
  readonly deprecation?: { readonly warning: string; readonly removedRelease: string };
}
