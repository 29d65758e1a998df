/**
 * Many clients: thousands of idle watches, readers that do not read, floods of bad requests. The server is usually a
 * separate process, so that its memory can be measured.
 */
import assert from "node:assert/strict";
import type http2 from "node:http2";
import { test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Answer } from "../client.ts";
import { Api, domains, eventually, openServer } from "../harness.ts";
import { configMap } from "../objects.ts";
import { type ServerProcess, spawnServer } from "../process.ts";
import { connectHttp2, connectRaw, type RawConnection } from "../raw.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const megabyte = 1024 * 1024;
const authorization = "Bearer admin-token";

/** Registers a test in each domain with a server process. */
function testUnderLoad(name: string, run: (server: ServerProcess, api: Api) => Promise<void>): void {
  for (const domain of domains) {
    test(`${domain}: ${name}`, { skip }, async () => {
      const server = await spawnServer({ domain });
      try {
        await run(server, server.api);
      } finally {
        server.api.close();
        await server.stop("SIGKILL");
      }
    });
  }
}

testUnderLoad("thousands of idle watches cost little and all are told", async (server, api) => {
  const { configMaps } = await api.createNamespace();
  const path = api.name(configMaps);
  const before = await server.memoryBytes();
  const sessions: http2.ClientHttp2Session[] = [];
  const count = 3000;
  let notified = 0;
  let opened = 0;
  try {
    for (let i = 0; i < count / 60; i++) {
      const session = await connectHttp2(server.api.endpoint, server.api.server.ca);
      sessions.push(session);
      for (let j = 0; j < 60; j++) {
        const stream = session.request({ ":path": `${path}?watch=true`, authorization });
        stream.on("error", () => undefined);
        stream.on("response", ({ ":status": status }) => {
          if (status === 200) opened++;
        });
        stream.once("data", () => {
          notified++;
        });
      }
    }
    await eventually(() => Promise.resolve(assert.equal(opened, count)), 60_000);
    const grown = (await server.memoryBytes()) - before;
    assert.ok(grown < count * 40_000, `${Math.round(grown / count)} bytes for each watch`);
    (await api.post(configMaps, configMap("m1"))).expect(201);
    await eventually(() => Promise.resolve(assert.equal(notified, count)), 60_000);
  } finally {
    for (const session of sessions) session.destroy();
  }
  (await api.get(`${configMaps}/m1`)).expect(200);
});

testUnderLoad("readers that do not read take no memory and delay no others", async (server, api) => {
  const { configMaps } = await api.createNamespace();
  for (let i = 0; i < 60; i++) (await api.post(configMaps, configMap(`m${i}`, { k: "x".repeat(300_000) }))).expect(201);
  (await api.get(configMaps)).expect(200);
  const before = await server.memoryBytes();
  const readers: RawConnection[] = [];
  try {
    for (let i = 0; i < 40; i++) {
      const raw = await connectRaw(api.endpoint, api.server.ca);
      raw.socket.pause();
      raw.write(`GET ${api.name(configMaps)} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`);
      readers.push(raw);
    }
    // 40 lists of 18 MB each would be 720 MB.
    for (let i = 0; i < 20; i++) (await api.get(`${configMaps}/m${i}`)).expect(200);
    const grown = (await server.memoryBytes()) - before;
    assert.ok(grown < 150 * megabyte, `${Math.round(grown / megabyte)} MB`);
  } finally {
    for (const raw of readers) raw.socket.destroy();
  }
});

testUnderLoad("a watcher that does not read is cut off, others are told everything", async (server, api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { k: "x" }))).expect(201);
  const good = await api.watch(configMaps);
  await good.next();
  const before = await server.memoryBytes();
  const stuck: RawConnection[] = [];
  try {
    for (let i = 0; i < 20; i++) {
      const raw = await connectRaw(api.endpoint, api.server.ca);
      raw.write(
        `GET ${api.name(configMaps)}?watch=true HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${authorization}\r\n\r\n`,
      );
      await raw.until("ADDED");
      raw.socket.pause();
      stuck.push(raw);
    }
    const rounds = 200;
    for (let i = 1; i <= rounds; i++) {
      (await api.patch(`${configMaps}/m1`, { data: { k: `${i} ${"x".repeat(200_000)}` } })).expect(200);
      (await good.next()).has({
        type: "MODIFIED",
        "object.data.k": (value: unknown) => String(value).startsWith(`${i} `),
      });
    }
    // The unread events of 20 watchers would be 800 MB.
    const grown = (await server.memoryBytes()) - before;
    assert.ok(grown < 300 * megabyte, `${Math.round(grown / megabyte)} MB`);
  } finally {
    for (const raw of stuck) raw.socket.destroy();
  }
});

/** Returns the memory in use after a full garbage collection, in bytes. */
function heapInUse(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  return process.memoryUsage().heapUsed + process.memoryUsage().external;
}

for (const domain of domains) {
  test(`${domain}: nothing of a flood of bad requests is remembered`, { skip }, async () => {
    const server = await openServer(domain);
    const api = new Api(server);
    const { configMaps } = await api.createNamespace();
    const long = "x".repeat(4000);
    const flood = async (name: string, rounds: number): Promise<void> => {
      for (let i = 0; i < rounds; i++) {
        const each = (work: (text: string) => Promise<Answer>): Promise<Answer>[] =>
          Array.from({ length: 6 }, (_, j) => work(`${name}-${i}-${j}-${long}`));
        const answers = await Promise.all([
          ...each((text) => api.get(configMaps, { as: text })),
          ...each((text) => api.get(`/apis/group/v1/${text}`)),
          ...each((text) => api.get(`${configMaps}/${text}`)),
          ...each((text) => api.get(`${configMaps}?labelSelector=${text}`)),
          ...each((text) => api.get(configMaps, { accept: `application/${text}` })),
          ...each((text) => api.post(configMaps, text)),
          ...each((text) => api.post(configMaps, "{}", { type: `application/${text}` })),
          ...each((text) => api.get(`${configMaps}/none`, { headers: { "user-agent": text } })),
        ]);
        for (const answer of answers) assert.ok(answer.status >= 400 && answer.status < 500, answer.title);
      }
    };
    try {
      await flood("first", 15);
      const before = heapInUse();
      await flood("second", 60);
      const grown = heapInUse() - before;
      // 60 rounds of 48 texts of 4 KB are 11 MB.
      assert.ok(grown < 3 * megabyte, `${(grown / megabyte).toFixed(1)} MB`);
    } finally {
      await server.close();
    }
  });
}
