/** Providers with named keys: the first key encrypts, and each value starts with the name of its key. */
import { hash } from "node:crypto";
import { aggregate } from "#meta/field-error.ts";
import { type Decrypted, startsWith, TransformError, type ValueTransformer } from "./transformer.ts";

/** A cipher with its key. */
export interface Cipher {
  seal(clear: Buffer, context: Buffer): Buffer;
  /** Decrypts a value. Throws `TransformError`. */
  open(sealed: Buffer, context: Buffer): Buffer;
}

/** A key, as the configuration names it. */
export interface Key {
  readonly name: string;
  readonly secret: Buffer;
}

interface KnownKey {
  /** The prefix of values that this key encrypted: `k8s:enc:aescbc:v1:key1:`. */
  readonly prefix: Buffer;
  readonly origin: string;
  readonly cipher: Cipher;
}

interface KeyedOptions {
  /** The prefix of the provider: `k8s:enc:aescbc:v1:`. */
  readonly prefix: string;
  /** The name of the provider in messages. */
  readonly title: string;
  readonly keys: readonly Key[];
  readonly cipher: (secret: Buffer) => Cipher;
}

export class KeyedTransformer implements ValueTransformer {
  readonly prefix: Buffer;
  readonly origin: string;
  readonly #title: string;
  readonly #keys: readonly KnownKey[];

  /** `keys` must not be empty. */
  constructor({ prefix, title, keys, cipher }: KeyedOptions) {
    this.prefix = Buffer.from(prefix);
    this.#title = title;
    this.#keys = keys.map(({ name, secret }) => ({
      prefix: Buffer.from(`${prefix}${name}:`),
      origin: `${prefix}${name}:${hash("sha256", secret).slice(0, 16)}`,
      cipher: cipher(secret),
    }));
    this.origin = this.#keys[0]!.origin;
  }

  encrypt(value: Buffer, context: Buffer): Buffer {
    const { prefix, cipher } = this.#keys[0]!;
    return Buffer.concat([prefix, cipher.seal(value, context)]);
  }

  decrypt(value: Buffer, context: Buffer): Decrypted {
    const problems: string[] = [];
    for (const { prefix, origin, cipher } of this.#keys) {
      if (!startsWith(value, prefix)) continue;
      try {
        return { value: cipher.open(value.subarray(prefix.length), context), origin };
      } catch (error) {
        if (!(error instanceof TransformError)) throw error;
        problems.push(error.message);
      }
    }
    if (problems.length === 0) {
      throw new TransformError(`no matching key was found for the provided ${this.#title} transformer`);
    }
    throw new TransformError(aggregate(problems));
  }

  knows(origin: string): boolean {
    return this.#keys.some((key) => key.origin === origin);
  }
}
