/**
 * The planes of a server (`--planes`): control planes beside its own, which share its process and its port. Objects of the
 * kind Plane say which there are; a request reaches one by the beginning of its path, `/planes/NAME`. The code is loaded only
 * when the flag is given.
 */
import { existsSync, readFileSync, renameSync } from "node:fs";
import { mkdir, readdir, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import type { RestClient } from "#client/rest-client.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { notFound, serviceUnavailable, type StatusError, unauthorized } from "#meta/status-error.ts";
import { type PlaneAccess, planesController } from "#controllers/planes.ts";
import { SharedLogThread } from "#storage/sqlite.ts";
import { StartError } from "#std/start-error.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { writePrivateFiles } from "./data-folder.ts";
import { clientConfig } from "./kubeconfig.ts";
import type { ServerTrust } from "./credentials/server-trust.ts";
import type { ServerOptions } from "./options.ts";
import { openPlane, type Plane, type PlaneSettings } from "./planes/plane.ts";
import type { PlaneHost } from "./planes/plane-host.ts";

type Handler = (request: ApiRequest) => MaybePromise<Reply>;

interface PlanesStart {
  readonly host: Omit<PlaneHost, "logThread">;
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
  /** The plane, or its opening; absent while it is closed. */
  plane?: Plane | Promise<Plane>;
  /** The time until which requests do not try to open it again, since it could not be opened; by the monotonic clock. */
  closedUntilMs?: number;
}

const prefix = "/planes/";
/** The name of a plane is one label of a host name. */
const nameForm = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
/** The beginning of the names of folders that are being removed, which is none of a plane's. */
const removedPrefix = ".removed-";
/** The file in the folder of a plane that says which object it belongs to. */
const ownerName = "plane.json";
/** The pause after which requests try again to open a plane that could not be opened. */
const reopenMs = 5000;
/** The number of planes that are closed at the same time. */
const closingMax = 16;

export class Planes {
  readonly #ready = Promise.withResolvers<PlanesStart>();
  #start: PlanesStart | undefined;
  readonly #logThread = new SharedLogThread();
  readonly #slots = new Map<string, Slot>();
  readonly #stop = new AbortController();
  #controller: Promise<void> | undefined;

  constructor() {
    this.#ready.promise.catch(() => undefined);
  }

  /** Returns a handler that gives requests to planes, and all others to `next`, the server's own. */
  route(next: Handler): Handler {
    return (request) => {
      if (!request.path.startsWith(prefix) || request.refusal !== undefined) return next(request);
      if (this.#stop.signal.aborted) return next(request);
      const end = request.path.indexOf("/", prefix.length);
      const name = request.path.slice(prefix.length, end < 0 ? undefined : end);
      if (this.#start === undefined) return this.#ready.promise.then(() => this.#handle(name, request, next));
      return this.#handle(name, request, next);
    };
  }

  /** Serves the planes from now on. Rejects when they cannot be read. */
  async start(start: PlanesStart): Promise<void> {
    const { host, client } = start;
    const { clock, domain, log } = host;
    const folder = folderOf(host.options);
    if (folder !== undefined) await removeLeftovers(folder);
    const controller = planesController(this.#access(start));
    const environment = { client, reader: client, clock, domain, log, signal: this.#stop.signal };
    for (const { name, uid } of await controller.prepare(environment)) this.#slots.set(name, { uid });
    this.#controller = controller.run(environment);
    this.#start = start;
    this.#ready.resolve(start);
  }

  /** Shortens the time for which requests wait for other servers, since the server ends. */
  drain(): void {
    for (const { plane } of this.#slots.values()) if (plane !== undefined && !(plane instanceof Promise)) plane.drain();
  }

  /** Closes all planes. No request is running. */
  async close(): Promise<void> {
    this.#stop.abort();
    this.#ready.reject(serviceUnavailable("the server is shutting down"));
    await this.#controller;
    const slots = [...this.#slots.values()];
    const closeNext = async (): Promise<void> => {
      for (let slot = slots.pop(); slot !== undefined; slot = slots.pop()) await closeSlot(slot);
    };
    await Promise.all(Array.from({ length: closingMax }, closeNext));
    await this.#logThread.close();
  }

  #handle(name: string, request: ApiRequest, next: Handler): MaybePromise<Reply> {
    const slot = this.#slots.get(name);
    if (slot === undefined) return andThen(next(request), withoutHint);
    const { plane, closedUntilMs = 0 } = slot;
    if (plane !== undefined && !(plane instanceof Promise)) return enter(plane, name, request);
    if (plane === undefined && this.#start!.host.clock.monotonic() < closedUntilMs) return cannotOpen();
    return this.#open(name, slot).then((opened) => enter(opened, name, request), cannotOpen);
  }

  /** Opens a plane, unless it is open. */
  #open(name: string, slot: Slot): Promise<Plane> {
    const start = this.#start!; // nothing is opened before
    if (slot.plane !== undefined) return Promise.resolve(slot.plane);
    const { host, url } = start;
    const folder = folderOf(host.options);
    const settings = { name, url: `${url}${prefix}${name}` };
    const opening = this.#openIn(
      { ...host, logThread: this.#logThread },
      settings,
      folder === undefined ? undefined : join(folder, name),
      slot.uid,
    );
    slot.plane = opening;
    opening.then(
      (plane) => {
        slot.plane = plane;
      },
      (error: unknown) => {
        delete slot.plane;
        slot.closedUntilMs = host.clock.monotonic() + reopenMs;
        host.log.error({ error, plane: name }, "a control plane cannot be opened");
      },
    );
    return opening;
  }

  async #openIn(
    host: PlaneHost,
    settings: Omit<PlaneSettings, "folder">,
    folder: string | undefined,
    uid: string,
  ): Promise<Plane> {
    if (folder !== undefined) await claimFolder(folder, uid);
    return openPlane(host, { ...settings, folder });
  }

  /** Returns what the controller of Plane objects may do here. */
  #access({ host, trust }: PlanesStart): PlaneAccess {
    const folder = folderOf(host.options);
    return {
      make: async (name, uid) => {
        if (!nameForm.test(name)) throw new StartError("the name must be a DNS label");
        const { planesMax } = host.options;
        const slot = this.#slots.get(name) ?? { uid };
        if (this.#slots.size >= planesMax && !this.#slots.has(name))
          throw new StartError(`there are ${planesMax} planes`);
        this.#slots.set(name, slot);
        const plane = await this.#open(name, slot);
        const { ca, serverName } = trust;
        const user = "admin";
        const settings = {
          url: plane.url,
          ca,
          serverName,
          proxy: undefined,
          insecure: false,
          user,
          namespace: undefined,
        };
        const credentials = { token: plane.adminToken };
        return { url: plane.url, kubeconfig: JSON.stringify(clientConfig({ ...settings, credentials }), undefined, 2) };
      },
      remove: async (name, uid) => {
        const slot = this.#slots.get(name);
        this.#slots.delete(name);
        const gone = notFound({ group: host.domain.rename("planes.k8s.io"), resource: "planes" }, name);
        if (slot !== undefined) await closeSlot(slot, gone);
        if (folder === undefined || !nameForm.test(name)) return;
        const removed = join(folder, `${removedPrefix}${uid}`);
        // The name is free before the first file is gone, and a crash leaves nothing that looks like a plane.
        if (existsSync(join(folder, name))) renameSync(join(folder, name), removed);
        await rm(removed, { recursive: true, force: true });
      },
    };
  }
}

async function closeSlot(slot: Slot, reason?: StatusError): Promise<void> {
  try {
    await (await slot.plane)?.end(reason);
  } catch {
    // The plane could not be opened.
  }
}

/** The folder of all planes; `undefined` when they are in memory, as the server is. */
const folderOf = ({ planes, storage }: ServerOptions): string | undefined =>
  storage === "memory" ? undefined : planes;

/** Notes in a new folder whose it is. Throws `StartError` for that of another object, which may have been of the same name. */
async function claimFolder(folder: string, uid: string): Promise<void> {
  const file = join(folder, ownerName);
  const wanted = `${JSON.stringify({ uid })}\n`;
  if (!existsSync(folder)) await writePrivateFiles(folder, [[ownerName, wanted]]);
  else if (!existsSync(file) || readFileSync(file, "utf8") !== wanted)
    throw new StartError(`the folder ${basename(folder)} is there and belongs to another plane: move it away`);
}

/** Makes the folder, and ends removals that an earlier process has begun. */
async function removeLeftovers(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const name of await readdir(folder)) {
    if (name.startsWith(removedPrefix)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

const cannotOpen = (): Reply => statusReply(serviceUnavailable("the control plane cannot be opened"));

function enter(plane: Plane, name: string, request: ApiRequest): MaybePromise<Reply> {
  if (plane.ended !== undefined) return statusReply(plane.ended);
  request.enterPlane?.(`${prefix}${name}`);
  return plane.handle(request);
}

/**
 * Returns the server's answer to a request for a plane that does not exist. Users without permission get the answer of
 * planes to users that they do not know, which does not tell whether there is such a plane.
 */
const withoutHint = (reply: Reply): Reply => {
  if (reply.code !== 403) return reply;
  reply.done?.();
  return statusReply(unauthorized());
};

const statusReply = ({ status }: StatusError): Reply => ({
  code: status.code,
  contentType: "application/json",
  bytes: Buffer.from(`${JSON.stringify(status)}\n`),
});
