/**
 * `--upstream-timing`, as in suites with `binnacle envtest`: controllers that decide by their cache see deletion marks,
 * and reads without a version return after the effects of the newest write. Without the flag nothing waits.
 */
import assert from "node:assert/strict";
import type http2 from "node:http2";
import { test } from "node:test";
import type { ServerSettings } from "#server/options.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import { openChunkedWatch } from "../chunked-watch.ts";
import { Api, domains, eventually, gated, openServer } from "../harness.ts";
import { configMap, namespace, namespaces, pod } from "../objects.ts";
import { connectHttp2 } from "../raw.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "needs a server with options of its own";
const settings: ServerSettings = {
  ...gated,
  upstreamTiming: true,
  controllers: ["garbage-collector-controller", "namespace-controller"],
  disableAdmissionPlugins: ["ServiceAccount"],
};

interface Seen {
  readonly metadata: { readonly name: string; readonly uid: string; readonly deletionTimestamp?: string };
}

/**
 * A controller like those of controller-runtime: a watch fills a cache and queues names, and a worker looks up the
 * content of the cache later. Two events of an object that arrive together are one for the worker.
 */
class Controller {
  readonly #cache = new Map<string, Seen>();
  readonly #queue = new Set<string>();
  /** The objects that it saw with a deletion mark, by uid. */
  readonly marked = new Set<string>();
  /** The objects that existed and are deleted. */
  readonly gone = new Set<string>();
  close: () => void = () => undefined;

  static async open(api: Api, session: http2.ClientHttp2Session | undefined, path: string): Promise<Controller> {
    const controller = new Controller();
    const version = (await api.get(path)).string("metadata.resourceVersion");
    const onLines = (lines: readonly string[]): void => controller.#take(lines);
    controller.close = await openChunkedWatch(api, session, `${path}?resourceVersion=${version}`, { onLines });
    return controller;
  }

  #take(lines: readonly string[]): void {
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as { readonly type: string; readonly object: Seen };
      const { name, uid } = object.metadata;
      if (type === "DELETED") {
        this.#cache.delete(name);
        this.gone.add(uid);
      } else {
        this.#cache.set(name, object);
      }
      if (this.#queue.size === 0) setImmediate(() => this.#work());
      this.#queue.add(name);
    }
  }

  #work(): void {
    for (const name of this.#queue) {
      const { metadata } = this.#cache.get(name) ?? {};
      if (metadata?.deletionTimestamp !== undefined) this.marked.add(metadata.uid);
    }
    this.#queue.clear();
  }
}

/**
 * A collection, the number of objects that are created and deleted in it, the way of deletion, and the number of
 * additional watchers.
 */
interface Case {
  readonly path: string;
  readonly count: number;
  make(name: string): object;
  readonly options: object;
  readonly more: number;
}

/** Creates and deletes objects, some at a time. Returns their uids. */
async function churn(api: Api, { path, count, make, options }: Case): Promise<readonly string[]> {
  const uids: string[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const name = `n${next++}-${api.unique()}`;
      uids.push((await api.post(path, make(name))).expect(201).string("metadata.uid"));
      (await api.delete(`${path}/${name}`, options)).expect([200, 202]);
    }
  };
  await Promise.all(Array.from({ length: 8 }, worker));
  return uids;
}

/** The number of objects that are deleted in each case. The programs of envtest have Kubernetes' names. */
const counts = { "k8s.io": { pods: 1000, others: 25 }, "platform.io": { pods: 50, others: 10 } };

/** The number of additional watchers, for which events would be delayed by some milliseconds. */
const audience = 30;

for (const domain of domains) {
  test(`${domain}: a controller that decides by its cache sees the marks of what is deleted in two steps`, {
    skip,
  }, async () => {
    const server = await openServer(domain, settings);
    const api = new Api(server);
    const session = await connectHttp2(api.endpoint, server.ca);
    // Go's clients set the same windows.
    session.setLocalWindowSize(2 ** 30);
    await new Promise((resolve) => session.settings({ initialWindowSize: 2 ** 22 }, resolve));
    try {
      const { ns, configMaps } = await api.createNamespace();
      const pods = `/api/v1/namespaces/${ns}/pods`;
      const { pods: podCount, others } = counts[domain];
      const ownedConfigMap = (name: string): object => configMap(name, {}, { namespace: ns });
      const cases: readonly Case[] = [
        { path: pods, count: podCount, make: (name) => pod(name), options: {}, more: 0 },
        { path: pods, count: others, make: (name) => pod(name), options: {}, more: audience },
        {
          path: configMaps,
          count: others,
          make: ownedConfigMap,
          options: { propagationPolicy: "Foreground" },
          more: 0,
        },
        { path: configMaps, count: others, make: ownedConfigMap, options: { propagationPolicy: "Orphan" }, more: 0 },
        { path: namespaces, count: others, make: (name) => namespace(name), options: {}, more: 0 },
      ];
      for (const one of cases) {
        const { path, count, options, more } = one;
        const controllers = [
          await Controller.open(api, undefined, path),
          ...(await Promise.all(Array.from({ length: 1 + more }, () => Controller.open(api, session, path)))),
        ];
        const uids = await churn(api, one);
        await eventually(async () => {
          for (const { gone } of controllers) assert.deepEqual(new Set(uids).difference(gone), new Set());
        }, 120_000);
        for (const { marked, close } of controllers) {
          close();
          // A machine that stands still for some milliseconds makes one batch of two events; without the pause, all are.
          assert.ok(marked.size >= count / 2, `${path} ${JSON.stringify(options)}: ${marked.size} of ${count}`);
        }
      }
    } finally {
      session.destroy();
      api.close();
      await server.close();
    }
  });
}

