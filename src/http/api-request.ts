/** A request as filters and handlers see it, independent of the protocol, and the `Reply` they return. */
import type { Duplex } from "node:stream";
import type { ReceivedEvent } from "#client/received-event.ts";
import type { Encodable, EncodableList, Encoding } from "#codec/encoding.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Chunks, BytePieces } from "#std/byte-pieces.ts";

/** Filters and handlers know this of the path and method besides. Source: upstream's request info. */
export interface RequestInfo extends RequestAttributes {
  readonly apiPrefix: string;
  /** Path segments from the resource on. */
  readonly parts: readonly string[];
}

/** Header values as the client sent them; names in lower case. Values that repeat are joined with `, `. */
export type Headers = Readonly<Record<string, string | undefined>>;

/** The request as the client sent it, and its connection. Nothing changes but what is collected for the answer and the audit log. */
interface RequestHead {
  readonly method: string;
  /** Raw path and query as sent. */
  readonly url: string;
  /** Decoded once; never contains dot segments. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Every value of a header that may repeat, in order, read as UTF-8; `name` in lower case. */
  headerValues(name: string): readonly string[];
  /** Removes the headers that match. `matches` is given names in lower case. */
  forgetHeaders(matches: (name: string) => boolean): void;
  /** The protocol that the connection is asked to change to, in lower case. */
  readonly upgrade?: string | undefined;
  /** There when the connection can change its protocol. */
  readonly upgradable?: Upgradable | undefined;
  /** The error with which the request is answered at once, because its head cannot be served. */
  readonly refusal?: StatusError | undefined;
  readonly remoteAddress: string;
  readonly protocol: "HTTP/1.1" | "HTTP/2.0";
  /** Subject of a valid client certificate from any authority of the listener; users of it check which one. */
  readonly clientCertificate: ClientCertificate | undefined;
  /**
   * The reason why the certificate that the client showed was not verified; empty when it was, or when there is none.
   */
  readonly clientCertificateProblem: string;
  /** Aborted when the client goes away or the deadline passes. Made when first asked for: ask only to wait. */
  readonly signal: AbortSignal;
  /** Whether `signal` is, or would be, aborted. */
  readonly aborted: boolean;
  /** Aborts `signal` and ends a pending read of the body with `reason`. The first reason stays. */
  abort(reason: Error): void;
  /**
   * Reads the whole body. Empty when there is none. Throws `requestTooLarge` beyond the limit, with `generalBytes` as the
   * limit if the body is even longer than that, which all bodies may have; left out: the same.
   */
  body(limitBytes: number, generalBytes?: number): Promise<Buffer>;
  /**
   * The body as it comes, in place of `body`; `undefined` when there is none. Its length has no limit. Absent where bodies
   * are whole from the start.
   */
  bodyStream?(): BodyStream | undefined;
  /** The connection is of the user, as one of those that a user may have; throws `tooManyRequests` if there are more. */
  identify?(): void;
  readonly receivedMs: number;
  /** `RequestContext.mayWrite`. */
  readonly mayWrite?: (() => boolean) | undefined;
  readonly warnings: string[];
  readonly auditId: string;
  /** Adds to the annotations of the audit event. */
  annotate(key: string, value: string): void;
  /** `undefined` until there is one. */
  readonly annotations: ReadonlyMap<string, string> | undefined;
  /** Whether body bytes may still arrive. */
  readonly bodyPending?: boolean;
}

/** Filters find this out about a request, in the order of `http/chain.ts`; handlers only read it. */
interface RequestState {
  info: RequestInfo;
  user: UserInfo;
  deadlineMs: number;
  /**
   * The request's seats on the event loop; released early when the work continues elsewhere. `end` may be called twice.
   * `slow`: the request waits for a turn of the loop, and its user leaves seats to other users.
   */
  seats?: { end(): void; slow(): void } | undefined;
  /** There while the request is recorded in the audit log. */
  audit?: AuditedBody | undefined;
}

/** A request as filters see it. */
export interface ApiRequest extends RequestHead, RequestState {}

/** The same as handlers see it. */
export type HandledRequest = RequestHead & Readonly<RequestState>;

