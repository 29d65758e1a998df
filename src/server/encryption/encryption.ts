/**
 * The encryption of a server's stored objects. Its file is optionally read again when it changes; after an invalid
 * change, the previous configuration stays in force.
 */
import type { EncryptionRule } from "#encryption/config.ts";
import { EncryptedLog } from "#encryption/encrypted-log.ts";
import { type OpenProviders, openProviders, type ProviderEnvironment } from "#encryption/open.ts";
import { rulesFor } from "#encryption/transformers.ts";
import { reasonOf } from "#std/system-error.ts";
import type { LogStore } from "#storage/log-store.ts";
import { reloadMetrics } from "../reload-metrics.ts";
import type { ServerParts } from "../server-parts.ts";
import { watchFile } from "../watched-file.ts";
import { kmsMetrics, transformMetrics } from "./metrics.ts";

export interface EncryptionPlan {
  readonly file: string;
  readonly text: string;
  readonly rules: readonly EncryptionRule[];
  readonly isReloaded: boolean;
  read(text: string): readonly EncryptionRule[];
}

export type EncryptionParts = Pick<ServerParts, "clock" | "random" | "log" | "metrics" | "health">;

export class Encryption {
  readonly #plan: EncryptionPlan;
  readonly #parts: EncryptionParts;
  readonly #environment: ProviderEnvironment;
  /** The rules in force. */
  #rules: readonly EncryptionRule[];
  #providers: OpenProviders | undefined;
  #encrypted: EncryptedLog | undefined;
  #stop: () => void = () => undefined;
  #isClosed = false;

  constructor(plan: EncryptionPlan, parts: EncryptionParts) {
    this.#plan = plan;
    this.#rules = plan.rules;
    this.#parts = parts;
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
    this.#providers = await openProviders(rules, this.#environment);
    this.#addHealthCheck();
    if (isReloaded) this.#stop = this.#reload();
  }

  /** Returns a log that encrypts values before it passes them to `log`. Called once. */
  wrap(log: LogStore): LogStore {
    this.#encrypted = new EncryptedLog(log, this.#providers!.transformers); // they are open
    return this.#encrypted;
  }

  /** Whether the configuration encrypts values of a resource, or did before: stored values may be encrypted. */
  encrypts({ group, resource }: { readonly group: string; readonly resource: string }): boolean {
    return rulesFor(this.#rules, group, resource).some(({ providers }) =>
      providers.some(({ type }) => type !== "identity"),
    );
  }

  /** The rules in force. */
  get rules(): readonly EncryptionRule[] {
    return this.#rules;
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
        await this.#use(await openProviders(rules, this.#environment));
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
