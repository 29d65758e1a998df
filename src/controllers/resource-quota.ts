/**
 * Counts the usage of quotas and writes it into the status: at once for new quotas and limits, when counted objects are
 * deleted or shrink, and periodically. Admission charges writes that increase usage.
 */
import { untilAborted } from "#std/abort.ts";
import { pause } from "#std/clock.ts";
import type { ResourceQuota } from "#api/core/v1.ts";
import { type InformerEvent, keyOf } from "#client/informer.ts";
import { ignoreNotFound, type RestClient } from "#client/rest-client.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { escapeFieldValue } from "#meta/selector.ts";
import type { Controller, ControllerEnvironment } from "./controller.ts";
import { inPages } from "./pages.ts";
import { inNamespace, objectPath } from "./paths.ts";
import { follow, openInformer, workQueue } from "./reconcile.ts";

interface GroupResource {
  readonly group: string;
  readonly resource: string;
}

/** The objects of one resource that are counted. */
interface CountedPart extends GroupResource {
  add(object: ApiObject): void;
  /** The names of the objects that are being written, if only the number of objects counts and none has to be read. */
  readonly beingWritten: readonly string[] | undefined;
  /** Adds `count` objects at once, among them `existing` of those that are being written. */
  addCounted(count: number, existing: readonly string[]): void;
  /** Called when all objects have been added. */
  done(): void;
}

/** A count of the usage of a quota in its namespace, which knows pending writes. */
export interface QuotaCount {
  readonly quota: ResourceQuota;
  /** The revision at which the objects have to be read. */
  readonly revision: number;
  readonly parts: readonly CountedPart[];
  /**
   * Returns the status that the quota has by this count, given its present version; `undefined` when it is the present
   * one.
   */
  statusOf(now: ResourceQuota): ResourceQuota["status"] | undefined;
}

/** A served resource whose objects are counted. */
interface CountedLocation {
  /** The path of the group version. */
  readonly path: string;
  /** Whether this server stores the objects; those of an aggregated server have revisions of their own. */
  readonly isLocal: boolean;
}

export interface QuotaCountOptions {
  /** The time after which everything is counted again. */
  readonly periodMs: number;
  /** Begins a count; `undefined` when there is no such quota. */
  measure(namespace: string, name: string): Promise<QuotaCount | undefined>;
  /** Returns the quota as it is stored. */
  current(namespace: string, name: string): ResourceQuota | undefined;
  /** Runs work while nothing is charged to the quotas of a namespace. */
  alone<T>(namespace: string, work: () => Promise<T>): Promise<T>;
  /** Sets the listener for namespaces whose quotas were charged for writes that were not stored. */
  onOvercharged(listener: (namespace: string) => void): void;
  /** Returns the resource that a name in a quota is about. */
  resourceOf(name: string): GroupResource | undefined;
  /** Whether all objects of a resource use the same amounts, so that only their number counts. */
  isConstant(resource: GroupResource): boolean;
  /** Returns the amounts that an object uses, as a text that is equal for equal amounts. */
  useOf(resource: GroupResource, object: ApiObject): string;
  /** Returns where a resource is served; `undefined` when it is not, or its objects have no namespaces. */
  locationOf(resource: GroupResource): CountedLocation | undefined;
  /** Sets the listener for changes of the served resources. */
  onServed(listener: () => void): void;
  /** Called when an aggregated server could not be asked; its objects count as before. */
  failed(error: unknown): void;
}

const idOf = ({ group, resource }: GroupResource): string => `${resource}.${group}`;

export const resourceQuotaController =
  (options: QuotaCountOptions): Controller =>
  async (environment) => {
    const queue = workQueue(environment, {
      name: "resourcequota_primary",
      async work(key) {
        const startMs = environment.clock.monotonic();
        const outcome = await count(environment, options, key);
        knownQuotas.counted(key, environment.clock.monotonic() - startMs);
        return outcome;
      },
      workersMax: 5,
      logKey: "quota",
      failure: "could not count what a namespace uses of a quota; trying again",
    });
    const knownQuotas: KnownQuotas = new KnownQuotas(environment, options, queue);
    options.onOvercharged((namespace) => knownQuotas.recount(namespace));
    options.onServed(() => knownQuotas.followServed());
    void countAllAgain(environment, options.periodMs, knownQuotas);
    const quotas = openInformer<ResourceQuota>(environment, {
      what: "quotas",
      path: "/api/v1/resourcequotas",
      trim: ({ metadata: { managedFields: _, ...metadata }, spec, status }) => ({ metadata, spec, status }),
    });
    quotas.subscribe((event) => knownQuotas.changed(event));
    await untilAborted(environment.signal);
  };

async function countAllAgain(
  { clock, signal }: ControllerEnvironment,
  periodMs: number,
  quotas: KnownQuotas,
): Promise<void> {
  while (!signal.aborted) {
    await pause(clock, periodMs, signal);
    if (!signal.aborted) quotas.recountAll();
  }
}

