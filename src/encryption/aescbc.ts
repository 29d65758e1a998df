/**
 * The provider `aescbc`: AES-CBC with PKCS #7 padding. A value is a random initialization vector of 16 bytes and the
 * ciphertext. Values are not authenticated: a damaged value may decrypt to a different value.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Random } from "#std/random.ts";
import { type Key, KeyedTransformer } from "./keyed.ts";
import { TransformError } from "./transformer.ts";

const blockBytes = 16;

export const aescbc = (keys: readonly Key[], random: Random): KeyedTransformer =>
  new KeyedTransformer({
    prefix: "k8s:enc:aescbc:v1:",
    title: "AES",
    keys,
    cipher: (secret) => {
      const algorithm = `aes-${secret.length * 8}-cbc`;
      return {
        seal(clear) {
          const vector = random.bytes(blockBytes);
          const cipher = createCipheriv(algorithm, secret, vector);
          return Buffer.concat([vector, cipher.update(clear), cipher.final()]);
        },
        open(sealed) {
          if (sealed.length < blockBytes) {
            throw new TransformError("the stored data was shorter than the required size");
          }
          if (sealed.length % blockBytes !== 0) {
            throw new TransformError("the stored data is not a multiple of the block size");
          }
          const cipher = createDecipheriv(algorithm, secret, sealed.subarray(0, blockBytes));
          try {
            return Buffer.concat([cipher.update(sealed.subarray(blockBytes)), cipher.final()]);
          } catch (cause) {
            throw new TransformError("invalid padding on input", { cause });
          }
        },
      };
    },
  });
