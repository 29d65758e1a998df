/** A plane as this process has it, open or closed: its credentials, what is known of it while it is closed, and how it is opened. */
import type { AskedPlane } from "#controllers/planes.ts";
import { notFound, StatusError } from "#meta/status-error.ts";
import type { PlaneCredentials } from "../credentials.ts";
import { type PlaneVerifiers, verifiersOf } from "./closed-plane-authenticator.ts";
import type { Openings } from "./openings.ts";
import { openPlane } from "./open-plane.ts";
import { Plane } from "./plane.ts";
import type { PlaneUrls } from "./plane-addresses.ts";
import type { PlaneHost } from "./plane-host.ts";
import type { PlaneId, PlaneStorage } from "./plane-storage.ts";

export interface SlotParts {
  readonly host: PlaneHost;
  readonly storage: PlaneStorage;
  readonly openings: Openings;
  urlsOf(name: string): PlaneUrls;
  /** Called when a plane is open. */
  opened(plane: Plane): void;
}

/** The pause after which requests try again to open a plane that could not be opened. */
const reopenMs = 5000;

const noTokens: ReadonlySet<string> = new Set();

export class PlaneSlot {
  readonly id: PlaneId;
  /** The bytes that all objects may have; `undefined` when they are not bounded. */
  quotaBytes: number | undefined;
  /** Whether the plane was ready before, as its object says. */
  isMade: boolean;
  /** Whether the plane is one of those whose number is bounded; one more is not made. */
  isCounted: boolean;
  readonly #parts: SlotParts;
  /** The plane, or its opening; `undefined` while it is closed. */
  #plane: Plane | Promise<Plane> | undefined;
  /** The bytes of all objects when the plane was closed. */
  #usedBytes: number | undefined;
  /** The credentials, once they were read, and what verifies them while the plane is closed. */
  #credentials: PlaneCredentials | undefined;
  #verifiers: PlaneVerifiers | undefined;
  /** The reading of the credentials, while it runs. */
  #preparing: Promise<PlaneCredentials | undefined> | undefined;
  #bootstrapTokens = noTokens;
  /** Whether nobody had written to the plane when it was closed, so that its controllers still have nothing to do. */
  #isUntouched = false;
  /** Resolves when the plane, which nobody used, is closed. */
  #closing: Promise<void> | undefined;
  /** The time until which requests do not try to open it again, since it could not be opened; by the monotonic clock. */
  #closedUntilMs = 0;
  #isEnded = false;

  constructor(parts: SlotParts, { name, uid, quotaBytes, isMade }: AskedPlane) {
    this.#parts = parts;
    this.id = { name, uid };
    this.quotaBytes = quotaBytes;
    this.isMade = isMade;
    this.isCounted = isMade;
  }

  /** The plane while it is open. */
  get plane(): Plane | undefined {
    return this.#plane instanceof Plane ? this.#plane : undefined;
  }

  /** Whether the plane could not be opened a moment ago. */
  get isResting(): boolean {
    return this.#plane === undefined && this.#isBefore(this.#closedUntilMs);
  }

  /** The digests of the bootstrap tokens that the plane had when it was closed. */
  get bootstrapTokens(): ReadonlySet<string> {
    return this.#bootstrapTokens;
  }

  /** The bytes of all objects, if there is a quota for them and they are known. */
  get usedBytes(): number | undefined {
    return (this.quotaBytes === undefined ? undefined : this.plane?.usedBytes) ?? this.#usedBytes;
  }

