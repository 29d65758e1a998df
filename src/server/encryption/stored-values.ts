/** Decrypts and encrypts stored values without a server, with the file of `--encryption-provider-config`. */
import { readEncryptionConfig } from "#encryption/config.ts";
import { openProviders } from "#encryption/open.ts";
import { inClear, isEncrypted } from "#encryption/stored-value.ts";
import { TransformError } from "#encryption/transformer.ts";
import type { Transformers } from "#encryption/transformers.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { systemClock } from "#std/clock.ts";
import { andThen, attempt, type MaybePromise } from "#std/maybe-promise.ts";
import { systemRandom } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import type { CopyCipher } from "#storage/copy.ts";
import { UnreadableValue, type Unversioned, type ValueForm } from "#storage/log-store.ts";
import { orStartError } from "../given-files.ts";

/** The reason why a value cannot be read. */
export interface Unreadable {
  readonly problem: string;
}

export interface StoredValues {
  /** Returns the decrypted value. Never rejects. */
  clear(key: string, value: Unversioned): MaybePromise<Unversioned | Unreadable>;
  /** Decrypts and encrypts values of any form. */
  readonly cipher: CopyCipher;
  close(): void;
}

/** A configuration: the name of its file, for errors, and its text. */
interface StoredValuesOptions {
  readonly file: string;
  readonly text: string;
  readonly domain: ApiDomain;
  /** The form of the values for `clear`. */
  readonly form: ValueForm;
}

/** Opens the providers of a configuration. Rejects with `StartError`. */
export async function openStoredValues({ file, text, domain, form }: StoredValuesOptions): Promise<StoredValues> {
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
  const cipher = cipherOf(providers.transformers);
  return {
    clear: (key, value) =>
      andThen(cipher.open(form, { key, value }), (read) => ("problem" in read ? read : read.value)),
    cipher,
    close: () => providers.close(),
  };
}

const cipherOf = (transformers: Transformers): CopyCipher => ({
  open: (form, entry) => attempt((one) => inClear(transformers, form, one), entry, problemOf),
  seal(form, key, value) {
    const transformer = transformers.of(key);
    if (transformer.origin === "") return value;
    return { bytes: transformer.encrypt(form.pack(value), form.nameOf(key)), revisionOffset: -1 };
  },
});

function problemOf(error: unknown): Unreadable {
  if (error instanceof TransformError || error instanceof UnreadableValue) return { problem: error.message };
  throw error;
}

/** Reads and writes values without a configuration: encrypted ones are a problem, since they belong to their store. */
export const plainCipher: CopyCipher = {
  open: (_form, { value }) =>
    isEncrypted(value) ? { problem: "is encrypted: give the servers' --encryption-provider-config" } : { value },
  seal: (_form, _key, value) => value,
};
