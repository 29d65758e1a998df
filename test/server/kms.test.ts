/** Encryption by a KMS plugin in another process: it hangs, answers wrongly, dies, changes its key, and starts late. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Api, eventually, file, type Observed, startObserved, temporaryFolder } from "../harness.ts";
import { KmsPlugin } from "../kms-plugin.ts";
import { namespace, namespacePaths } from "../objects.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const { secrets, configMaps } = {
  secrets: "/api/v1/namespaces/n1/secrets",
  configMaps: namespacePaths("n1").configMaps,
};
const plugins: KmsPlugin[] = [];
after(() => {
  for (const plugin of plugins) plugin.stop();
});

async function startPlugin(socket?: string): Promise<KmsPlugin> {
  const plugin = new KmsPlugin(socket);
  plugins.push(plugin);
  await plugin.start();
  return plugin;
}

/** Returns a configuration in which calls may take an hour, so that an advanced clock does not end them. */
const config = (socket: string, name = "mine", timeout = "1h"): string =>
  JSON.stringify({
    apiVersion: "apiserver.config.k8s.io/v1",
    kind: "EncryptionConfiguration",
    resources: [
      {
        resources: ["secrets"],
        providers: [{ kms: { apiVersion: "v2", name, endpoint: `unix://${socket}`, timeout } }],
      },
    ],
  });

/** Opens a server with this data folder, which does not wait long for its plugin. */
function open(dataDir: string, socket: string, timeout = "1h"): Promise<Observed> {
  return startObserved("k8s.io", {
    storage: "disk",
    dataDir,
    encryptionProviderConfig: file("encryption.json", config(socket, "mine", timeout)),
  });
}

const newFolder = (): string => join(temporaryFolder(), "data");
const secret = (name: string): object => ({ metadata: { name }, stringData: { a: "hidden-in-clear" } });

async function createSecrets(api: Api, ...names: readonly string[]): Promise<void> {
  (await api.post("/api/v1/namespaces", namespace("n1"))).expect([201, 409]);
  for (const name of names) (await api.post(secrets, secret(name))).expect(201);
}

/**
 * Repeats `check` until it holds, and lets time pass in between: enough for a check of the plugin, which has time to
 * answer.
 */
async function afterLooks<T>({ clock }: Observed, check: () => Promise<T>): Promise<T> {
  return eventually(async () => {
    try {
      return await check();
    } catch (error) {
      clock.advance(60_000);
      await sleep(200);
      throw error;
    }
  });
}

/** Replaces a secret by itself until this writes it, which happens when the key has changed. */
async function expectRewrite(opened: Observed, name: string): Promise<void> {
  const { api } = opened;
  const before = (await api.get(`${secrets}/${name}`)).expect(200);
  await afterLooks(opened, async () => {
    const after = (await api.put(`${secrets}/${name}`, before.value)).expect(200);
    assert.notEqual(after.string("metadata.resourceVersion"), before.string("metadata.resourceVersion"));
  });
}

/** Runs `work` with a server that is closed afterwards. */
async function usingOpened(opening: Promise<Observed>, work: (opened: Observed) => Promise<void>): Promise<void> {
  const opened = await opening;
  try {
    await work(opened);
  } finally {
    await opened.close();
  }
}

test("secrets are encrypted by a KMS plugin, and read again after a restart", { skip }, async () => {
  const plugin = await startPlugin();
  const dataDir = newFolder();
  await usingOpened(open(dataDir, plugin.socket), ({ api }) => createSecrets(api, "s", "t"));
  for (const name of ["store.db", "store.db-wal"]) {
    const bytes = readFileSync(join(dataDir, name), { flag: "a+" });
    for (const text of ["hidden-in-clear", Buffer.from("hidden-in-clear").toString("base64")]) {
      assert.equal(bytes.includes(text), false, name);
    }
  }
  assert.equal(plugin.calls.Encrypt, 1);
  await usingOpened(open(dataDir, plugin.socket), async ({ api }) => {
    (await api.get(secrets)).expect(200, { "items.length": 2, "items.0.data.a": "aGlkZGVuLWluLWNsZWFy" });
    assert.equal(plugin.calls.Decrypt, 1);
    const metrics = (await api.get("/metrics")).text;
    for (const expected of [
      /envelope_encryption_kms_operations_latency_seconds_count\{[^}]*KeyManagementService\/Decrypt[^}]*\} 1\n/,
      /envelope_encryption_key_id_hash_total\{[^}]*provider_name="mine",transformation_type="from_storage"\} 2\n/,
    ]) {
      assert.match(metrics, expected);
    }
    assert.match((await api.get("/readyz?verbose")).expect(200).text, /\[\+\]kms-providers ok/);
  });
});

