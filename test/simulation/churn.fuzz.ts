/**
 * Tests watches and lists while objects of several kinds are created, changed, marked, removed and created again, and
 * enter and leave selections: every watch shows exactly the changes that the answers to the writers show
 * (`churn-history.ts`), from any version and over either protocol, before and after a compaction. FUZZ_SEED repeats the
 * choices of a run, FUZZ_RUNS sets the number of runs, FUZZ_STEPS their length.
 */
import assert from "node:assert/strict";
import type http2 from "node:http2";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { seededRandom } from "#std/random.ts";
import { openChunkedWatch } from "../chunked-watch.ts";
import type { Answer } from "../client.ts";
import { crds, definition } from "../crds.ts";
import { Api, domains, type Domain, eventually, gated, openServer } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { configMap, type ObjectBody, pod } from "../objects.ts";
import { connectHttp2, request2 } from "../raw.ts";
import {
  type Change,
  checkChurn,
  type Content,
  type EventType,
  type Listed,
  type Seen,
  type Selection,
  type Watched,
} from "./churn-history.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 1);
/** The number of writes of each writer in a round. */
const steps = Number(process.env["FUZZ_STEPS"] ?? 40);
const writers = 4;
const readers = 8;
const listers = 2;
/** The number of changes that count as recent. */
const recent = 40;
/** The minimum content of a run that proves something. */
const least = { changes: 100, deletions: 20, events: 200, bookmarks: 100, lists: 30, expired: 1 };
/** The time between two compactions, which watches survive. */
const compactionMs = 100 * 3_600_000;

/** The time between two bookmarks of a watch. */
const bookmarkMs = 60_000;

/** A clock with short times between bookmarks, so that many are sent while objects change. */
class BookmarkClock extends MovingClock {
  override after(delayMs: number, callback: () => void): () => void {
    return super.after(delayMs === bookmarkMs ? 20 : delayMs, callback);
  }
}

/** Returns a whole number from 0 to below `bound`. */
type Dice = (bound: number) => number;

function dice(seed: number): Dice {
  const random = seededRandom(seed);
  return (bound) => Math.floor(random.next() * bound);
}

/** Returns an old version to start from: any, a recent one, or one of the last three. */
const pickVersion = ({ versions }: World, roll: Dice): number =>
  pick(roll, versions.slice(-pick(roll, [versions.length, recent, 3])));

const pick = <T>(roll: Dice, of: readonly T[]): T => of[roll(of.length)]!;

/** The parts of an object that this file uses. */
interface Shown {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: { readonly color?: string };
  readonly status?: { readonly phase?: string };
}

/** A kind whose objects are created and deleted. */
interface Resource {
  readonly name: string;
  /** The paths before the namespace, one for each served version. */
  readonly roots: readonly string[];
  make(name: string, metadata: object): ObjectBody;
  /** A field for selectors, and the subresource that changes it. */
  readonly field?: {
    readonly path: string;
    readonly values: readonly string[];
    readonly subresource: string;
    of(object: Shown): string | undefined;
    patch(value: string): object;
  };
}

const group = "churn.example.com";

const resources: readonly Resource[] = [
  { name: "configmaps", roots: ["/api/v1"], make: (name, metadata) => configMap(name, {}, metadata) },
  {
    name: "pods",
    roots: ["/api/v1"],
    make: (name, metadata) => pod(name, {}, metadata),
    field: {
      path: "status.phase",
      values: ["Pending", "Running", "Failed"],
      subresource: "/status",
      of: ({ status }) => status?.phase,
      patch: (phase) => ({ status: { phase } }),
    },
  },
  {
    name: "gadgets",
    roots: [`/apis/${group}/v1`, `/apis/${group}/v1beta1`],
    make: (name, metadata) => ({
      apiVersion: `${group}/v1`,
      kind: "Gadget",
      metadata: { name, ...metadata },
      spec: { color: "red" },
    }),
    field: {
      path: "spec.color",
      values: ["red", "green", "blue"],
      subresource: "",
      of: ({ spec }) => spec?.color,
      patch: (color) => ({ spec: { color } }),
    },
  },
];

const gadgets = definition(group, {
  kind: "Gadget",
  scope: "Namespaced",
  versions: ["v1", "v1beta1"].map((name) => ({
    name,
    served: true,
    storage: name === "v1",
    schema: {
      openAPIV3Schema: {
        type: "object",
        properties: { spec: { type: "object", properties: { color: { type: "string" } } } },
      },
    },
    selectableFields: [{ jsonPath: ".spec.color" }],
  })),
});

