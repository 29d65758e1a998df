/**
 * The planes of a server (`--planes`): control planes beside its own, which share its process and its port. Objects of the
 * kind Plane say which there are; a request reaches one by the beginning of its path, `/planes/NAME`. The code is loaded only
 * when the flag is given.
 *
 * This file puts the parts together: which planes there are (`planes/plane-slots.ts`), how each is opened (`plane-slot.ts`,
 * `open-plane.ts`) and closed (`idle-planes.ts`), who answers requests (`plane-requests.ts`), and what the controller of Plane
 * objects may do (`plane-access.ts`).
 */
import { sharedCompiler } from "#authz/rules.ts";
import { type PlanesController, planesController } from "#controllers/planes.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { serviceUnavailable } from "#meta/status-error.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { versionDocument } from "#publication/version.ts";
import { SharedLogThread } from "#storage/sqlite.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import type { Assembled } from "./assemble-config.ts";
import { electControllers } from "./controllers/election.ts";
import type { ServerTrust } from "./credentials/server-trust.ts";
import { etcdAccess, isOnEtcd } from "./open-store.ts";
import type { ServerOptions } from "./options.ts";
import type { Peers } from "./peers.ts";
import { IdlePlanes } from "./planes/idle-planes.ts";
import { Openings } from "./planes/openings.ts";
import { planeAccess } from "./planes/plane-access.ts";
import { PlaneNames, planeUrls, type PlaneUrls } from "./planes/plane-addresses.ts";
import type { PlaneFollower } from "./planes/plane-follower.ts";
import type { PlaneHost } from "./planes/plane-host.ts";
import { PlaneRequests } from "./planes/plane-requests.ts";
import { PlaneSlots } from "./planes/plane-slots.ts";
import { planesInFolder, planesInMemory, type PlaneStorage } from "./planes/plane-storage.ts";
import { PlaneTurns } from "./planes/plane-turns.ts";
import { TemplateMaking } from "./planes/template-making.ts";
import { programVersion } from "./program-version.ts";

type Handler = (request: ApiRequest) => MaybePromise<Reply>;

interface PlanesStart {
  readonly host: Omit<PlaneHost, "logThread" | "template" | "compileRule" | "turns" | "version">;
  /** The URL by which clients reach the server. */
  readonly url: string;
  readonly trust: ServerTrust;
  /** The root. */
  readonly assembled: Pick<Assembled, "client" | "clientWithin">;
  /** The store of the root. */
  readonly cache: WatchCache;
  /** The other servers of the root's store; `undefined` where it has no others. */
  readonly peers: Peers | undefined;
}

/** The name of the Lease of the server that makes and removes planes. */
const electionName = "binnacle-planes";

export class Planes {
  readonly #names: PlaneNames;
  readonly #hostSuffix: string | undefined;
  readonly #logThread = new SharedLogThread();
  readonly #template = new TemplateMaking();
  readonly #stop = new AbortController();
  readonly #ready = Promise.withResolvers<PlaneRequests>();
  /** The handler of requests, once planes are served. */
  #requests: PlaneRequests | undefined;
  #storage: PlaneStorage | undefined;
  #slots: PlaneSlots | undefined;
  /** Closes planes that nobody uses; `undefined` where one that is closed would lose its objects. */
  #idle: IdlePlanes | undefined;
  /** Follows the objects; `undefined` where no other server serves the planes. */
  #follower: PlaneFollower | undefined;
  /** Whether this server makes and removes planes. */
  #isLeading = false;
  #controller: Promise<void> | undefined;

  constructor({ planesHostSuffix }: ServerOptions, domain: ApiDomain) {
    this.#hostSuffix = planesHostSuffix;
    this.#names = new PlaneNames(planesHostSuffix, domain);
    this.#ready.promise.catch(() => undefined);
  }

