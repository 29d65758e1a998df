/** The provider `identity`, which stores values unencrypted. */
import { type Decrypted, encryptedPrefix, startsWith, TransformError, type ValueTransformer } from "./transformer.ts";

export const identity: ValueTransformer = {
  origin: "",
  prefix: Buffer.alloc(0),
  encrypt: (value) => value,
  decrypt(value): Decrypted {
    if (startsWith(value, encryptedPrefix))
      throw new TransformError("identity transformer tried to read encrypted data");
    return { value, origin: "" };
  },
  knows: (origin) => origin === "",
};
