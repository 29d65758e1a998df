/**
 * Encryption of stored objects: reads the file of `--encryption-provider-config` before anything is opened. Without a
 * file, no provider is loaded.
 */
import type { EncryptionRule } from "#encryption/config.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import { orStartError, readGiven } from "./given-files.ts";
import type { Encryption, EncryptionParts, EncryptionPlan } from "./encryption/encryption.ts";
import type { EncryptionFlags } from "./encryption/flags.ts";

/** Resolves with `undefined` without the flag. Rejects with `StartError`. */
export async function planEncryption(options: EncryptionFlags, domain: ApiDomain): Promise<EncryptionPlan | undefined> {
  const { encryptionProviderConfig: file, encryptionProviderConfigAutomaticReload: isReloaded } = options;
  if (file === undefined) {
    if (!isReloaded) return undefined;
    throw new StartError("--encryption-provider-config-automatic-reload must be set with --encryption-provider-config");
  }
  const { readEncryptionConfig } = await import("#encryption/config.ts");
  const read = (text: string): readonly EncryptionRule[] => readEncryptionConfig(text, domain);
  const text = readGiven(file);
  return { file, text, isReloaded, read, rules: orStartError(`${file}: `, () => read(text)) };
}

/** Opens the providers; KMS providers may still fail at this time. Rejects with `StartError`. */
export async function openEncryption(plan: EncryptionPlan, parts: EncryptionParts): Promise<Encryption> {
  const { Encryption: Opened } = await import("./encryption/encryption.ts");
  const encryption = new Opened(plan, parts);
  try {
    await encryption.open();
  } catch (error) {
    throw new StartError(`${plan.file}: ${reasonOf(error)}`, { cause: error });
  }
  return encryption;
}
