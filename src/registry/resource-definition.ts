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
import type { CheckedDeleteOptions } from "./delete-options.ts";
import type { ObjectDecoder } from "./object-decoder.ts";
import type { Schema } from "#schema/schema.ts";
import type { Int64 } from "#std/int64.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision, Turn } from "#storage/log-store.ts";

/** A subresource (`status`, `scale`, `log`, …) with the kind of its bodies. */
export interface SubresourceDefinition
  extends Pick<SubresourceFacts, "name" | "group" | "version" | "kind" | "verbs">,
    Partial<Pick<SubresourceFacts, "connect" | "proxyPath">> {
  /** The definition of the Scale that the server makes of the object, if there is one. */
  readonly scale?: ScaleDefinition;
}

/** Whether another server answers for a subresource of a built-in kind: by a connection, or with a log. */
export const isConnection = ({ name, connect }: SubresourceDefinition): boolean => connect === true || name === "log";

/** One column of a Table. */
export interface Column<T extends ApiObject = Unstructured> {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "boolean" | "date";
  readonly format: string;
  readonly description: string;
  /** 0 for a column that is always shown; 1 for one that only wide output shows. */
  readonly priority: number;
  /** Returns the cell of one object. `nowMs` is the time of the request, for ages. */
  cell(object: T, nowMs: number): unknown;
}

/** A remark about the object of a row, such as that it is completed. */
export interface RowCondition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** The attributes of a write, for hooks. */
export interface WriteAttributes {
  readonly context: RequestContext;
  /** The name of the subresource; empty for the main resource. */
  readonly subresource: string;
  readonly dryRun: boolean;
  /** Whether an object that is too large with its managedFields is stored without them. */
  readonly dropsManagedFields?: boolean;
  /** The turn of an update whose caller has decided on a state. The update rejects with `LostTurn`. */
  readonly turn?: Turn | undefined;
}

/** An object with the values that were allocated for it. */
export interface Allocated<T extends ApiObject = Unstructured> {
  readonly object: T;
  /** The turn of the write that stores the object, if values were chosen among those that are free. */
  readonly turn?: Turn | undefined;
  /**
   * Ends the reservation of the values by the write: either the stored object now owns them, or it will not be stored.
   * May be called again.
   */
  release(): void;
}

/** Hooks of updates, of the main resource or of one subresource. Creates have some of those of the main resource. */
export interface UpdateStrategy<T extends ApiObject = Unstructured> {
  /** Runs before validation. */
  prepareForUpdate?(object: T, old: T, attributes: WriteAttributes): T;
  /** Returns findings, except those about metadata, which the store itself checks. */
  validateUpdate?(object: T, old: T, attributes: WriteAttributes): readonly FieldError[];
  /**
   * Returns findings that may take long to find. `errors` are the findings of `validate` or `validateUpdate`; `old` is
   * `undefined` for a create.
   */
  checkRules?(
    object: T,
    old: T | undefined,
    errors: readonly FieldError[],
    attributes: WriteAttributes,
  ): MaybePromise<readonly FieldError[]>;
  warningsOnUpdate?(object: T, old: T, attributes: WriteAttributes): readonly string[];
  /** Completes an object after it was found valid. */
  complete?(object: T): T;
  /** Whether an update checks `generateName` by the rule for names, as a create does. */
  readonly checksGenerateName?: boolean;
  /** Whether an update may give finalizers any qualified name, although a create may not. */
  readonly takesAnyFinalizers?: boolean;
  /** The fields that such a write never changes, and so never owns. */
  readonly resetFields?: FieldSet;
}

/**
 * The hooks of a kind; an omitted hook does nothing. Arguments are shared: a hook that changes an object returns a
 * changed copy. All objects are in the definition's own version.
 */
export interface Strategy<T extends ApiObject = Unstructured> extends UpdateStrategy<T> {
  /**
   * Hooks of updates through subresources, by name; a subresource without an entry has those of the main resource.
   * Built-in kinds have an entry for each subresource with rules of its own (`kinds/generic.ts`), and only the hooks of
   * this entry run.
   */
  readonly subresources?: Readonly<Record<string, UpdateStrategy<T>>>;
  /**
   * Fills in defaults that a schema cannot express. Runs after decoding a request body and after reading an older
   * stored form.
   */
  defaults?(object: T): T;
  /**
   * Returns the cost of checks beyond that of plain fields, in bytes of ordinary JSON; it decides whether a request is
   * large.
   */
  weight?(object: T): number;
  /**
   * Sets fields derived from the name. Runs on creates once the name is known, before validation. `isGenerated` says
   * whether the store made the name.
   */
  canonicalize?(object: T, isGenerated: boolean): T;
  /**
   * Allocates unique values (addresses, ports), before anything else of a create (`old` is undefined) or an update.
   * Throws when none is free, or a requested one is taken.
   */
  allocate?(object: T, old: T | undefined, attributes: WriteAttributes): MaybePromise<Allocated<T>>;
  /**
   * Returns the turn of each write of the object, where decisions about objects of another kind are made on the state of
   * this one.
   */
  turn?(object: T): Turn | undefined;
  /** Runs before validation of a create: resets the status, and drops disabled fields. */
  prepareForCreate?(object: T, attributes: WriteAttributes): T;
  /** Returns the findings of a create, except those about metadata. */
  validate?(object: T, attributes: WriteAttributes): readonly FieldError[];
  warningsOnCreate?(object: T, attributes: WriteAttributes): readonly string[];
  /**
   * Returns finalizers beside `metadata.finalizers` that must be removed before a deleted object goes (a namespace's
   * own list).
   */
  pendingFinalizers?(object: T): readonly string[];
  /**
   * Returns the object after its first delete request, except for its metadata (a namespace's phase). `old` has no
   * deletion mark.
   */
  terminate?(object: T, old: T): T;
  /**
   * Whether the server still ends an object that was deleted: another deletion then changes nothing, and plugins are
   * not asked.
   */
  isEnding?(object: T): boolean;
  /** Returns warnings about the options of a deletion, of one object or of a collection. */
  warningsOnDelete?(options: CheckedDeleteOptions): readonly string[];
  /** Returns the grace period in seconds, given the requested one; only kinds with graceful deletion have it. */
  graceSeconds?(object: T, requested: Int64 | undefined): Int64;
  /** Returns the values of the selectable fields other than `metadata.name` and `metadata.namespace`. */
  fields?(object: T): Readonly<Record<string, string>>;
  /** Returns the seconds until an object of this kind expires; 0 for never. */
  ttlSeconds?(object: T): number;
  /** Called after a committed write: the answer waits until the consequences of the write are in force. */
  afterCommit?(revision: Revision): MaybePromise<void>;
}

