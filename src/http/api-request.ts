/** A request as filters and handlers see it, independent of the protocol, and the `Reply` they return. */
import type { Duplex } from "node:stream";
import type { ReceivedEvent } from "#client/received-event.ts";
import type { Encodable, EncodableList, Encoding } from "#codec/encoding.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { StatusError } from "#meta/status-error.ts";
import type { Requirements } from "#meta/request-context.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Span } from "#std/tracer.ts";
import type { Chunks, BytePieces } from "#std/byte-pieces.ts";

/** The parts of a request that path and method say. Source: upstream's request info. */
export interface RequestInfo extends RequestAttributes {
  readonly apiPrefix: string;
  /** The path segments from the resource on. */
  readonly parts: readonly string[];
}

/** Header values as the client sent them; names in lower case. Values that repeat are joined with `, `. */
export type Headers = Readonly<Record<string, string | undefined>>;

/**
 * The request as the client sent it, and its connection. It does not change, except for data that are collected for the
 * answer and the audit log.
 */
interface RequestHead {
  readonly method: string;
  /** The raw path and query, as sent. */
  readonly url: string;
  /** The path, decoded once; it never contains dot segments. */
  readonly path: string;
  /** The beginning of the path in `url` that names a plane, which `path` lacks; `undefined` outside of planes. */
  readonly planePrefix?: string | undefined;
  /** Takes the beginning that names a plane off `path`. The member is absent where requests reach no planes. */
  enterPlane?(prefix: string): void;
  /** Puts this beginning before `path`, since the host names the plane; `url` does not have it. */
  addressPlane?(prefix: string): void;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Returns every value of a header that may repeat, in order, read as UTF-8; `name` is in lower case. */
  headerValues(name: string): readonly string[];
  /** Removes the headers that match. `matches` is given names in lower case. */
  forgetHeaders(matches: (name: string) => boolean): void;
  /** The protocol that the connection is asked to change to, in lower case. */
  readonly upgrade?: string | undefined;
  /** The means to change the protocol; absent when the connection cannot. */
  readonly upgradable?: Upgradable | undefined;
  /** The error with which the request is answered at once, because its head cannot be served. */
  readonly refusal?: StatusError | undefined;
  readonly remoteAddress: string;
  readonly protocol: "HTTP/1.1" | "HTTP/2.0";
  /**
   * The subject of a valid client certificate from any authority of the listener; code that uses it checks which
   * authority it is.
   */
  readonly clientCertificate: ClientCertificate | undefined;
  /**
   * The reason why the certificate that the client showed was not verified; empty when it was, or when there is none.
   */
  readonly clientCertificateProblem: string;
  /**
   * Aborted when the client goes away or the deadline passes. The signal is made when it is first read, so read it only
   * to wait.
   */
  readonly signal: AbortSignal;
  /** Whether `signal` is, or would be, aborted. */
  readonly aborted: boolean;
  /** Aborts `signal` and ends a pending read of the body with `reason`. The first reason stays. */
  abort(reason: Error): void;
  /**
   * Reads the whole body; it is empty when there is none. Throws `requestTooLarge` for a body above `limitBytes`. The
   * error names `generalBytes`, the limit of all bodies, if the body exceeds that one, too; left out: it is the same
   * limit.
   */
  body(limitBytes: number, generalBytes?: number): Promise<Buffer>;
  /** The length of the body that `body` has read; absent before, and when it failed. */
  readonly bodyBytes?: number | undefined;
  /** Whether the server itself sent the request, without a connection. */
  readonly isOwn?: boolean;
  /**
   * The body as it comes, in place of `body`; `undefined` when there is none. Its length has no limit. The member is
   * absent where bodies are complete from the start.
   */
  bodyStream?(): BodyStream | undefined;
  /** Counts the connection as one of the user's; throws `tooManyRequests` if the user has too many. */
  identify?(): void;
  /**
   * Takes room for the stream that answers the request, until the answer has ended; returns false when too many are open.
   * The member is absent where there is no connection.
   */
  beginStream?(): boolean;
  readonly receivedMs: number;
  /** See `RequestContext.requires`. */
  readonly requires?: Requirements | undefined;
  /** The time in milliseconds for which the request waited for admission webhooks; absent when it did not. */
  webhooksMs?: number | undefined;
  readonly warnings: string[];
  readonly auditId: string;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
  /** The annotations; `undefined` until there is one. */
  readonly annotations: ReadonlyMap<string, string> | undefined;
  /** Whether body bytes may still arrive. */
  readonly bodyPending?: boolean;
}

/** Results of the filters for a request, in the order of `http/chain.ts`; handlers only read them. */
interface RequestState {
  info: RequestInfo;
  user: UserInfo;
  deadlineMs: number;
  /**
   * The request's seats on the event loop; released early when the work continues elsewhere. `end` may be called twice.
   * `slow` says that the request waits for a turn of the loop, so that its user leaves seats to other users.
   */
  seats?: { end(): void; slow(): void } | undefined;
  /** The time in milliseconds for which the request waited for seats; absent when it did not wait. */
  queuedMs?: number;
  /** The record of the request in the audit log; absent when it is not recorded. */
  audit?: AuditedBody | undefined;
  /** The span of the step that the request is in; absent when it is not traced. */
  span?: Span | undefined;
}

/** A request as filters see it. */
export interface ApiRequest extends RequestHead, RequestState {}

/** The members of a request that only filters and the audit log read. */
type OfFilters =
  | "forgetHeaders"
  | "enterPlane"
  | "addressPlane"
  | "protocol"
  | "clientCertificate"
  | "clientCertificateProblem"
  | "identify"
  | "beginStream"
  | "annotations"
  | "bodyBytes"
  | "isOwn";

