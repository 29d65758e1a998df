/**
 * Many concurrent clients with seeded behaviour: all kinds of writes, whole and chunked lists of present and past
 * states, interrupted and resumed watches, cancelled requests. The history is recorded and checked (`history.ts`).
 * SIM_SEED repeats the choices of a run, SIM_STEPS makes it longer.
 */
import assert from "node:assert/strict";
import https from "node:https";
import { test } from "node:test";
import { seededRandom } from "#std/random.ts";
import type { Answer, WatchStream } from "../client.ts";
import { Api, domains, gated, openServer } from "../harness.ts";
import { configMap, type NamespacePaths } from "../objects.ts";
import type { View } from "../view.ts";
import { type Change, checkHistory, type Listing, type Value, type Watched, type Write } from "./history.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const steps = Number(process.env["SIM_STEPS"] ?? 60);
/** The minimum content of a history for its checks to be meaningful. */
const least = { changes: 100, listings: 10, watches: 10 };
const namesCount = 6;

interface World {
  readonly api: Api;
  readonly namespaces: readonly NamespacePaths[];
  readonly writes: Write[];
  readonly listings: Listing[];
  readonly watches: Watched[];
  readonly unknown: Set<string>;
  /** The versions of lists, from which reads start. */
  readonly versions: number[];
  /** Makes objects so large that history must leave memory. */
  readonly padding: string;
  isOver: boolean;
  /** The first failure. */
  problem: unknown;
}

/** Returns a whole number from 0 to below `bound`. */
type Dice = (bound: number) => number;

function dice(seed: number): Dice {
  const random = seededRandom(seed);
  return (bound) => Math.floor(random.next() * bound);
}

const valueOf = (object: View): Value => {
  const data = (object.at("data") ?? {}) as Record<string, string>;
  return {
    count: Number(data["count"] ?? 0),
    marks: Object.keys(data)
      .filter((key) => key.startsWith("mark-"))
      .sort(),
    isMarked: object.at("metadata.labels.marked") !== undefined,
  };
};
const keyOf = (object: View): string => `${object.string("metadata.namespace")}/${object.string("metadata.name")}`;
/** Whether an object belongs to the test. The server has config maps of its own elsewhere. */
const isOurs = (namespaces: readonly NamespacePaths[], key: string): boolean =>
  namespaces.some(({ ns }) => key.startsWith(`${ns}/`));
const versionOf = (object: View): number => Number(object.string("metadata.resourceVersion"));

/** Whether readers were served often enough. Their progress in the time of the writes depends on the machine. */
const isReadEnough = ({ listings, watches }: World): boolean =>
  listings.length > least.listings && watches.length > least.watches;

/** Runs a writing client until its steps are done and the readers have seen enough of them. */
async function write(world: World, id: number, roll: Dice): Promise<void> {
  const { api } = world;
  for (let i = 0; (i < steps || !isReadEnough(world)) && world.problem === undefined; i++) {
    const paths = world.namespaces[roll(world.namespaces.length)]!;
    const name = `m${roll(namesCount)}`;
    const path = `${paths.configMaps}/${name}`;
    const key = `${paths.ns}/${name}`;
    const startedMs = performance.now();
    const done = (kind: Write["kind"], answer: Answer, mark?: string): void => {
      const isDeletion = kind === "delete";
      const uid = answer.string(isDeletion ? "details.uid" : "metadata.uid");
      const version = isDeletion ? undefined : versionOf(answer);
      const base = { kind, key, startedMs, endedMs: performance.now(), version, uid };
      world.writes.push(mark === undefined ? base : { ...base, mark });
    };
    const choice = roll(100);
    if (choice < 30) {
      const labels = roll(2) === 0 ? { marked: "1" } : {};
      const answer = (
        await api.post(paths.configMaps, configMap(name, { count: "0", pad: world.padding }, { labels }))
      ).expect([201, 409]);
      if (answer.status === 201) done("create", answer);
    } else if (choice < 55) {
      const response = await api.get(path);
      if (response.status !== 200) continue;
      const object = response.value as { metadata: object; data: Record<string, string> };
      const data = { ...object.data, count: String(valueOf(response).count + 1) };
      const answer = (await api.put(path, { ...object, data })).expect([200, 404, 409]);
      if (answer.status === 200) done("update", answer);
    } else if (choice < 75) {
      const mark = `mark-${id}-${i}`;
      const answer = (await api.patch(path, { data: { [mark]: "1" } })).expect([200, 404]);
      if (answer.status === 200) done("patch", answer, mark);
    } else if (choice < 90) {
      const answer = (await api.delete(path)).expect([200, 404]);
      if (answer.status === 200) done("delete", answer);
    } else {
      world.unknown.add(key);
      await leave(api, path, roll(3000));
    }
  }
}

