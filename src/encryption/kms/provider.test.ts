/** Seeds of KMS providers: when a new one is made, how long one is used, and which answers of plugins are refused. */
import assert from "node:assert/strict";
import { createDecipheriv, createHmac } from "node:crypto";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { TransformError } from "../transformer.ts";
import { KmsError, type KmsPlugin } from "./grpc.ts";
import { dataHead, type KmsEncrypted, readValue, valueTail } from "./messages.ts";
import { KmsProvider } from "./provider.ts";

const random = seededRandom(1);
const associatedData = Buffer.from("/registry/core/secrets/shop/a");
const value = Buffer.from("in clear");

/** A plugin without a socket. */
class FakePlugin implements KmsPlugin {
  keyId = "key-1";
  healthz = "ok";
  version = "v2";
  failure: Error | undefined;
  encrypted: Partial<KmsEncrypted> = {};
  /** The result of decrypting any seed. */
  plaintext: Buffer | undefined;
  readonly asked = { status: 0, encrypt: 0, decrypt: 0 };
  /** The promise for which answers to `decrypt` wait. */
  answer: Promise<void> = Promise.resolve();
  underWay = 0;
  mostUnderWay = 0;

  status() {
    this.asked.status++;
    const { version, healthz, keyId } = this;
    return this.failure === undefined ? Promise.resolve({ version, healthz, keyId }) : Promise.reject(this.failure);
  }

  encrypt(plaintext: Buffer): Promise<KmsEncrypted> {
    this.asked.encrypt++;
    const ciphertext = Buffer.concat([Buffer.from([1]), plaintext]);
    return Promise.resolve({ ciphertext, keyId: this.keyId, annotations: {}, ...this.encrypted });
  }

  async decrypt({ ciphertext }: KmsEncrypted): Promise<Buffer> {
    this.asked.decrypt++;
    this.mostUnderWay = Math.max(this.mostUnderWay, ++this.underWay);
    await this.answer;
    this.underWay--;
    if (this.failure !== undefined) throw this.failure;
    return this.plaintext ?? ciphertext.subarray(1);
  }

  close(): void {}
}

interface Parts {
  readonly plugin: FakePlugin;
  readonly clock: FakeClock;
  readonly provider: KmsProvider;
  readonly changes: (string | undefined)[];
}

async function startProvider(plugin = new FakePlugin(), clock = new FakeClock()): Promise<Parts> {
  const changes: (string | undefined)[] = [];
  const changed = (problem: string | undefined): void => void changes.push(problem);
  const provider = new KmsProvider({ name: "mine", plugin, clock, random, observe: {}, changed });
  await provider.start();
  return { plugin, clock, provider, changes };
}

