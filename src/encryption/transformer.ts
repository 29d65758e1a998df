/**
 * The interface of encryption providers, and the list of providers of one resource. Prefixes and layouts are
 * kube-apiserver's. Source: upstream's `apiserver/pkg/storage/value`.
 *
 *      k8s:enc:aesgcm:v1:key1:<nonce><ciphertext>      prefix of the provider, name of the key, encrypted value
 */
import { aggregate } from "#meta/field-error.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** A value in clear, and the provider that encrypted it. */
export interface Decrypted {
  readonly value: Buffer;
  /** Names provider and key, and differs for another secret under the same name; empty for a value in clear. */
  readonly origin: string;
}

export interface ValueTransformer {
  /** The origin that a value would have if it were written now; all others are stale. `undefined`: not known yet. */
  readonly origin: string | undefined;
  /** Values of this provider begin with it; empty for values in clear. */
  readonly prefix: Buffer;
  /** `context` is authenticated, where the provider can, and the same when it is read. Throws `TransformError`. */
  encrypt(value: Buffer, context: Buffer): Buffer;
  /** Throws or rejects with `TransformError`. The memory of `value` is used again once this has returned. */
  decrypt(value: Buffer, context: Buffer): MaybePromise<Decrypted>;
  /** Whether it has the key of an origin. */
  knows(origin: string): boolean;
}

/** A value cannot be encrypted or decrypted. The message is for clients, and says nothing about values and keys. */
export class TransformError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TransformError";
  }
}

/** All encrypted values begin with this, and no others. */
export const encryptedPrefix = Buffer.from("k8s:enc:");

export const startsWith = (value: Buffer, prefix: Buffer): boolean =>
  value.length >= prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;

/** Providers in order: the first one writes, and every one may read. */
export class ProviderList implements ValueTransformer {
  readonly prefix: Buffer = encryptedPrefix;
  readonly #providers: readonly [ValueTransformer, ...ValueTransformer[]];

  constructor(first: ValueTransformer, ...others: readonly ValueTransformer[]) {
    this.#providers = [first, ...others];
  }

  get origin(): string | undefined {
    return this.#providers[0].origin;
  }

  encrypt(value: Buffer, context: Buffer): Buffer {
    return this.#providers[0].encrypt(value, context);
  }

  decrypt(value: Buffer, context: Buffer): MaybePromise<Decrypted> {
    const problems: string[] = [];
    for (const provider of this.#providers) {
      if (!startsWith(value, provider.prefix)) continue;
      try {
        // A provider that asks a plugin is the only one with its prefix: there is no other to try.
        return provider.decrypt(value, context);
      } catch (error) {
        if (!(error instanceof TransformError)) throw error;
        // The one for values in clear has nothing to do with encrypted ones.
        if (provider.prefix.length > 0) problems.push(error.message);
      }
    }
    if (problems.length === 0) throw new TransformError("no matching prefix found");
    throw new TransformError(aggregate(problems));
  }

  knows(origin: string): boolean {
    return this.#providers.some((provider) => provider.knows(origin));
  }
}
