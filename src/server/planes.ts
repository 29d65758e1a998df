/**
 * The planes of a server (`--planes`): control planes beside its own, which share its process and its port. Objects of the
 * kind Plane say which there are; a request reaches one by the beginning of its path, `/planes/NAME`. The code is loaded only
 * when the flag is given.
 */
import { sharedCompiler } from "#authz/rules.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { notFound, serviceUnavailable, StatusError } from "#meta/status-error.ts";
import { versionDocument } from "#publication/version.ts";
import { type AskedPlane, type PlaneAccess, type PlanesController, planesController } from "#controllers/planes.ts";
import type { WatchCache } from "#storage/watch-cache.ts";
import { SharedLogThread } from "#storage/sqlite.ts";
import { StartError } from "#std/start-error.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Assembled } from "./assemble-config.ts";
import type { PlaneCredentials } from "./credentials.ts";
import { electControllers } from "./controllers/election.ts";
import { clientConfig } from "./kubeconfig.ts";
import { etcdAccess, isOnEtcd } from "./open-store.ts";
import type { Peers } from "./peers.ts";
import type { ServerTrust } from "./credentials/server-trust.ts";
import type { ServerOptions } from "./options.ts";
import { programVersion } from "./program-version.ts";
import { PlaneTurns } from "./planes/plane-turns.ts";
import { isPreflight, statusReply, unauthenticatedReply } from "./planes/status-reply.ts";
import {
  ClosedPlaneAuthenticator,
  type PlaneVerifiers,
  unknownVerifiers,
  verifiersOf,
} from "./planes/closed-plane-authenticator.ts";
import { makeTemplate, openPlane, Plane, type PlaneSettings } from "./planes/plane.ts";
import type { PlaneTemplate } from "./planes/plane-template.ts";
import { type PlaneStorage, planesInFolder, planesInMemory } from "./planes/plane-storage.ts";
import type { PlaneFollower } from "./planes/plane-follower.ts";
import type { PlaneHost } from "./planes/plane-host.ts";

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

/** The state of a plane in this process. */
interface Slot {
  /** The identity of the object that asked for the plane. */
  readonly uid: string;
  /** The bytes that all objects may have; `undefined` when they are not bounded. */
  quotaBytes: number | undefined;
  /** Whether the plane was ready before, as its object says. */
  isMade: boolean;
  /** Whether the plane is one of those whose number is bounded; one more is not made. */
  isCounted: boolean;
  /** The bytes of all objects when the plane was closed. */
  usedBytes?: number;
  /** The plane, or its opening; absent while it is closed. */
  plane?: Plane | Promise<Plane>;
  /** The credentials, once they were read, and what verifies them while the plane is closed. */
  credentials?: PlaneCredentials;
  verifiers?: PlaneVerifiers;
  /** The reading of the credentials, while it runs. */
  preparing?: Promise<PlaneCredentials | undefined>;
  /** The digests of the bootstrap tokens that the plane had when it was closed. */
  bootstrapTokens?: ReadonlySet<string>;
  /** Whether nobody had written to the plane when it was closed, so that its controllers still have nothing to do. */
  isUntouched?: boolean;
  /** Resolves when the plane, which nobody used, is closed. */
  closing?: Promise<unknown>;
  /** The time until which requests do not try to open it again, since it could not be opened; by the monotonic clock. */
  closedUntilMs?: number;
}

const noTokens: ReadonlySet<string> = new Set();
const prefix = "/planes/";
/** The name of a plane is one label of a host name. */
const nameForm = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
/** The name of the Lease of the server that makes and removes planes. */
const electionName = "binnacle-planes";
/** The number of looks for idle planes in the time after which they are closed. */
const idleLooks = 4;
/** The pause after which it looks again for planes to close, where too many are open. */
const lookAgainMs = 1000;
/** The pause after which requests try again to open a plane that could not be opened. */
const reopenMs = 5000;
/** The number of planes that are opened at the same time. */
const openingMax = 4;
/** The number of planes that are closed at the same time. */
const closingMax = 16;

