/**
 * `ApiRequest` for one HTTP exchange, of either protocol version.
 *
 * Hot path: fields are computed on first use (headers, query, abort signal), since most requests never need them.
 */
import type { IncomingHttpHeaders } from "node:http";
import { badRequest, requestTooLarge, type StatusError, tooManyRequests } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { isLate } from "#std/maybe-promise.ts";
import type { BodyBudget, BodyShare } from "./body-budget.ts";
import type { DividedBudget } from "./divided-budget.ts";
import { type Owner, type OwnerBound, ownerOf } from "./owner.ts";
import {
  type ApiRequest,
  type AuditedBody,
  type BodyStream,
  type ClientCertificate,
  type Headers,
  type RequestInfo,
  type Upgradable,
  unknownUser,
} from "#http/api-request.ts";
import { turnFor } from "#http/large-requests.ts";
import { parseQuery, unknownInfo } from "#http/request-info.ts";

/** The connection data of a request. */
export interface Peer {
  readonly remoteAddress: string;
  readonly clientCertificate: ClientCertificate | undefined;
  readonly clientCertificateProblem: string;
  /** Assigns the connection to the user of a plane. Returns whose limit it exceeds; `undefined` when there is room for it. */
  identify(user: string, plane: string): OwnerBound | undefined;
}

/** The request as the protocol brings it. */
export interface Message {
  readonly headers: IncomingHttpHeaders;
  /** Names and values alternate, as the client sent them. */
  readonly rawHeaders: readonly string[];
  /** The body; `undefined` when there is none. */
  readonly body: BodyStream | undefined;
  /** Tells a client that waits (`Expect: 100-continue`) to send the body. */
  sendContinue(): void;
}

/** The head of a request, as far as it is read before the request is handled. */
interface ParsedHead extends Pick<ApiRequest, "method" | "url" | "protocol" | "receivedMs"> {
  readonly target: { readonly path: string; readonly query: string };
  readonly refusal?: StatusError | undefined;
  readonly upgrade?: string | undefined;
  readonly upgradable?: Upgradable;
}

/** The dependencies that all requests of one listener share. */
export interface RequestDependencies {
  readonly newId: () => string;
  readonly bodies: BodyBudget;
  /** The number of streams that may be open. */
  readonly streams: DividedBudget;
}

export class IncomingRequest implements ApiRequest {
  readonly method: string;
  readonly url: string;
  path: string;
  planePrefix: string | undefined = undefined;
  #isPlaneInUrl = true;
  /** The beginning of paths that names the plane; empty outside of planes. Users of the same name in two planes are two. */
  #plane = "";
  readonly protocol: "HTTP/1.1" | "HTTP/2.0";
  readonly receivedMs: number;
  readonly refusal: StatusError | undefined;
  readonly upgrade: string | undefined;
  readonly upgradable: Upgradable | undefined;
  readonly warnings: string[] = [];
  info: RequestInfo = unknownInfo;
  user: UserInfo = unknownUser;
  deadlineMs = 0;
  audit: AuditedBody | undefined = undefined;
  seats: { end(): void; slow(): void } | undefined = undefined;
  bodyBytes: number | undefined = undefined;
  webhooksMs: number | undefined = undefined;

  readonly #peer: Peer;
  readonly #message: Message;
  readonly #queryText: string;
  readonly #dependencies: RequestDependencies;
  #query: URLSearchParams | undefined;
  #annotations: Map<string, string> | undefined;
  #auditId: string | undefined;
  #controller: AbortController | undefined;
  #abortReason: Error | undefined;
  #body: Promise<Buffer> | undefined;
  #failBody: ((reason: Error) => void) | undefined;
  #bodyRead = false;
  #share: BodyShare | undefined;
  /** The user whose stream is open. */
  #streaming: Owner | undefined;

  constructor(head: ParsedHead, peer: Peer, message: Message, dependencies: RequestDependencies) {
    this.method = head.method;
    this.url = head.url;
    this.path = head.target.path;
    this.protocol = head.protocol;
    this.receivedMs = head.receivedMs;
    this.refusal = head.refusal;
    this.upgrade = head.upgrade;
    this.upgradable = head.upgradable;
    this.#queryText = head.target.query;
    this.#peer = peer;
    this.#message = message;
    this.#dependencies = dependencies;
  }

  get annotations(): ReadonlyMap<string, string> | undefined {
    return this.#annotations;
  }

