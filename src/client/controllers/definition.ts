/** Controllers as values: the kind, the kinds that are followed, and the functions. `controller` makes one. */
import type { LabelSelectorObject } from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { millisecondsOf, type WaitTime } from "#std/go-duration.ts";
import type { Cluster } from "../cluster.ts";
import type { Apply, DeepPartial, Draft } from "../draft.ts";
import type { InformerEvent } from "../informer.ts";
import type { Kind } from "../kind.ts";
import type { Conditions } from "./conditions.ts";

/** The wish of a reconcile to be called again. */
export interface Requeue {
  readonly afterMs: number;
}

/** Returns what makes a controller look at the object again after this time, also when nothing has changed. */
export const after = (time: WaitTime): Requeue => ({ afterMs: millisecondsOf(time) });

/** The name of an object of the controller's kind: `namespace/name`, `name`, or both apart. */
export type ObjectKey = string | { readonly name: string; readonly namespace?: string | undefined };

/** The objects to reconcile. A name without a namespace is in that of the object that names it. */
type ObjectKeys = ObjectKey | undefined | readonly ObjectKey[];

/** The objects in memory of kinds that a controller of the same `run` follows. */
export interface Lister {
  /** Returns the objects of a namespace, or of all, in no order. Throws `TypeError` for a kind that nobody follows. */
  list<K extends ApiObject>(kind: Kind<K>, namespace?: string): K[];
  /** Returns the object of a key; `undefined` if there is none. Throws as `list` does. */
  find<K extends ApiObject>(kind: Kind<K>, key: ObjectKey): K | undefined;
}

/** A kind that is followed, and the function that says which objects have to be reconciled when one of it changes. */
export type WatchedKind<W extends ApiObject = ApiObject> = readonly [
  kind: Kind<W>,
  keys: (object: W, lister: Lister) => ObjectKeys,
];

/** Says whether an event of the controller's kind matters. */
export type EventPredicate<T> = (event: InformerEvent<T>) => boolean;

/** Ignores changes of the status, and of metadata but the deletion: those that leave `generation` as it was. */
export const generationChanged: EventPredicate<ApiObject> = (event) =>
  event.type !== "changed" || event.object.metadata.generation !== event.previous.metadata.generation;

interface OwnedOptions {
  /** Whether the reconciled object becomes the owner, which is the default. */
  readonly owned?: boolean;
}

interface EventOptions {
  /** The action, in one word: `"Launch"`. Default: `"Reconcile"`. */
  readonly action?: string;
  /** Another object that has a part in it. */
  readonly related?: ApiObject;
}

/** The type of the status of a kind. */
type StatusOf<T> = T extends { readonly status?: infer S } ? NonNullable<S> : Readonly<Record<string, unknown>>;

/** A status whose fields may be undefined, which leaves them out. */
type StatusDraft<S> = { readonly [Field in keyof S]: S[Field] | undefined };

/** The things that a reconcile may use. */
export interface ReconcileContext<T extends ApiObject = ApiObject> {
  /** The calls on the cluster. With a lease, writes are refused as soon as the lease is not held any more. */
  readonly client: Cluster;
  /** Aborted when the work has to end: the lease is lost, or the time for a graceful stop is over. */
  readonly signal: AbortSignal;
  /**
   * Applies an object, with the reconciled one as its owner and controller, and takes fields from other managers. Without
   * a namespace it gets that of the owner. Nothing is sent when the copy in memory shows that nothing would change, which
   * is known for kinds in `owns` and `watches`.
   */
  apply<K extends ApiObject>(kind: Kind<K>, object: Apply<K>, options?: OwnedOptions): Promise<K>;
  /**
   * Writes conditions, by the status subresource: `{ ready: { status: true, reason: "Launched" } }` is the condition
   * `Ready`. Conditions and fields that this manager wrote before and that are not named stay as they are;
   * `ready: undefined` removes one. The time of the transition changes only with the status, and nothing is sent when
   * nothing changes. `fields` are other fields of the status. Returns the object.
   */
  status(conditions: Conditions, fields?: DeepPartial<StatusOf<T>>): Promise<T>;
  /** Replaces the whole status, unless it is the same. If somebody else has written meanwhile, it is a conflict. */
  replaceStatus(status: StatusDraft<StatusOf<T>>): Promise<T>;
  /**
   * Tells of the reconciled object as a call of `client` has just written it: the next reconcile gets this version also
   * where memory does not have it yet.
   */
  written(object: T): void;
  /** Records an event about the object, without waiting. Equal events become a series; too many are dropped. */
  event(type: "Normal" | "Warning", reason: string, note?: string, options?: EventOptions): void;
  /** Reconciles another object of the controller's kind, or this one again, at once or after a time. */
  queue(key: ObjectKey, time?: WaitTime): void;
  /** Finds objects in memory. */
  readonly lister: Lister;
  /** Returns the objects of a kind in `owns` whose controller is the reconciled object, from memory. */
  owned<K extends ApiObject>(kind: Kind<K>): K[];
  /**
   * Returns the same, after it has adopted what the `selector` matches, and released what it does not match any more. A
   * selector that is null or empty adopts and releases nothing. Throws `TypeError` without the option `selector`.
   */
  claim<K extends ApiObject>(kind: Kind<K>): Promise<K[]>;
  /** Reads the same from the server: memory may lack what was created just before. */
  readOwned<K extends ApiObject>(kind: Kind<K>): Promise<K[]>;
  /**
   * Creates an object with the reconciled one as its owner and controller, by default in its namespace. One of this name
   * that it has already is returned as it is; one of another owner is an error.
   */
  create<K extends ApiObject>(kind: Kind<K>, object: Draft<K>, options?: OwnedOptions): Promise<K>;
  /** Deletes an object and what it owns, but not another one that has its name now. */
  remove<K extends ApiObject>(kind: Kind<K>, object: K): Promise<void>;
}

