/**
 * Random histories of an encrypted store: writes, new configurations, restarts, a KMS plugin that fails and changes its
 * key. No acknowledged value is lost or wrong, all are readable once every key is there, and no plain value is in the
 * data folder.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { StorageRefusal } from "#storage/log-store.ts";
import { openSqliteStore } from "#storage/sqlite.ts";
import { textOf, waitUntil } from "#storage/store.contract.ts";
import { aescbc } from "./aescbc.ts";
import { aesgcm } from "./aesgcm.ts";
import { EncryptedLog } from "./encrypted-log.ts";
import { KmsError, type KmsPlugin } from "./kms/grpc.ts";
import { KmsProvider } from "./kms/provider.ts";
import { secretbox } from "./secretbox.ts";
import type { ValueTransformer } from "./transformer.ts";
import { Transformers } from "./transformers.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3);
const steps = 60;
const names = ["a", "b", "c", "d", "e"].map((name) => `/registry/core/secrets/shop/${name}`);

async function life(lifeSeed: number, dataDir: string): Promise<void> {
  const random = seededRandom(lifeSeed);
  const below = (bound: number): number => Math.floor(random.next() * bound);
  const clock = new FakeClock();
  let isUp = true;
  let keyId = "key-1";
  const ask = <T>(answer: T): Promise<T> =>
    isUp ? Promise.resolve(answer) : Promise.reject(new KmsError("rpc error: code = Unavailable desc = gone", true));
  const plugin: KmsPlugin = {
    status: () => ask({ version: "v2", healthz: "ok", keyId }),
    encrypt: (plaintext) => ask({ ciphertext: Buffer.from(plaintext.toString("hex")), keyId, annotations: {} }),
    decrypt: ({ ciphertext }) => ask(Buffer.from(ciphertext.toString(), "hex")),
    close() {},
  };
  const kms = new KmsProvider({
    name: "mine",
    plugin,
    clock,
    random,
    observe: {},
    changed: (problem) => void (problem === undefined && encrypted?.retry()),
  });
  let encrypted: EncryptedLog | undefined;
  const key = (fill: number) => [{ name: `k${fill % 2}`, secret: Buffer.alloc(32, fill) }];
  const providers: readonly ValueTransformer[] = [
    aesgcm(key(1), random),
    aesgcm(key(3), random),
    aescbc(key(2), random),
    secretbox(key(5), random),
    kms,
  ];
  const some = (): readonly ValueTransformer[] => providers.toSorted(() => random.next() - 0.5).slice(0, 1 + below(3));
  const of = (list: readonly ValueTransformer[]): Transformers =>
    new Transformers([{ resources: ["*.*"], providers: list }]);
  const open = (list: readonly ValueTransformer[]) =>
    openSqliteStore({
      clock,
      compactionIntervalMs: 0,
      dataDir,
      wrap: (log) => (encrypted = new EncryptedLog(log, of(list))),
    });
  const look = async (): Promise<void> => {
    clock.advance(60_000);
    for (let i = 0; i < 5; i++) await turn();
  };
  await kms.start();
  let current = some();
  let { cache } = await open(current);
  const written = new Map<string, string>();
  const check = (isComplete: boolean): void => {
    assert.deepEqual(
      cache.range("/registry/core/").entries.map((entry) => entry.key),
      [...written.keys()].toSorted(),
    );
    for (const [name, text] of written) {
      const entry = cache.get(name);
      assert.ok(entry !== undefined);
      if (isComplete || entry.unreadable === undefined) {
        assert.equal(entry.unreadable, undefined, name);
        assert.equal(entry.value.toString(), `${text}@${entry.revision}`);
      }
    }
  };
  for (let step = 0; step < steps; step++) {
    const name = names[below(names.length)]!;
    const entry = cache.get(name);
    const action = below(20);
    if (action < 11) {
      const text = `hidden-${step}`;
      try {
        assert.ok((await cache.put(name, entry?.revision ?? 0, textOf(text))).ok);
        written.set(name, text);
      } catch (error) {
        assert.ok(error instanceof StorageRefusal && current[0] === kms, String(error));
      }
    } else if (action < 13) {
      if (entry !== undefined) assert.ok((await cache.remove(name, entry.revision)).ok);
      written.delete(name);
    } else if (action < 15) {
      current = some();
      await encrypted?.use(of(current));
    } else if (action < 17) {
      await cache.close();
      current = some();
      ({ cache } = await open(current));
    } else if (action < 19) {
      isUp = !isUp;
      await look();
    } else {
      keyId = `key-${step}`;
      await look();
    }
    check(false);
  }
  isUp = true;
  await look();
  await encrypted?.use(of(providers));
  await waitUntil(() => encrypted?.unreadable === 0);
  check(true);
  await cache.close();
  ({ cache } = await open(providers));
  check(true);
  await cache.close();
  kms.close();
  for (const file of readdirSync(dataDir)) {
    assert.equal(readFileSync(join(dataDir, file)).includes("hidden-"), false, file);
  }
}

test(`no value is lost or shown wrongly, whatever becomes of keys (FUZZ_SEED=${seed})`, async () => {
  const root = mkdtempSync(join(tmpdir(), "binnacle-rotation-"));
  try {
    for (let run = 0; run < runs; run++) {
      await life(seed + run, join(root, String(run))).catch((error: unknown) => {
        throw new Error(`FUZZ_SEED=${seed + run}`, { cause: error });
      });
    }
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});