/** Advances the clock, and lets the due work finish. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 10_000) {
    clock.advance(Math.min(left, 10_000));
    await turn();
  }
}

async function refusal(work: () => unknown): Promise<string> {
  try {
    await work();
  } catch (error) {
    assert.ok(error instanceof TransformError, String(error));
    return error.message;
  }
  return assert.fail("it succeeded");
}

const unavailable = new KmsError("rpc error: code = Unavailable desc = gone", true);

test("a value has a key of its own, which a seed and 32 random bytes give", async () => {
  const { provider, plugin } = await startProvider();
  const stored = provider.encrypt(value, associatedData);
  const prefix = "k8s:enc:kms:v2:mine:";
  assert.equal(stored.toString("latin1", 0, prefix.length), prefix);
  const { data, encryptedSeed, keyId, seedType } = readValue(stored.subarray(prefix.length));
  assert.deepEqual([keyId, seedType, plugin.asked.encrypt], ["key-1", 1, 1]);
  const key = createHmac("sha256", encryptedSeed.subarray(1)).update(data.subarray(0, 32)).update("\u0001").digest();
  const cipher = createDecipheriv("aes-256-gcm", key, data.subarray(32, 44));
  cipher.setAAD(associatedData);
  cipher.setAuthTag(data.subarray(-16));
  assert.deepEqual(Buffer.concat([cipher.update(data.subarray(44, -16)), cipher.final()]), value);
});

test("another process asks the plugin once for all values of a seed", async () => {
  const { provider } = await startProvider();
  const stored = Array.from({ length: 20 }, () => provider.encrypt(value, associatedData));
  const other = await startProvider();
  const read = await Promise.all(stored.map(async (one) => other.provider.decrypt(one, associatedData)));
  assert.ok(read.every((one) => one.value.equals(value) && one.origin === provider.origin));
  assert.equal(other.plugin.asked.decrypt, 1);
  assert.ok(!(other.provider.decrypt(stored[0]!, associatedData) instanceof Promise));
  assert.equal(await refusal(() => other.provider.decrypt(stored[0]!, value)), "cipher: message authentication failed");
});

test("another key ID means another seed within a minute, and the values before are stale", async () => {
  const { provider, plugin, clock } = await startProvider();
  const before = provider.origin;
  const stored = provider.encrypt(value, associatedData);
  await pass(clock, 60_000);
  assert.deepEqual([plugin.asked.encrypt, provider.origin], [1, before]);
  plugin.keyId = "key-2";
  await pass(clock, 60_000);
  assert.equal(plugin.asked.encrypt, 2);
  assert.notEqual(provider.origin, before);
  const read = await provider.decrypt(stored, associatedData);
  assert.deepEqual([read.value, read.origin, provider.knows(read.origin)], [value, before, true]);
});

test("a seed writes for three minutes after the last good status, then again after the next", async () => {
  const { provider, plugin, clock, changes } = await startProvider();
  plugin.failure = unavailable;
  await pass(clock, 170_000);
  provider.encrypt(value, associatedData);
  await pass(clock, 20_000);
  assert.match(
    await refusal(() => provider.encrypt(value, associatedData)),
    /^encryptedDEKSource with keyID hash "sha256:\w{64}" expired at /,
  );
  plugin.failure = undefined;
  await pass(clock, 10_000);
  provider.encrypt(value, associatedData);
  assert.deepEqual(changes, [undefined, unavailable.message, undefined]);
  assert.equal(plugin.asked.encrypt, 1);
});

test("a plugin is asked every minute, and every ten seconds while something is wrong", async () => {
  const { plugin, clock } = await startProvider();
  await pass(clock, 600_000);
  assert.equal(plugin.asked.status, 11);
  plugin.failure = unavailable;
  await pass(clock, 60_000);
  plugin.asked.status = 0;
  await pass(clock, 100_000);
  assert.equal(plugin.asked.status, 10);
});

test("a health check learns of a failure with its second call", async () => {
  const { provider, plugin, clock } = await startProvider();
  assert.equal(provider.problem, undefined);
  plugin.healthz = "no";
  clock.advance(20_001);
  assert.equal(provider.problem, undefined);
  await turn();
  assert.equal(provider.problem, 'expected KMSv2 healthz status "ok", got "no"');
  assert.equal(plugin.asked.status, 2);
});

test("without a good status nothing is written, with the reason", async () => {
  const plugin = new FakePlugin();
  plugin.failure = unavailable;
  const { provider } = await startProvider(plugin);
  assert.equal(provider.origin, undefined);
  assert.match(await refusal(() => provider.encrypt(value, associatedData)), /code = Unavailable/);
});

test("a plugin that is not well, but has a key, is used and its state told", async () => {
  for (const [lie, expected] of [
    [{ version: "v1" }, 'expected KMSv2 API version "v2", got "v1"'],
    [{ healthz: "no" }, 'expected KMSv2 healthz status "ok", got "no"'],
  ] as const) {
    const { provider } = await startProvider(Object.assign(new FakePlugin(), lie));
    assert.equal(provider.problem, expected);
    assert.deepEqual((await provider.decrypt(provider.encrypt(value, associatedData), associatedData)).value, value);
  }
});

test("the answer of a plugin has a bounded size before it is stored", async () => {
  const large = (bytes: number): Buffer => Buffer.alloc(bytes, 1);
  const lies: [Partial<FakePlugin>, RegExp][] = [
    [{ keyId: "" }, /keyID is empty/],
    [{ keyId: "k".repeat(1025) }, /keyID is 1025 bytes, which exceeds the max size of 1024/],
    [{ encrypted: { keyId: "" } }, /keyID is empty/],
    [{ encrypted: { ciphertext: large(0) } }, /is empty/],
    [{ encrypted: { ciphertext: large(1025) } }, /is 1025 bytes, which exceeds the max size of 1024/],
    [{ encrypted: { annotations: { plain: large(1) } } }, /should be a domain/],
    [{ encrypted: { annotations: { "a.example.com": large(32 * 1024) } } }, /exceeds the max size of 32768/],
  ];
  for (const [lie, expected] of lies) {
    const { provider } = await startProvider(Object.assign(new FakePlugin(), lie));
    assert.match(provider.problem ?? "", expected);
    await refusal(() => provider.encrypt(value, associatedData));
  }
});

test("a seed that was decrypted wrongly is not kept", async () => {
  const { provider } = await startProvider();
  const stored = provider.encrypt(value, associatedData);
  const { provider: other, plugin } = await startProvider();
  plugin.plaintext = Buffer.alloc(32, 5);
  assert.equal(await refusal(() => other.decrypt(stored, associatedData)), "cipher: message authentication failed");
  plugin.plaintext = Buffer.alloc(5, 5);
  assert.equal(
    await refusal(() => other.decrypt(stored, associatedData)),
    "invalid seed length 5 used for key generation",
  );
  plugin.plaintext = undefined;
  assert.deepEqual((await other.decrypt(stored, associatedData)).value, value);
});

test("many seeds are asked for a few at a time, and for none while the plugin is gone", async () => {
  const { provider, plugin, clock } = await startProvider();
  const { data } = readValue(provider.encrypt(value, associatedData).subarray(provider.prefix.length));
  const encodeWith = (i: number): Buffer => {
    const encryptedSeed = Buffer.alloc(33, i);
    const tail = valueTail({ keyId: `key-${i}`, encryptedSeed, annotations: {}, seedType: 1 });
    return Buffer.concat([provider.prefix, dataHead(data.length), data, tail]);
  };
  const waiting = Promise.withResolvers<void>();
  plugin.answer = waiting.promise;
  const reads = Array.from({ length: 500 }, (_, i) => refusal(() => provider.decrypt(encodeWith(i), associatedData)));
  await turn();
  assert.equal(plugin.underWay, 64);
  plugin.failure = unavailable;
  waiting.resolve();
  const messages = await Promise.all(reads);
  assert.deepEqual([...new Set(messages)], [`failed to decrypt DEK, error: ${unavailable.message}`]);
  assert.deepEqual([plugin.mostUnderWay, plugin.asked.decrypt], [64, 64]);
  plugin.failure = undefined;
  await pass(clock, 10_000);
  await refusal(() => provider.decrypt(encodeWith(1), associatedData));
  assert.equal(plugin.asked.decrypt, 65);
});

test("bytes that are no value of a provider are refused: truncated, empty, of an unknown form", async () => {
  const { provider } = await startProvider();
  const stored = provider.encrypt(value, associatedData);
  for (let length = provider.prefix.length; length < stored.length; length++) {
    await refusal(() => provider.decrypt(stored.subarray(0, length), associatedData));
  }
  const { data, ...of } = readValue(stored.subarray(provider.prefix.length));
  const odd = Buffer.concat([provider.prefix, dataHead(data.length), data, valueTail({ ...of, seedType: 7 })]);
  assert.match(await refusal(() => provider.decrypt(odd, associatedData)), /unknown/);
});
