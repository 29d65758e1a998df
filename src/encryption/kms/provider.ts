/**
 * A KMS provider. Values are encrypted with a seed made here; it is stored with them, encrypted by the plugin. The
 * status of the plugin is read periodically; a new key ID leads to a new seed. A seed is used until three minutes after
 * the last good status. Source: KEP-3299 and upstream's `encrypt/envelope/kmsv2`.
 */
import { hash } from "node:crypto";
import { dns1123Subdomain } from "#meta/names.ts";
import type { Clock } from "#std/clock.ts";
import { ExpiringCache } from "#std/expiring-cache.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import { gcmCipher } from "../aesgcm.ts";
import type { Cipher } from "../keyed.ts";
import { type Decrypted, TransformError, type ValueTransformer } from "../transformer.ts";
import { KmsError, type KmsPlugin } from "./grpc.ts";
import {
  dataHead,
  type EncryptedValue,
  type KmsEncrypted,
  type KmsStatus,
  readValue,
  seedTypes,
  valueTail,
} from "./messages.ts";
import { seedBytes, seedCipher } from "./seed.ts";

/** Observes calls synchronously; no member may throw. Hashes are texts such as `sha256:…`. */
export interface KeyObserver {
  /** Called when the status was good and named this key. */
  statusKey?(keyIdHash: string): void;
  /** Called when the status named an invalid key. */
  invalidKeyId?(problem: string): void;
  /** Called when a value was transformed with a seed of this key. */
  used?(type: "to_storage" | "from_storage", keyIdHash: string): void;
  /** Called with the number of seeds in memory. */
  seeds?(count: number): void;
}

interface KmsProviderOptions {
  readonly name: string;
  readonly plugin: KmsPlugin;
  readonly clock: Clock;
  readonly random: Random;
  readonly observe: KeyObserver;
  /** Called when the state of the plugin changed; `problem` is `undefined` when it is good. */
  changed(problem: string | undefined): void;
}

/** A seed in memory. */
interface Seed {
  readonly origin: string;
  readonly keyIdHash: string;
  readonly cipher: Cipher;
}

/** The seed with which new values are encrypted. */
interface Writing extends Seed {
  readonly keyId: string;
  /** The bytes that follow the data of each value. */
  readonly tail: Buffer;
  untilMs: number;
}

const healthyPollMs = 60_000;
const unhealthyPollMs = 10_000;
/** The maximum age in milliseconds of a status for health checks. */
const healthyAgeMs = 20_000;
const unhealthyAgeMs = 3000;
const seedMs = 3 * 60_000;
/** The maximum number of seeds in memory, and of concurrent calls: far more than an ordinary store needs. */
const seedsMax = 1000;
const askedMax = 64;
const keyIdBytesMax = 1024;
const ciphertextBytesMax = 1024;
const annotationsBytesMax = 32 * 1024;

const keyIdHash = (keyId: string): string => (keyId === "" ? "" : `sha256:${hash("sha256", keyId)}`);

export class KmsProvider implements ValueTransformer {
  readonly name: string;
  readonly prefix: Buffer;
  readonly #options: KmsProviderOptions;
  #writing: Writing | undefined;
  /** Decrypted seeds, by `seedId`. */
  readonly #seeds = new ExpiringCache<Seed>(seedsMax);
  readonly #asking = new Map<string, Promise<Seed>>();
  readonly #queue: (() => void)[] = [];
  #asked = 0;
  /** The error of a plugin that cannot be reached, with which further requests fail at once. */
  #unreachable: KmsError | undefined;
  #problem: string | undefined = "the plugin has not been asked yet";
  #polledMs = Number.NEGATIVE_INFINITY;
  #polling: Promise<void> | undefined;
  #cancel: () => void = () => undefined;
  #isClosed = false;

  constructor(options: KmsProviderOptions) {
    this.#options = options;
    this.name = options.name;
    this.prefix = Buffer.from(`k8s:enc:kms:v2:${options.name}:`);
  }

  /** Resolves after the first status call, whatever its result. */
  start(): Promise<void> {
    return this.#poll();
  }

  close(): void {
    this.#isClosed = true;
    this.#cancel();
    this.#options.plugin.close();
  }

