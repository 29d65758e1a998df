/** Reports the operations of a value transformer, with their times and errors. */
import type { Clock } from "#std/clock.ts";
import { andThen, attempt, type MaybePromise } from "#std/maybe-promise.ts";
import { type Decrypted, TransformError, type ValueTransformer } from "./transformer.ts";

/** Called synchronously after each transformation; must not throw. `error` is the reason of a failure. */
export type TransformObserver = (
  type: "to_storage" | "from_storage",
  prefix: string,
  error: TransformError | undefined,
  seconds: number,
) => void;

/** Wraps a transformer so that `observe` is called after each of its operations. */
export function observeTransformer(
  inner: ValueTransformer,
  clock: Pick<Clock, "monotonic">,
  observe: TransformObserver,
): ValueTransformer {
  const prefix = inner.prefix.toString();
  const tell = (type: "to_storage" | "from_storage", start: number, error: unknown): void =>
    observe(type, prefix, error instanceof TransformError ? error : undefined, (clock.monotonic() - start) / 1000);
  return {
    get origin() {
      return inner.origin;
    },
    prefix: inner.prefix,
    knows: (origin) => inner.knows(origin),
    encrypt(value, context) {
      const start = clock.monotonic();
      try {
        const encrypted = inner.encrypt(value, context);
        tell("to_storage", start, undefined);
        return encrypted;
      } catch (error) {
        tell("to_storage", start, error);
        throw error;
      }
    },
    decrypt(value, context): MaybePromise<Decrypted> {
      const start = clock.monotonic();
      const failed = (error: unknown): never => {
        tell("from_storage", start, error);
        throw error;
      };
      const done = (decrypted: Decrypted): Decrypted => {
        tell("from_storage", start, undefined);
        return decrypted;
      };
      return andThen(
        attempt((bytes) => inner.decrypt(bytes, context), value, failed),
        done,
      );
    },
  };
}
