/** Loads modules that most servers never need when they are first used. */
import type { MaybePromise } from "./maybe-promise.ts";

/** The module, loaded when it is first asked for: a value as soon as it is there. After a failure it is tried again. */
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
