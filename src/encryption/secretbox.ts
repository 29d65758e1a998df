/**
 * The provider `secretbox`: XSalsa20 with Poly1305, as in NaCl. A value is a random nonce, the tag, and the ciphertext.
 * The key of the object is not authenticated. Only this file loads the library.
 */
import { xsalsa20poly1305 } from "@noble/ciphers/salsa.js";
import type { Random } from "#std/random.ts";
import { type Key, KeyedTransformer } from "./keyed.ts";
import { TransformError } from "./transformer.ts";

const nonceBytes = 24;

export const secretbox = (keys: readonly Key[], random: Random): KeyedTransformer =>
  new KeyedTransformer({
    prefix: "k8s:enc:secretbox:v1:",
    title: "Secretbox",
    keys,
    cipher: (secret) => ({
      seal(clear) {
        const nonce = random.bytes(nonceBytes);
        return Buffer.concat([nonce, xsalsa20poly1305(secret, nonce).encrypt(clear)]);
      },
      open(sealed) {
        if (sealed.length < nonceBytes) {
          throw new TransformError("the stored data was shorter than the required size");
        }
        try {
          const opened = xsalsa20poly1305(secret, sealed.subarray(0, nonceBytes)).decrypt(sealed.subarray(nonceBytes));
          return Buffer.from(opened.buffer, opened.byteOffset, opened.byteLength);
        } catch (cause) {
          throw new TransformError("output array was not large enough for encryption", { cause });
        }
      },
    }),
  });