export class Planes {
  readonly #ready = Promise.withResolvers<PlanesStart>();
  #start: PlanesStart | undefined;
  #storage: PlaneStorage | undefined;
  /** Follows the objects; `undefined` where no other server serves the planes. */
  #follower: PlaneFollower | undefined;
  /** Whether this server makes and removes planes. */
  #isLeading = false;
  /** The planes whose objects have ended, by name and identity, each with its closing, until nothing is left of them. */
  readonly #ended = new Map<string, Map<string, Promise<void>>>();
  readonly #logThread = new SharedLogThread();
  readonly #compileRule = sharedCompiler();
  readonly #version = versionDocument(programVersion());
  readonly #openings = new Openings();
  #turns: PlaneTurns | undefined;
  #closedAuthenticator: ClosedPlaneAuthenticator | undefined;
  #unknown: PlaneVerifiers | undefined;
  /** The objects of new planes, once they are known. */
  #template: PlaneTemplate | undefined;
  /** The making of the template, from the first new plane on. */
  #templateMaking: Promise<void> | undefined;
  readonly #slots = new Map<string, Slot>();
  readonly #stop = new AbortController();
  readonly #hostSuffix: string | undefined;
  /** The annotation of audit events that names the plane where the path does not. */
  readonly #hostAnnotation: string;
  #controller: Promise<void> | undefined;
  #cancelIdle: (() => void) | undefined;
  #cancelLook: (() => void) | undefined;

  constructor({ planesHostSuffix }: ServerOptions, domain: ApiDomain) {
    this.#hostSuffix = planesHostSuffix;
    this.#hostAnnotation = domain.rename("planes.k8s.io/plane");
    this.#ready.promise.catch(() => undefined);
  }