/** The resources that a quota counts, by id. */
type CountedResources = ReadonlyMap<string, GroupResource>;

/** A resource that quotas count. */
interface Counted {
  readonly resource: GroupResource;
  /** The number of quotas that count the resource. */
  quotas: number;
  following: { readonly location: CountedLocation; stop(): void } | undefined;
}

class KnownQuotas {
  readonly #environment: ControllerEnvironment;
  readonly #options: QuotaCountOptions;
  readonly #queue: WorkQueue;
  /** The quotas by namespace, then by key. */
  readonly #quotas = new Map<string, Map<string, CountedResources>>();
  readonly #counted = new Map<string, Counted>();
  /** The time at which each quota may be counted again, if its last count took long. */
  readonly #restMs = new Map<string, number>();

  constructor(environment: ControllerEnvironment, options: QuotaCountOptions, queue: WorkQueue) {
    this.#environment = environment;
    this.#options = options;
    this.#queue = queue;
  }

  changed(event: InformerEvent<ResourceQuota>): void {
    const { type, object } = event;
    const key = keyOf(object);
    if (type === "deleted") return this.#set(key, undefined);
    if (type === "changed" && limitsText(event.previous) === limitsText(object)) return;
    const resources = Object.keys(object.spec.hard ?? {}).flatMap((one) => this.#options.resourceOf(one) ?? []);
    this.#set(key, new Map(resources.map((resource) => [idOf(resource), resource])));
    // This is also done when the status has just said so for the first time: nothing was charged until then.
    this.#queue.add(key);
  }

  /** Queues all quotas of a namespace, or those that count a resource. */
  recount(namespace: string, resource?: string): void {
    const now = this.#environment.clock.monotonic();
    for (const [key, resources] of this.#quotas.get(namespace) ?? []) {
      if (resource !== undefined && !resources.has(resource)) continue;
      const restMs = (this.#restMs.get(key) ?? 0) - now;
      if (restMs <= 0) this.#queue.add(key);
      else this.#queue.addAfter(key, restMs);
    }
  }

  recountAll(resource?: string): void {
    for (const namespace of this.#quotas.keys()) this.recount(namespace, resource);
  }

  /** Records the duration of a count. The next one starts when others have had most of the time. */
  counted(key: string, tookMs: number): void {
    this.#restMs.set(key, this.#environment.clock.monotonic() + tookMs * restFactor);
  }

  isCounting(namespace: string, resource: string): boolean {
    return (
      this.#quotas
        .get(namespace)
        ?.values()
        .some((resources) => resources.has(resource)) === true
    );
  }

  /** Follows the objects of resources that are served now. */
  followServed(): void {
    for (const [key, counted] of this.#counted) this.#follow(key, counted);
  }

  #set(key: string, counted: CountedResources | undefined): void {
    const [namespace = ""] = key.split("/");
    const siblings = this.#quotas.get(namespace) ?? new Map<string, CountedResources>();
    const before = siblings.get(key);
    if (counted === undefined) {
      siblings.delete(key);
      this.#restMs.delete(key);
    } else siblings.set(key, counted);
    if (siblings.size === 0) this.#quotas.delete(namespace);
    else this.#quotas.set(namespace, siblings);
    for (const [id, resource] of counted ?? []) if (before?.has(id) !== true) this.#hold(id, resource);
    for (const id of before?.keys() ?? []) if (counted?.has(id) !== true) this.#release(id);
  }

  #hold(id: string, resource: GroupResource): void {
    const counted = this.#counted.get(id) ?? { resource, quotas: 0, following: undefined };
    counted.quotas++;
    this.#counted.set(id, counted);
    this.#follow(id, counted);
  }

  #release(id: string): void {
    const counted = this.#counted.get(id);
    if (counted === undefined || --counted.quotas > 0) return;
    counted.following?.stop();
    this.#counted.delete(id);
  }

  #follow(id: string, counted: Counted): void {
    const { resource, following } = counted;
    const location = this.#options.locationOf(resource);
    const before = following?.location;
    if (location?.path === before?.path && location?.isLocal === before?.isLocal) return;
    following?.stop();
    counted.following = undefined;
    if (location === undefined) return;
    const stop = new AbortController();
    const signal = AbortSignal.any([this.#environment.signal, stop.signal]);
    void followObjects({ ...this.#environment, signal }, this.#options, { id, resource, location, quotas: this });
    counted.following = { location, stop: () => stop.abort() };
  }
}

/** The pause after a count, as a multiple of its duration: counting takes a fifth of the time at most. */
const restFactor = 4;

const sortedText = (list: Readonly<Record<string, string>> | undefined): string =>
  list === undefined ? "" : JSON.stringify(Object.entries(list).sort(([one], [other]) => (one < other ? -1 : 1)));

/** Returns the limits of a quota, and those in its status. */
const limitsText = ({ spec, status }: ResourceQuota): string => `${sortedText(spec.hard)} ${sortedText(status.hard)}`;

/** Has quotas counted again when objects are deleted, or use other amounts than before. */
function followObjects(
  environment: ControllerEnvironment,
  { useOf, isConstant }: QuotaCountOptions,
  about: {
    readonly id: string;
    readonly resource: GroupResource;
    readonly location: CountedLocation;
    readonly quotas: KnownQuotas;
  },
): Promise<void> {
  const { id, resource, location, quotas } = about;
  const { path, isLocal } = location;
  /** The amounts of objects in namespaces with such quotas. */
  const uses = new Map<string, string>();
  const learn = (object: ApiObject): boolean => {
    const { namespace = "", name = "" } = object.metadata;
    const use = quotas.isCounting(namespace, id) ? useOf(resource, object) : "";
    const key = `${namespace}/${name}`;
    const before = uses.get(key) ?? "";
    if (use === "") uses.delete(key);
    else uses.set(key, use);
    return use !== before;
  };
  return follow(environment, {
    what: "objects that quotas count",
    path: `${path}/${resource.resource}`,
    changesOnly: true,
    deletionsOnly: isLocal && isConstant(resource),
    replaced() {
      uses.clear();
      // This finds deletions while nobody followed.
      quotas.recountAll(id);
    },
    changed(type, object) {
      const { namespace = "", name = "" } = object.metadata;
      if (type === "DELETED") uses.delete(`${namespace}/${name}`);
      const usesOther = type !== "DELETED" && learn(object);
      // Admission has charged new objects of this server.
      const isUncharged = type === "DELETED" || (type === "ADDED" && !isLocal);
      if (isUncharged || (type === "MODIFIED" && usesOther)) quotas.recount(namespace, id);
    },
  });
}

/** The maximum number of written names that are requested one by one; with more names, all objects are read. */
const namesMax = 200;

/**
 * Adds objects by their number alone; returns false if that is not enough, or the server does not say the number.
 * Without a revision, those are counted that are there now.
 */
async function addNumber(
  client: RestClient,
  objects: string,
  revision: number | undefined,
  part: CountedPart,
): Promise<boolean> {
  const { beingWritten } = part;
  if (beingWritten === undefined || beingWritten.length > namesMax) return false;
  const query = revision === undefined ? "" : `&resourceVersion=${revision}&resourceVersionMatch=Exact`;
  const { items, metadata } = await client.list(`${objects}?limit=1${query}`);
  const isWhole = (metadata.continue ?? "") === "";
  const following = isWhole ? 0 : metadata.remainingItemCount;
  if (following === undefined) return false;
  const existing: string[] = [];
  for (const name of beingWritten) {
    const selector = encodeURIComponent(`metadata.name=${escapeFieldValue(name)}`);
    const list = name === "" ? undefined : await client.list(`${objects}?fieldSelector=${selector}${query}`);
    if (list !== undefined && list.items.length > 0) existing.push(name);
  }
  part.addCounted(items.length + following, existing);
  return true;
}

async function addObjects(
  client: RestClient,
  objects: string,
  revision: number | undefined,
  part: CountedPart,
): Promise<void> {
  const isCounted = await addNumber(client, objects, revision, part);
  const pages = revision === undefined ? {} : { revision };
  if (!isCounted) for await (const object of inPages(client, objects, pages)) part.add(object);
  part.done();
}

/** Counts for one quota, with the objects as they were when the count began, and writes the status if it differs. */
async function count(
  { client }: ControllerEnvironment,
  options: QuotaCountOptions,
  key: string,
): Promise<"again" | void> {
  const [namespace = "", name = ""] = key.split("/");
  const counted = await options.measure(namespace, name);
  if (counted === undefined) return undefined;
  const { quota, revision, parts } = counted;
  for (const part of parts) {
    const location = options.locationOf(part);
    if (location === undefined) continue;
    const objects = inNamespace(`${location.path}/${part.resource}`, namespace);
    if (location.isLocal) await addObjects(client, objects, revision, part);
    // The other counts do not wait for an aggregated server that fails.
    else await addObjects(client, objects, undefined, part).catch(options.failed);
  }
  return options.alone(namespace, async () => {
    const now = options.current(namespace, name);
    if (now === undefined) return undefined;
    const isOther = now.metadata.uid !== quota.metadata.uid;
    if (isOther || sortedText(now.spec.hard) !== sortedText(quota.spec.hard)) return "again";
    const status = counted.statusOf(now);
    if (status === undefined) return undefined;
    const path = `${objectPath("/api/v1/resourcequotas", key)}/status`;
    const write = client.update<ResourceQuota>(path, { apiVersion: "v1", kind: "ResourceQuota", ...now, status });
    // The quota may have been deleted meanwhile, with its namespace.
    await ignoreNotFound(write);
    return undefined;
  });
}