export interface Upgradable {
  /** The reason why it cannot become a WebSocket of this server; `undefined` when it can. */
  readonly problem: StatusError | undefined;
  /** Subprotocols that a WebSocket was offered, tokens left out. */
  readonly protocols: readonly string[];
}

/** A body on its way in. `read` is called once; what comes waits while it is paused. */
export interface BodyStream {
  read(reader: BodyReader): void;
  pause(): void;
  resume(): void;
  /** Nothing more is wanted. */
  stop(): void;
}

export interface BodyReader {
  take(piece: Buffer): void;
  end(): void;
  /** It ended early. */
  lost(): void;
}

/** Reports bodies to the audit log. */
export interface AuditedBody {
  /** Whether the event shows the body of the request. */
  readonly wantsRequest: boolean;
  /** The decoded object, before anything is added to it. */
  sent(object: { readonly metadata?: ObjectMeta }): void;
  sentPatch(bytes: Buffer): void;
}

export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** DER of the leaf, for checks the TLS layer did not make. */
  readonly raw: Buffer;
  /** DER of the intermediate certificates that the client sent, in any order. */
  readonly issuers: readonly Buffer[];
}

/**
 * One answer. A handler gives its content and the negotiated encoding, of which `encode-reply.ts` makes the bytes; the
 * content stays for the audit log. Other answers (documents, metrics, logs) have their bytes from the start.
 */
export type Reply = ReplyHead & (NegotiatedContent | ReplyBody);

interface ReplyHead {
  readonly code: number;
  /** Names are in lower case. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly contentType?: string;
  /** Whether the bytes may be gzip-compressed when the client asks and they are long enough. */
  readonly compressible?: boolean;
  /** Ask the client to make a new connection: `Connection: close`, or GOAWAY on HTTP/2. */
  readonly closeConnection?: boolean;
  /** Called once by the reply writer when the reply was written or given up. */
  readonly done?: () => void;
}

/** One of these members; the others are absent. */
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
  /** Pulled one at a time, the next when the peer has taken the last. */
  readonly pieces: BytePieces;
  /** The same for content that takes time to encode. */
  readonly chunks: Chunks;
  /** The writer calls `open` once headers are out; the stream ends when it closes the sink. */
  readonly stream: ReplyStream;
  /** A connection of another server that changed its protocol: from now on bytes pass between it and the client. */
  readonly tunnel: Tunnel;
}

/** The bytes in one form, or none. `object` and `list` say what they show, for the audit log. */
type ReplyBody = {
  readonly encoding?: undefined;
  readonly events?: undefined;
  readonly object?: Encodable | undefined;
  readonly list?: EncodableList | undefined;
} & (OneOf<BodyForms> | Absent<BodyForms>);

export interface Tunnel {
  /** Names and values in turn, of the answer that changed the protocol. */
  readonly headers: readonly string[];
  readonly connection: Duplex;
  /** Bytes that came with the answer. */
  readonly early: Buffer;
}

/** The target to which a streaming reply writes. */
export interface StreamSink {
  /** Queues bytes. Returns false when the peer reads too slowly; `onDrain` is called when it caught up. */
  write(bytes: Buffer): boolean;
  /** The same for one event that is no text, where peers are sent messages (WebSockets). */
  message?(bytes: Buffer): boolean;
  /** Takes an event as it is, where the peer is in this process. */
  event?(event: ReceivedEvent): void;
  /** Whether earlier bytes still wait for the peer. */
  readonly blocked: boolean;
  onDrain: (() => void) | undefined;
  /** The peer or the server closed the connection. Called once. */
  onClose: (() => void) | undefined;
  end(): void;
  /** Ends it so that the peer sees that something is missing, where there is a peer. */
  abort?(): void;
}

export interface ReplyStream {
  open(sink: StreamSink): void;
  /** Whether the stream begins with the current objects. Then `onBegun` is called once. */
  readonly hasBeginning?: boolean;
  /** The beginning is written, or the stream has ended. */
  onBegun?: (() => void) | undefined;
}

/** The user before authentication. */
export const unknownUser: UserInfo = { name: "", groups: [] };

/** A client that takes longer to read what it was sent is slow. */
export const slowMs = 250;