function contentOf({ field }: Resource, object: Shown): Content {
  const { labels: { tier } = {}, annotations, deletionTimestamp } = object.metadata;
  return {
    n: Number(annotations?.["n"]),
    labels: tier === undefined ? {} : { tier },
    field: field?.of(object) ?? "",
    isMarked: deletionTimestamp !== undefined,
  };
}

const keyOf = ({ metadata }: Shown): string => `${metadata.namespace}/${metadata.name}`;
const versionOf = ({ metadata }: Shown): number => Number(metadata.resourceVersion);

function seenOf(resource: Resource, type: EventType, object: Shown): Seen {
  const { uid } = object.metadata;
  return { type, key: keyOf(object), uid, version: versionOf(object), content: contentOf(resource, object) };
}

class World {
  readonly api: Api;
  readonly namespaces: readonly string[];
  session: http2.ClientHttp2Session;
  readonly changes: Change[] = [];
  readonly lists: Listed[] = [];
  readonly watches: Reader[] = [];
  readonly witnesses = new Map<string, Reader>();
  /** Makes objects so large that history must leave memory. */
  readonly padding = "x".repeat(8000);
  /** The versions of the answers to writers, from which reads start. */
  readonly versions: number[] = [];
  /** Counts requests and answers. */
  tick = 0;
  /** The number in the last written version of an object. */
  n = 0;
  writes = 0;
  /** The newest version that any client knows. */
  known = 0;
  isOver = false;
  /** The first failure. */
  problem: unknown;
  readonly #waiting = new Set<() => void>();

  constructor(api: Api, namespaces: readonly string[], session: http2.ClientHttp2Session) {
    this.api = api;
    this.namespaces = namespaces;
    this.session = session;
  }

  /** Records progress, and wakes waiting clients. */
  progress(version = 0): void {
    this.known = Math.max(this.known, version);
    for (const wake of this.#waiting) wake();
  }

  /** Resolves when a condition is true, which is tested after each progress, or when the run is over. */
  until(isDone: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (!isDone() && !this.isOver) return;
        this.#waiting.delete(look);
        resolve();
      };
      this.#waiting.add(look);
      look();
    });
  }

  /** Runs a client. The first failure ends the run. */
  async guard(client: Promise<void>): Promise<void> {
    try {
      await client;
    } catch (error) {
      this.problem ??= error;
      this.end();
    }
  }

  end(): void {
    this.isOver = true;
    this.progress();
  }

  isOurs(object: Shown): boolean {
    return this.namespaces.includes(object.metadata.namespace);
  }
}

/** An object that its writer knows. */
interface Live {
  readonly uid: string;
  readonly version: number;
  readonly content: Content;
  readonly isHeld: boolean;
}

const tiers = ["a", "b", "c", undefined];

/** A client that writes to its own objects, one request after the other. */
class Writer {
  readonly #world: World;
  readonly #id: number;
  readonly #roll: Dice;
  readonly #live = new Map<string, Live>();

  constructor(world: World, id: number, roll: Dice) {
    this.#world = world;
    this.#id = id;
    this.#roll = roll;
  }