  /** Returns a handler that gives requests to planes, and all others to `next`, the server's own. */
  route(next: Handler): Handler {
    return (request) => {
      if (request.refusal !== undefined || this.#stop.signal.aborted) return next(request);
      const name = this.#nameOf(request);
      if (name === undefined) return next(request);
      if (this.#start === undefined) return this.#ready.promise.then(() => this.#handle(name, request, next));
      return this.#handle(name, request, next);
    };
  }

  /** Returns the name of the plane that a request asks for, by its host or its path. The path has the name afterwards. */
  #nameOf(request: ApiRequest): string | undefined {
    const ofHost = this.#hostSuffix === undefined ? undefined : labelOf(hostOf(request), this.#hostSuffix);
    if (ofHost !== undefined) {
      request.addressPlane?.(`${prefix}${ofHost}`);
      request.annotate(this.#hostAnnotation, ofHost);
      return ofHost;
    }
    if (!request.path.startsWith(prefix)) return undefined;
    const end = request.path.indexOf("/", prefix.length);
    return request.path.slice(prefix.length, end < 0 ? undefined : end);
  }

  /** Serves the planes from now on. Rejects when they cannot be read. */
  async start(start: PlanesStart): Promise<void> {
    const { host, assembled } = start;
    const { client } = assembled;
    const { clock, domain, log } = host;
    const storage = await this.#openStorage(start);
    this.#storage = storage;
    const controller = planesController(this.#access(start));
    const environment = { client, reader: client, clock, domain, log, signal: this.#stop.signal };
    for (const plane of await controller.prepare(environment)) this.#take(plane);
    this.#closedAuthenticator = new ClosedPlaneAuthenticator(host);
    this.#unknown = unknownVerifiers(host.random.uuid());
    this.#start = start;
    if (storage.isShared) await this.#follow(start);
    this.#isLeading = !storage.isShared || !host.options.leaderElect;
    this.#controller = this.#isLeading ? controller.run(environment) : this.#elect(start, controller, environment);
    this.#closeIdle(start);
    this.#ready.resolve(start);
  }

  /** Returns the place of planes, by the options. */
  async #openStorage({ host, assembled: { client } }: PlanesStart): Promise<PlaneStorage> {
    const { options } = host;
    let storage: PlaneStorage;
    if (isOnEtcd(options)) {
      const { planesOnEtcd } = await import("./planes/etcd-planes.ts");
      const { EtcdStores } = await import("#storage/etcd.ts");
      const stores = new EtcdStores(etcdAccess({ ...host, server: host.random.uuid() }));
      storage = planesOnEtcd({ ...host, stores, client, signal: this.#stop.signal });
    } else if (options.storage === "memory" || options.planes === undefined) storage = planesInMemory(host);
    else storage = planesInFolder(host, options.planes);
    await storage.open();
    return storage;
  }

  /** Follows the Plane objects, as other servers do. */
  async #follow(start: PlanesStart): Promise<void> {
    const { host, cache, peers } = start;
    const { followPlanes } = await import("./planes/plane-follower.ts");
    this.#follower = await followPlanes({
      ...host,
      cache,
      applied: peers!.announced.applied, // a shared store has peers
      replaced: (planes) => {
        const present = new Set(planes.map(({ uid }) => uid));
        for (const [name, slot] of this.#slots) if (!present.has(slot.uid)) this.#endSlot(name, slot);
        for (const plane of planes) this.#take(plane);
      },
      changed: (plane) => {
        if (!plane.isMade) this.#templateMaking ??= this.#makeTemplate(start);
        this.#take(plane);
      },
      ended: ({ name, uid }, isGone) => {
        const slot = this.#slots.get(name);
        if (slot?.uid === uid) this.#endSlot(name, slot);
        // The server that leads removes what is left.
        if (isGone && !this.#isLeading) this.#forget(name, uid);
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

  /** Serves a plane from now on, or as its object asks now. */
  #take({ name, uid, quotaBytes, isMade }: AskedPlane): Slot {
    this.#endOther(name, uid);
    const slot: Slot = this.#slots.get(name) ?? { uid, quotaBytes, isMade, isCounted: isMade };
    slot.quotaBytes = quotaBytes;
    slot.isMade ||= isMade;
    slot.isCounted ||= isMade;
    this.#slots.set(name, slot);
    return slot;
  }

  /** Ends the service of a plane whose object is gone, since another has its name. */
  #endOther(name: string, uid: string): void {
    const present = this.#slots.get(name);
    if (present !== undefined && present.uid !== uid) this.#endSlot(name, present);
  }

  /** Ends the service of a plane; what it has stored is left. */
  #endSlot(name: string, slot: Slot): void {
    this.#slots.delete(name);
    const ended = this.#ended.get(name) ?? new Map<string, Promise<void>>();
    this.#ended.set(name, ended.set(slot.uid, closeSlot(slot, this.#gone(name))));
  }

  #forget(name: string, uid: string): void {
    const ended = this.#ended.get(name);
    ended?.delete(uid);
    if (ended?.size === 0) this.#ended.delete(name);
  }

  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void {
    for (const { plane } of this.#slots.values()) if (plane instanceof Plane) plane.drain();
  }

  /** Closes all planes. No request is running. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancelIdle?.();
    this.#cancelLook?.();
    this.#ready.reject(serviceUnavailable("the server is shutting down"));
    this.#follower?.close();
    await this.#controller;
    await this.#templateMaking;
    const slots = [...this.#slots.values()];
    const closeNext = async (): Promise<void> => {
      for (let slot = slots.pop(); slot !== undefined; slot = slots.pop()) await closeSlot(slot);
    };
    await Promise.all(Array.from({ length: closingMax }, closeNext));
    await Promise.all(this.#ended.values().flatMap((ended) => ended.values()));
    this.#storage?.close();
    await this.#logThread.close();
  }

  #handle(name: string, request: ApiRequest, next: Handler): MaybePromise<Reply> {
    const slot = this.#slots.get(name);
    if (slot?.plane instanceof Plane) return enter(slot.plane, name, request);
    return this.#isAuthenticated(name, slot, request).then((isAdmitted) => {
      if (!isAdmitted || slot === undefined) {
        return andThen(next(request), (reply) => {
          // Users of the root who may read the path are told that there is no such plane.
          const isTold = isPreflight(request, reply) || (slot === undefined && reply.code === 404);
          return isTold ? reply : unauthenticatedReply(reply);
        });
      }
      const { plane, closedUntilMs = 0 } = slot;
      if (plane === undefined && this.#start!.host.clock.monotonic() < closedUntilMs) return cannotOpen();
      return this.#open(name, slot).then((opened) => enter(opened, name, request), refusalOf);
    }, refusalOf);
  }

  /** Whether a request has credentials of a closed plane. A name without a plane takes the same work. */
  async #isAuthenticated(name: string, slot: Slot | undefined, request: ApiRequest): Promise<boolean> {
    const now = this.#start!.host.clock.monotonic(); // it is set before the first request is handled
    // Requests never make what a plane stores that is one too many, or that the controller has not come to.
    if (slot?.isCounted === true && slot.credentials === undefined && (slot.closedUntilMs ?? 0) <= now) {
      // The controller tells in the status why it cannot be opened.
      await this.#prepare(name, slot, false).catch(() => (slot.closedUntilMs = now + reopenMs));
    }
    const { issuers } = this.#settingsOf(name, slot?.uid ?? "");
    // Both are made before the first request is handled.
    return this.#closedAuthenticator!.admits(
      request,
      issuers,
      slot?.verifiers ?? this.#unknown!,
      slot?.bootstrapTokens ?? noTokens,
    );
  }

  /** Opens a plane, unless it is open. Throws `notFound` when it was removed meanwhile. */
  async #open(name: string, slot: Slot): Promise<Plane> {
    await slot.closing;
    if (this.#slots.get(name) !== slot) throw this.#gone(name);
    return (slot.plane ??= this.#begin(name, slot));
  }

  /** Opens a plane that is closed. */
  async #begin(name: string, slot: Slot): Promise<Plane> {
    const { host } = this.#start!; // nothing is opened before
    const opened = await this.#openings.turn();
    try {
      const credentials = slot.credentials!; // somebody had some
      const settings = this.#settingsOf(name, slot.uid);
      await this.#confirm(name, slot);
      const confirm = async (): Promise<void> => {
        try {
          await this.#confirm(name, slot);
        } catch (error) {
          // Another server may have removed everything before this one wrote something.
          if (error instanceof StatusError) void this.#removeLate(name, slot);
          throw error;
        }
      };
      const own = { isUntouched: slot.isUntouched, quotaBytes: () => slot.quotaBytes, confirm };
      const plane = await openPlane(this.#hostOf(host), { ...settings, ...own }, credentials);
      slot.plane = plane;
      this.#closeSome(host, plane);
      return plane;
    } catch (error) {
      delete slot.plane;
      if (error instanceof StatusError) throw error;
      slot.closedUntilMs = host.clock.monotonic() + reopenMs;
      host.log.error({ error, plane: name }, "a control plane cannot be opened");
      throw error;
    } finally {
      opened();
    }
  }

  /** Rejects with `notFound` when a plane was removed, which this server may not have heard of yet. */
  async #confirm(name: string, { uid }: Slot): Promise<void> {
    const storage = this.#storage!; // nothing is opened before
    if (await storage.isWanted({ name, uid })) return;
    throw this.#gone(name);
  }

  /** Removes what this server has written of a plane that was removed meanwhile. */
  async #removeLate(name: string, { uid }: Slot): Promise<void> {
    try {
      await this.#storage?.remove({ name, uid });
    } catch (error) {
      this.#start?.host.log.warn({ error, plane: name }, "something of a control plane that was removed may be left");
    }
  }

  #hostOf(host: PlanesStart["host"]): PlaneHost {
    this.#turns ??= new PlaneTurns(host.clock, setImmediate);
    return {
      ...host,
      logThread: this.#logThread,
      compileRule: this.#compileRule,
      version: this.#version,
      turns: this.#turns,
      template: () => this.#template,
    };
  }

  async #makeTemplate({ host }: PlanesStart): Promise<void> {
    try {
      this.#template = await makeTemplate(this.#hostOf(host), this.#stop.signal);
    } catch (error) {
      host.log.error({ error }, "there is no template of control planes, so that opening one takes longer");
    }
  }