  /** Resolves with what verifies credentials while the plane is closed; `undefined` when it has none. */
  async verifiers(): Promise<PlaneVerifiers | undefined> {
    // Requests never make what a plane stores that is one too many, or that the controller has not come to.
    if (this.isCounted && this.#credentials === undefined && !this.#isBefore(this.#closedUntilMs)) {
      // The controller tells in the status why it cannot be opened.
      await this.prepare(false).catch(() => this.#rest());
    }
    return this.#verifiers;
  }

  /** Reads the credentials, and makes missing ones if it may. Resolves with `undefined` when there are none. */
  async prepare(mayMake: boolean): Promise<PlaneCredentials | undefined> {
    return this.#credentials ?? (this.#preparing ??= this.#readCredentials(mayMake));
  }

  async #readCredentials(mayMake: boolean): Promise<PlaneCredentials | undefined> {
    try {
      const credentials = await this.#parts.storage.credentials(this.id, mayMake, this.isMade);
      if (credentials === undefined) return undefined;
      this.#verifiers = verifiersOf(credentials);
      return (this.#credentials = credentials);
    } finally {
      this.#preparing = undefined;
    }
  }

  /** Opens the plane, unless it is open. Rejects with `notFound` when it has ended meanwhile. */
  async open(): Promise<Plane> {
    await this.#closing;
    if (this.#isEnded) throw this.#notFound();
    return (this.#plane ??= this.#begin());
  }

  /** Opens the plane, which is closed. */
  async #begin(): Promise<Plane> {
    const { host, storage, openings, urlsOf, opened } = this.#parts;
    const { name } = this.id;
    const over = await openings.turn();
    try {
      const credentials = this.#credentials!; // somebody had some
      await this.#confirm();
      const confirm = async (): Promise<void> => {
        try {
          await this.#confirm();
        } catch (error) {
          // Another server may have removed everything before this one wrote something.
          if (error instanceof StatusError) void this.#removeLate();
          throw error;
        }
      };
      const quotaBytes = (): number | undefined => this.quotaBytes;
      const own = { isUntouched: this.#isUntouched, quotaBytes, confirm, place: storage.placeOf(this.id) };
      const { plane } = await openPlane(host, { ...this.id, ...urlsOf(name), ...own }, credentials);
      this.#plane = plane;
      opened(plane);
      return plane;
    } catch (error) {
      this.#plane = undefined;
      if (error instanceof StatusError) throw error;
      this.#rest();
      host.log.error({ error, plane: name }, "a control plane cannot be opened");
      throw error;
    } finally {
      over();
    }
  }

  /** Rejects with `notFound` when the plane was removed, which this server may not have heard of yet. */
  async #confirm(): Promise<void> {
    if (!(await this.#parts.storage.isWanted(this.id))) throw this.#notFound();
  }

  /** Removes what this server has written of the plane, which was removed meanwhile. */
  async #removeLate(): Promise<void> {
    const { storage, host } = this.#parts;
    try {
      await storage.remove(this.id);
    } catch (error) {
      host.log.warn({ error, plane: this.id.name }, "something of a control plane that was removed may be left");
    }
  }

  /** Closes the plane, which has no requests; the next one waits for that, and opens it again. */
  closeIdle(): void {
    const { plane } = this;
    if (plane === undefined) return;
    this.#plane = undefined;
    const close = async (): Promise<void> => {
      try {
        this.#usedBytes = this.quotaBytes === undefined ? this.#usedBytes : plane.usedBytes;
        this.#bootstrapTokens = await plane.end();
        // Another server may write to it meanwhile.
        this.#isUntouched = plane.isUntouched && !this.#parts.storage.isShared;
      } finally {
        this.#closing = undefined;
      }
    };
    this.#closing = close();
  }

  /** Closes the plane for good. What it has stored is left. Its object has ended, or the server does. */
  async end(cause: "deletion" | "shutdown"): Promise<void> {
    this.#isEnded = true;
    try {
      await this.#closing;
      await this.#preparing;
      const plane = await this.#plane;
      await (cause === "deletion" ? plane?.end(this.#notFound()) : plane?.end());
    } catch {
      // The plane could not be opened.
    }
  }

  /** Returns the answer to requests for the plane once it is not there. */
  #notFound(): StatusError {
    const { domain } = this.#parts.host;
    return notFound({ group: domain.rename("planes.k8s.io"), resource: "planes" }, this.id.name);
  }

  #rest(): void {
    this.#closedUntilMs = this.#parts.host.clock.monotonic() + reopenMs;
  }

  #isBefore(ms: number): boolean {
    return this.#parts.host.clock.monotonic() < ms;
  }
}
