/**
 * Encryption of stored objects: reads the file of `--encryption-provider-config` before anything is opened, and
 * optionally again when it changes. After an invalid change, the previous configuration stays in force. Without a file,
 * no provider is loaded.
 */
import type { EncryptionRule } from "#encryption/config.ts";
import type { EncryptedLog } from "#encryption/encrypted-log.ts";
import type { OpenProviders, ProviderEnvironment } from "#encryption/open.ts";
import { rulesFor } from "#encryption/transformers.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import type { LogStore } from "#storage/log-store.ts";
import { orStartError, readGiven } from "./given-files.ts";
import { kmsMetrics, transformMetrics } from "./encryption/metrics.ts";
import type { EncryptionFlags } from "./encryption/flags.ts";
import { reloadMetrics } from "./reload-metrics.ts";
import type { ServerParts } from "./server-parts.ts";
import { watchFile } from "./watched-file.ts";

export interface EncryptionPlan {
  readonly file: string;
  readonly text: string;
  readonly rules: readonly EncryptionRule[];
  readonly isReloaded: boolean;
  read(text: string): readonly EncryptionRule[];
}

type EncryptionParts = Pick<ServerParts, "clock" | "random" | "log" | "metrics" | "health">;

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
  const { EncryptedLog: Encrypted } = await import("#encryption/encrypted-log.ts");
  const { openProviders } = await import("#encryption/open.ts");
  const encryption = new Encryption(
    plan,
    parts,
    openProviders,
    (log, { transformers }) => new Encrypted(log, transformers),
  );
  try {
    await encryption.open();
  } catch (error) {
    throw new StartError(`${plan.file}: ${reasonOf(error)}`, { cause: error });
  }
  return encryption;
}

type Open = (rules: readonly EncryptionRule[], environment: ProviderEnvironment) => Promise<OpenProviders>;
type Wrap = (log: LogStore, providers: OpenProviders) => EncryptedLog;

export class Encryption {
  readonly #plan: EncryptionPlan;
  readonly #parts: EncryptionParts;
  readonly #open: Open;
  readonly #wrap: Wrap;
  readonly #environment: ProviderEnvironment;
  /** The rules in force. */
  #rules: readonly EncryptionRule[];
  #providers: OpenProviders | undefined;
  #encrypted: EncryptedLog | undefined;
  #stop: () => void = () => undefined;
  #isClosed = false;

  constructor(plan: EncryptionPlan, parts: EncryptionParts, open: Open, wrap: Wrap) {
    this.#plan = plan;
    this.#rules = plan.rules;
    this.#parts = parts;
    this.#open = open;
    this.#wrap = wrap;
    const { clock, random, metrics, log } = parts;
    this.#environment = {
      clock,
      random,
      observe: transformMetrics(metrics),
      observeKms: kmsMetrics(metrics, clock),
      changed: (provider, problem) => {
        if (problem !== undefined) log.error({ provider, problem }, "a KMS provider does not work");
        else void this.#retry(provider);
      },
    };
  }

  async open(): Promise<void> {
    const { rules, isReloaded } = this.#plan;
    this.#providers = await this.#open(rules, this.#environment);
    this.#addHealthCheck();
    if (isReloaded) this.#stop = this.#reload();
  }

  /** Returns a log that encrypts values before it passes them to `log`. Called once. */
  wrap(log: LogStore): LogStore {
    this.#encrypted = this.#wrap(log, this.#providers!); // it is open
    return this.#encrypted;
  }

  /** Whether the configuration encrypts values of a resource, or did before: stored values may be encrypted. */
  encrypts({ group, resource }: { readonly group: string; readonly resource: string }): boolean {
    return rulesFor(this.#rules, group, resource).some(({ providers }) =>
      providers.some(({ type }) => type !== "identity"),
    );
  }

  /** Reports the stored values that cannot be decrypted. Called when the store is open. */
  opened(): void {
    const { metrics, log } = this.#parts;
    const unreadable = (): number => this.#encrypted?.unreadable ?? 0;
    metrics.observable(
      { name: "binnacle_storage_unreadable_objects", help: "Objects that cannot be decrypted.", type: "gauge" },
      () => [{ labels: [], value: unreadable() }],
    );
    if (unreadable() === 0) return;
    log.error({ values: unreadable(), key: this.#encrypted?.unreadableKey }, "stored values cannot be decrypted");
  }

  close(): void {
    this.#isClosed = true;
    this.#stop();
    this.#providers?.close();
  }

  /**
   * Adds one check for all providers, as upstream. `/livez` does not have it, since a new start would not repair a
   * plugin.
   */
  #addHealthCheck(): void {
    if (this.#providers?.kms.length === 0 && !this.#plan.isReloaded) return;
    this.#parts.health.add({
      name: "kms-providers",
      endpoints: ["healthz", "readyz"],
      problem: () => this.#providers?.kms.map(({ problem }) => problem).find((problem) => problem !== undefined),
    });
  }

  /** Reads unreadable values again after a provider has recovered. */
  async #retry(provider: string): Promise<void> {
    const encrypted = this.#encrypted;
    const before = encrypted?.unreadable ?? 0;
    if (encrypted === undefined || before === 0) return;
    await encrypted.retry();
    const read = before - encrypted.unreadable;
    this.#parts.log.info({ provider, read, unreadable: encrypted.unreadable }, "a KMS provider works again");
  }

  #reload(): () => void {
    const { clock, log, metrics } = this.#parts;
    const { file, text } = this.#plan;
    const count = reloadMetrics(metrics, "encryption", clock);
    return watchFile({
      file,
      text,
      clock,
      changed: async (changed) => {
        const rules = this.#plan.read(changed);
        await this.#use(await this.#open(rules, this.#environment));
        this.#rules = rules;
        count("success");
        log.info({ file }, "the encryption configuration was read again");
      },
      failed(error) {
        count("failure");
        log.error({ file, error: reasonOf(error) }, "the encryption configuration stays as it was");
      },
    });
  }

  /** Replaces the providers, if all new ones work. */
  async #use(next: OpenProviders): Promise<void> {
    const broken = next.kms.find(({ problem }) => problem !== undefined);
    if (broken !== undefined || this.#isClosed) {
      next.close();
      throw new Error(`KMS provider ${broken?.name ?? ""} does not work: ${broken?.problem ?? "the server stops"}`);
    }
    const before = this.#providers;
    this.#providers = next;
    const unknown = await this.#encrypted?.use(next.transformers);
    before?.close();
    if (unknown === undefined || unknown.values === 0) return;
    this.#parts.log.warn(
      { values: unknown.values, key: unknown.key },
      "stored values need a key that the new encryption configuration does not have: they can be read until this process ends",
    );
  }
}
