/**
 * Adds and removes a finalizer. Each write is made on the version that was read, so that no finalizer of somebody else is
 * lost and a deletion that has begun is noticed.
 */
import type { ApiObject } from "#meta/object-meta.ts";
import { ApiError } from "../api-error.ts";
import type { KindClient } from "../cluster.ts";
import type { Patch } from "../draft.ts";

interface FinalizerChange<T extends ApiObject> {
  readonly kind: KindClient<T>;
  readonly object: T;
  readonly name: string;
  readonly signal: AbortSignal;
}

const attemptsMax = 5;

export const hasFinalizer = ({ metadata }: ApiObject, name: string): boolean =>
  metadata.finalizers?.includes(name) ?? false;

/**
 * Adds the finalizer. Resolves with the object that has it; `undefined` when the object has gone or is being deleted.
 */
export const addFinalizer = <T extends ApiObject>(change: FinalizerChange<T>): Promise<T | undefined> =>
  write(change, (object) =>
    object.metadata.deletionTimestamp === undefined ? [...(object.metadata.finalizers ?? []), change.name] : undefined,
  );

/** Removes the finalizer. Resolves with the object without it; `undefined` when it has gone. */
export const removeFinalizer = <T extends ApiObject>(change: FinalizerChange<T>): Promise<T | undefined> =>
  write(change, ({ metadata: { finalizers = [] } }) => finalizers.filter((one) => one !== change.name));

/** Writes the finalizers that `edit` returns, on a newer version after each conflict; `undefined` means none. */
async function write<T extends ApiObject>(
  { kind, object: first, name: finalizer, signal }: FinalizerChange<T>,
  edit: (object: T) => readonly string[] | undefined,
): Promise<T | undefined> {
  let object = first;
  const { name = "", namespace, uid } = first.metadata;
  for (let attempt = 1; ; attempt++) {
    const finalizers = edit(object);
    if (finalizers === undefined) return undefined;
    if (finalizers.includes(finalizer) === hasFinalizer(object, finalizer)) return object;
    const { resourceVersion } = object.metadata;
    // Every kind has these fields.
    const patch = { merge: { metadata: { uid, resourceVersion, finalizers } } } as unknown as Patch<T>;
    try {
      return await kind.patch(name, patch, { in: namespace, signal });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 404) return undefined;
      if (error.reason !== "Conflict" || attempt === attemptsMax) throw error;
    }
    const current = await kind.find(name, { in: namespace, signal });
    if (current === undefined || current.metadata.uid !== uid) return undefined;
    object = current;
  }
}
