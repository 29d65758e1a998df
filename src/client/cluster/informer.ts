/** Opens informers on the objects of a kind. */
import type { ApiObject } from "#meta/object-meta.ts";
import { type IndexBy, Informer } from "../informer.ts";
import type { Kind } from "../kind.ts";
import {
  type CallTarget,
  type ClusterParts,
  collectionPath,
  itemCompleter,
  type Selection,
  selectionQuery,
} from "./target.ts";

export interface InformerCallOptions<T extends ApiObject> extends Selection {
  /** The namespace; default: all. */
  readonly in?: string | undefined;
  /** The indexes, by name: `{ owner: (boat) => [boat.spec.owner] }`. */
  readonly index?: Readonly<Record<string, IndexBy<T>>> | undefined;
  /** Returns the part of an object that is kept; default: all of it. */
  readonly trim?: ((object: T) => T) | undefined;
  /** Called with each failure of a list or a watch, after which the informer tries again. */
  readonly failed?: ((error: unknown) => void) | undefined;
  /** Ends the informer, as `close` does. */
  readonly signal?: AbortSignal | undefined;
}

export function openInformer<T extends ApiObject>(
  parts: ClusterParts,
  kind: Kind<T>,
  options: InformerCallOptions<T>,
): Informer<T> {
  const { index, trim, failed } = options;
  const signal = AbortSignal.any([parts.closing, ...(options.signal === undefined ? [] : [options.signal])]);
  const target: CallTarget = { parts, kind, body: kind, namespace: undefined, subresource: "" };
  let complete = (object: T): T => object;
  return new Informer<T>({
    client: parts.rest,
    path: async () => {
      const path = await collectionPath(target, options.in, signal);
      complete = await itemCompleter<T>(target);
      return path;
    },
    streamsLists: true,
    clock: parts.clock,
    random: parts.random,
    signal,
    trim: trim === undefined ? (object) => complete(object) : (object) => trim(complete(object)),
    index,
    failed,
    ...selectionQuery(options),
  });
}