/** Sends a patch of the label, and closes the connection after some microseconds, whatever the result is. */
function leave(api: Api, path: string, afterMicros: number): Promise<void> {
  const { host, port } = api.endpoint;
  const body = JSON.stringify({ metadata: { labels: { marked: afterMicros % 2 === 0 ? "1" : null } } });
  const headers = {
    authorization: "Bearer admin-token",
    "content-type": "application/merge-patch+json",
    "content-length": String(body.length),
  };
  return new Promise((resolve) => {
    const options = { host, port, path, method: "PATCH", headers, ca: api.server.ca, agent: false } as const;
    const request = https.request(options, (message) => message.resume());
    request.on("close", () => resolve());
    request.on("error", () => resolve());
    request.on("socket", (socket) => {
      socket.on("secureConnect", () => void setTimeout(() => request.destroy(), afterMicros / 1000));
    });
    request.end(body);
  });
}

/** Runs a client that lists. */
async function list(world: World, roll: Dice): Promise<void> {
  const { api } = world;
  while (!world.isOver) {
    const paths = roll(3) === 0 ? undefined : world.namespaces[roll(world.namespaces.length)]!;
    const path = paths?.configMaps ?? "/api/v1/configmaps";
    const onlyMarked = roll(3) === 0;
    const old = roll(3) === 0 && world.versions.length > 0 ? world.versions[roll(world.versions.length)] : undefined;
    const limit = roll(2) === 0 ? "" : `&limit=${1 + roll(4)}`;
    const query = `${onlyMarked ? "labelSelector=marked" : ""}${limit}`;
    const exact = old === undefined ? "" : `&resourceVersion=${old}&resourceVersionMatch=Exact`;
    const startedMs = performance.now();
    const items = new Map<string, number>();
    let page = (await api.get(`${path}?${query}${exact}`)).expect(200);
    const version = Number(page.string("metadata.resourceVersion"));
    for (;;) {
      assert.equal(Number(page.string("metadata.resourceVersion")), version, "the version changed between chunks");
      for (const item of page.list("items")) {
        assert.ok(!items.has(keyOf(item)), `${keyOf(item)} came twice`);
        items.set(keyOf(item), versionOf(item));
      }
      if (page.at("metadata.continue") === undefined) break;
      const token = page.string("metadata.continue");
      page = (await api.get(`${path}?${query}&continue=${encodeURIComponent(token)}`)).expect(200);
    }
    const mine = new Map([...items].filter(([key]) => isOurs(world.namespaces, key)));
    world.versions.push(version);
    world.listings.push({
      startedMs,
      prefix: paths === undefined ? "" : `${paths.ns}/`,
      onlyMarked,
      version,
      found: mine,
      isFresh: old === undefined,
    });
  }
}