  /** Returns a handler that gives requests to planes, and all others to `next`, the server's own. */
  route(next: Handler): Handler {
    return (request) => {
      if (request.refusal !== undefined || this.#stop.signal.aborted) return next(request);
      const name = this.#names.of(request);
      if (name === undefined) return next(request);
      if (this.#requests !== undefined) return this.#requests.handle(name, request, next);
      return this.#ready.promise.then((requests) => requests.handle(name, request, next));
    };
  }

  /** Serves the planes from now on. Rejects when they cannot be read. */
  async start(start: PlanesStart): Promise<void> {
    const host = this.#hostOf(start);
    const { clock, domain, log, options } = host;
    const { client } = start.assembled;
    const { signal } = this.#stop;
    const storage = await openStorage(start, signal);
    this.#storage = storage;
    const urlsOf = this.#urlsOf(start, storage);
    const slots = this.#serve(host, storage, urlsOf);
    const isNew = (): void => this.#template.begin(host, signal);
    const follower = (): PlaneFollower | undefined => this.#follower;
    const { planesMax } = options;
    const controller = planesController(planeAccess({ ...start, slots, planesMax, urlsOf, follower, isNew }));
    const environment = { client, reader: client, clock, domain, log, signal };
    for (const plane of await controller.prepare(environment)) slots.take(plane);
    if (storage.isShared) await this.#follow(start, slots, isNew);
    this.#isLeading = !storage.isShared || !options.leaderElect;
    this.#controller = this.#isLeading ? controller.run(environment) : this.#elect(start, controller, environment);
    this.#idle?.start();
    this.#requests = new PlaneRequests({ host, find: (name) => slots.get(name), urlsOf });
    this.#ready.resolve(this.#requests);
  }

  /** Returns the parts of the server that its planes use, with those that they have together. */
  #hostOf({ host }: PlanesStart): PlaneHost {
    return {
      ...host,
      logThread: this.#logThread,
      compileRule: sharedCompiler(),
      version: versionDocument(programVersion()),
      turns: new PlaneTurns(host.clock, setImmediate),
      template: () => this.#template.template,
    };
  }

  #urlsOf({ host, url }: PlanesStart, { isShared }: PlaneStorage): (name: string) => PlaneUrls {
    const [issuer] = host.plans.authentication.issuer.issuers;
    const parts = { url, hostSuffix: this.#hostSuffix, sharedIssuer: isShared ? issuer : undefined };
    return (name) => planeUrls(parts, name);
  }

  /** Begins with no planes. */
  #serve(host: PlaneHost, storage: PlaneStorage, urlsOf: (name: string) => PlaneUrls): PlaneSlots {
    const slots = new PlaneSlots({
      host,
      storage,
      openings: new Openings(),
      urlsOf,
      opened: (plane) => this.#idle?.closeSurplus(plane),
    });
    if (storage.isLasting) this.#idle = new IdlePlanes({ ...host, slots: () => slots.all() });
    return (this.#slots = slots);
  }

  /** Follows the Plane objects, as other servers do. `isNew` is called for new planes. */
  async #follow({ host, cache, peers }: PlanesStart, slots: PlaneSlots, isNew: () => void): Promise<void> {
    const { followPlanes } = await import("./planes/plane-follower.ts");
    this.#follower = await followPlanes({
      ...host,
      cache,
      applied: peers!.announced.applied, // a shared store has peers
      replaced: (planes) => {
        const present = new Set(planes.map(({ uid }) => uid));
        for (const slot of slots.all()) if (!present.has(slot.id.uid)) slots.end(slot);
        for (const plane of planes) slots.take(plane);
      },
      changed: (plane) => {
        if (!plane.isMade) isNew();
        slots.take(plane);
      },
      ended: ({ name, uid }, isGone) => {
        const slot = slots.get(name);
        if (slot?.id.uid === uid) slots.end(slot);
        // The server that leads removes what is left.
        if (isGone && !this.#isLeading) slots.forget(name, uid);
      },
    });
  }

  /** Runs the controller while this server leads. */
  #elect(
    { host, assembled: { client, clientWithin } }: PlanesStart,
    controller: PlanesController,
    environment: Parameters<PlanesController["run"]>[0],
  ): Promise<void> {
    const options = { ...host.options, leaderElectResourceName: electionName };
    return electControllers({
      ...host,
      options,
      client,
      signal: environment.signal,
      lead: async (term) => {
        this.#isLeading = true;
        try {
          await controller.run({ ...environment, client: clientWithin(term), signal: term.signal });
        } finally {
          this.#isLeading = false;
        }
      },
    });
  }

  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void {
    for (const { plane } of this.#slots?.all() ?? []) plane?.drain();
  }

  /** Closes all planes. No request is running. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#idle?.close();
    this.#ready.reject(serviceUnavailable("the server is shutting down"));
    this.#follower?.close();
    await this.#controller;
    await this.#template.over();
    await this.#slots?.close();
    this.#storage?.close();
    await this.#logThread.close();
  }
}

/** Opens the place of planes, by the options. */
async function openStorage({ host, assembled: { client } }: PlanesStart, signal: AbortSignal): Promise<PlaneStorage> {
  const { options } = host;
  let storage: PlaneStorage;
  if (isOnEtcd(options)) {
    const { planesOnEtcd } = await import("./planes/etcd-planes.ts");
    const { EtcdStores } = await import("#storage/etcd.ts");
    const stores = new EtcdStores(etcdAccess({ ...host, server: host.random.uuid() }));
    storage = planesOnEtcd({ ...host, stores, client, signal });
  } else if (options.storage === "memory" || options.planes === undefined) storage = planesInMemory(host);
  else storage = planesInFolder(host, options.planes);
  await storage.open();
  return storage;
}