export interface Finalizer<T extends ApiObject> {
  /** The name, with a domain: `example.com/mooring`. */
  readonly name: string;
  /**
   * Releases what the object stands for, when the object is being deleted. It may be called again after a crash. The
   * object goes when it has succeeded; with `after()` it is called again later, and after an error as well.
   */
  run(object: T, context: ReconcileContext<T>): Promise<Requeue | void> | Requeue | void;
}

/** `T` is the type of the objects, and `W` those of the kinds in `watches`. */
export interface ControllerOptions<T extends ApiObject, W extends readonly ApiObject[] = readonly ApiObject[]> {
  /** The name in metrics, events and errors; default: the kind in lower case. */
  readonly name?: string;
  /** The namespace of the objects; default: all. */
  readonly in?: string;
  /** Kinds of objects that the controller makes. When one changes, its owner is reconciled. */
  readonly owns?: readonly Kind[];
  /** Returns the selector of objects of those kinds that belong to an object, for `claim`. */
  readonly selector?: (object: T) => LabelSelectorObject | null | undefined;
  /** Other kinds, each with a function that returns the objects to reconcile when one of them changes. */
  readonly watches?: { readonly [Index in keyof W]: WatchedKind<W[Index]> };
  /** All must say that an event of the controller's kind matters. */
  readonly predicates?: readonly EventPredicate<T>[];
  /** Is added before the first reconcile, and removed when it has run for a deleted object. */
  readonly finalizer?: Finalizer<T>;
  /** Whether objects that are being deleted are reconciled, too; default: no. Not together with a finalizer. */
  readonly includesDeleted?: boolean;
  /** The number of objects that are reconciled at the same time; default: 1. One object is never reconciled twice at once. */
  readonly concurrency?: number;
  /**
   * Makes the world as the object says. It is called for every object at the start and after every change, perhaps of
   * several changes at once; for objects that are being deleted only with `includesDeleted`. An error is reported, and the object comes again
   * after a pause that doubles, from 5 ms to 1000 s.
   */
  reconcile(object: T, context: ReconcileContext<T>): Promise<Requeue | void> | Requeue | void;
}

/** A controller, ready for `run`. */
export interface RunnableController {
  readonly kind: Kind;
  readonly name: string;
  readonly options: ControllerOptions<ApiObject>;
}

/** Makes a controller for the objects of a kind. Nothing happens before `run`. */
export function controller<T extends ApiObject, const W extends readonly ApiObject[] = []>(
  kind: Kind<T>,
  options: ControllerOptions<T, W>,
): RunnableController {
  const { concurrency = 1, finalizer, name = kind.kind.toLowerCase() } = options;
  if (!Number.isInteger(concurrency) || concurrency < 1) {
    throw new TypeError(`the concurrency of controller ${name} is no whole number of 1 or more: ${concurrency}`);
  }
  if (finalizer !== undefined && options.includesDeleted === true) {
    throw new TypeError(
      `controller ${name} has a finalizer, which is what is called for objects that are being deleted`,
    );
  }
  if (finalizer !== undefined && !/^[a-z0-9.-]+\/[A-Za-z0-9._-]+$/.test(finalizer.name)) {
    throw new TypeError(`${JSON.stringify(finalizer.name)} is no name of a finalizer: write "example.com/name"`);
  }
  // The functions get objects of the kinds with which they were given.
  return { kind, name, options: options as unknown as ControllerOptions<ApiObject> };
}
