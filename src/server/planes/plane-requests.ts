/**
 * Answers the requests for planes: an open plane gets them, a closed one is opened by those that have its credentials, and all
 * others get the one answer that does not tell whether there is such a plane.
 */
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { serviceUnavailable, StatusError } from "#meta/status-error.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { ClosedPlaneAuthenticator, type PlaneVerifiers, unknownVerifiers } from "./closed-plane-authenticator.ts";
import type { Plane } from "./plane.ts";
import { pathOf, type PlaneUrls } from "./plane-addresses.ts";
import type { PlaneHost } from "./plane-host.ts";
import type { PlaneSlot } from "./plane-slot.ts";
import { isPreflight, statusReply, unauthenticatedReply } from "./status-reply.ts";

interface RequestParts {
  readonly host: Pick<PlaneHost, "domain" | "clock" | "random">;
  /** Returns the plane of a name, if there is one. */
  find(name: string): PlaneSlot | undefined;
  urlsOf(name: string): PlaneUrls;
}

const noTokens: ReadonlySet<string> = new Set();

export class PlaneRequests {
  readonly #parts: RequestParts;
  readonly #authenticator: ClosedPlaneAuthenticator;
  readonly #unknown: PlaneVerifiers;

  constructor(parts: RequestParts) {
    this.#parts = parts;
    this.#authenticator = new ClosedPlaneAuthenticator(parts.host);
    this.#unknown = unknownVerifiers(parts.host.random.uuid());
  }

  /** Handles a request for the plane of a name. `root` handles those for the server's own control plane. */
  handle(name: string, request: ApiRequest, root: (request: ApiRequest) => MaybePromise<Reply>): MaybePromise<Reply> {
    const slot = this.#parts.find(name);
    if (slot?.plane !== undefined) return enter(slot.plane, name, request);
    return this.#isAuthenticated(name, slot, request).then((isAdmitted) => {
      if (isAdmitted && slot !== undefined) {
        if (slot.isResting) return cannotOpen();
        return slot.open().then((opened) => enter(opened, name, request), refusalOf);
      }
      return andThen(root(request), (reply) => {
        // Users of the root who may read the path are told that there is no such plane.
        const isTold = isPreflight(request, reply) || (slot === undefined && reply.code === 404);
        return isTold ? reply : unauthenticatedReply(reply);
      });
    }, refusalOf);
  }

  /** Whether a request has credentials of a closed plane. A name without a plane takes the same work. */
  async #isAuthenticated(name: string, slot: PlaneSlot | undefined, request: ApiRequest): Promise<boolean> {
    const verifiers = (await slot?.verifiers()) ?? this.#unknown;
    const { issuers } = this.#parts.urlsOf(name);
    return this.#authenticator.admits(request, issuers, verifiers, slot?.bootstrapTokens ?? noTokens);
  }
}

function enter(plane: Plane, name: string, request: ApiRequest): MaybePromise<Reply> {
  request.enterPlane?.(pathOf(name));
  return plane.handle(request);
}

const refusalOf = (error: unknown): Reply => (error instanceof StatusError ? statusReply(error) : cannotOpen());

const cannotOpen = (): Reply => statusReply(serviceUnavailable("the control plane cannot be opened"));