test("a plugin that is down at the start harms its objects only, and they are read once it is there", {
  skip,
}, async () => {
  const dataDir = newFolder();
  const plugin = await startPlugin();
  await usingOpened(open(dataDir, plugin.socket), ({ api }) => createSecrets(api, "s"));
  plugin.stop();
  await usingOpened(open(dataDir, plugin.socket), async (opened) => {
    const { api } = opened;
    const message = /unable to transform key "\/registry\/secrets\/n1\/s": /;
    (await api.get(`${secrets}/s`)).expectFailure(500, "InternalError", message);
    (await api.get(secrets)).expectFailure(500, "InternalError");
    (await api.post(secrets, secret("t"))).expectFailure(500, "InternalError");
    (await api.post(configMaps, { metadata: { name: "m" } })).expect(201);
    (await api.get("/readyz")).expect(500);
    await plugin.start();
    const readable = { "data.a": "aGlkZGVuLWluLWNsZWFy" };
    await afterLooks(opened, async () => (await api.get(`${secrets}/s`)).expect(200, readable));
    (await api.post(secrets, secret("t"))).expect(201);
    (await api.get("/readyz")).expect(200);
  });
});

test("a plugin that hangs does not hold up the start, nor other requests", { skip }, async () => {
  const dataDir = newFolder();
  const plugin = await startPlugin();
  const names = Array.from({ length: 20 }, (_, i) => `s${i}`);
  await usingOpened(open(dataDir, plugin.socket), ({ api }) => createSecrets(api, ...names));
  plugin.hanging.add("Decrypt");
  await usingOpened(open(dataDir, plugin.socket, "2s"), async (opened) => {
    const { api } = opened;
    const problem = /failed to decrypt DEK, error: rpc error: code = DeadlineExceeded desc = context deadline exceeded/;
    (await api.get(`${secrets}/s1`)).expectFailure(500, "InternalError", problem);
    assert.equal(plugin.calls.Decrypt, 1);
    (await api.get(configMaps)).expect(200);
    plugin.hanging.clear();
    await afterLooks(opened, async () => (await api.get(secrets)).expect(200, { "items.length": 20 }));
  });
});

test("a plugin that has lost a key, or lies about it, makes its objects unreadable and no others", {
  skip,
}, async () => {
  const dataDir = newFolder();
  const plugin = await startPlugin();
  await usingOpened(open(dataDir, plugin.socket), async (opened) => {
    await createSecrets(opened.api, "old", "changed");
    plugin.rotate("key-2");
    await expectRewrite(opened, "changed");
  });
  plugin.keys.delete("key-2");
  await usingOpened(open(dataDir, plugin.socket), async ({ api }) => {
    const problem = "failed to decrypt DEK, error: rpc error: code = NotFound desc = no key key-2";
    const message = `Internal error occurred: unable to transform key "/registry/secrets/n1/changed": ${problem}`;
    (await api.get(`${secrets}/changed`)).expectFailure(500, "InternalError", message);
    (await api.get(`${secrets}/old`)).expect(200);
    (await api.get(secrets)).expectFailure(500, "InternalError");
    (await api.get(configMaps)).expect(200);
  });
  plugin.keys.add("key-2");
  plugin.plaintext = Buffer.alloc(32, 1);
  await usingOpened(open(dataDir, plugin.socket), async ({ api }) => {
    const message = /"\/registry\/secrets\/n1\/old": cipher: message authentication failed/;
    (await api.get(`${secrets}/old`)).expectFailure(500, "InternalError", message);
  });
});

test("a reload that names a plugin that does not work keeps the one before", { skip }, async () => {
  const plugin = await startPlugin();
  const broken = await startPlugin();
  broken.hanging.add("Status");
  const path = file("encryption.json", config(plugin.socket));
  const settings = { encryptionProviderConfig: path, encryptionProviderConfigAutomaticReload: true } as const;
  await usingOpened(startObserved("k8s.io", { ...settings, storage: "disk" }), async (opened) => {
    const { api, logged } = opened;
    await createSecrets(api, "s");
    writeFileSync(path, config(broken.socket, "other", "50ms"));
    await afterLooks(opened, () => {
      assert.ok(logged.some((line) => line.includes("the encryption configuration stays as it was")));
      return Promise.resolve();
    });
    await createSecrets(api, "t");
    (await api.get(secrets)).expect(200, { "items.length": 2 });
    assert.match((await api.get("/healthz?verbose")).text, /\[\+\]kms-providers ok/);
  });
});

test("another key of the plugin makes objects stale: replacing them unchanged writes them by it", {
  skip,
}, async () => {
  const plugin = await startPlugin();
  await usingOpened(open(newFolder(), plugin.socket), async (opened) => {
    const { api } = opened;
    await createSecrets(api, "s");
    const before = (await api.get(`${secrets}/s`)).expect(200);
    const version = before.string("metadata.resourceVersion");
    (await api.put(`${secrets}/s`, before.value)).expect(200, { "metadata.resourceVersion": version });
    plugin.rotate("key-2");
    await expectRewrite(opened, "s");
  });
});