  async run(): Promise<void> {
    const world = this.#world;
    for (let i = 0; i < steps && !world.isOver; i++) {
      const resource = pick(this.#roll, resources);
      const namespace = pick(this.#roll, world.namespaces);
      const name = `w${this.#id}-${this.#roll(2)}`;
      await this.#write(resource, `${resource.roots[0]}/namespaces/${namespace}/${resource.name}`, namespace, name);
      world.writes++;
      world.progress();
    }
  }

  async #write(resource: Resource, collection: string, namespace: string, name: string): Promise<void> {
    const roll = this.#roll;
    const { api } = this.#world;
    const key = `${namespace}/${name}`;
    const path = `${collection}/${name}`;
    const live = this.#live.get(`${resource.name} ${key}`);
    const n = String(++this.#world.n);
    const relabel = { metadata: { labels: { tier: pick(roll, tiers) ?? null }, annotations: { n } } };
    const choice = roll(100);
    const send = (request: () => Promise<Answer>): Promise<Sent> => this.#send(resource, key, request);
    if (live === undefined) {
      const tier = pick(roll, tiers);
      const isHeld = roll(3) === 0;
      const object = resource.make(name, {
        labels: tier === undefined ? {} : { tier },
        annotations: { n, pad: this.#world.padding },
        ...(isHeld ? { finalizers: ["example.com/hold"] } : {}),
      });
      const sent = await send(() => api.post(collection, object));
      sent.record("ADDED", { isHeld });
    } else if (live.content.isMarked) {
      if (choice < 40) (await send(() => api.patch(path, relabel))).record("MODIFIED", live);
      else (await send(() => api.patch(path, { metadata: { finalizers: null } }))).recordEnd(live);
    } else if (choice < 30) {
      (await send(() => api.patch(path, relabel))).record("MODIFIED", live);
    } else if (choice < 50 && resource.field !== undefined) {
      const { subresource, values, patch } = resource.field;
      const body = patch(pick(roll, values));
      (await send(() => api.patch(`${path}${subresource}`, body))).record("MODIFIED", live);
    } else if (choice < 60) {
      const { value } = (await api.get(path)).expect(200);
      const object = value as Shown; // its kind has this shape
      assert.equal(versionOf(object), live.version);
      const metadata = { ...object.metadata, annotations: { ...object.metadata.annotations, n } };
      (await send(() => api.put(path, { ...object, metadata }))).record("MODIFIED", live);
    } else if (choice < 65) {
      // This patch changes nothing, so watchers get no event.
      const { tier = null } = live.content.labels;
      (await send(() => api.patch(path, { metadata: { labels: { tier } } }))).record("MODIFIED", live);
    } else {
      const propagationPolicy = pick(roll, [undefined, undefined, "Foreground", "Orphan"]);
      const sent = await send(() => api.delete(path, propagationPolicy === undefined ? {} : { propagationPolicy }));
      if (live.isHeld || propagationPolicy !== undefined) {
        sent.record("MODIFIED", { ...live, isHeld: true });
      } else if (resource.name === "pods") {
        // A pod is deleted in two writes, and the answer shows only the version of the second.
        const content = contentOf(resource, sent.object);
        sent.change({ type: "MODIFIED", version: undefined, uid: live.uid, content });
        sent.change({ type: "DELETED", version: versionOf(sent.object), uid: live.uid, content });
        sent.forget();
      } else {
        sent.recordEnd(live);
      }
    }
  }

  async #send(resource: Resource, key: string, request: () => Promise<Answer>): Promise<Sent> {
    const world = this.#world;
    const sent = ++world.tick;
    const answer = (await request()).expect([200, 201]);
    const answered = ++world.tick;
    const object = answer.value as Shown; // for a Status, nothing is read
    const objectKey = `${resource.name} ${key}`;
    const change: Sent["change"] = (told) => {
      world.changes.push({ resource: resource.name, key, sent, answered, ...told });
      if (told.version !== undefined) {
        world.versions.push(told.version);
        world.progress(told.version);
      }
    };
    const forget = (): void => void this.#live.delete(objectKey);
    return {
      object,
      change,
      forget,
      record: (type, { isHeld }) => {
        const before = this.#live.get(objectKey);
        const { uid } = object.metadata;
        const version = versionOf(object);
        const content = contentOf(resource, object);
        this.#live.set(objectKey, { uid, version, content, isHeld });
        if (before?.version === version) assert.deepEqual(content, before.content);
        else change({ type, version, uid, content });
      },
      recordEnd({ uid, content }) {
        change({ type: "DELETED", version: undefined, uid, content });
        forget();
      },
    };
  }
}

/** An answered write. */
interface Sent {
  readonly object: Shown;
  change(told: Pick<Change, "type" | "version" | "uid" | "content">): void;
  /** Forgets the object, which is deleted. */
  forget(): void;
  /** Records a change whose answer shows the present object. */
  record(type: EventType, live: Pick<Live, "isHeld">): void;
  /** Records a deletion whose answer does not show its version. */
  recordEnd(live: Live): void;
}

/** A selection, with its resource and path. */
interface Asked extends Selection {
  readonly of: Resource;
  readonly path: string;
}

const labelSelectors: readonly [query: string, matches: (tier: string | undefined) => boolean][] = [
  ["tier=a", (tier) => tier === "a"],
  ["tier!=a", (tier) => tier !== "a"],
  ["tier in (a,b)", (tier) => tier === "a" || tier === "b"],
  ["tier", (tier) => tier !== undefined],
  ["!tier", (tier) => tier === undefined],
];

function everything(of: Resource): Asked {
  const path = `${of.roots[0]}/${of.name}?`;
  return { of, path, resource: of.name, namespace: "", query: "", matches: () => true };
}

function randomSelection(world: World, roll: Dice): Asked {
  const of = pick(roll, resources);
  const namespace = roll(2) === 0 ? "" : pick(roll, world.namespaces);
  const root = pick(roll, of.roots);
  const tests: ((key: string, content: Content) => boolean)[] = [];
  const query: string[] = [];
  if (roll(2) === 0) {
    const [text, matches] = pick(roll, labelSelectors);
    query.push(`labelSelector=${encodeURIComponent(text)}`);
    tests.push((_key, { labels }) => matches(labels["tier"]));
  }
  const choice = roll(6);
  if (choice === 0) {
    const name = `w${roll(writers)}-${roll(2)}`;
    query.push(`fieldSelector=metadata.name%3D${name}`);
    tests.push((key) => key.endsWith(`/${name}`));
  } else if (choice < 3 && of.field !== undefined) {
    const value = pick(roll, of.field.values);
    const isEqual = roll(3) > 0;
    query.push(`fieldSelector=${encodeURIComponent(`${of.field.path}${isEqual ? "=" : "!="}${value}`)}`);
    tests.push((_key, { field }) => (field === value) === isEqual);
  }
  return {
    of,
    resource: of.name,
    namespace,
    path: `${root}/${namespace === "" ? "" : `namespaces/${namespace}/`}${of.name}?${query.map((one) => `${one}&`).join("")}`,
    query: query.join("&"),
    matches: (key, content) => tests.every((one) => one(key, content)),
  };
}

/** A watch that is read. */
class Reader implements Watched {
  readonly selection: Asked;
  after: number;
  events: Seen[] = [];
  readonly bookmarks: { readonly version: number; readonly count: number }[] = [];
  isExpired = false;
  isEnded = false;
  readonly #world: World;
  #close: () => void = () => undefined;

  private constructor(world: World, selection: Asked, after: number) {
    this.#world = world;
    this.selection = selection;
    this.after = after;
  }

  /** Opens a watch after a version, or one that begins with the present objects. */
  static async open(
    world: World,
    session: http2.ClientHttp2Session | undefined,
    selection: Asked,
    after?: number,
  ): Promise<Reader> {
    const reader = new Reader(world, selection, after ?? -1);
    const start =
      after === undefined ? "sendInitialEvents=true&resourceVersionMatch=NotOlderThan" : `resourceVersion=${after}`;
    const query = `${start}&allowWatchBookmarks=true&timeoutSeconds=1000000`;
    reader.#close = await openChunkedWatch(world.api, session, `${selection.path}${query}`, {
      onLines: (lines) => void world.guard(Promise.resolve().then(() => reader.#take(lines))),
      onEnd: () => {
        reader.isEnded = true;
        world.progress();
      },
    });
    return reader;
  }

  /** The version up to which no event is missing. */
  get position(): number {
    return Math.max(this.after, this.events.at(-1)?.version ?? 0, this.bookmarks.at(-1)?.version ?? 0);
  }

  close(): void {
    this.isEnded = true;
    this.#close();
  }

  #take(lines: readonly string[]): void {
    if (this.isEnded) return;
    const world = this.#world;
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: Shown };
      if (type === "ERROR") {
        assert.equal((object as unknown as { readonly code: number }).code, 410, line); // a Status
        this.isExpired = true;
      } else if (type === "BOOKMARK") {
        this.#mark(object);
      } else if (world.isOurs(object)) {
        this.events.push(seenOf(this.selection.of, type as EventType, object)); // there are three other types
        world.progress(versionOf(object));
      }
    }
    world.progress();
  }

  #mark(object: Shown): void {
    const version = versionOf(object);
    const isEnd = object.metadata.annotations?.[this.#world.api.name("k8s.io/initial-events-end")] === "true";
    if (!isEnd) {
      this.bookmarks.push({ version, count: this.events.length });
      return;
    }
    const { selection, events } = this;
    for (const { type } of events) assert.equal(type, "ADDED");
    this.#world.lists.push({ selection, asked: 0, isExact: false, knownVersion: 0, version, found: events });
    this.after = version;
    this.events = [];
  }
}

