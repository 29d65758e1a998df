/** Watches and waiting with the client library: nothing is missed when connections fail and histories end. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { ApiError } from "#client/api-error.ts";
import { type KindClient, WaitTimeoutError, type WatchEvent } from "#client/cluster.ts";
import { ConfigMap, PersistentVolumeClaim } from "#client/kinds.ts";
import { outcome, UnexpectedValueError } from "#client/outcome.ts";
import type { ClientResponse, Transport } from "#client/transport.ts";
import { type Api, eventually, suite } from "../harness.ts";
import { clusterOf, makeNamespace, recorded, transportOf } from "./open-cluster.ts";

const inBothDomains = suite();

const refusal = (code: number, reason: string): ClientResponse => ({
  code,
  body: Buffer.from(JSON.stringify({ kind: "Status", status: "Failure", code, reason, message: reason })),
});

/** A transport whose watches a test cuts and refuses. */
class FaultyTransport implements Transport {
  readonly #inner: Transport;
  #cut = new AbortController();
  /** The answer to new watches, as long as it is set. */
  refuses: ClientResponse | undefined;

  constructor(inner: Transport) {
    this.#inner = inner;
  }

  request(...[request]: Parameters<Transport["request"]>): Promise<ClientResponse> {
    return this.#inner.request(request);
  }

  async stream(...[request, onEvent]: Parameters<Transport["stream"]>): Promise<ClientResponse> {
    if (this.refuses !== undefined) return this.refuses;
    const { signal } = this.#cut;
    const signals = request.signal === undefined ? [signal] : [signal, request.signal];
    const answer = await this.#inner.stream({ ...request, signal: AbortSignal.any(signals) }, onEvent);
    if (request.signal?.aborted !== true) signal.throwIfAborted();
    return answer;
  }

  /** Ends all watches with an error, as when a connection is lost. */
  cut(): void {
    this.#cut.abort(new Error("the connection is lost"));
    this.#cut = new AbortController();
  }
}

/** Whether it is the config map that servers make in each namespace. */
const isRootCa = ({ metadata }: ConfigMap): boolean => metadata.name === "kube-root-ca.crt";

interface Watched {
  readonly maps: KindClient<ConfigMap>;
  /** The events so far, as `added a 1`. */
  readonly events: string[];
  readonly failures: unknown[];
  readonly transport: FaultyTransport;
  stop(): Promise<void>;
}

const told = ({ type, object }: WatchEvent<ConfigMap>): string =>
  `${type} ${object.metadata.name} ${object.data?.["depth"]}`;

/** Watches the config maps of a new namespace. */
async function watchMaps(api: Api, t: TestContext): Promise<Watched> {
  const plain = await clusterOf(api, t);
  const namespace = await makeNamespace(plain, "watched");
  const transport = new FaultyTransport(transportOf(api, t));
  const cluster = await clusterOf(api, t, { transport });
  const maps = plain.kind(ConfigMap).in(namespace);
  await maps.create({ metadata: { name: "a" }, data: { depth: "1" } });
  const stop = new AbortController();
  const events: string[] = [];
  const failures: unknown[] = [];
  const watch = cluster.kind(ConfigMap).watch({
    in: namespace,
    signal: stop.signal,
    failed: (error) => failures.push(error),
  });
  const running = (async () => {
    for await (const event of watch) if (!isRootCa(event.object)) events.push(told(event));
  })();
  t.after(() => stop.abort());
  await eventually(async () => assert.deepEqual(events, ["added a 1"]));
  return {
    maps,
    events,
    failures,
    transport,
    async stop() {
      stop.abort();
      await running;
    },
  };
}

inBothDomains("a watch tells what there is and every change, and ends with its signal", async (api, t) => {
  const { maps, events, stop } = await watchMaps(api, t);
  await maps.create({ metadata: { name: "b" }, data: { depth: "1" } });
  await maps.patch("a", { merge: { data: { depth: "2" } } });
  await maps.delete("b");
  await eventually(async () => assert.deepEqual(events.slice(1), ["added b 1", "modified a 2", "deleted b 1"]));
  await stop();
});

inBothDomains("a watch that is cut goes on after the last change, and nothing is told twice", async (api, t) => {
  const { maps, events, failures, transport, stop } = await watchMaps(api, t);
  const expected = ["added a 1"];
  for (let depth = 2; depth < 5; depth++) {
    await maps.patch("a", { merge: { data: { depth: String(depth) } } });
    expected.push(`modified a ${depth}`);
    transport.cut();
  }
  await eventually(async () => assert.deepEqual(events, expected));
  assert.ok(failures.length > 0);
  await stop();
});

inBothDomains("when the history is gone, a watch lists again and tells what has vanished", async (api, t) => {
  const { maps, events, transport, stop } = await watchMaps(api, t);
  for (const name of ["b", "c", "d"]) await maps.create({ metadata: { name }, data: { depth: "1" } });
  await eventually(async () => assert.equal(events.length, 4));
  transport.refuses = refusal(410, "Expired");
  transport.cut();
  await maps.delete("b");
  await maps.delete("c");
  await maps.create({ metadata: { name: "c" }, data: { depth: "9" } });
  await maps.patch("d", { merge: { data: { depth: "2" } } });
  await maps.create({ metadata: { name: "e" }, data: { depth: "1" } });
  transport.refuses = undefined;
  const missed = ["deleted b 1", "deleted c 1", "added c 9", "modified d 2", "added e 1"];
  await eventually(async () => assert.deepEqual(events.slice(4).toSorted(), missed.toSorted()));
  await stop();
});

