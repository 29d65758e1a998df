/** KMS providers: the key stays in another process, which encrypts and decrypts seeds for this process. */
import type { Clock } from "#std/clock.ts";
import type { Random } from "#std/random.ts";
import type { KmsSettings } from "./config.ts";
import { type CallObserver, openKmsPlugin } from "./kms/grpc.ts";
import { type KeyObserver, KmsProvider } from "./kms/provider.ts";

export interface KmsObserver extends KeyObserver {
  readonly call: CallObserver;
}

interface KmsEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  observeKms(name: string): KmsObserver;
  changed(name: string, problem: string | undefined): void;
}

/** Resolves after the first status call of the plugin, which may have failed. */
export async function openKmsProvider(settings: KmsSettings, environment: KmsEnvironment): Promise<KmsProvider> {
  const { clock, random } = environment;
  const { name } = settings;
  const observe = environment.observeKms(name);
  const plugin = await openKmsPlugin(settings, clock, observe.call);
  const changed = (problem: string | undefined): void => environment.changed(name, problem);
  const provider = new KmsProvider({ name, plugin, clock, random, observe, changed });
  await provider.start();
  return provider;
}