/**
 * Runs a client that watches, breaks off, and resumes at its position or starts again at some version or with the
 * present.
 */
async function watch(world: World, id: number, roll: Dice): Promise<void> {
  let selection = randomSelection(world, roll);
  let after: number | undefined;
  let isResumed = false;
  while (!world.isOver) {
    if (!isResumed || roll(3) === 0) {
      selection = randomSelection(world, roll);
      after = roll(4) === 0 ? undefined : pickVersion(world, roll);
    }
    const session = id % 2 === 0 ? world.session : undefined;
    const reader = await Reader.open(world, session, selection, after);
    world.watches.push(reader);
    const mostEvents = 1 + roll(30);
    const mostWrites = world.writes + 10 + roll(40);
    await world.until(
      () => reader.after >= 0 && (reader.isEnded || reader.events.length >= mostEvents || world.writes >= mostWrites),
    );
    // The last watches stay open until they have shown every change.
    if (world.isOver) return;
    reader.close();
    isResumed = !reader.isExpired;
    after = reader.position;
  }
}

interface Page {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items: readonly Shown[];
}

/** Runs a client that sometimes lists the present or a past state. */
async function list(world: World, roll: Dice): Promise<void> {
  while (!world.isOver) {
    const next = world.writes + 1 + roll(4);
    await world.until(() => world.writes >= next);
    const selection = randomSelection(world, roll);
    const match = pick(roll, ["", "Exact", "NotOlderThan"]);
    const asked = match === "" ? 0 : pickVersion(world, roll);
    const start = match === "" ? "" : `&resourceVersion=${asked}&resourceVersionMatch=${match}`;
    const limit = roll(2) === 0 ? "" : `limit=${1 + roll(4)}`;
    const known = match === "" ? world.known : 0;
    const isExact = match === "Exact";
    const items: Omit<Seen, "type">[] = [];
    let version: number | undefined;
    for (let token: string | undefined = ""; token !== undefined; ) {
      const from = token === "" ? start : `&continue=${encodeURIComponent(token)}`;
      const page = await get(world, roll, `${selection.path}${limit}${from}`);
      if (page === undefined) {
        const refused =
          version === undefined ? { asked, isExact, version: asked } : { asked: version, isExact: true, version };
        world.lists.push({ selection, knownVersion: 0, found: undefined, ...refused });
        break;
      }
      version ??= Number(page.metadata.resourceVersion);
      assert.equal(Number(page.metadata.resourceVersion), version, "the version changed between pages");
      items.push(...page.items.filter((one) => world.isOurs(one)).map((one) => seenOf(selection.of, "ADDED", one)));
      // A list of custom resources has an empty continue token at its end.
      token = page.metadata.continue === "" ? undefined : page.metadata.continue;
      if (token === undefined)
        world.lists.push({ selection, asked, isExact, knownVersion: known, version, found: items });
    }
  }
}

