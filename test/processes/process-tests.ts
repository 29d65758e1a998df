/** The tests of several processes behind one port, for each kind of store. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type Api, eventually } from "../harness.ts";
import { Counter } from "./counter.ts";
import { ManyWatches } from "./many-watches.ts";
import { ServedProcesses, untilGone } from "./served-processes.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** Registers the tests. `storeFlags` returns flags for a store that is new. */
export function processTests(storeFlags: () => readonly string[]): void {
  test("connections are spread evenly, and the metrics of all are on one page", async (t) => {
    const served = await ServedProcesses.start(t, { count: 3, flags: storeFlags() });
    const counts = [0, 0, 0];
    const apis = Array.from({ length: 12 }, () => served.connect());
    for (const api of apis) counts[await served.processOf(api)]! += 1;
    assert.ok(Math.max(...counts) - Math.min(...counts) <= 1, counts.join());
    for (const api of apis) for (let count = 0; count < 5; count++) await api.get("/api/v1/podtemplates");
    for (const api of apis.slice(0, 3)) {
      const page = (await api.get("/metrics")).expect(200).text;
      const values = seriesOf(page);
      const labels = `verb="LIST",dry_run="",group="",version="v1",resource="podtemplates",subresource="",scope="cluster",component="apiserver"`;
      assert.equal(values.get(`apiserver_request_total{${labels},code="200"}`), 60);
      assert.equal(values.get(`apiserver_request_duration_seconds_count{${labels}}`), 60);
      assert.equal(values.get(`apiserver_request_duration_seconds_bucket{${labels},le="+Inf"}`), 60);
      assert.equal(values.get("binnacle_processes_missing"), 0);
      assert.equal(values.get("binnacle_peers"), 2);
    }
  });

  test("what one process acknowledges, every other one answers at once, and in watches", async (t) => {
    const served = await ServedProcesses.start(t, { count: 3, flags: storeFlags() });
    const apis = await served.connectToAll();
    const { configMaps } = await apis[0]!.createNamespace();
    const watches = [];
    for (let index = 0; index < 3; index++) watches.push(await (await served.connectTo(index)).watch(configMaps));
    for (let at = 0; at < 60; at++) {
      const [writer, ...readers] = [0, 1, 2].map((offset) => apis[(at + offset) % 3]!);
      const created = (await writer!.post(configMaps, { metadata: { name: `c${at}` } })).expect(201);
      const answers = await Promise.all(readers.map((api) => api.get(`${configMaps}/c${at}`)));
      for (const answer of answers)
        answer.expect(200, { "metadata.resourceVersion": created.string("metadata.resourceVersion") });
      const lists = await Promise.all(readers.map((api) => api.get(configMaps)));
      for (const list of lists) list.expect(200, { "items.length": (count: unknown) => Number(count) > at });
    }
    const seen = await Promise.all(watches.map((watch) => eventsUpTo(watch, "c59")));
    assert.equal(seen[0]!.length, seen[0]!.indexOf("ADDED c59") + 1);
    assert.deepEqual(seen[1], seen[0]);
    assert.deepEqual(seen[2], seen[0]);
    await eventually(async () =>
      (await apis[1]!.get("/api/v1/namespaces/default/endpoints/kubernetes")).expect(200, {
        "subsets.length": 1,
        "subsets[0].addresses.length": 1,
      }),
    );
  });

  test("the history of a collection, and its past, are the same through every process", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags() });
    const apis = await served.connectToAll();
    const { configMaps } = await apis[0]!.createNamespace();
    const changes = configMaps.replace("/api/", "/binnacle/v1/history/core/");
    const created = await apis[0]!.post(configMaps, { metadata: { name: "a" }, data: { v: "1" } });
    const version = created.expect(201).string("metadata.resourceVersion");
    (await apis[1]!.patch(`${configMaps}/a`, { data: { v: "2" } })).expect(200);
    (await apis[1]!.delete(`${configMaps}/a`)).expect(200);
    for (const api of apis) {
      (await api.get(`${changes}?previous=true`)).expect(200, {
        "items.length": 3,
        "items[0].event": "deleted",
        "items[0].previous.data.v": "2",
        "items[1].event": "updated",
        "items[1].object.data.v": "2",
        "items[2].event": "created",
      });
      (await api.get(`${changes}?at=${version}`)).expect(200, { "items.length": 1, "items[0].data.v": "1" });
      (await api.get(`${changes}/a?at=${version}`)).expect(200, { "data.v": "1" });
    }
  });

  test("a definition made through one process is served by the others when the create returns", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags() });
    const [a, b] = (await served.connectToAll()) as [Api, Api];
    for (const [at, maker, user] of [
      [0, a, b],
      [1, b, a],
    ] as const) {
      const plural = `things${at}`;
      const names = { plural, singular: `thing${at}`, kind: `Thing${at}`, listKind: `Thing${at}List` };
      const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
      const version = { name: "v1", served: true, storage: true, schema };
      const spec = { group: "example.com", scope: "Cluster", names, versions: [version] };
      (await maker.post(definitions, { metadata: { name: `${plural}.example.com` }, spec })).expect(201);
      const thing = { apiVersion: "example.com/v1", kind: names.kind, metadata: { name: "t" } };
      (await user.post(`/apis/example.com/v1/${plural}`, thing)).expect(201);
      (await maker.get(`/apis/example.com/v1/${plural}/t`)).expect(200);
    }
  });

  for (const victim of [1, 0])
    test(`no acknowledged write is lost when process ${victim} is killed, and it is started again`, async (t) => {
      const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags() });
      await losesNothing(served, victim, () => served.killAndAwait(victim));
    });

  for (const victim of [1, 0])
    test(`no acknowledged write is lost when process ${victim} is out of memory, and it is started again`, async (t) => {
      // Enough for a server and its objects, and not for thousands of watches.
      const variables = { NODE_OPTIONS: "--max-old-space-size=64" };
      const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags(), variables });
      const watches = await ManyWatches.connect(served, victim);
      await losesNothing(served, victim, () => served.awaitNext(victim, () => watches.open()));
      const isFull = (line: string): boolean => line.includes("JavaScript heap out of memory");
      assert.equal(served.logged.filter(isFull).length, 1, served.logged.slice(-20).join("\n"));
    });

  test("when all processes are killed at once, all are started again behind the same port", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags() });
    const api = served.connect();
    const { configMaps } = await api.createNamespace();
    (await api.post(configMaps, { metadata: { name: "c" } })).expect(201);
    await Promise.all([served.killAndAwait(0), served.killAndAwait(1)]);
    for (const again of await served.connectToAll()) (await again.get(`${configMaps}/c`)).expect(200);
  });

  test("a process that stands still does not hold up the others, and answers correctly when it goes on", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags() });
    const [a, b] = (await served.connectToAll()) as [Api, Api];
    const { configMaps } = await a.createNamespace();
    served.signal(1, "SIGSTOP");
    const late = b.get(`${configMaps}/c99`);
    for (let at = 0; at < 100; at++) (await a.post(configMaps, { metadata: { name: `c${at}` } })).expect(201);
    // One of the next connections may wait for the process that stands still, and no more.
    const others = Array.from({ length: 4 }, () => served.connect());
    const answered = await Promise.all(
      others.map((api) =>
        Promise.race([
          api.get("/version").then(
            ({ status }) => status,
            () => 0,
          ),
          sleep(2000, 0),
        ]),
      ),
    );
    assert.ok(answered.filter((status) => status === 200).length >= 3, answered.join());
    const page = (await a.get("/metrics")).expect(200).text;
    assert.equal(seriesOf(page).get("binnacle_processes_missing"), 1);
    served.signal(1, "SIGCONT");
    (await late).expect(200);
    (await b.get(configMaps)).expect(200, { "items.length": 100 });
  });

  test("a number that all processes read and raise never goes back while they are killed and stand still", async (t) => {
    const served = await ServedProcesses.start(t, { count: 3, flags: storeFlags() });
    const counter = await Counter.start(served, 8);
    const goesOn = async (): Promise<void> => {
      const before = counter.acknowledged;
      while (counter.acknowledged < before + 10) await sleep(5);
    };
    for (const index of [1, 0, 2, 0]) {
      await goesOn();
      served.signal(index, "SIGSTOP");
      await sleep(500);
      served.signal(index, "SIGCONT");
      await goesOn();
      await served.killAndAwait(index);
    }
    await goesOn();
    await counter.finish();
  });

  test("SIGTERM ends all processes, and keeps every acknowledged write", async (t) => {
    const flags = storeFlags();
    const served = await ServedProcesses.start(t, { count: 3, flags });
    const apis = await served.connectToAll();
    const { configMaps } = await apis[0]!.createNamespace();
    const pids = [...served.pids().values()];
    assert.equal(pids.length, 3);
    const acknowledged: string[] = [];
    const writing = apis.map(async (api, index) => {
      for (let at = 0; ; at++) {
        const name = `c${index}-${at}`;
        const answer = await api.post(configMaps, { metadata: { name } }).catch(() => undefined);
        if (answer === undefined) return;
        if (answer.status === 201) acknowledged.push(name);
      }
    });
    while (acknowledged.length < 60) await sleep(5);
    served.supervisor.kill("SIGTERM");
    assert.equal(await served.exited, 0, served.logged.slice(-10).join("\n"));
    await untilGone(pids);
    await Promise.all(writing);
    const again = await ServedProcesses.start(t, { count: 2, dataDir: served.dataDir, flags });
    const names = new Set((await again.connect().get(configMaps)).expect(200).names());
    assert.deepEqual(
      acknowledged.filter((name) => !names.has(name)),
      [],
    );
  });

  test("no process outlives a supervisor that is killed", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2, flags: storeFlags() });
    const pids = [...served.pids().values()];
    assert.equal(pids.length, 2);
    served.supervisor.kill("SIGKILL");
    await untilGone(pids);
  });
}

