/** Watches as a caller sees them: what was there, and every change, told once. */
import type { ApiObject } from "#meta/object-meta.ts";
import { type FollowOptions, follow } from "../follow.ts";
import {
  type CallOptions,
  collectionPath,
  itemCompleter,
  queryOf,
  type Selection,
  selectionQuery,
  type CallTarget,
} from "./target.ts";

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
  const complete = await itemCompleter<T>(target);
  for await (const step of follow<T>(await followOptions(target, options))) {
    if (step.type === "LISTED") yield* differences(known, step.objects.map(complete));
    else {
      const key = keyOf(step.object);
      const isKnown = known.has(key);
      if (step.type === "DELETED") known.delete(key);
      else known.set(key, step.object);
      const type = step.type === "DELETED" ? "deleted" : isKnown ? "modified" : "added";
      yield { type, object: step.object };
    }
  }
}

export async function followOptions(
  target: CallTarget,
  { signal = new AbortController().signal, failed, ...options }: WatchCallOptions & CallOptions,
): Promise<FollowOptions> {
  const { rest, clock, random } = target.parts;
  const collection = await collectionPath(target, options.in ?? target.namespace);
  return {
    client: rest,
    path: collection + queryOf(selectionQuery(options)),
    clock,
    random,
    signal,
    ...(failed === undefined ? {} : { failed }),
  };
}

const keyOf = ({ metadata: { namespace = "", name } }: ApiObject): string => `${namespace}/${name}`;

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