/** Runs a client that watches, breaks off, and resumes at its position or starts again at some version. */
async function watch(world: World, roll: Dice): Promise<void> {
  const { api } = world;
  let after: number | undefined;
  let paths: NamespacePaths | undefined;
  let onlyMarked = false;
  while (!world.isOver) {
    if (after === undefined || roll(3) === 0) {
      paths = roll(3) === 0 ? undefined : world.namespaces[roll(world.namespaces.length)]!;
      onlyMarked = roll(3) === 0;
      after = world.versions[roll(world.versions.length)];
      if (after === undefined)
        after = Number((await api.get("/api/v1/configmaps?limit=1")).string("metadata.resourceVersion"));
    }
    const path = paths?.configMaps ?? "/api/v1/configmaps";
    const stream = await api.watch(`${path}?resourceVersion=${after}${onlyMarked ? "&labelSelector=marked" : ""}`);
    const events: { version: number; type: string; key: string }[] = [];
    const most = 1 + roll(40);
    try {
      while (events.length < most && !world.isOver) {
        const event = await stream.next(300);
        const key = `${event.string("object.metadata.namespace")}/${event.name}`;
        if (isOurs(world.namespaces, key)) events.push({ version: Number(event.version), type: event.type, key });
      }
    } catch {
      // There was no event for some time.
    }
    stream.close();
    world.watches.push({ prefix: paths === undefined ? "" : `${paths.ns}/`, onlyMarked, after, events });
    after = events.at(-1)?.version ?? after;
  }
}

/** Runs a client. The first failure ends the run. */
async function guard(world: World, client: Promise<void>): Promise<void> {
  try {
    await client;
  } catch (error) {
    world.problem ??= error;
    world.isOver = true;
  }
}

/** Records every change of config maps until the last one arrives. */
async function readTruth(stream: WatchStream, namespaces: readonly NamespacePaths[], changes: Change[]): Promise<void> {
  for (;;) {
    const event = await stream.next();
    if (event.name === "the-end") return;
    const object = event.view("object");
    const key = keyOf(object);
    if (!isOurs(namespaces, key)) continue;
    const uid = object.string("metadata.uid");
    changes.push({ version: versionOf(object), type: event.type, key, uid, value: valueOf(object) });
  }
}

for (const [index, domain] of domains.entries()) {
  test(`${domain}: the operations and reads of many clients form one history [SEM-01] [SEM-31] [SEM-42] [EVENT-08] [DELST-05]`, {
    skip,
  }, async (t) => {
    const seed = Number(process.env["SIM_SEED"] ?? Math.floor(Math.random() * 2 ** 31));
    t.diagnostic(`SIM_SEED=${seed}`);
    // One store is on disk, with so little memory for history that old versions are read from the log.
    const isDisk = index === 0;
    const storage = isDisk ? ({ storage: "disk", historyMemoryBytes: 2 ** 20 } as const) : {};
    const server = await openServer(domain, { ...gated, ...storage });
    try {
      const api = new Api(server);
      const namespaces = [await api.createNamespace(), await api.createNamespace(), await api.createNamespace()];
      const start = (await api.get("/api/v1/configmaps")).string("metadata.resourceVersion");
      const truth = await api.watch(`/api/v1/configmaps?resourceVersion=${start}`);
      const changes: Change[] = [];
      const world: World = {
        api,
        namespaces,
        writes: [],
        listings: [],
        watches: [],
        unknown: new Set(),
        versions: [Number(start)],
        padding: "x".repeat(isDisk ? 6000 : 10),
        isOver: false,
        problem: undefined,
      };
      const reading = readTruth(truth, namespaces, changes);
      // If a client failed, the others do not wait for it.
      reading.catch(() => undefined);
      const writers = Array.from({ length: 8 }, (_, id) => guard(world, write(world, id, dice(seed + id))));
      const others = [
        ...Array.from({ length: 3 }, (_, id) => guard(world, list(world, dice(seed + 100 + id)))),
        ...Array.from({ length: 4 }, (_, id) => guard(world, watch(world, dice(seed + 200 + id)))),
      ];
      await Promise.all(writers);
      world.isOver = true;
      await Promise.all(others);
      if (world.problem !== undefined) throw world.problem;
      (await api.post(namespaces[0]!.configMaps, configMap("the-end"))).expect(201);
      await reading;
      assert.ok(changes.length > least.changes, "too little happened");
      checkHistory({ ...world, changes });
      api.close();
    } finally {
      await server.close();
    }
  });
}