inBothDomains("a refusal ends a watch with an error, at once or later", async (api, t) => {
  const bob = (await clusterOf(api, t, { transport: transportOf(api, t, "bob") })).kind(ConfigMap);
  const isForbidden = (error: Error): boolean => error instanceof ApiError && error.code === 403;
  await assert.rejects(Array.fromAsync(bob.watch()), isForbidden);
  const transport = new FaultyTransport(transportOf(api, t));
  const cluster = await clusterOf(api, t, { transport });
  const maps = cluster.kind(ConfigMap).in(await makeNamespace(cluster, "watched"));
  await maps.create({ metadata: { name: "a" } });
  const watch = maps.watch();
  await watch.next();
  transport.refuses = refusal(403, "Forbidden");
  await assert.rejects(async () => {
    for await (const _event of watch) transport.cut();
  }, isForbidden);
});

inBothDomains("a failure of the server does not end a watch, and is told", async (api, t) => {
  const { maps, events, failures, transport, stop } = await watchMaps(api, t);
  transport.refuses = refusal(500, "InternalError");
  transport.cut();
  await maps.patch("a", { merge: { data: { depth: "2" } } });
  await eventually(async () => assert.ok(failures.some((error) => error instanceof ApiError && error.code === 500)));
  transport.refuses = undefined;
  await eventually(async () => assert.deepEqual(events.at(-1), "modified a 2"));
  await stop();
});

inBothDomains("a program waits for an object that does not exist yet, and for its end", async (api, t) => {
  const cluster = await clusterOf(api, t);
  const namespace = await makeNamespace(cluster, "waited");
  const maps = cluster.kind(ConfigMap).in(namespace);
  const deep = maps.until("chart", (chart) => chart?.data?.["depth"] === "2", { timeout: "2m" });
  await maps.create({ metadata: { name: "chart" }, data: { depth: "1" } });
  await maps.patch("chart", { merge: { data: { depth: "2" } } });
  assert.equal((await deep)?.data?.["depth"], "2");
  const gone = maps.until("chart", (chart) => chart === undefined);
  await maps.delete("chart");
  assert.equal(await gone, undefined);
});

inBothDomains("when the time is over, the object is read once more before the wait fails", async (api, t) => {
  const transport = recorded(transportOf(api, t));
  const cluster = await clusterOf(api, t, { transport });
  const namespace = await makeNamespace(cluster, "waited");
  const maps = cluster.kind(ConfigMap).in(namespace);
  const name = "chart";
  const never = (): boolean => false;
  await assert.rejects(maps.until(name, never, { timeout: 1 }), (error: Error) => {
    assert.ok(error instanceof WaitTimeoutError);
    assert.equal(error.message, `waited 1ms for ConfigMap "${name}" in "${namespace}", which does not exist`);
    return true;
  });
  assert.equal(transport.requests.at(-1), `GET /api/v1/namespaces/${namespace}/configmaps/${name}`);
  await maps.create({ metadata: { name } });
  let reads = 0;
  assert.ok(await maps.until(name, () => ++reads > 1, { timeout: "50ms" }));
  await assert.rejects(maps.until(name, never, { timeout: "50ms" }), (error: Error) => {
    assert.ok(error instanceof WaitTimeoutError);
    assert.equal(error.object?.metadata.name, name);
    return true;
  });
  await assert.rejects(maps.until(name, never, { timeout: "soon" }), /invalid duration "soon"/);
  const pending = (): Promise<boolean> => new Promise(() => undefined);
  await assert.rejects(maps.until(name, pending, { timeout: "50ms" }), (error: Error) => {
    assert.ok(error instanceof WaitTimeoutError);
    assert.match(error.message, /^waited 50ms for ConfigMap .*, and the predicate has not answered$/);
    assert.equal(error.object?.metadata.name, name);
    return true;
  });
  const reason = new Error("somebody else is faster");
  const stop = new AbortController();
  const asked = (): Promise<boolean> => {
    stop.abort(reason);
    return pending();
  };
  await assert.rejects(maps.until(name, asked, { signal: stop.signal }), reason);
});

inBothDomains(
  "[PVC-63] a program that waits for a state counts a value that it does not know as failure",
  async (api, t) => {
    const cluster = await clusterOf(api, t);
    const namespace = await makeNamespace(cluster, "claims");
    const claims = cluster.kind(PersistentVolumeClaim).in(namespace);
    await claims.create({
      metadata: { name: "data" },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
    const modified = outcome<PersistentVolumeClaim>((claim) => claim.status.modifyVolumeStatus?.status, {
      done: [undefined],
      waiting: ["Pending", "InProgress"],
    });
    const set = (status: string | null): Promise<PersistentVolumeClaim> =>
      claims.status.patch("data", { merge: { status: { modifyVolumeStatus: status === null ? null : { status } } } });
    await set("Pending");
    const succeeds = claims.until("data", modified);
    await set("InProgress");
    await set(null);
    assert.equal((await succeeds)?.metadata.name, "data");
    await set("InProgress");
    const fails = claims.until("data", modified);
    const isTold = assert.rejects(fails, (error: Error) => {
      assert.ok(error instanceof UnexpectedValueError);
      assert.equal(error.value, "Exploded");
      assert.match(error.message, /^PersistentVolumeClaim "data" has "Exploded", which is none of /);
      return true;
    });
    await set("Exploded");
    await isTold;
  },
  { needs: "the feature gate VolumeAttributesClass" },
);