  /**
   * The problem of the plugin, if any. Calls the plugin again, unless a recent status exists; the result is for the
   * next read.
   */
  get problem(): string | undefined {
    const ageMs = this.#options.clock.monotonic() - this.#polledMs;
    if (ageMs > (this.#problem === undefined ? healthyAgeMs : unhealthyAgeMs)) void this.#poll();
    return this.#problem;
  }

  get origin(): string | undefined {
    return this.#writing?.origin;
  }

  encrypt(value: Buffer, context: Buffer): Buffer {
    const { clock, observe } = this.#options;
    const writing = this.#writing;
    if (writing === undefined) {
      throw new TransformError(`got unexpected nil transformer: ${this.#problem ?? ""}`);
    }
    const lateMs = clock.monotonic() - writing.untilMs;
    if (lateMs > 0) {
      const [until, now] = [clock.now() - lateMs, clock.now()].map((ms) => new Date(ms).toISOString());
      throw new TransformError(
        `encryptedDEKSource with keyID hash ${JSON.stringify(writing.keyIdHash)} expired at ${until} (current time is ${now})`,
      );
    }
    const data = writing.cipher.seal(value, context);
    observe.used?.("to_storage", writing.keyIdHash);
    return Buffer.concat([this.prefix, dataHead(data.length), data, writing.tail]);
  }

  decrypt(value: Buffer, context: Buffer): MaybePromise<Decrypted> {
    const stored = this.#decode(value.subarray(this.prefix.length));
    const id = seedId(stored);
    const seed = this.#seeds.get(id);
    if (seed !== undefined) return this.#open(stored, seed, context);
    const envelope = this.#decode(Buffer.from(value.subarray(this.prefix.length)));
    return this.#ask(id, envelope).then((decryptedSeed) => {
      const decrypted = this.#open(envelope, decryptedSeed, context);
      // This decryption shows that the plugin had the key that it named.
      this.#keep(id, decryptedSeed);
      return decrypted;
    });
  }

  #open({ data }: EncryptedValue, seed: Seed, context: Buffer): Decrypted {
    const value = seed.cipher.open(data, context);
    this.#options.observe.used?.("from_storage", seed.keyIdHash);
    return { value, origin: seed.origin };
  }

  /** Only the plugin knows which keys it has, so all origins of this provider count as known. */
  knows(origin: string): boolean {
    return origin.startsWith(this.prefix.toString());
  }

  #seed(keyId: string, seedType: number, cipher: Cipher): Seed {
    const idHash = keyIdHash(keyId);
    return { cipher, keyIdHash: idHash, origin: `${this.prefix.toString()}${seedType}:${idHash}` };
  }

  #decode(bytes: Buffer): EncryptedValue {
    let stored: EncryptedValue;
    try {
      stored = readValue(bytes);
    } catch (cause) {
      throw new TransformError("failed to unmarshal the encrypted object", { cause });
    }
    const problem =
      stored.data.length === 0
        ? "encrypted data is empty"
        : (problemOf({ ...stored, ciphertext: stored.encryptedSeed }) ??
          (stored.seedType > seedTypes.hkdfSeed ? `unknown encryptedDEKSourceType: ${stored.seedType}` : undefined));
    if (problem !== undefined) throw new TransformError(`failed to validate encrypted object: ${problem}`);
    return stored;
  }

  /** Has a seed decrypted by the plugin. Concurrent callers with the same seed share one call. */
  #ask(id: string, stored: EncryptedValue): Promise<Seed> {
    let asking = this.#asking.get(id);
    if (asking === undefined) {
      asking = this.#askOnce(stored).finally(() => this.#asking.delete(id));
      this.#asking.set(id, asking);
    }
    return asking;
  }

  async #askOnce({ encryptedSeed, keyId, annotations, seedType }: EncryptedValue): Promise<Seed> {
    const { plugin, random } = this.#options;
    if (this.#asked >= askedMax) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#asked++;
    try {
      if (this.#unreachable !== undefined) throw this.#unreachable;
      const bytes = await plugin.decrypt({ ciphertext: encryptedSeed, keyId, annotations }, random.uuid());
      return this.#seed(keyId, seedType, cipherOf(bytes, seedType, random));
    } catch (error) {
      if (error instanceof KmsError && error.isUnreachable && this.#unreachable === undefined) this.#fail(error);
      if (error instanceof TransformError) throw error;
      throw new TransformError(`failed to decrypt DEK, error: ${messageOf(error)}`, { cause: error });
    } finally {
      this.#asked--;
      this.#queue.shift()?.();
    }
  }

  #keep(id: string, seed: Seed): void {
    this.#seeds.set(id, seed);
    this.#options.observe.seeds?.(this.#seeds.size);
  }

  /** Records that the plugin cannot be reached: requests fail at once until it has a good status again. */
  #fail(error: KmsError): void {
    this.#unreachable = error;
    this.#tell(error.message);
    this.#schedule();
  }

  #tell(problem: string | undefined): void {
    if (this.#isClosed) return;
    const before = this.#problem;
    this.#problem = problem;
    if (before !== problem) this.#options.changed(problem);
  }

  #schedule(): void {
    this.#cancel();
    if (this.#isClosed) return;
    const waitMs = this.#problem === undefined ? healthyPollMs : unhealthyPollMs;
    this.#cancel = this.#options.clock.after(waitMs, () => void this.#poll());
  }

  #poll(): Promise<void> {
    this.#polling ??= this.#look().finally(() => {
      this.#polling = undefined;
      this.#polledMs = this.#options.clock.monotonic();
      this.#schedule();
    });
    return this.#polling;
  }

  /** Reads the status, and has a new seed encrypted if the key has changed. */
  async #look(): Promise<void> {
    const { plugin, clock, observe } = this.#options;
    try {
      const status = await plugin.status();
      const keyProblem = keyIdProblem(status.keyId);
      if (keyProblem !== undefined) {
        observe.invalidKeyId?.(keyProblem.code);
        throw new Error(`got invalid KMSv2 KeyID hash ${JSON.stringify(keyIdHash(status.keyId))}: ${keyProblem.text}`);
      }
      observe.statusKey?.(keyIdHash(status.keyId));
      const untilMs = clock.monotonic() + seedMs;
      if (this.#writing?.keyId === status.keyId) this.#writing.untilMs = untilMs;
      else this.#writing = await this.#newSeed(untilMs);
      this.#unreachable = undefined;
      // A plugin that is unhealthy but has a key is used, as upstream.
      this.#tell(statusProblem(status));
    } catch (error) {
      if (error instanceof KmsError && error.isUnreachable) this.#unreachable = error;
      this.#tell(messageOf(error));
    }
  }

  async #newSeed(untilMs: number): Promise<Writing> {
    const { plugin, random } = this.#options;
    const bytes = random.bytes(seedBytes);
    const encrypted = await plugin.encrypt(bytes, random.uuid());
    const problem = problemOf(encrypted);
    if (problem !== undefined) throw new Error(`failed to validate encrypted object: ${problem}`);
    const { ciphertext, ...of } = encrypted;
    const seedType = seedTypes.hkdfSeed;
    const stored = { ...of, encryptedSeed: ciphertext, seedType };
    const seed = this.#seed(of.keyId, seedType, seedCipher(bytes, random));
    this.#keep(seedId(stored), seed);
    return { ...seed, keyId: of.keyId, tail: valueTail(stored), untilMs };
  }
}