/** Writes through the other process while one ends and is started again. Both have all that was acknowledged afterwards. */
async function losesNothing(served: ServedProcesses, victim: number, end: () => Promise<void>): Promise<void> {
  const other = await served.connectTo(1 - victim);
  const { configMaps } = await other.createNamespace();
  const acknowledged: string[] = [];
  let isOver = false;
  const writing = (async () => {
    for (let at = 0; !isOver; at++) {
      // The outcome of a write that is under way may be unknown, and a later one may find no owner of the log yet.
      const answer = await other.post(configMaps, { metadata: { name: `c${at}` } });
      if (answer.status === 201) acknowledged.push(`c${at}`);
      else assert.ok([503, 504].includes(answer.status), answer.title);
    }
  })();
  while (acknowledged.length < 30) await sleep(5);
  await end();
  const before = acknowledged.length;
  while (acknowledged.length < before + 30) await sleep(5);
  isOver = true;
  await writing;
  for (const api of [other, await served.connectTo(victim)]) {
    const names = new Set((await api.get(configMaps)).expect(200).names());
    assert.deepEqual(
      acknowledged.filter((name) => !names.has(name)),
      [],
    );
  }
}

/** Returns the events of a watch up to the one that adds the last object. */
async function eventsUpTo(watch: Awaited<ReturnType<Api["watch"]>>, last: string): Promise<readonly string[]> {
  const events = await watch.until((event) => event.type === "ADDED" && event.name === last);
  return events.map(({ type, name }) => `${type} ${name}`);
}

/** Returns the values of a page of metrics by name and labels. Throws for a line that has no value, and for a doubled one. */
function seriesOf(page: string): ReadonlyMap<string, number> {
  const values = new Map<string, number>();
  const types = new Set<string>();
  for (const line of page.trimEnd().split("\n")) {
    const [, kind, name] = /^# (HELP|TYPE) (\S+) /.exec(line) ?? [];
    if (kind === "TYPE") {
      assert.ok(!types.has(name!), line);
      types.add(name!);
    }
    if (kind !== undefined) continue;
    const [, key, value] = /^([a-z_]+(?:\{.*\})?) (\S+)$/.exec(line) ?? [];
    assert.ok(key !== undefined && value !== undefined && !values.has(key), line);
    values.set(key, Number(value));
  }
  return values;
}
