/**
 * The interface of encryption providers, and the list of providers of one resource. Prefixes and layouts are
 * kube-apiserver's. Source: upstream's `apiserver/pkg/storage/value`.
 *
 *      k8s:enc:aesgcm:v1:key1:<nonce><ciphertext>      prefix of the provider, name of the key, encrypted value
 */
import { aggregate } from "#meta/field-error.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** A decrypted value, and the provider that encrypted it. */
export interface Decrypted {
  readonly value: Buffer;
  /**
   * Identifies provider and key, and differs for another secret with the same name; empty for a value that was not
   * encrypted.
   */
  readonly origin: string;
}

export interface ValueTransformer {
  /**
   * The origin that a value would have if it were written now; values of other origins are stale. `undefined` when it
   * is not known yet.
   */
  readonly origin: string | undefined;
  /** The prefix of values of this provider; empty for values that are not encrypted. */
  readonly prefix: Buffer;
  /**
   * Encrypts a value. `context` is authenticated if the provider can do so, and must be the same for decryption. Throws
   * `TransformError`.
   */
  encrypt(value: Buffer, context: Buffer): Buffer;
  /**
   * Decrypts a value. Throws or rejects with `TransformError`. The memory of `value` is reused when this function has
   * returned.
   */
  decrypt(value: Buffer, context: Buffer): MaybePromise<Decrypted>;
  /** Whether the provider has the key of an origin. */
  knows(origin: string): boolean;
}

/**
 * The error of a value that cannot be encrypted or decrypted. Its message is for clients, and reveals nothing about
 * values and keys.
 */
export class TransformError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "TransformError";
  }
}

/** The prefix of all encrypted values, which no other value has. */
export const encryptedPrefix = Buffer.from("k8s:enc:");

export const startsWith = (value: Buffer, prefix: Buffer): boolean =>
  value.length >= prefix.length && value.compare(prefix, 0, prefix.length, 0, prefix.length) === 0;

/** Providers in order: the first one encrypts, and every one may decrypt. */
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
        // A provider that calls a plugin is the only one with its prefix, so there is no other to try.
        return provider.decrypt(value, context);
      } catch (error) {
        if (!(error instanceof TransformError)) throw error;
        // The error of `identity` about an encrypted value says nothing, so it is left out.
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