/** Returns a page of a list over either protocol; `undefined` if the state has expired. */
async function get(world: World, roll: Dice, path: string): Promise<Page | undefined> {
  const { api, session } = world;
  let status: number;
  let value: unknown;
  if (roll(2) === 0) {
    ({ status, value } = await api.get(path));
  } else {
    const headers = { ":path": api.name(path), authorization: "Bearer admin-token" };
    const answer = await request2(session, headers);
    ({ status } = answer);
    value = JSON.parse(answer.text);
  }
  if (status === 410) return undefined;
  assert.equal(status, 200, `${path} answered ${JSON.stringify(value)}`);
  return value as Page; // the body of a list
}

/** Runs all clients until the writers are done and each open watch has shown that no event is missing. */
async function churn(world: World, writing: readonly Writer[], seed: number): Promise<void> {
  world.isOver = false;
  const work = writing.map((writer) => world.guard(writer.run()));
  const others = [
    ...Array.from({ length: readers }, (_, id) => world.guard(watch(world, id, dice(seed + 100 + id)))),
    ...Array.from({ length: listers }, (_, id) => world.guard(list(world, dice(seed + 200 + id)))),
  ];
  await Promise.all(work);
  world.end();
  await Promise.all(others);
  if (world.problem !== undefined) throw world.problem;
  await catchUp(world, [...world.watches, ...world.witnesses.values()]);
}

/** Returns the version of the last write. */
const presentVersion = async (api: Api): Promise<number> =>
  Number((await api.get("/api/v1/namespaces?limit=1")).string("metadata.resourceVersion"));

/** Waits until each open watch has a bookmark after the last change, which shows that no event is missing. */
async function catchUp(world: World, open: readonly Reader[]): Promise<void> {
  const end = await presentVersion(world.api);
  const isBehind = ({ isEnded, bookmarks }: Reader): boolean => !isEnded && (bookmarks.at(-1)?.version ?? 0) < end;
  await eventually(async () => {
    if (world.problem !== undefined) return;
    const behind = open.filter(isBehind);
    assert.deepEqual(
      behind.map(({ selection, position }) => `${selection.path} is at ${position} of ${end}`),
      [],
    );
  }, 60_000);
  if (world.problem !== undefined) throw world.problem;
}

