/** Flags of encryption at rest. Names and defaults are upstream's. */
import { boolean, optional, type OptionsOf } from "#std/flags.ts";

export const encryptionFlags = {
  encryptionProviderConfig: optional(
    ["encryption-provider-config", "Etcd"],
    "file",
    "EncryptionConfiguration: how stored objects are encrypted, by resource. Default: not at all.",
  ),
  encryptionProviderConfigAutomaticReload: boolean(
    ["encryption-provider-config-automatic-reload", "Etcd"],
    false,
    "Read that file again when it changes.",
  ),
};

export type EncryptionFlags = OptionsOf<typeof encryptionFlags>;