/** A request as handlers see it, which is read-only. */
export type HandledRequest = Omit<RequestHead, OfFilters> & Readonly<RequestState>;

export interface Upgradable {
  /** The reason why it cannot become a WebSocket of this server; `undefined` when it can. */
  readonly problem: StatusError | undefined;
  /** The subprotocols that the client offers for a WebSocket, without tokens. */
  readonly protocols: readonly string[];
}

/** A body that is being received. `read` is called once; received bytes wait while it is paused. */
export interface BodyStream {
  read(reader: BodyReader): void;
  pause(): void;
  resume(): void;
  /** Says that no more of the body is needed. */
  stop(): void;
}

export interface BodyReader {
  take(piece: Buffer): void;
  end(): void;
  /** Called when the body ended early. */
  lost(): void;
}

/** Reports bodies to the audit log. */
export interface AuditedBody {
  /** Whether the event shows the body of the request. */
  readonly wantsRequest: boolean;
  /** Takes the decoded object, before anything is added to it. */
  sent(object: { readonly metadata?: ObjectMeta }): void;
  sentPatch(bytes: Buffer): void;
}

export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** DER of the leaf certificate, for checks that the TLS layer did not make. */
  readonly raw: Buffer;
  /** DER of the intermediate certificates that the client sent, in any order. */
  readonly issuers: readonly Buffer[];
}

/**
 * One answer. A handler gives its content and the negotiated encoding, from which `encode-reply.ts` makes the bytes;
 * the content stays for the audit log. Other answers (documents, metrics, logs) have their bytes from the start.
 */
export type Reply = ReplyHead & (NegotiatedContent | ReplyBody);

interface ReplyHead {
  readonly code: number;
  /** Names are in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly contentType?: string;
  /** Whether the bytes may be gzip-compressed when the client asks and they are long enough. */
  readonly compressible?: boolean;
  /** Whether to ask the client for a new connection: by `Connection: close`, or GOAWAY on HTTP/2. */
  readonly closeConnection?: boolean;
  /** Whether the body is that of another server, which may have any length. */
  readonly isForwarded?: boolean;
  /** Called once by the reply writer when the reply was written or given up. */
  readonly done?: () => void;
}

/** An object with one of these members; the others are absent. */
type OneOf<Members> = {
  [K in keyof Members]: Pick<Members, K> & { readonly [Other in Exclude<keyof Members, K>]?: undefined };
}[keyof Members];

type NegotiatedContent = { readonly encoding: Encoding } & Absent<BodyForms> &
  OneOf<{
    readonly object: Encodable;
    readonly list: EncodableList;
    readonly events: (encoding: Encoding) => ReplyStream;
  }>;

type Absent<Members> = { readonly [K in keyof Members]?: undefined };

interface BodyForms {
  /** Encoded bytes, sent unchanged (in pieces when an array). */
  readonly bytes: Buffer | readonly Buffer[];
  /** Pieces that are pulled one at a time: the next one when the peer has taken the last. */
  readonly pieces: BytePieces;
  /** The same for content that takes time to encode. */
  readonly chunks: Chunks;
  /** A stream, for which the writer calls `open` once the headers are out; the stream ends when it closes the sink. */
  readonly stream: ReplyStream;
  /** A connection of another server that changed its protocol: from then on bytes pass between it and the client. */
  readonly tunnel: Tunnel;
}

/** The bytes in one of the forms, or none. `object` and `list` are the content of the bytes, for the audit log. */
type ReplyBody = {
  readonly encoding?: undefined;
  readonly events?: undefined;
  readonly object?: Encodable | undefined;
  readonly list?: EncodableList | undefined;
} & (OneOf<BodyForms> | Absent<BodyForms>);

export interface Tunnel {
  /** Names and values, alternating, of the headers of the answer that changed the protocol. */
  readonly headers: readonly string[];
  readonly connection: Duplex;
  /** Bytes that came with the answer. */
  readonly early: Buffer;
}

/** The target to which a streaming reply writes. */
export interface StreamSink {
  /** Queues bytes. Returns false when the peer reads too slowly; `onDrain` is called when it caught up. */
  write(bytes: Buffer): boolean;
  /** Sends one event that is no text to peers that receive messages (WebSockets). */
  message?(bytes: Buffer): boolean;
  /** Takes an event as an object, if the peer is in this process. */
  event?(event: ReceivedEvent): void;
  /** Whether earlier bytes still wait for the peer. */
  readonly blocked: boolean;
  onDrain: (() => void) | undefined;
  /** Called once when the peer or the server closed the connection. */
  onClose: (() => void) | undefined;
  end(): void;
  /** Ends the stream so that the peer sees that something is missing; absent when there is no peer. */
  abort?(): void;
}

export interface ReplyStream {
  open(sink: StreamSink): void;
  /** Whether it is a session with another server, which goes on for a while when this one ends, and is cut off then. */
  readonly isSession?: boolean;
  /** Whether the stream begins with the current objects. Then `onBegun` is called once. */
  readonly hasBeginning?: boolean;
  /** Called when the beginning is written, or the stream has ended. */
  onBegun?: (() => void) | undefined;
}

/** Thrown in place of a reply: the connection is cut, and the client learns nothing. Tests do this (`testing/`). */
export class AnswerLost extends Error {}

/** The user of a request before authentication. */
export const unknownUser: UserInfo = { name: "", groups: [] };

/** The time after which a client that has not read its answer counts as slow. */
export const slowMs = 250;