/** Checks that versions before the compaction have expired for lists and watches. */
async function checkForgotten(world: World, roll: Dice, below: number): Promise<void> {
  for (const old of [world.versions[0]!, pick(roll, world.versions)]) {
    if (old >= below) continue;
    const selection = everything(pick(roll, resources));
    (await world.api.get(`${selection.path}resourceVersion=${old}&resourceVersionMatch=Exact`)).expectFailure(
      410,
      "Expired",
    );
    const reader = await Reader.open(world, world.session, selection, old);
    world.watches.push(reader);
    await eventually(async () => assert.ok(reader.isExpired));
    assert.deepEqual(reader.events, []);
    reader.close();
  }
}

/** On disk, old versions are read from the log when they have left memory. In memory, they have expired then. */
const storages: Readonly<Record<Domain, ServerSettings>> = {
  "k8s.io": { storage: "disk" },
  "platform.io": { storage: "memory" },
};

/** The number of changes that always fit into the memory of the history. */
const changesKept = 20;

async function run(domain: Domain, seed: number): Promise<void> {
  const clock = new BookmarkClock();
  const server = await openServer(
    domain,
    {
      ...gated,
      ...storages[domain],
      historyMemoryBytes: 2 ** 20,
      historyDurationMs: compactionMs,
      compactionIntervalMs: compactionMs,
      // The timeout differs from the time between bookmarks.
      requestTimeoutMs: 2 * bookmarkMs,
      controllers: ["-*"],
      disableAdmissionPlugins: ["ServiceAccount"],
    },
    { clock },
  );
  const api = new Api(server);
  const world = new World(
    api,
    [(await api.createNamespace()).ns, (await api.createNamespace()).ns, (await api.createNamespace()).ns],
    await connectHttp2(api.endpoint, server.ca),
  );
  try {
    (await api.post(crds, gadgets)).expect(201);
    await eventually(async () => (await api.get(`/apis/${group}/v1beta1/gadgets`)).expect(200));
    const start = Number((await api.get("/api/v1/pods")).string("metadata.resourceVersion"));
    world.versions.push(start);
    for (const resource of resources) {
      world.witnesses.set(resource.name, await Reader.open(world, undefined, everything(resource), start));
    }
    const writing = Array.from({ length: writers }, (_, id) => new Writer(world, id, dice(seed + id)));
    await churn(world, writing, seed);
    // The last writes may be deletions, whose answers do not show their versions.
    const below = await presentVersion(api);
    // The first tick of the compaction records the version to which the second one compacts.
    for (let ticks = 0; ticks < 2; ticks++) clock.advance(compactionMs);
    // The server has closed connections that were idle for so long.
    api.endpoint.agent.destroy();
    const { session } = world;
    world.session = await connectHttp2(api.endpoint, server.ca);
    world.session.once("close", () => session.destroy());
    world.isOver = false;
    await checkForgotten(world, dice(seed + 300), below);
    await churn(world, writing, seed + 1000);
    const { changes, watches, lists } = world;
    assert.deepEqual(
      {
        changes: changes.length >= least.changes,
        deletions: changes.filter(({ type }) => type === "DELETED").length >= least.deletions,
        events: watches.reduce((sum, { events }) => sum + events.length, 0) >= least.events,
        bookmarks: watches.reduce((sum, { bookmarks }) => sum + bookmarks.length, 0) >= least.bookmarks,
        lists: lists.length >= least.lists,
        expired: watches.filter(({ isExpired }) => isExpired).length >= least.expired,
      },
      { changes: true, deletions: true, events: true, bookmarks: true, lists: true, expired: true },
      "too little happened",
    );
    checkChurn({
      ...world,
      mayForget: (version, changesAfter) =>
        version < below || (storages[domain].storage === "memory" && changesAfter > changesKept),
    });
  } finally {
    for (const reader of [...world.watches, ...world.witnesses.values()]) reader.close();
    world.session.destroy();
    api.close();
    await server.close();
  }
}

for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
  for (const domain of domains) {
    test(`${domain}: watches under churn show what was written, seed ${seed}`, { skip }, () => run(domain, seed));
  }
}
