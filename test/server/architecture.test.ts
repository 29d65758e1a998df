/**
 * The performance rules of ARCHITECTURE.md ("Invariants"), observed inside one process: one encoding per object version
 * for all readers and watchers, reads from memory only, group commit. The tests count calls of the platform's public
 * functions.
 */
import assert from "node:assert/strict";
import https from "node:https";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import type { ServerSettings } from "#server/options.ts";
import { Api, type Domain, domains, gated, openServer, temporaryFolder } from "../harness.ts";
import { configMap } from "../objects.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "looks inside a server";

/** Opens a server until the end of the test, since the own work of another test's server would be counted too. */
async function openApi(t: TestContext, domain: Domain, settings: ServerSettings): Promise<Api> {
  const server = await openServer(domain, settings);
  t.after(() => server.close());
  return new Api(server);
}

async function disk(t: TestContext, domain: Domain): Promise<Api> {
  // Nothing is written except for requests of clients.
  const featureGates = [...(gated.featureGates ?? []), "APIServerIdentity=false"];
  const api = await openApi(t, domain, { ...gated, featureGates, storage: "disk" });
  await quiet(api);
  return api;
}

/**
 * Calls of JSON's two functions with whole objects, while `work` runs, by the object's name. APIServices do not count:
 * the server's own controller writes them at its own time.
 */
async function encodings(work: () => Promise<void>): Promise<{ encoded: string[]; decoded: string[] }> {
  const { stringify, parse } = JSON;
  const encoded: string[] = [];
  const decoded: string[] = [];
  const nameOf = (value: unknown): string | undefined => {
    const object = value as { kind?: string; metadata?: { name?: string } } | null | undefined;
    const name = object?.metadata?.name;
    // The server itself reads these objects from time to time.
    return object?.kind === "APIService" || name === "kubernetes" ? undefined : name;
  };
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const name = nameOf(args[0]);
    if (name !== undefined) encoded.push(name);
    return stringify(...args);
  }) as typeof stringify;
  JSON.parse = ((...args: Parameters<typeof parse>) => {
    const value: unknown = parse(...args);
    const name = nameOf(value);
    if (name !== undefined) decoded.push(name);
    return value;
  }) as typeof parse;
  try {
    await work();
  } finally {
    JSON.stringify = stringify;
    JSON.parse = parse;
  }
  return { encoded, decoded };
}

/** Waits until the server's own controllers have finished their first writes, of which flow schemas are the last. */
async function quiet(api: Api): Promise<void> {
  const schemas = api.name("/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas");
  for (let before = ""; ; ) {
    const { items } = JSON.parse((await api.get(schemas)).text) as {
      readonly items: readonly { readonly status?: object }[];
    };
    const now = await revisionOf(api);
    if (now === before && items.every(({ status }) => status !== undefined && "conditions" in status)) return;
    before = now;
    await sleep(150);
  }
}

const revisionOf = async (api: Api): Promise<string> =>
  (await api.get("/api/v1/namespaces?limit=1")).string("metadata.resourceVersion");

/**
 * Returns the number of messages to the store's thread while `work` runs, in a run during which no controller wrote.
 * Writes are committed in order: if two of our own have neighbouring revisions, there was no other between them.
 */
async function countAnswers(api: Api, configMaps: string, work: () => Promise<void>): Promise<number> {
  const write = async (): Promise<number> => {
    const answer = (await api.post(configMaps, configMap(api.unique()))).expect(201);
    return Number(answer.string("metadata.resourceVersion"));
  };
  for (;;) {
    const before = await write();
    const messageCount = await messages(work);
    if ((await write()) === before + 1) return messageCount;
  }
}

/** Sends a GET whose answer is not parsed. */
function bytesOf(api: Api, path: string): Promise<Buffer> {
  const { host, port, agent } = api.endpoint;
  return new Promise((resolve, reject) => {
    const headers = { authorization: "Bearer admin-token" };
    const request = https.get({ host, port, agent, path: api.name(path), headers }, (message) => {
      const pieces: Buffer[] = [];
      message.on("data", (piece: Buffer) => pieces.push(piece));
      message.on("end", () => resolve(Buffer.concat(pieces)));
    });
    request.on("error", reject);
  });
}

/** Opens a watch whose events are not parsed. `done` resolves when `text` was received. */
function watchBytes(api: Api, path: string, text: string): Promise<{ done: Promise<void>; close: () => void }> {
  const { host, port } = api.endpoint;
  const agent = new https.Agent({ ca: api.server.ca });
  const headers = { authorization: "Bearer admin-token" };
  return new Promise((resolve, reject) => {
    const request = https.get({ host, port, agent, path: api.name(path), headers }, (message) => {
      let received = "";
      const done = new Promise<void>((told) => {
        message.on("data", (piece: Buffer) => {
          received += piece.toString();
          if (received.includes(text)) told();
        });
      });
      message.on("error", () => undefined);
      resolve({ done, close: () => agent.destroy() });
    });
    request.on("error", reject);
  });
}

