/** The controller against a server in this process. Each test finds the server as it was after its start. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, afterEach, before, beforeEach, test } from "node:test";
import type { Cluster } from "binnacle/client";
import { run } from "binnacle/client/controllers";
import { ConfigMap, Event } from "binnacle/client/kinds";
import { type Snapshot, startTestServer, type TestServer } from "binnacle/testing";
import { Boat } from "./boats.ts";
import { boats } from "./harbour.ts";

let server: TestServer;
let cluster: Cluster;
let stop: AbortController;
let running: Promise<void>;

before(async () => {
  server = await startTestServer();
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const body = readFileSync(new URL("boats.yaml", import.meta.url));
  const answer = await server.fetch(path, { method: "POST", headers: { "content-type": "application/yaml" }, body });
  assert.equal(answer.status, 201);
  await server.settled();
});
after(() => server.close());

let clean: Snapshot;

beforeEach(async () => {
  clean = server.snapshot();
  cluster = await server.client("harbour");
  stop = new AbortController();
  running = run(cluster, { signal: stop.signal }, [boats]);
});
afterEach(async () => {
  stop.abort();
  await running;
  await server.restore(clean);
  server.faults.clear();
});

const ketch = { metadata: { name: "ketch", namespace: "default" }, spec: { berth: "A7" } };

const moored = (boat: Boat | undefined): boolean =>
  boat?.status?.conditions?.some(({ type, status }) => type === "Moored" && status === "True") === true;

test("a boat gets a logbook, which goes with it", async () => {
  await cluster.kind(Boat).create(ketch);
  await cluster.kind(Boat).until("ketch", moored, { in: "default", timeout: "60s" });
  const logbook = await cluster.kind(ConfigMap).get("ketch-logbook", { in: "default" });
  assert.deepEqual(logbook.data, { berth: "A7" });

  await cluster.kind(Boat).delete("ketch", { in: "default" });
  await cluster.kind(ConfigMap).until("ketch-logbook", (one) => one === undefined, { in: "default", timeout: "60s" });
});

test("a boat that moves has its new berth in its logbook", async () => {
  await cluster.kind(Boat).create(ketch);
  await cluster.kind(Boat).until("ketch", moored, { in: "default", timeout: "60s" });
  await cluster.kind(Boat).patch("ketch", { merge: { spec: { berth: "B2" } } }, { in: "default" });
  const wanted = (one: ConfigMap | undefined) => one?.data?.["berth"] === "B2";
  await cluster.kind(ConfigMap).until("ketch-logbook", wanted, { in: "default", timeout: "60s" });
});

test("writes that fail, and one whose answer is lost, come again", async () => {
  server.faults.next({ resource: "configmaps", verb: "patch" }, { answer: 500 }, { times: 2 });
  server.faults.next({ resource: "boats", subresource: "status" }, { lose: true });
  await cluster.kind(Boat).create(ketch);
  await cluster.kind(Boat).until("ketch", moored, { in: "default", timeout: "60s" });
  const patches = server.requests().filter(({ resource, verb }) => resource === "configmaps" && verb === "patch");
  assert.equal(patches.filter(({ code }) => code === 500).length, 2);
});

test("its event is kept for an hour, which takes no time here", async () => {
  await cluster.kind(Boat).create(ketch);
  await cluster.kind(Boat).until("ketch", moored, { in: "default", timeout: "60s" });
  const events = async (): Promise<string[]> => {
    const found: string[] = [];
    for await (const one of cluster.kind(Event).list({ in: "default" })) found.push(one.reason ?? "");
    return found;
  };
  await server.settled();
  while (!(await events()).includes("Moored")) await new Promise((resolve) => setTimeout(resolve, 20));
  await server.clock.advance("2h");
  while ((await events()).includes("Moored")) await new Promise((resolve) => setTimeout(resolve, 20));
});
