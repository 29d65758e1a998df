/**
 * A small API server in virtual time for simulations of the garbage collector: two kinds with owners, finalizers and
 * propagation policies. Requests take time and may be lost before or after they take effect; watches are late and may
 * end.
 */
import type { DeleteOptions } from "#api/meta/v1.ts";
import { eventOfLine, type ReceivedEvent } from "#client/received-event.ts";
import { RestClient } from "#client/rest-client.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";
import type { ServedResource } from "#controllers/garbage-collector.ts";
import type { ApiObject, ObjectMeta, OwnerReference } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";

/** A clock whose time jumps from one timer to the next. */
export class JumpingClock implements Clock {
  #now = Date.UTC(2026, 0, 1);
  #timers: { readonly at: number; readonly callback: () => void }[] = [];

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { at: this.#now + delayMs, callback };
    const index = this.#timers.findIndex(({ at }) => at > timer.at);
    this.#timers.splice(index < 0 ? this.#timers.length : index, 0, timer);
    return () => {
      const index = this.#timers.indexOf(timer);
      if (index >= 0) this.#timers.splice(index, 1);
    };
  }

  /** Runs timers until none is left, or until `mostMs` milliseconds have passed. */
  async run(mostMs: number): Promise<void> {
    const end = this.#now + mostMs;
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      const next = this.#timers[0];
      if (next === undefined || next.at > end) {
        this.#now = end;
        return;
      }
      this.#now = next.at;
      while (this.#timers[0]?.at === next.at) this.#timers.shift()?.callback();
    }
  }
}

const group = "sim.example.com";
const verbs = ["create", "delete", "get", "list", "patch", "watch"];
const common = { group, version: "v1", verbs, isLocal: true };
export const things: ServedResource = { ...common, resource: "things", kind: "Thing", namespaced: true };
export const worlds: ServedResource = { ...common, resource: "worlds", kind: "World", namespaced: false };

const root = `/apis/${group}/v1`;
/** Returns the path of an object; an object without a namespace is a world. */
export const pathOf = ({ namespace = "", name = "" }: ObjectMeta): string =>
  namespace === "" ? `${root}/worlds/${name}` : `${root}/namespaces/${namespace}/things/${name}`;

/** Returns a reference to an object by its path, which need not exist. */
export const reference = (path: string, uid: string, blocks = false): OwnerReference => ({
  apiVersion: `${group}/v1`,
  kind: path.includes("/worlds/") ? "World" : "Thing",
  name: path.split("/").at(-1)!,
  uid,
  ...(blocks ? { blockOwnerDeletion: true } : {}),
});

/** Returns a whole number from 0 to below `bound`. */
export type Dice = (bound: number) => number;

interface Watcher {
  readonly resource: string;
  readonly onEvent: (event: ReceivedEvent) => void;
  readonly end: () => void;
  /** The events that are still to be delivered. */
  readonly late: string[];
  isTelling: boolean;
}

interface Change {
  readonly resource: string;
  readonly version: number;
  readonly line: string;
}

interface Faults {
  /** The maximum time of an event or a request in milliseconds. */
  readonly delayMs: number;
  /** The percentage of requests that are lost. */
  readonly lost: number;
  /** The percentage of events after which the watch ends. */
  readonly ended: number;
}

export const noFaults: Faults = { delayMs: 0, lost: 0, ended: 0 };

export class OwnedObjects {
  readonly objects = new Map<string, ObjectMeta>();
  /** Forbidden actions of the collector. */
  readonly problems: string[] = [];
  /** The messages of events, each once. */
  readonly events: string[] = [];
  faults: Faults = noFaults;
  readonly #clock: Clock;
  readonly #dice: Dice;
  readonly #history: Change[] = [];
  readonly #watchers = new Set<Watcher>();
  /** The uids of objects whose deletion in the foreground was requested, whatever was requested later. */
  readonly #inForeground = new Set<string>();
  #version = 0;

  constructor(clock: Clock, dice: Dice) {
    this.#clock = clock;
    this.#dice = dice;
  }

  /** Returns a client for the controller, with all faults. */
  client(): RestClient {
    const transport: Transport = {
      request: (request) => this.#request(request),
      stream: (request, onEvent) => this.#stream(request, onEvent),
    };
    return new RestClient(transport);
  }