for (const domain of domains) {
  test(`${domain}: a write encodes its object once; reading and listing it encode and decode nothing`, {
    skip,
  }, async (t) => {
    const api = await disk(t, domain);
    const { configMaps } = await api.createNamespace();
    for (let i = 0; i < 50; i++) (await api.post(configMaps, configMap(`m${i}`, { k: "v" }))).expect(201);
    await quiet(api);
    const reads = await encodings(async () => {
      for (let i = 0; i < 50; i++) assert.ok((await bytesOf(api, `${configMaps}/m${i}`)).includes(`"name":"m${i}"`));
      for (const query of ["", "?resourceVersion=0", "?limit=20", "?labelSelector=!nothing"]) {
        assert.ok((await bytesOf(api, `${configMaps}${query}`)).includes('"name":"m0"'));
      }
      assert.ok((await bytesOf(api, `${configMaps}?watch=true&timeoutSeconds=1`)).includes('"name":"m49"'));
    });
    assert.deepEqual(reads, { encoded: [], decoded: [] });
    const body = Buffer.from(JSON.stringify(configMap("one", { k: "v" })));
    const write = await encodings(async () => void (await api.post(configMaps, body)));
    assert.deepEqual(write.encoded, ["one"]);
  });

  test(`${domain}: an object written by an earlier process is read without being decoded`, { skip }, async (t) => {
    const settings = { ...gated, storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
    const before = new Api(await openServer(domain, settings));
    const { configMaps } = await before.createNamespace();
    for (let i = 0; i < 20; i++) (await before.post(configMaps, configMap(`m${i}`))).expect(201);
    await before.server.close();
    const api = await openApi(t, domain, settings);
    await quiet(api);
    const reads = await encodings(async () => {
      assert.ok((await bytesOf(api, `${configMaps}/m7`)).includes('"name":"m7"'));
      assert.ok((await bytesOf(api, configMaps)).includes('"name":"m19"'));
    });
    assert.deepEqual(reads, { encoded: [], decoded: [] });
  });

  test(`${domain}: a watch event is encoded once for all watchers`, { skip }, async (t) => {
    const api = await disk(t, domain);
    const { ns, configMaps } = await api.createNamespace();
    (await api.post(configMaps, configMap("m1", { k: "v" }))).expect(201);
    const version = (await api.get(configMaps)).string("metadata.resourceVersion");
    const paths = [
      `${configMaps}?watch=true&resourceVersion=${version}`,
      `${configMaps}?watch=true&resourceVersion=${version}&labelSelector=!nothing`,
      `${configMaps}?watch=true&resourceVersion=${version}&fieldSelector=metadata.name%3Dm1`,
      `/api/v1/configmaps?watch=true&resourceVersion=${version}&fieldSelector=metadata.namespace%3D${ns}`,
    ];
    const watches = await Promise.all(
      Array.from({ length: 60 }, (_, i) => watchBytes(api, paths[i % paths.length]!, "changed")),
    );
    const body = Buffer.from(JSON.stringify({ data: { k: "changed" } }));
    const write = await encodings(async () => {
      (await api.patch(`${configMaps}/m1`, body)).expect(200);
      await Promise.all(watches.map(({ done }) => done));
    });
    for (const { close } of watches) close();
    assert.deepEqual(write.encoded, ["m1"]);
  });

  test(`${domain}: reads and watches of the present never ask the disk`, { skip }, async (t) => {
    const api = await disk(t, domain);
    const { configMaps } = await api.createNamespace();
    for (let i = 0; i < 20; i++) (await api.post(configMaps, configMap(`m${i}`))).expect(201);
    await quiet(api);
    const messageCount = await countAnswers(api, configMaps, async () => {
      const version = await revisionOf(api);
      await bytesOf(api, `${configMaps}/m1`);
      await bytesOf(api, `${configMaps}/none`);
      await bytesOf(api, configMaps);
      await bytesOf(api, `${configMaps}?limit=5`);
      await bytesOf(api, `${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`);
      await bytesOf(api, "/api/v1/configmaps?resourceVersion=0");
      await bytesOf(api, `${configMaps}?watch=true&timeoutSeconds=1`);
      await bytesOf(api, `${configMaps}?watch=true&timeoutSeconds=1&resourceVersion=${version}`);
    });
    assert.equal(messageCount, 0);
    const written = await messages(async () => void (await api.post(configMaps, configMap("more"))).expect(201));
    assert.ok(written > 0, "writes are not seen: the count is broken");
  });

  test(`${domain}: writes that come together are committed together`, { skip }, async (t) => {
    const api = await disk(t, domain);
    const { configMaps } = await api.createNamespace();
    const count = 300;
    // Connections are opened first, since the test measures many writes at the same time.
    await Promise.all(Array.from({ length: count }, () => api.get(configMaps)));
    const asked = await messages(async () => {
      const answers = await Promise.all(
        Array.from({ length: count }, (_, i) => api.post(configMaps, configMap(`m${i}`))),
      );
      for (const answer of answers) answer.expect(201);
    });
    assert.ok(asked < (count * 2) / 3, `${asked} messages to the disk for ${count} writes`);
  });
}

/**
 * Returns the number of calls of worker threads while `work` runs, by a message or by a wake-up. One of the threads
 * owns the disk.
 */
async function messages(work: () => Promise<void>): Promise<number> {
  const { postMessage } = Worker.prototype;
  const { notify } = Atomics;
  let count = 0;
  Worker.prototype.postMessage = function counted(this: Worker, ...args: Parameters<typeof postMessage>) {
    count++;
    return postMessage.apply(this, args);
  };
  Atomics.notify = (words: Int32Array | BigInt64Array, index: number, waiters?: number) => {
    count++;
    return notify(words as Int32Array, index, waiters); // either kind, as it came
  };
  try {
    await work();
  } finally {
    Worker.prototype.postMessage = postMessage;
    Atomics.notify = notify;
  }
  return count;
}