  #settingsOf(name: string, uid: string): Omit<PlaneSettings, "quotaBytes" | "confirm"> {
    const { host, url } = this.#start!; // nothing is opened before
    const storage = this.#storage!;
    const byPath = `${url}${prefix}${name}`;
    const urls: PlaneSettings["urls"] =
      this.#hostSuffix === undefined ? [byPath] : [`https://${name}.${this.#hostSuffix}${portOf(url)}`, byPath];
    // Each server has a URL of its own.
    const [issuer] = host.plans.authentication.issuer.issuers;
    const issuers = storage.isShared ? [`${issuer}${prefix}${name}`] : urls;
    return { name, uid, urls, issuers, place: storage.placeOf({ name, uid }) };
  }

  /** Reads the credentials of a plane, and makes missing ones if it may. `undefined` when there are none. */
  async #prepare(name: string, slot: Slot, mayMake: boolean): Promise<PlaneCredentials | undefined> {
    return slot.credentials ?? (slot.preparing ??= this.#readCredentials(name, slot, mayMake));
  }

  async #readCredentials(name: string, slot: Slot, mayMake: boolean): Promise<PlaneCredentials | undefined> {
    try {
      const storage = this.#storage!; // no plane is known before
      const credentials = await storage.credentials({ name, uid: slot.uid }, mayMake, slot.isMade);
      if (credentials === undefined) return undefined;
      slot.verifiers = verifiersOf(credentials);
      return (slot.credentials = credentials);
    } finally {
      delete slot.preparing;
    }
  }

  /** Returns what the controller of Plane objects may do here. */
  #access(start: PlanesStart): PlaneAccess {
    const { host, trust, cache, peers } = start;
    return {
      make: async (asked) => {
        const { name, uid, quotaBytes } = asked;
        if (!nameForm.test(name)) throw new StartError("the name must be a DNS label");
        const slot = await this.#slotOf(asked);
        this.#count(slot, host.options.planesMax);
        if (!asked.isMade) this.#templateMaking ??= this.#makeTemplate(start);
        const credentials = await this.#makeCredentials(name, slot);
        // All servers know the plane when it is said to be ready.
        await peers?.untilInForce(cache.revision);
        slot.isMade = true;
        const [url] = this.#settingsOf(name, uid).urls;
        const user = { user: "admin", namespace: undefined, credentials: { token: credentials.adminToken } };
        const config = clientConfig({ url, ...trust, proxy: undefined, insecure: false, ...user });
        const { plane } = slot;
        const usedBytes = quotaBytes !== undefined && plane instanceof Plane ? plane.usedBytes : slot.usedBytes;
        return { url, kubeconfig: JSON.stringify(config, undefined, 2), usedBytes };
      },
      remove: async (name, uid) => {
        await this.#follower?.inStep();
        const slot = this.#slots.get(name);
        // The one that is there may belong to a new object, if other servers serve it.
        const isIt = uid === undefined ? this.#follower === undefined : slot?.uid === uid;
        if (slot !== undefined && isIt) this.#endSlot(name, slot);
        await this.#removeEnded(name);
        if (uid !== undefined) await this.#removeStored(name, uid);
      },
    };
  }

  /** Resolves with the plane of an object, when nothing of an earlier plane of its name is left. */
  async #slotOf(asked: AskedPlane): Promise<Slot> {
    const { name, uid } = asked;
    if (this.#follower === undefined) {
      this.#endOther(name, uid);
      await this.#removeEnded(name);
      return this.#take(asked);
    }
    await this.#follower.inStep();
    const slot = this.#slots.get(name);
    if (slot?.uid !== uid) throw new StartError("the plane has ended");
    await this.#removeEnded(name);
    return slot;
  }

  /** Throws `StartError` for a new plane that is one too many. */
  #count(slot: Slot, planesMax: number): void {
    if (slot.isCounted) return;
    const counted = this.#slots.values().filter(({ isCounted }) => isCounted);
    if (counted.toArray().length >= planesMax) throw new StartError(`there are ${planesMax} planes`);
    slot.isCounted = true;
  }

  async #makeCredentials(name: string, slot: Slot): Promise<PlaneCredentials> {
    // A request may be reading what is not there yet.
    const credentials = (await this.#prepare(name, slot, true)) ?? (await this.#prepare(name, slot, true));
    if (credentials === undefined) throw new StartError("the credentials of the plane cannot be read");
    return credentials;
  }

  /** Removes what ended planes of a name have left. */
  async #removeEnded(name: string): Promise<void> {
    for (const [uid, ended] of this.#ended.get(name) ?? []) {
      await ended;
      await this.#removeStored(name, uid);
    }
  }

  /** Removes what a plane has stored, unless it belongs to another object. */
  async #removeStored(name: string, uid: string): Promise<void> {
    if (nameForm.test(name)) await this.#storage!.remove({ name, uid }); // nothing is removed before it is there
    this.#forget(name, uid);
  }

  /** Returns the answer to requests for a plane that was removed. */
  #gone(name: string): StatusError {
    const { domain } = this.#start!.host; // nothing is removed before
    return notFound({ group: domain.rename("planes.k8s.io"), resource: "planes" }, name);
  }

  /**
   * Closes the planes that were used least recently, if more are open than shall be; `latest` stays open. Where too many are at
   * work, it looks again.
   */
  #closeSome({ clock, options }: PlanesStart["host"], latest?: Plane): void {
    if (!this.#storage!.isLasting || this.#stop.signal.aborted) return; // a plane is open
    const open: { readonly slot: Slot; readonly plane: Plane }[] = [];
    for (const slot of this.#slots.values()) if (slot.plane instanceof Plane) open.push({ slot, plane: slot.plane });
    let surplus = open.length - options.planesOpenMax;
    if (surplus <= 0) return;
    open.sort((one, other) => one.plane.usedMs - other.plane.usedMs);
    for (const { slot, plane } of open) {
      // Whether a plane is idle takes more work to tell than when it was used.
      if (plane === latest || !plane.isIdle) continue;
      this.#closeIdleSlot(slot, plane);
      if (--surplus === 0) return;
    }
    this.#cancelLook?.();
    this.#cancelLook = clock.after(lookAgainMs, () => {
      if (this.#start !== undefined) this.#closeSome(this.#start.host);
    });
  }

  /** Closes planes that nobody has used for a while; the next request opens them again. */
  #closeIdle({ host: { clock, options } }: PlanesStart): void {
    const { planesIdleTimeoutMs: idleMs } = options;
    // A plane in memory would lose its objects.
    if (idleMs === 0 || !this.#storage!.isLasting) return; // planes are served
    this.#cancelIdle = clock.after(idleMs / idleLooks, () => {
      for (const slot of this.#slots.values()) {
        const { plane } = slot;
        if (!(plane instanceof Plane)) continue;
        if (plane.usedMs < clock.monotonic() - idleMs && plane.isIdle) this.#closeIdleSlot(slot, plane);
      }
      this.#closeIdle(this.#start!);
    });
  }

  /** Closes a plane without requests; its next request waits for that, and opens it again. */
  #closeIdleSlot(slot: Slot, plane: Plane): void {
    delete slot.plane;
    const closed = async (): Promise<void> => {
      try {
        if (slot.quotaBytes !== undefined) slot.usedBytes = plane.usedBytes;
        slot.bootstrapTokens = await plane.end();
        // Another server may write to it meanwhile.
        slot.isUntouched = plane.isUntouched && !this.#storage!.isShared; // the plane was open
      } finally {
        delete slot.closing;
      }
    };
    slot.closing = closed();
  }
}

