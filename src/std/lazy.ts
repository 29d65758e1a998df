/** Loads modules that most servers never need at their first use. */
import type { MaybePromise } from "./maybe-promise.ts";

/**
 * Returns the module, which is loaded at the first call; later calls return it without a promise. A failure is tried
 * again.
 */
export function lazy<Module extends object>(load: () => Promise<Module>): () => MaybePromise<Module> {
  let loaded: MaybePromise<Module> | undefined;
  return () =>
    (loaded ??= load().then(
      (module) => (loaded = module),
      (error: unknown) => {
        loaded = undefined;
        throw error;
      },
    ));
}
