/**
 * Encryption with a seed: HKDF (SHA-256, expansion only) derives a key for each value from the seed and 32 random
 * bytes, and AES-GCM encrypts the value. So one seed serves many values, and no nonce is reused. Source: KEP-3299 and
 * upstream's `encrypt/aes`.
 *
 *      <32 random bytes><nonce><ciphertext><tag>
 */
import { createHmac } from "node:crypto";
import type { Random } from "#std/random.ts";
import { gcmCipher } from "../aesgcm.ts";
import type { Cipher } from "../keyed.ts";
import { TransformError } from "../transformer.ts";

export const seedBytes = 32;
const infoBytes = 32;

/** Returns the first 32 bytes of the expansion. */
const derivedKey = (seed: Buffer, info: Buffer): Buffer =>
  createHmac("sha256", seed)
    .update(info)
    .update(Buffer.from([1]))
    .digest();

export function seedCipher(seed: Buffer, random: Random): Cipher {
  return {
    seal(clear, context) {
      const info = random.bytes(infoBytes);
      return Buffer.concat([info, gcmCipher(derivedKey(seed, info), random).seal(clear, context)]);
    },
    open(sealed, context) {
      if (sealed.length < infoBytes) throw new TransformError("the stored data was shorter than the required size");
      const info = sealed.subarray(0, infoBytes);
      return gcmCipher(derivedKey(seed, info), random).open(sealed.subarray(infoBytes), context);
    },
  };
}