/** Lets a few planes be opened at a time; the others wait, each at most once. */
class Openings {
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  /** Resolves when a plane may be opened, with the function to call afterwards. */
  async turn(): Promise<() => void> {
    if (this.#running < openingMax) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    return () => {
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    };
  }
}

async function closeSlot(slot: Slot, reason?: StatusError): Promise<void> {
  try {
    await slot.closing;
    await slot.preparing;
    await (await slot.plane)?.end(reason);
  } catch {
    // The plane could not be opened.
  }
}

const refusalOf = (error: unknown): Reply => (error instanceof StatusError ? statusReply(error) : cannotOpen());

const cannotOpen = (): Reply => statusReply(serviceUnavailable("the control plane cannot be opened"));

/** Returns the host that a request names, without its port. */
const hostOf = ({ headers }: ApiRequest): string =>
  (headers["host"] ?? headers[":authority"] ?? "").toLowerCase().replace(/\.?(?::\d*)?$/, "");

/** Returns the part of a host before the suffix; `undefined` for hosts elsewhere. */
const labelOf = (host: string, suffix: string): string | undefined =>
  host.endsWith(`.${suffix}`) ? host.slice(0, -suffix.length - 1) : undefined;

const portOf = (url: string): string => /:\d+$/.exec(url)?.[0] ?? "";

function enter(plane: Plane, name: string, request: ApiRequest): MaybePromise<Reply> {
  request.enterPlane?.(`${prefix}${name}`);
  return plane.handle(request);
}
