/** Watches as a caller sees them: what was there, and every change, told once. */
import type { ApiObject } from "#meta/object-meta.ts";
import { follow, type FollowStep } from "../follow.ts";
import { keyOf } from "../informer.ts";
import { collectionPath, itemCompleter, queryOf, type Selection, selectionQuery, type CallTarget } from "./target.ts";

export interface WatchEvent<T> {
  readonly type: "added" | "modified" | "deleted";
  /** The object after the change; for one that was deleted, its last known state. */
  readonly object: T;
}

export interface WatchCallOptions extends Selection {
  /** The namespace; default: that of `in()`, otherwise all. */
  readonly in?: string | undefined;
  /** Ends the watch, without an error. */
  readonly signal?: AbortSignal | undefined;
  /** Called with each failure after which the watch goes on by itself, such as a lost connection. */
  readonly failed?: ((error: unknown) => void) | undefined;
}

/** Yields every change, as `KindClient.watch` explains. */
export async function* watch<T extends ApiObject>(
  target: CallTarget,
  options: WatchCallOptions,
): AsyncGenerator<WatchEvent<T>> {
  /** The last known objects by namespace and name. */
  const known = new Map<string, T>();
  for await (const step of followKind<T>(target, options)) {
    if (step.type === "LISTED") yield* differences(known, step.objects);
    else {
      const key = keyOf(step.object);
      const isKnown = known.has(key);
      if (step.type === "DELETED") known.delete(key);
      else known.set(key, step.object);
      const type = step.type === "DELETED" ? "deleted" : isKnown ? "modified" : "added";
      yield { type, object: step.object };
    }
  }
  if (options.signal?.aborted !== true) target.parts.closing.throwIfAborted();
}

/** Follows the objects of a kind until the signal is aborted or the cluster is closed. Throws as `follow` does. */
export async function* followKind<T extends ApiObject>(
  target: CallTarget,
  options: WatchCallOptions,
): AsyncGenerator<FollowStep<T>> {
  const { rest: client, clock, random, closing } = target.parts;
  const signal = AbortSignal.any([closing, ...(options.signal === undefined ? [] : [options.signal])]);
  let collection: string;
  try {
    collection = await collectionPath(target, options.in ?? target.namespace, signal);
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  const complete = await itemCompleter<T>(target);
  const path = collection + queryOf(selectionQuery(options));
  const steps = follow<T>({ client, path, clock, random, signal, failed: options.failed });
  for await (const step of steps) {
    yield step.type === "LISTED" ? { ...step, objects: step.objects.map(complete) } : step;
  }
}

/** Yields what a list tells beyond what is known, and takes it over: first what has gone, then what is new. */
function* differences<T extends ApiObject>(known: Map<string, T>, objects: readonly T[]): Generator<WatchEvent<T>> {
  const present = new Map(objects.map((object) => [keyOf(object), object]));
  for (const [key, object] of known) {
    if (present.get(key)?.metadata.uid === object.metadata.uid) continue;
    known.delete(key);
    yield { type: "deleted", object };
  }
  for (const [key, object] of present) {
    const old = known.get(key);
    if (old !== undefined && old.metadata.resourceVersion === object.metadata.resourceVersion) continue;
    known.set(key, object);
    yield { type: old === undefined ? "added" : "modified", object };
  }
}