/** Returns the hooks of an update through a subresource (empty: of the main resource). */
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
   * Returns the result of an update of a stored object, given the result of `toHub`: fields that this version cannot
   * express stay as they are stored.
   */
  keep?(object: Hub, stored: Hub, subresource: string): Hub;
  /** Replaces both functions between versions with different names. */
  readonly webhook?: WebhookConversion;
}

/**
 * A conversion by a webhook: it takes time, and its results are cached with the stored objects
 * (`StoredObjects.convertWithWebhook`).
 */
export interface WebhookConversion {
  /** Converts objects of one kind to another version of it, all by one call, which the caller's signal aborts. */
  convert(
    objects: readonly Unstructured[],
    apiVersion: string,
    caller?: ConversionCaller,
  ): Promise<readonly Unstructured[]>;
  /** Returns the results of the webhook themselves, without defaults and with nothing pruned. */
  convertRaw(
    objects: readonly Unstructured[],
    apiVersion: string,
    caller?: ConversionCaller,
  ): Promise<readonly Unstructured[]>;
}

/** The parts of a request's context that a conversion by a webhook needs. */
export type ConversionCaller = Pick<RequestContext, "signal" | "span">;

/** Identifies a set of schemas; the schemas of two epochs may be equal. */
export interface SchemaEpoch {
  /** The name, which no other epoch has. */
  readonly name: string;
  /** Whether no served resource uses these schemas any more. */
  retired: boolean;
}

/** The fields of objects that a Scale of them shows: paths as custom resource definitions write them. */
export interface ScaleDefinition {
  /** `.spec.replicas`; names between dots, from the root of the object. */
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** The path of the selector as text. Absent: there is none, or `selector` computes it. */
  readonly labelSelectorPath?: string;
  /** Computes the selector, for kinds that do not keep it as text. */
  selector?(object: Unstructured): string;
  /** The name of the resource in the 404 of a GET; by default that of the object's resource. */
  readonly missing?: ResourceName;
}

/** The facts that only custom resources have. */
export interface CustomResourceFacts {
  /** All versions of the kind by `apiVersion`, this one and those that are not served included. */
  readonly versions: ReadonlyMap<string, ResourceDefinition>;
  /** Identifies the schemas of this version and the stored one. */
  readonly epoch: SchemaEpoch;
  /** Whether the definition is being deleted, so that no objects may be created. */
  readonly isTerminating: boolean;
  /** Aborted when watches must start again: the kind is no longer served, or in another way. */
  readonly endOfService: AbortSignal;
  /**
   * Returns the schema for OpenAPI, `JSONSchemaProps` as their author wrote it, read when a document is built.
   * `undefined`: an object without known fields.
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
  /** The conversion to the stored version; absent when the stored form differs only in `apiVersion` and `kind`. */
  readonly conversion?: Conversion;
  /** Returns the current objects of a kind that stores none. Kind and version are added to them. */
  readonly computed?: () => readonly Unstructured[];
  /** POST actions that store nothing, by subresource (empty: the resource itself). */
  readonly actions?: ReadonlyMap<string, Action>;
  /** Whether finalizers may have any name, with or without a slash in it (custom resources and their definitions). */
  readonly anyFinalizers?: boolean;
  /** Whether DELETE answers with the removed object instead of a Status. */
  readonly returnDeletedObject: boolean;
  /** The fields that selectors may name beside `metadata.name` and `metadata.namespace`. */
  readonly selectableFields: readonly string[];
  /** Whether errors about unknown fields of selectors name the kind. Default: false. */
  readonly namesKindOfFields?: boolean;
  /** Annotations that contain fields of the object, which rows and metadata alone do not show. */
  readonly fieldAnnotations?: readonly string[];
  /** The columns of Tables; an empty list means the default Table. */
  readonly columns: readonly Column[];
  /** Returns the conditions of an object's row, which tables of some kinds have. */
  readonly rowConditions?: (object: Unstructured) => readonly RowCondition[];
  /** Compares two objects by the order of their rows; by default rows have the order of names. */
  readonly rowOrder?: (one: Unstructured, other: Unstructured) => number;
  readonly strategy: Strategy;
  /** The warning in every answer of a deprecated version, and the release that removes it. */
  readonly deprecation?: { readonly warning: string; readonly removedRelease: string };
}