  annotate(key: string, value: string): void {
    (this.#annotations ??= new Map()).set(key, value);
  }

  get query(): URLSearchParams {
    this.#query ??= parseQuery(this.#queryText);
    return this.#query;
  }

  get headers(): Headers {
    // Only `set-cookie` would be a list, and it has no use in a request.
    return this.#message.headers as Headers;
  }

  headerValues(name: string): readonly string[] {
    const raw = this.#message.rawHeaders;
    const values: string[] = [];
    // A forgotten header is still among the raw ones.
    if (this.headers[name] === undefined) return values;
    for (let i = 0; i + 1 < raw.length; i += 2) {
      if (raw[i]!.length === name.length && raw[i]!.toLowerCase() === name) values.push(utf8Text(raw[i + 1]!));
    }
    return values;
  }

  forgetHeaders(matches: (name: string) => boolean): void {
    const headers = this.#message.headers;
    for (const name in headers) {
      // The name stays without a value, because deleting it would make every later look-up slower.
      if (matches(name)) headers[name] = undefined;
    }
  }

  enterPlane(prefix: string): void {
    this.#plane = prefix;
    this.planePrefix = this.#isPlaneInUrl ? prefix : "";
    this.path = this.path.slice(prefix.length) || "/";
  }

  addressPlane(prefix: string): void {
    this.#isPlaneInUrl = false;
    this.path = `${prefix}${this.path}`;
  }

  get remoteAddress(): string {
    return this.#peer.remoteAddress;
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.#peer.clientCertificate;
  }

  get clientCertificateProblem(): string {
    return this.#peer.clientCertificateProblem;
  }

  identify(): void {
    const bound = this.#peer.identify(this.user.name, this.#plane);
    if (bound === undefined) return;
    const whose = bound === "user" ? "this user has" : "the users of this control plane have";
    throw tooManyRequests(`${whose} too many connections, please close some or try again later`, 1);
  }

  get auditId(): string {
    if (this.#auditId === undefined) {
      const own = this.headers["audit-id"];
      this.#auditId = own === undefined || own === "" ? this.#dependencies.newId() : own.slice(0, auditIdLengthMax);
    }
    return this.#auditId;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get aborted(): boolean {
    return this.#abortReason !== undefined;
  }

  /** Whether bytes of a body may still arrive: the request has a body that was not read to its end. */
  get bodyPending(): boolean {
    return this.#message.body !== undefined && !this.#bodyRead;
  }

  abort(reason: Error): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    this.#controller?.abort(reason);
    this.#failBody?.(reason);
  }

  beginStream(): boolean {
    // A request whose client has left has ended, and would not give the room back. That of a plane passes two chains.
    if (this.aborted || this.#streaming !== undefined) return true;
    const owner = ownerOf(this.user.name, this.#plane);
    if (!this.#dependencies.streams.take(owner, 1)) return false;
    this.#streaming = owner;
    return true;
  }

  /** Frees the resources of the answered request. */
  end(): void {
    this.#share?.end();
    if (this.#streaming !== undefined) this.#dependencies.streams.give(this.#streaming, 1);
    this.#streaming = undefined;
  }

  body(limitBytes: number, generalBytes = limitBytes): Promise<Buffer> {
    this.#body ??= this.#readBody(limitBytes, generalBytes);
    return this.#body;
  }

  bodyStream(): BodyStream | undefined {
    const source = this.#message.body;
    if (source === undefined) return undefined;
    return {
      read: ({ take, end, lost }) => {
        this.#message.sendContinue();
        source.read({
          take,
          end: () => {
            this.#bodyRead = true;
            end();
          },
          lost,
        });
      },
      pause: () => source.pause(),
      resume: () => source.resume(),
      stop: () => source.stop(),
    };
  }

  #readBody(limitBytes: number, generalBytes: number): Promise<Buffer> {
    const source = this.#message.body;
    if (source === undefined) {
      this.bodyBytes = 0;
      return Promise.resolve(noBytes);
    }
    if (this.#abortReason !== undefined) return Promise.reject(this.#abortReason);
    const declared = Number(this.headers["content-length"] ?? 0);
    if (declared > Math.min(limitBytes, generalBytes))
      return Promise.reject(tooLarge(declared > generalBytes ? generalBytes : limitBytes));

    return new Promise((resolve, reject) => {
      const share = (this.#share = this.#dependencies.bodies.open(this.user.name, this.#plane));
      const pieces: Buffer[] = [];
      let length = 0;
      const fail = (reason: Error): void => {
        this.#failBody = undefined;
        source.stop();
        reject(reason);
      };
      const done = (bytes: Buffer): void => {
        this.#failBody = undefined;
        this.bodyBytes = bytes.length;
        resolve(bytes);
      };
      this.#failBody = fail;
      // This line precedes the reservation of bytes, which may end the connection.
      this.#message.sendContinue();
      source.read({
        take(piece) {
          length += piece.length;
          if (length > generalBytes) return fail(tooLarge(generalBytes));
          // The length of such a body is known only at its end, and decides which limit the error names.
          if (length > limitBytes) return void (pieces.length = 0);
          try {
            share.grow(length);
          } catch (error) {
            return fail(error as Error); // there is no room
          }
          if (pieces.push(piece) >= piecesMax) pieces.splice(0, piecesMax, Buffer.concat(pieces));
        },
        end: () => {
          this.#bodyRead = true;
          if (length > limitBytes) return fail(tooLarge(limitBytes));
          const bytes = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, length);
          const waiting = turnFor(length);
          if (!isLate(waiting)) return done(bytes);
          this.seats?.slow();
          // If the client has left meanwhile, `fail` has rejected the promise, and this call does nothing.
          void waiting.then(() => done(bytes));
        },
        lost: () => {
          if (!this.#bodyRead) fail(badRequest("unexpected EOF"));
        },
      });
    });
  }
}

/**
 * Decodes a header value: the parser returns its bytes as Latin-1, but clients mean UTF-8. Invalid bytes become U+FFFD.
 */
const utf8Text = (value: string): string =>
  /[\x80-\xff]/.test(value) ? Buffer.from(value, "latin1").toString("utf8") : value;

const noBytes = Buffer.alloc(0);
const auditIdLengthMax = 256;
/** The maximum number of pieces, so that a body that arrives byte by byte costs little more than a whole one. */
const piecesMax = 1024;

const tooLarge = (limitBytes: number): Error => requestTooLarge(`limit is ${limitBytes}`);
