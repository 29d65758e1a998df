/**
 * The planes of a server (`--planes`): control planes beside its own, which share its process and its port. Objects of the
 * kind Plane say which there are; a request reaches one by the beginning of its path, `/planes/NAME`. The code is loaded only
 * when the flag is given.
 */
import { join } from "node:path";
import { sharedCompiler } from "#authz/rules.ts";
import type { RestClient } from "#client/rest-client.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { notFound, serviceUnavailable, StatusError } from "#meta/status-error.ts";
import { type PlaneAccess, planesController } from "#controllers/planes.ts";
import { SharedLogThread } from "#storage/sqlite.ts";
import { StartError } from "#std/start-error.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { PlaneCredentials } from "./credentials.ts";
import { clientConfig } from "./kubeconfig.ts";
import type { ServerTrust } from "./credentials/server-trust.ts";
import type { ServerOptions } from "./options.ts";
import { PlaneTurns } from "./planes/plane-turns.ts";
import { isPreflight, statusReply, unauthenticatedReply } from "./planes/status-reply.ts";
import {
  ClosedPlaneAuthenticator,
  type PlaneVerifiers,
  unknownVerifiers,
  verifiersOf,
} from "./planes/closed-plane-authenticator.ts";
import { makeTemplate, openPlane, Plane, type PlaneSettings, preparePlane } from "./planes/plane.ts";
import type { PlaneTemplate } from "./planes/plane-template.ts";
import { claimFolder, openPlaneFolders, removeFolder } from "./planes/plane-folder.ts";
import type { PlaneHost } from "./planes/plane-host.ts";

type Handler = (request: ApiRequest) => MaybePromise<Reply>;

interface PlanesStart {
  readonly host: Omit<PlaneHost, "logThread" | "template" | "compileRule" | "turns">;
  /** The URL by which clients reach the server. */
  readonly url: string;
  readonly trust: ServerTrust;
  /** The client of the server itself. */
  readonly client: RestClient;
}

