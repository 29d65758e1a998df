/**
 * The provider `aesgcm`: AES-GCM. A value is a random nonce, the ciphertext, and the tag; the key of the object is
 * additional authenticated data. KMS providers use the same cipher with a key per value.
 */
import { createCipheriv, createDecipheriv } from "node:crypto";
import type { Random } from "#std/random.ts";
import { type Cipher, type Key, KeyedTransformer } from "./keyed.ts";
import { TransformError } from "./transformer.ts";

const gcmNonceBytes = 12;
const tagBytes = 16;

export const aesgcm = (keys: readonly Key[], random: Random): KeyedTransformer =>
  new KeyedTransformer({
    prefix: "k8s:enc:aesgcm:v1:",
    title: "AES",
    keys,
    cipher: (secret) => gcmCipher(secret, random),
  });

export function gcmCipher(secret: Buffer, random: Random): Cipher {
  const algorithm = `aes-${secret.length * 8}-gcm` as "aes-256-gcm"; // or with another length; all have tags
  return {
    seal(clear, context) {
      const nonce = random.bytes(gcmNonceBytes);
      const cipher = createCipheriv(algorithm, secret, nonce, { authTagLength: tagBytes });
      cipher.setAAD(context);
      return Buffer.concat([nonce, cipher.update(clear), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed, context) {
      const end = sealed.length - tagBytes;
      if (sealed.length < gcmNonceBytes) {
        throw new TransformError("the stored data was shorter than the required size");
      }
      try {
        const nonce = sealed.subarray(0, gcmNonceBytes);
        const cipher = createDecipheriv(algorithm, secret, nonce, { authTagLength: tagBytes });
        cipher.setAAD(context);
        cipher.setAuthTag(sealed.subarray(Math.max(end, gcmNonceBytes)));
        return Buffer.concat([cipher.update(sealed.subarray(gcmNonceBytes, end)), cipher.final()]);
      } catch (cause) {
        throw new TransformError("cipher: message authentication failed", { cause });
      }
    },
  };
}