/** A clock that can be stopped. Short timers then fire when the test lets time pass. */
class HeldClock implements Clock {
  readonly #held = new Set<() => void>();
  #stoppedMs: number | undefined;
  /** The number of short timers that were set. */
  shortTimers = 0;

  now(): number {
    return systemClock.now();
  }

  monotonic(): number {
    return this.#stoppedMs ?? systemClock.monotonic();
  }

  after(delayMs: number, callback: () => void): () => void {
    if (delayMs > 5) return systemClock.after(delayMs, callback);
    this.shortTimers++;
    if (this.#stoppedMs === undefined) return systemClock.after(delayMs, callback);
    this.#held.add(callback);
    return () => this.#held.delete(callback);
  }

  stop(): void {
    this.#stoppedMs = systemClock.monotonic();
  }

  /** Lets time pass until a request is answered. */
  async passUntil<T>(request: Promise<T>): Promise<T> {
    const isAnswered = trackAnswer(request);
    await eventually(async () => {
      this.#stoppedMs = this.monotonic() + 5;
      for (const callback of this.#held) {
        this.#held.delete(callback);
        callback();
      }
      assert.ok(isAnswered());
    });
    return request;
  }
}

/** Whether a request has been answered. */
function trackAnswer(request: Promise<unknown>): () => boolean {
  let isAnswered = false;
  request.then(
    () => (isAnswered = true),
    () => (isAnswered = true),
  );
  return () => isAnswered;
}

for (const domain of domains) {
  test(`${domain}: a removal waits for its pause, reads without a version for theirs, and nothing else waits`, {
    skip,
  }, async () => {
    const clock = new HeldClock();
    // Other writers are off.
    const quiet = { controllers: ["-*"], featureGates: ["APIServerIdentity=false"] };
    const server = await openServer(domain, { ...settings, ...quiet }, { clock });
    const api = new Api(server);
    try {
      await eventually(async () => (await api.get("/readyz")).expect(200));
      const { ns, configMaps } = await api.createNamespace();
      const pods = `/api/v1/namespaces/${ns}/pods`;
      const path = `${pods}/a`;
      clock.stop();
      const version = (await api.post(pods, pod("a"))).expect(201).string("metadata.resourceVersion");
      const reads = Promise.all([api.get(path), api.get(pods)]);
      const areRead = trackAnswer(reads);
      // Reads of any version are answered meanwhile.
      for (const read of [path, pods]) {
        for (const known of ["0", version]) (await api.get(`${read}?resourceVersion=${known}`)).expect(200);
      }
      assert.equal(areRead(), false);
      for (const answer of await clock.passUntil(reads)) answer.expect(200);

      const watch = await api.watch(`${pods}?resourceVersion=${version}`);
      const deletion = api.delete(path);
      const isDeleted = trackAnswer(deletion);
      (await watch.next()).has({ type: "MODIFIED" });
      (await api.get(`${path}?resourceVersion=0`)).expect(200, { "metadata.deletionGracePeriodSeconds": 0 });
      // An object that is deleted in one step is removed meanwhile.
      (await api.post(configMaps, configMap("c"))).expect(201);
      (await api.delete(`${configMaps}/c`)).expect(200);
      assert.equal(isDeleted(), false);
      (await clock.passUntil(deletion)).expect(200);
      (await watch.next()).has({ type: "DELETED" });
    } finally {
      api.close();
      await server.close();
    }
  });

  test(`${domain}: without the flag no deletion and no read sets a timer for it`, { skip }, async () => {
    const clock = new HeldClock();
    const { upstreamTiming: _on, ...off } = settings;
    const server = await openServer(domain, off, { clock });
    const api = new Api(server);
    try {
      const { ns, configMaps } = await api.createNamespace();
      const pods = `/api/v1/namespaces/${ns}/pods`;
      (await api.post(pods, pod("a"))).expect(201);
      (await api.get(`${pods}/a`)).expect(200);
      (await api.get(pods)).expect(200);
      (await api.delete(`${pods}/a`)).expect(200);
      (await api.post(configMaps, configMap("c"))).expect(201);
      (await api.delete(`${configMaps}/c`, { propagationPolicy: "Foreground" })).expect(200);
      await eventually(async () => (await api.get(`${configMaps}/c`)).expect(404));
      assert.equal(clock.shortTimers, 0);
    } finally {
      api.close();
      await server.close();
    }
  });
}
