/**
 * Large requests that fail: closed clients, exceeded time or memory, threads that die, a stopping server. Other
 * requests are unaffected, and no request is half done.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import { test } from "node:test";
import type { Worker } from "node:worker_threads";
import type { ServerSettings } from "#server/options.ts";
import { type Answer, asTable, patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { Api, eventually, gated, openServer, temporaryFolder, type TestServer } from "../harness.ts";
import { configMap } from "../objects.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";
/** Data of 100 KB. */
const filling = { filler: "x".repeat(100_000) };

interface On {
  readonly api: Api;
  readonly server: TestServer;
  /** The running threads of large requests, in the order of their start. */
  readonly threads: Worker[];
}

/** Runs a test with a server of its own. Threads that start meanwhile belong to it, since the store is in memory. */
async function withServer(settings: ServerSettings, run: (on: On) => Promise<void>): Promise<void> {
  const server = await openServer("k8s.io", { ...gated, ...settings });
  const api = new Api(server);
  const threads: Worker[] = [];
  const onStart = (thread: Worker): void => {
    threads.push(thread);
    thread.once("exit", () => threads.splice(threads.indexOf(thread), 1));
  };
  process.on("worker", onStart);
  try {
    await run({ api, server, threads });
  } finally {
    process.off("worker", onStart);
    api.close();
    await server.close();
  }
}

/** Checks that another large request works. */
async function goesOn({ api }: On, name = api.unique()): Promise<void> {
  (await api.post(configMaps, configMap(name, filling))).expect(201);
}

/** Sends a request whose client closes the connection when `when` resolves. */
async function leave({ server }: On, path: string, body: object, when: () => Promise<unknown>): Promise<void> {
  const { host, port, tokens } = server.endpoint;
  const headers = { authorization: `Bearer ${tokens["admin"]}`, "content-type": "application/json" };
  const request = https.request({ host, port, path, method: "POST", headers, ca: server.ca, agent: false });
  request.on("error", () => undefined);
  request.end(JSON.stringify(body));
  await when();
  request.destroy();
}

/** Returns a body for which a thread needs a second or more. */
const slow = (name: string): object => {
  const names = Array.from({ length: 200_000 }, (_, i) => [`f:k${i}`, {}] as const);
  const fieldsV1 = Object.fromEntries(names);
  const owner = { manager: "m", operation: "Update", apiVersion: "v1", fieldsType: "FieldsV1", fieldsV1 };
  return configMap(name, {}, { managedFields: [owner] });
};

test("a thread whose client has left ends, and has written nothing", async () => {
  await withServer({}, async (on) => {
    await leave(on, configMaps, slow("left"), () => once(process, "worker"));
    await eventually(() => Promise.resolve(assert.equal(on.threads.length, 0)));
    (await on.api.get(`${configMaps}/left`)).expectFailure(404, "NotFound");
    await goesOn(on);
  });
});

test("requests whose clients have left while they waited are not begun", async () => {
  await withServer({}, async (on) => {
    const first = on.api.post(configMaps, slow("first"));
    await once(process, "worker");
    const soon = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 200));
    const leaving = Array.from({ length: 20 }, (_, i) => leave(on, configMaps, configMap(`w-${i}`, filling), soon));
    await Promise.all(leaving);
    (await first).expect(201);
    await goesOn(on, "last");
    const names = (await on.api.get(configMaps, { accept: asTable })).list("rows").length;
    assert.equal(names, 2, "the requests of clients that stayed");
    assert.equal(on.threads.length, 1);
  });
});

