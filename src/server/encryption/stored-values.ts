/** Decrypts stored values without a server, for `binnacle verify`, with the file of `--encryption-provider-config`. */
import { readEncryptionConfig } from "#encryption/config.ts";
import { openProviders } from "#encryption/open.ts";
import { inClear } from "#encryption/stored-value.ts";
import { TransformError } from "#encryption/transformer.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { systemClock } from "#std/clock.ts";
import { andThen, attempt, type MaybePromise } from "#std/maybe-promise.ts";
import { systemRandom } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import type { Unversioned } from "#storage/log-store.ts";
import { orStartError } from "../given-files.ts";

/** The reason why a value cannot be read. */
export interface Unreadable {
  readonly problem: string;
}

export interface StoredValues {
  /** Returns the decrypted value. Never rejects. */
  clear(key: string, value: Unversioned): MaybePromise<Unversioned | Unreadable>;
  close(): void;
}

/** Opens the providers of a configuration. `file` is its name in errors. Rejects with `StartError`. */
export async function openStoredValues(file: string, text: string, domain: ApiDomain): Promise<StoredValues> {
  const rules = orStartError(`${file}: `, () => readEncryptionConfig(text, domain));
  const environment = {
    clock: systemClock,
    random: systemRandom,
    observe: () => undefined,
    observeKms: () => ({ call: () => undefined }),
    changed: () => undefined,
  };
  const providers = await openProviders(rules, environment).catch((error: unknown) => {
    throw new StartError(`${file}: ${reasonOf(error)}`, { cause: error });
  });
  const failed = (error: unknown): Unreadable => {
    if (error instanceof TransformError) return { problem: error.message };
    throw error;
  };
  return {
    clear(key, stored) {
      const reading = attempt((value) => inClear(providers.transformers, key, value), stored, failed);
      return andThen(reading, (read) => ("problem" in read ? read : read.value));
    },
    close: () => providers.close(),
  };
}
