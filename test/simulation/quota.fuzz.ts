/**
 * Tests quotas under random schedules: concurrent creates and deletes, slow or lost requests and answers, watches that
 * end, and recounts. No quota is ever exceeded; in the end the status equals the usage, and the rest can be used.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { attributesOf } from "#admission/attributes-for-tests.ts";
import type { AdmissionAttributes } from "#admission/plugin.ts";
import { Quotas } from "#admission/quota.ts";
import type { ResourceQuota } from "#api/core/v1.ts";
import { eventOfLine, type ReceivedEvent } from "#client/received-event.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import { resourceQuotaController } from "#controllers/resource-quota.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { conflict, notFound, serviceUnavailable, StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";

const firstSeed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 1000);

const configMaps = {
  resource: { group: "", version: "v1", resource: "configmaps" },
  kind: { group: "", version: "v1", kind: "ConfigMap" },
} as const;
const quotaResource = { group: "", resource: "resourcequotas" };
const quotaPath = "/api/v1/resourcequotas";

interface Change {
  readonly revision: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly path: string;
  readonly object: Unstructured;
}

/** A store with one namespace, one quota on config maps, and clients whose requests take time. */
class Cluster {
  readonly clock = new FakeClock();
  readonly stop = new AbortController();
  readonly random: Random;
  readonly hard: number;
  readonly quotas: Quotas;
  readonly present = new Set<string>();
  readonly history: Change[] = [];
  readonly client: RestClient;
  readonly #watchers = new Set<(change: Change) => void>();
  quota: ResourceQuota;
  revision = 1;
  /** Whether requests, answers and writes may be lost. */
  isRough = true;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.hard = 1 + this.below(8);
    this.quotas = new Quotas({
      domain: kubernetesDomain,
      clock: this.clock,
      hasDevices: false,
      revision: () => this.revision,
      caughtUp: () => undefined,
    });
    const metadata = { namespace: "n", name: "q", uid: "u", resourceVersion: "1" };
    this.quota = { metadata, spec: { hard: { "count/configmaps": `${this.hard}` } }, status: {} };
    this.quotas.set("n", "q", this.quota);
    this.client = new RestClient(this.#transport());
  }

  below(limit: number): number {
    return Math.floor(this.random.next() * limit);
  }

  pause(maxMs = 12): Promise<void> {
    return new Promise((resolve) => this.clock.after(this.below(maxMs), () => resolve()));
  }