test("a request that needs too much memory is refused with 413; what is nested deeply needs little, also indented", async () => {
  await withServer({}, async (on) => {
    const { api } = on;
    const containers = `{"metadata":{"name":"x"},"spec":{"containers":[${"{},".repeat(900_000)}{}]}}`;
    const tooMuch = /needs more than the 384 MB of memory that one request may have/;
    (await api.post("/api/v1/namespaces/default/pods", containers)).expectFailure(
      413,
      "RequestEntityTooLarge",
      tooMuch,
    );
    await goesOn(on);
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    (await api.post(crds, definition("deep.example.com", { schema }))).expect(201);
    const widgets = "/apis/deep.example.com/v1/widgets";
    await eventually(async () => (await api.get(widgets)).expect(200));
    const deep = `${'{"a":'.repeat(3500)}1${"}".repeat(3500)}`;
    for (const count of [20, 40]) {
      const object = JSON.stringify(custom("deep.example.com", `deep-${count}`, { spec: "deep" }));
      const body = object.replace('"deep"', `[${Array.from({ length: count }, () => deep).join(",")}]`);
      (await api.post(widgets, body, { literal: true })).expect(201);
      // With indentation at every level, the text would have hundreds of megabytes, or exceed the maximum length of a
      // text.
      for (const path of [`${widgets}/deep-${count}`, widgets]) {
        for (const options of [{}, { accept: "application/yaml" }]) {
          const indented = await api.get(`${path}?pretty=true`, options);
          indented.expect(200);
          assert.ok(indented.text.length < 8e6);
        }
      }
    }
  });
});

test("bodies nested more deeply than the event loop can read are refused by threads as well", async () => {
  await withServer({}, async ({ api }) => {
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    (await api.post(crds, definition("deep.example.com", { schema }))).expect(201);
    const widgets = "/apis/deep.example.com/v1/widgets";
    await eventually(async () => (await api.get(widgets)).expect(200));
    for (const depth of [2000, 9000]) {
      const deep = `${'{"a":'.repeat(depth)}"${"x".repeat(70_000)}"${"}".repeat(depth)}`;
      const object = JSON.stringify(custom("deep.example.com", `deep-${depth}`, { spec: "deep" }));
      const answer = await api.post(widgets, object.replace('"deep"', deep), { literal: true });
      if (depth === 2000) answer.expect(201);
      else answer.expectFailure(400, "BadRequest", "the object is nested too deeply");
    }
    (await api.get(`${widgets}?pretty=true`)).expect(200, { "items.length": 1 });
    (await api.get(widgets, { accept: asTable })).expect(200, { "rows.length": 1 });
  });
});

test("a request that takes a thread too long is answered with 504, and the next is handled", async () => {
  await withServer({}, async (on) => {
    // The start of a thread takes longer than the timeout.
    const late = await on.api.post(`${configMaps}?timeout=20ms`, configMap("late", filling));
    late.expectFailure(504, "Timeout");
    await eventually(() => Promise.resolve(assert.equal(on.threads.length, 0)));
    (await on.api.get(`${configMaps}/late`)).expectFailure(404, "NotFound");
    await goesOn(on);
  });
});

test("a thread that ends by itself costs the request it had, and no other", async () => {
  await withServer({}, async (on) => {
    process.once("worker", (thread: Worker) => void thread.terminate());
    const [lost, other] = await Promise.all([
      on.api.post(configMaps, configMap("lost", filling)),
      on.api.post(configMaps, configMap("other", filling)),
    ]);
    assert.deepEqual([lost.status, other.status].sort(), [201, 500]);
    await goesOn(on);
  });
});

test("a server that stops while large requests run and wait answers them or ends them, and keeps what it acknowledged", async () => {
  const dataDir = `${temporaryFolder()}/data`;
  const settings = { ...gated, storage: "disk", dataDir } as const;
  const server = await openServer("k8s.io", settings);
  const api = new Api(server);
  const begun = once(process, "worker");
  const asked = Array.from({ length: 24 }, (_, i) =>
    api.post(configMaps, i % 8 === 0 ? slow(`m-${i}`) : configMap(`m-${i}`, filling)).then(
      (answer): Answer | undefined => answer,
      () => undefined,
    ),
  );
  await begun;
  await server.close({ keepConnections: true });
  const answers = await Promise.all(asked);
  api.close();
  const acknowledged = answers.flatMap((answer, i) => (answer?.status === 201 ? [`m-${i}`] : []));
  assert.ok(acknowledged.length > 0);
  for (const answer of answers) assert.ok(answer === undefined || [201, 429, 503].includes(answer.status));
  const again = await openServer("k8s.io", settings);
  const reader = new Api(again);
  for (const name of acknowledged) (await reader.get(`${configMaps}/${name}`)).expect(200);
  (await reader.patch(`${configMaps}/${acknowledged[0]!}`, { data: filling }, patchTypes.merge)).expect(200);
  reader.close();
  await again.close();
});
