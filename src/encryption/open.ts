/** Opens the providers of a configuration; the code of each kind of provider is loaded only when it is used. */
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import { aescbc } from "./aescbc.ts";
import { aesgcm } from "./aesgcm.ts";
import type { EncryptionRule, KmsSettings, ProviderSettings } from "./config.ts";
import { identity } from "./identity.ts";
import type { KmsObserver } from "./kms.ts";
import { observeTransformer, type TransformObserver } from "./transform-observer.ts";
import type { ValueTransformer } from "./transformer.ts";
import { Transformers } from "./transformers.ts";

export interface ProviderEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: TransformObserver;
  /** Returns the observer of the KMS provider with this name. */
  observeKms(name: string): KmsObserver;
  /** Called when a KMS provider became healthy, or unhealthy with this problem. */
  changed(name: string, problem: string | undefined): void;
}

export interface OpenProviders {
  readonly transformers: Transformers;
  /** The providers that call another process, in the order of the configuration. */
  readonly kms: readonly { readonly name: string; readonly problem: string | undefined }[];
  close(): void;
}

/** Resolves after the first status call of each KMS plugin, which may have failed. */
export async function openProviders(
  rules: readonly EncryptionRule[],
  environment: ProviderEnvironment,
): Promise<OpenProviders> {
  const { clock, observe } = environment;
  const opened: (OpenProviders["kms"][number] & { close(): void })[] = [];
  const openKms = async (settings: KmsSettings): Promise<ValueTransformer> => {
    const { openKmsProvider } = await import("./kms.ts");
    const provider = await openKmsProvider(settings, environment);
    opened.push(provider);
    return provider;
  };
  const open = async (settings: ProviderSettings): Promise<ValueTransformer> =>
    observeTransformer(
      settings.type === "kms" ? await openKms(settings.kms) : await openKeyed(settings, environment.random),
      clock,
      observe,
    );
  const openRules = await Promise.all(
    rules.map(async ({ resources, providers }) => ({ resources, providers: await Promise.all(providers.map(open)) })),
  );
  return {
    transformers: new Transformers(openRules),
    kms: opened,
    close() {
      for (const provider of opened) provider.close();
    },
  };
}

async function openKeyed(
  settings: Exclude<ProviderSettings, { readonly type: "kms" }>,
  random: Random,
): Promise<ValueTransformer> {
  if (settings.type === "identity") return identity;
  const { type, keys } = settings;
  if (type === "aescbc") return aescbc(keys, random);
  return type === "aesgcm" ? aesgcm(keys, random) : (await import("./secretbox.ts")).secretbox(keys, random);
}