/** Returns an identifier that is equal for values with the same seed. */
function seedId({ encryptedSeed, keyId, annotations, seedType }: Omit<EncryptedValue, "data">): string {
  const parts = [String(seedType), keyId, encryptedSeed.toString("base64")];
  for (const [name, value] of Object.entries(annotations)) parts.push(name, value.toString("base64"));
  return parts.join("\0");
}

function cipherOf(seed: Buffer, seedType: number, random: Random): Cipher {
  if (seedType === seedTypes.hkdfSeed) {
    if (seed.length !== seedBytes)
      throw new TransformError(`invalid seed length ${seed.length} used for key generation`);
    return seedCipher(seed, random);
  }
  if (![16, 24, 32].includes(seed.length)) throw new TransformError(`crypto/aes: invalid key size ${seed.length}`);
  return gcmCipher(seed, random);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The accepted versions of the protocol. */
const versions = ["v2beta1", "v2"];

function statusProblem({ version, healthz }: KmsStatus): string | undefined {
  if (!versions.includes(version)) {
    return `expected KMSv2 API version ${JSON.stringify("v2")}, got ${JSON.stringify(version)}`;
  }
  return healthz === "ok"
    ? undefined
    : `expected KMSv2 healthz status ${JSON.stringify("ok")}, got ${JSON.stringify(healthz)}`;
}

interface KeyIdProblem {
  readonly code: "empty" | "too_long";
  readonly text: string;
}

function keyIdProblem(keyId: string): KeyIdProblem | undefined {
  if (keyId === "") return { code: "empty", text: "keyID is empty" };
  const bytes = Buffer.byteLength(keyId);
  if (bytes <= keyIdBytesMax) return undefined;
  return { code: "too_long", text: `keyID is ${bytes} bytes, which exceeds the max size of ${keyIdBytesMax}` };
}

/** Returns the problem of a value that a plugin encrypted, if any: stored data must not exceed these limits. */
function problemOf({ ciphertext, keyId, annotations }: KmsEncrypted): string | undefined {
  const key = keyIdProblem(keyId);
  if (key !== undefined) return `failed to validate key id: ${key.text}`;
  if (ciphertext.length === 0) return "failed to validate encrypted DEK source: encrypted DEK source is empty";
  if (ciphertext.length > ciphertextBytesMax) {
    return `failed to validate encrypted DEK source: encrypted DEK source is ${ciphertext.length} bytes, which exceeds the max size of ${ciphertextBytesMax}`;
  }
  let bytes = 0;
  for (const [name, value] of Object.entries(annotations)) {
    const problems = dns1123Subdomain(name);
    if (problems.length > 0 || !name.includes("."))
      return `failed to validate annotations: ${name} should be a domain with at least two segments separated by dots`;
    bytes += Buffer.byteLength(name) + value.length;
  }
  return bytes > annotationsBytesMax
    ? `failed to validate annotations: total size of annotations is ${bytes}, which exceeds the max size of ${annotationsBytesMax}`
    : undefined;
}