/** The state of a plane in this process. */
interface Slot {
  /** The identity of the object that asked for the plane. */
  readonly uid: string;
  /** The bytes that all objects may have; `undefined` when they are not bounded. */
  quotaBytes: number | undefined;
  /** The bytes of all objects when the plane was closed. */
  usedBytes?: number;
  /** The plane, or its opening; absent while it is closed. */
  plane?: Plane | Promise<Plane>;
  /** The credentials, once they were read, and what verifies them while the plane is closed. */
  credentials?: PlaneCredentials;
  verifiers?: PlaneVerifiers;
  /** The reading of the credentials, while it runs. */
  preparing?: Promise<PlaneCredentials>;
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
/** The number of looks for idle planes in the time after which they are closed. */
const idleLooks = 4;
/** The pause after which requests try again to open a plane that could not be opened. */
const reopenMs = 5000;
/** The number of planes that are opened at the same time. */
const openingMax = 4;
/** The number of planes that are closed at the same time. */
const closingMax = 16;

export class Planes {
  readonly #ready = Promise.withResolvers<PlanesStart>();
  #start: PlanesStart | undefined;
  readonly #logThread = new SharedLogThread();
  readonly #compileRule = sharedCompiler();
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
    const { host, client } = start;
    const { clock, domain, log } = host;
    const folder = folderOf(host.options);
    if (folder !== undefined) await openPlaneFolders(folder);
    const controller = planesController(this.#access(start));
    const environment = { client, reader: client, clock, domain, log, signal: this.#stop.signal };
    for (const { name, ...slot } of await controller.prepare(environment)) this.#slots.set(name, slot);
    this.#closedAuthenticator = new ClosedPlaneAuthenticator(host);
    this.#unknown = unknownVerifiers(host.random.uuid());
    this.#start = start;
    this.#controller = controller.run(environment);
    this.#closeIdle(start);
    this.#ready.resolve(start);
  }

  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void {
    for (const { plane } of this.#slots.values()) if (plane instanceof Plane) plane.drain();
  }

  /** Closes all planes. No request is running. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#cancelIdle?.();
    this.#ready.reject(serviceUnavailable("the server is shutting down"));
    await this.#controller;
    await this.#templateMaking;
    const slots = [...this.#slots.values()];
    const closeNext = async (): Promise<void> => {
      for (let slot = slots.pop(); slot !== undefined; slot = slots.pop()) await closeSlot(slot);
    };
    await Promise.all(Array.from({ length: closingMax }, closeNext));
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
    if (slot !== undefined && slot.credentials === undefined && (slot.closedUntilMs ?? 0) <= now) {
      // The controller has not come to it yet, or tells in the status why it cannot be opened.
      await this.#prepare(name, slot).catch(() => (slot.closedUntilMs = now + reopenMs));
    }
    const { urls } = this.#settingsOf(name);
    // Both are made before the first request is handled.
    return this.#closedAuthenticator!.admits(
      request,
      urls,
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
      const credentials = await this.#prepare(name, slot);
      const settings = this.#settingsOf(name);
      const own = { isUntouched: slot.isUntouched, quotaBytes: () => slot.quotaBytes };
      const plane = await openPlane(this.#hostOf(host), { ...settings, ...own }, credentials);
      slot.plane = plane;
      this.#closeSome(host, plane);
      return plane;
    } catch (error) {
      delete slot.plane;
      slot.closedUntilMs = host.clock.monotonic() + reopenMs;
      host.log.error({ error, plane: name }, "a control plane cannot be opened");
      throw error;
    } finally {
      opened();
    }
  }

  #hostOf(host: PlanesStart["host"]): PlaneHost {
    const [logThread, compileRule] = [this.#logThread, this.#compileRule];
    this.#turns ??= new PlaneTurns(host.clock, setImmediate);
    return { ...host, logThread, compileRule, turns: this.#turns, template: () => this.#template };
  }

  async #makeTemplate({ host }: PlanesStart): Promise<void> {
    try {
      this.#template = await makeTemplate(this.#hostOf(host), this.#stop.signal);
    } catch (error) {
      host.log.error({ error }, "there is no template of control planes, so that opening one takes longer");
    }
  }

  #settingsOf(name: string): Omit<PlaneSettings, "quotaBytes"> {
    const { host, url } = this.#start!; // nothing is opened before
    const folder = folderOf(host.options);
    const byPath = `${url}${prefix}${name}`;
    const urls: PlaneSettings["urls"] =
      this.#hostSuffix === undefined ? [byPath] : [`https://${name}.${this.#hostSuffix}${portOf(url)}`, byPath];
    return { name, urls, folder: folder === undefined ? undefined : join(folder, name) };
  }

  /** Reads the credentials of a plane, and makes missing ones. */
  async #prepare(name: string, slot: Slot): Promise<PlaneCredentials> {
    return slot.credentials ?? (slot.preparing ??= this.#readCredentials(name, slot));
  }

  async #readCredentials(name: string, slot: Slot): Promise<PlaneCredentials> {
    try {
      return await this.#claim(name, slot);
    } finally {
      delete slot.preparing;
    }
  }

  /** Makes the folder of a plane its own, and reads the credentials there. */
  async #claim(name: string, slot: Slot): Promise<PlaneCredentials> {
    const settings = this.#settingsOf(name);
    if (settings.folder !== undefined) await claimFolder(settings.folder, slot.uid);
    const credentials = await preparePlane(this.#start!.host, settings);
    slot.verifiers = verifiersOf(credentials);
    return (slot.credentials = credentials);
  }

  /** Returns what the controller of Plane objects may do here. */
  #access(start: PlanesStart): PlaneAccess {
    const { host, trust } = start;
    return {
      make: async ({ name, uid, quotaBytes }) => {
        if (!nameForm.test(name)) throw new StartError("the name must be a DNS label");
        const { planesMax } = host.options;
        const present = this.#slots.get(name);
        // The object of that plane is gone, since another has its name.
        if (present !== undefined && present.uid !== uid) await this.#remove(name, present);
        const slot: Slot = this.#slots.get(name) ?? { uid, quotaBytes };
        if (this.#slots.size >= planesMax && !this.#slots.has(name))
          throw new StartError(`there are ${planesMax} planes`);
        if (!this.#slots.has(name)) this.#templateMaking ??= this.#makeTemplate(start);
        this.#slots.set(name, slot);
        slot.quotaBytes = quotaBytes;
        const { adminToken: token } = await this.#prepare(name, slot);
        const [url] = this.#settingsOf(name).urls;
        const user = { user: "admin", namespace: undefined, credentials: { token } };
        const config = clientConfig({ url, ...trust, proxy: undefined, insecure: false, ...user });
        const { plane } = slot;
        const usedBytes = quotaBytes !== undefined && plane instanceof Plane ? plane.countBytes() : slot.usedBytes;
        return { url, kubeconfig: JSON.stringify(config, undefined, 2), usedBytes };
      },
      remove: async (name, uid) => {
        const slot = this.#slots.get(name);
        if (slot !== undefined) await this.#remove(name, slot);
        if (uid !== undefined) await this.#removeFolder(name, uid);
      },
    };
  }

  /** Closes a plane, and removes what it has stored. */
  async #remove(name: string, slot: Slot): Promise<void> {
    this.#slots.delete(name);
    await closeSlot(slot, this.#gone(name));
    await this.#removeFolder(name, slot.uid);
  }

  /** Removes the folder of a plane, unless it belongs to another object. */
  async #removeFolder(name: string, uid: string): Promise<void> {
    const folder = folderOf(this.#start!.host.options); // nothing is removed before
    if (folder !== undefined && nameForm.test(name)) await removeFolder(join(folder, name), uid);
  }

  /** Returns the answer to requests for a plane that was removed. */
  #gone(name: string): StatusError {
    const { domain } = this.#start!.host; // nothing is removed before
    return notFound({ group: domain.rename("planes.k8s.io"), resource: "planes" }, name);
  }

  /** Closes the planes that were used least recently, if more are open than shall be; `latest` stays open. */
  #closeSome({ options }: PlanesStart["host"], latest: Plane): void {
    if (folderOf(options) === undefined) return;
    const open = [...this.#slots.values()].filter(({ plane }) => plane instanceof Plane);
    const surplus = open.length - options.planesOpenMax;
    if (surplus <= 0) return;
    const idle = open.flatMap((slot) => {
      const { plane } = slot;
      const sinceMs = plane instanceof Plane && plane !== latest ? plane.idleSinceMs : undefined;
      return sinceMs === undefined ? [] : [{ slot, plane: plane as Plane, sinceMs }]; // it is none that opens
    });
    idle.sort((one, other) => one.sinceMs - other.sinceMs);
    for (const { slot, plane } of idle.slice(0, surplus)) closeIdleSlot(slot, plane);
  }

  /** Closes planes that nobody has used for a while; the next request opens them again. */
  #closeIdle({ host: { clock, options } }: PlanesStart): void {
    const { planesIdleTimeoutMs: idleMs } = options;
    // A plane in memory would lose its objects.
    if (idleMs === 0 || folderOf(options) === undefined) return;
    this.#cancelIdle = clock.after(idleMs / idleLooks, () => {
      for (const slot of this.#slots.values()) {
        const { plane } = slot;
        if (!(plane instanceof Plane)) continue;
        const { idleSinceMs = Number.POSITIVE_INFINITY } = plane;
        if (idleSinceMs < clock.monotonic() - idleMs) closeIdleSlot(slot, plane);
      }
      this.#closeIdle(this.#start!);
    });
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

/** Closes a plane without requests; its next request waits for that, and opens it again. */
function closeIdleSlot(slot: Slot, plane: Plane): void {
  delete slot.plane;
  const closed = async (): Promise<void> => {
    try {
      if (slot.quotaBytes !== undefined) slot.usedBytes = plane.countBytes();
      slot.bootstrapTokens = await plane.end();
      slot.isUntouched = plane.isUntouched;
    } finally {
      delete slot.closing;
    }
  };
  slot.closing = closed();
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

/** The folder of all planes; `undefined` when they are in memory, as the server is. */
const folderOf = ({ planes, storage }: ServerOptions): string | undefined =>
  storage === "memory" ? undefined : planes;

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