  /** Creates an object, as a user would. Returns its uid, or that of the existing object. */
  create(path: string, more: Pick<ObjectMeta, "ownerReferences" | "finalizers"> = {}): string {
    const present = this.objects.get(path);
    if (present !== undefined) return present.uid!;
    const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? [];
    const identity = { name: path.split("/").at(-1)!, ...(namespace === undefined ? {} : { namespace }) };
    const uid = `00000000-0000-4000-8000-${String(this.#version).padStart(12, "0")}`;
    this.#put(path, { ...identity, ...more, uid }, "ADDED");
    return uid;
  }

  /** Changes an object, as a user would. */
  change(path: string, more: Pick<ObjectMeta, "ownerReferences" | "finalizers">): void {
    const present = this.objects.get(path);
    if (present !== undefined) this.#put(path, { ...present, ...more }, "MODIFIED");
  }

  delete(path: string, policy = "Background"): void {
    const present = this.objects.get(path);
    if (present === undefined) return;
    if (policy === "Foreground") this.#inForeground.add(present.uid!);
    const wanted = { Foreground: "foregroundDeletion", Orphan: "orphan" }[policy];
    const others = (present.finalizers ?? []).filter((one) => one !== "foregroundDeletion" && one !== "orphan");
    const finalizers = wanted === undefined ? others : [...others, wanted];
    this.#put(path, { ...present, finalizers, deletionTimestamp: "2026-01-01T00:00:00Z" }, "MODIFIED");
  }

  /** Returns the number of existing owners, and of those that do not wait for the deletion of the object. */
  owners(object: ObjectMeta): { readonly living: number; readonly solid: number } {
    const living = (object.ownerReferences ?? []).flatMap(({ kind, name, uid }) => {
      const namespace = kind === "World" ? undefined : object.namespace;
      const owner = this.objects.get(pathOf(namespace === undefined ? { name } : { namespace, name }));
      return owner?.uid === uid ? [owner] : [];
    });
    return { living: living.length, solid: living.filter(({ uid }) => !this.#inForeground.has(uid!)).length };
  }

  #put(path: string, object: ObjectMeta, type: string): ObjectMeta {
    const resourceVersion = String(++this.#version);
    const { ownerReferences = [], finalizers = [], ...rest } = object;
    const stored = {
      ...rest,
      ...(ownerReferences.length === 0 ? {} : { ownerReferences }),
      ...(finalizers.length === 0 ? {} : { finalizers }),
      resourceVersion,
    };
    const isGone = stored.deletionTimestamp !== undefined && finalizers.length === 0;
    if (isGone) this.objects.delete(path);
    else this.objects.set(path, stored);
    const resource = path.includes("/worlds/") ? "worlds" : "things";
    const line = JSON.stringify({ type: isGone ? "DELETED" : type, object: { metadata: stored } });
    this.#history.push({ resource, version: this.#version, line });
    for (const watcher of this.#watchers) if (watcher.resource === resource) this.#tell(watcher, line);
    return stored;
  }

  #tell(watcher: Watcher, line: string): void {
    watcher.late.push(line);
    if (watcher.isTelling) return;
    watcher.isTelling = true;
    this.#clock.after(this.#delay(), () => {
      watcher.isTelling = false;
      if (!this.#watchers.has(watcher)) return;
      if (this.#hits(this.faults.ended)) {
        if (this.#dice(2) === 0) watcher.onEvent(eventOfLine(Buffer.from('{"type":"ERROR","object":{"code":410}}')));
        watcher.end();
        return;
      }
      for (const one of watcher.late.splice(0)) watcher.onEvent(eventOfLine(Buffer.from(one)));
    });
  }

  #delay(): number {
    const { delayMs } = this.faults;
    return delayMs === 0 ? 0 : this.#dice(delayMs + 1);
  }

  #hits(inHundred: number): boolean {
    return inHundred > 0 && this.#dice(100) < inHundred;
  }

  #passes(ms: number): Promise<void> {
    return ms === 0 ? Promise.resolve() : new Promise((resolve) => this.#clock.after(ms, () => resolve()));
  }