  /** Runs a request, which is slow and may be lost before or after its effect. */
  async #over<T>(effect: () => T): Promise<T> {
    await this.pause();
    if (this.isRough && this.below(25) === 0) throw serviceUnavailable("lost on its way");
    const result = effect();
    await this.pause();
    if (this.isRough && this.below(25) === 0) throw serviceUnavailable("the answer is lost");
    return result;
  }

  #change(type: Change["type"], path: string, object: Unstructured): void {
    const change = { revision: this.revision, type, path, object };
    this.history.push(change);
    for (const watcher of this.#watchers) watcher(change);
  }

  #put(name: string, exists: boolean): void {
    this.revision++;
    if (exists) this.present.add(name);
    else this.present.delete(name);
    assert.ok(this.present.size <= this.hard, `${this.present.size} of ${this.hard}`);
    this.#change(exists ? "ADDED" : "DELETED", "/api/v1/configmaps", this.#map(name));
  }

  #map(name: string): Unstructured {
    return { metadata: { namespace: "n", name, resourceVersion: `${this.revision}` } };
  }

  #writeStatus(sent: ResourceQuota): ResourceQuota {
    const { resourceVersion } = this.quota.metadata;
    if (sent.metadata.resourceVersion !== resourceVersion) throw conflict(quotaResource, "q", "another version");
    this.revision++;
    const metadata = { ...this.quota.metadata, resourceVersion: `${this.revision}` };
    this.quota = { ...this.quota, metadata, status: sent.status };
    this.quotas.set("n", "q", this.quota);
    this.#change("MODIFIED", quotaPath, this.quota as unknown as Unstructured); // for a JSON text
    return this.quota;
  }

  #namesAt(revision: number): string[] {
    const names = new Set<string>();
    for (const { revision: at, type, path, object } of this.history) {
      if (at > revision || path === quotaPath) continue;
      if (type === "ADDED") names.add(object.metadata.name!);
      else names.delete(object.metadata.name!);
    }
    return [...names];
  }

  #transport(): Transport {
    return {
      request: async (request) => {
        try {
          return answer(await this.#over(() => this.#answer(request)));
        } catch (error) {
          if (error instanceof StatusError) return answer(error.status, error.status.code);
          throw error;
        }
      },
      stream: (request, onEvent) => this.#watch(request, onEvent),
    };
  }

  #answer({ method, path: whole, body }: ClientRequest): object {
    const [path = "", query = ""] = whole.split("?");
    if (method === "PUT") return this.#writeStatus(JSON.parse(body!.toString()) as ResourceQuota); // by the controller
    const metadata = { resourceVersion: `${this.revision}` };
    if (path === quotaPath) return { metadata, items: [this.quota] };
    if (path === "/api/v1/configmaps") return { metadata, items: [] };
    if (path !== "/api/v1/namespaces/n/configmaps") throw notFound(quotaResource, path);
    const parameters = new URLSearchParams(query);
    const wanted = parameters.get("fieldSelector")?.split("=")[1];
    const names = this.#namesAt(Number(parameters.get("resourceVersion")));
    const matching = wanted === undefined ? names : names.filter((name) => name === wanted);
    const page = matching.slice(0, Number(parameters.get("limit") ?? matching.length));
    const left = matching.length - page.length;
    const more = left === 0 ? {} : { continue: "more", remainingItemCount: left };
    return { metadata: { ...metadata, ...more }, items: page.map((name) => this.#map(name)) };
  }

  /** Delivers events late but in order. A watch may end at any time. */
  async #watch(
    { path: whole, signal }: ClientRequest,
    onEvent: (event: ReceivedEvent) => void,
  ): Promise<ClientResponse> {
    const [path = "", query = ""] = whole.split("?");
    const after = Number(new URLSearchParams(query).get("resourceVersion"));
    const waiting = this.history.filter((change) => change.path === path && change.revision > after);
    const watcher = (change: Change): void => void (change.path === path && waiting.push(change));
    this.#watchers.add(watcher);
    while (signal?.aborted !== true) {
      await this.pause(20);
      if (this.isRough && this.below(60) === 0) break;
      const change = waiting.shift();
      if (change !== undefined)
        onEvent(eventOfLine(Buffer.from(JSON.stringify({ type: change.type, object: change.object }))));
    }
    this.#watchers.delete(watcher);
    return answer({});
  }

  /** Runs a create as a server does; resolves with true when the object is stored. */
  async create(name: string): Promise<boolean> {
    const callbacks: ((isSuccess: boolean) => void)[] = [];
    const base = attributesOf(this.#map(name), { ...configMaps, name });
    const whenDone = (callback: (isSuccess: boolean) => void): void => void callbacks.push(callback);
    const attributes: AdmissionAttributes = { ...base, context: { ...base.context, whenDone } };
    let isStored = false;
    try {
      const write = (quota: ResourceQuota): Promise<unknown> => this.#over(() => this.#writeStatus(quota));
      await this.quotas.charge(attributes, { limited: [], write });
      await this.pause();
      if (!this.isRough || this.below(10) > 0) {
        this.#put(name, true);
        isStored = true;
      }
      await this.pause();
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
    }
    for (const callback of callbacks) callback(isStored);
    return isStored;
  }

  async writer(number: number, hasStarted: () => boolean): Promise<void> {
    while (!hasStarted()) await this.pause(50);
    for (let i = 0; i < 6; i++) {
      const name = `m-${number}-${i}`;
      const isStored = await this.create(name);
      await this.pause(30);
      if (isStored && this.below(3) > 0) this.#put(name, false);
    }
  }

  start(): Promise<void> {
    const { client, clock, quotas } = this;
    const controller = resourceQuotaController({
      periodMs: 10_000_000,
      measure: (namespace, name) => quotas.measure(namespace, name),
      current: (namespace, name) => quotas.current(namespace, name),
      alone: (namespace, work) => quotas.alone(namespace, work),
      onOvercharged: (listener) => quotas.onOvercharged(listener),
      resourceOf: (name) => quotas.resourceOf(name),
      isConstant: (resource) => quotas.isConstant(resource),
      useOf: (resource, object) => quotas.useOf(resource, object),
      locationOf: () => ({ path: "/api/v1", isLocal: true }),
      failed: (error) => assert.fail(String(error)),
      onServed: () => undefined,
    });
    const log = { info: () => undefined, warn: () => undefined };
    return controller({ client, reader: client, clock, domain: kubernetesDomain, signal: this.stop.signal, log });
  }

  /** Lets time pass until `isOver` returns true, or for `ms` milliseconds. */
  async passes(ms: number, stepMs: number, isOver: () => boolean): Promise<void> {
    for (let passed = 0; passed < ms && !isOver(); passed += stepMs) {
      this.clock.advance(stepMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}

const answer = (body: object, code = 200): ClientResponse => ({ code, body: Buffer.from(JSON.stringify(body)) });

async function simulate(seed: number): Promise<void> {
  const cluster = new Cluster(seed);
  const running = cluster.start();
  let left = 8;
  const isCounted = (): boolean => cluster.quota.status.used !== undefined;
  const writers = Array.from({ length: left }, (_, number) => cluster.writer(number, isCounted).finally(() => left--));
  const written = Promise.all(writers);
  await cluster.passes(60_000, 3, () => left === 0);
  await written;
  cluster.isRough = false;
  const isRight = (): boolean => cluster.quota.status.used?.["count/configmaps"] === `${cluster.present.size}`;
  // Lost requests are repeated after pauses of at most half a minute.
  for (let calm = 0, rounds = 0; calm < 3 && rounds < 60; rounds++) {
    await cluster.passes(1000, 25, () => false);
    calm = isRight() ? calm + 1 : 0;
  }
  assert.ok(isRight(), `${JSON.stringify(cluster.quota.status)} with ${cluster.present.size}`);
  await fill(cluster);
  cluster.stop.abort();
  await cluster.passes(1000, 50, () => false);
  await running;
}

/** Uses up the rest of the quota. No further object may be created. */
async function fill(cluster: Cluster): Promise<void> {
  const left = cluster.hard - cluster.present.size;
  let stored = 0;
  for (let i = 0; i <= left; i++) {
    let isOver = false;
    const creation = cluster.create(`last-${i}`).finally(() => (isOver = true));
    await cluster.passes(1000, 3, () => isOver);
    if (await creation) stored++;
  }
  assert.equal(stored, left);
}

test(`no quota is exceeded, and each says in the end what is there, from seed ${firstSeed}`, async () => {
  for (let seed = firstSeed; seed < firstSeed + runs; seed++) {
    try {
      await simulate(seed);
    } catch (error) {
      throw new Error(`seed ${seed}`, { cause: error });
    }
  }
});
