/** Loads modules that most servers never need at their first use. */
import type { MaybePromise } from "./maybe-promise.ts";

/**
 * Returns the module, which is loaded at the first call; later calls return it without a promise. A failure is tried
 * again.
 */
export function lazy<Module extends object>(load: () => Promise<Module>): () => MaybePromise<Module> {
  let known: MaybePromise<Module> | undefined;
  return () =>
    (known ??= load().then(
      (module) => (known = module),
      (error: unknown) => {
        known = undefined;
        throw error;
      },
    ));
}