  async #request(request: ClientRequest): Promise<ClientResponse> {
    await this.#passes(this.#delay());
    if (this.#hits(this.faults.lost)) return failure(503);
    const answer = this.#answer(request);
    await this.#passes(this.#delay());
    return this.#hits(this.faults.lost) ? failure(503) : answer;
  }

  async #stream({ path, signal }: ClientRequest, onEvent: (event: ReceivedEvent) => void): Promise<ClientResponse> {
    await this.#passes(this.#delay());
    if (this.#hits(this.faults.lost)) return failure(503);
    const [collection = "", query = ""] = path.split("?");
    const resource = collection.split("/").at(-1)!;
    const after = Number(new URLSearchParams(query).get("resourceVersion"));
    await new Promise<void>((resolve) => {
      const end = (): void => {
        this.#watchers.delete(watcher);
        resolve();
      };
      const watcher: Watcher = { resource, onEvent, end, late: [], isTelling: false };
      this.#watchers.add(watcher);
      signal?.addEventListener("abort", end, { once: true });
      for (const { resource: of, version, line } of this.#history) {
        if (of === resource && version > after) this.#tell(watcher, line);
      }
    });
    return success({});
  }

  #answer({ method, path, body }: ClientRequest): ClientResponse {
    const [objectPath = "", query = ""] = path.split("?");
    const sent = body === undefined ? {} : (JSON.parse(body.toString()) as object); // by the controller
    if (method === "POST" && objectPath.endsWith("/events")) {
      this.events.push((sent as { message: string }).message);
      return success(sent);
    }
    // Repetitions of an event are counted.
    if (method === "PATCH" && objectPath.includes("/events/")) return success(sent);
    if (method === "GET" && (objectPath.endsWith("/things") || objectPath.endsWith("/worlds")))
      return this.#list(objectPath, query);
    const present = this.objects.get(objectPath);
    if (present === undefined) return failure(404, { name: objectPath.split("/").at(-1) });
    if (method === "GET") return success({ metadata: present });
    if (method === "DELETE") return this.#collect(objectPath, present, sent);
    const patch = (sent as ApiObject).metadata;
    if (!isSame(present, patch)) return failure(409);
    const { uid: _uid, resourceVersion: _version, ...changed } = patch;
    return success({ metadata: this.#put(objectPath, { ...present, ...withoutNulls(changed) }, "MODIFIED") });
  }

  #list(objectPath: string, query: string): ClientResponse {
    const resource = objectPath.split("/").at(-1)!;
    const name = /^metadata\.name=(.*)$/.exec(new URLSearchParams(query).get("fieldSelector") ?? "")?.[1];
    const items = [...this.objects]
      .filter(([path, object]) => path.includes(`/${resource}/`) && (name === undefined || object.name === name))
      .map(([, metadata]) => ({ metadata }));
    return success({ metadata: { resourceVersion: String(this.#version) }, items });
  }

  /** Deletes an object for the collector, which must have a reason and must have seen the present version. */
  #collect(
    path: string,
    present: ObjectMeta,
    { preconditions = {}, propagationPolicy }: DeleteOptions,
  ): ClientResponse {
    if (!isSame(present, preconditions)) return failure(409);
    if (present.ownerReferences === undefined) this.problems.push(`${path} has no owners and was deleted`);
    if (this.owners(present).solid > 0) this.problems.push(`${path} has a living owner and was deleted`);
    this.delete(path, propagationPolicy);
    return success({});
  }
}

const isSame = (present: ObjectMeta, named: Pick<ObjectMeta, "uid" | "resourceVersion">): boolean =>
  present.uid === named.uid && present.resourceVersion === named.resourceVersion;

/** Returns the fields of a merge patch, with removed ones as empty lists. */
const withoutNulls = (patch: Partial<ObjectMeta>): Partial<ObjectMeta> =>
  Object.fromEntries(Object.entries(patch).map(([field, value]) => [field, value ?? []]));

const success = (body: object): ClientResponse => ({ code: 200, body: Buffer.from(JSON.stringify(body)) });

const failure = (code: number, details: object = {}): ClientResponse => ({
  code,
  body: Buffer.from(JSON.stringify({ kind: "Status", status: "Failure", code, details })),
});
