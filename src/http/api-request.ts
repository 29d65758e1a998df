/** A request as filters and handlers see it, whatever the protocol under it, and the `Reply` they return. */
import type { Encodable, EncodableList, Encoding } from "#codec/encoding.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import type { StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Chunks, Pieces } from "#std/byte-pieces.ts";

/** What the path and method mean. Source: upstream's request info. */
export interface RequestInfo {
  /** False for health, metrics, discovery and OpenAPI paths. */
  readonly isResourceRequest: boolean;
  readonly path: string;
  /** get, list, watch, create, update, patch, delete, deletecollection; for other paths the lower-case method. */
  readonly verb: string;
  readonly apiPrefix: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
  /** Path segments from the resource on. */
  readonly parts: readonly string[];
}

/** Header values as the client sent them; names in lower case. Values that repeat are joined with `, `. */
export type Headers = Readonly<Record<string, string | undefined>>;

export interface ApiRequest {
  readonly method: string;
  /** Raw path and query as sent. */
  readonly url: string;
  /** Decoded once; never contains dot segments. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Every value of a header that may repeat, in order, read as UTF-8; `name` in lower case. */
  headerValues(name: string): readonly string[];
  /** From now on, headers that match are not there. `matches` is given names in lower case. */
  forgetHeaders(matches: (name: string) => boolean): void;
  /** The protocol that the connection is asked to change to, in lower case. */
  readonly upgrade?: string | undefined;
  /** Why the request goes no further than to its answer, as its head shows. */
  readonly refusal?: StatusError | undefined;
  readonly remoteAddress: string;
  readonly protocol: "HTTP/1.1" | "HTTP/2.0";
  /**
   * Subject of a client certificate that is valid and belongs to an authority of the listener, whichever that is: who
   * relies on it asks for the authority.
   */
  readonly clientCertificate: ClientCertificate | undefined;
  /** Why a certificate that the client showed was not verified; empty when it was, or when there is none. */
  readonly clientCertificateProblem: string;
  /** Aborted when the client goes away or the deadline passes. Made when first asked for: ask only to wait. */
  readonly signal: AbortSignal;
  /** Whether `signal` is, or would be, aborted. */
  readonly aborted: boolean;
  /** Aborts `signal` and ends a read of the body that is under way with `reason`. The first reason stays. */
  abort(reason: Error): void;
  /** Reads the whole body; throws `requestTooLarge` beyond the limit. Empty when there is none. */
  body(limitBytes: number): Promise<Buffer>;
  /** Filled in by filters, in the order of `http/chain.ts`. */
  info: RequestInfo;
  user: UserInfo;
  readonly receivedMs: number;
  deadlineMs: number;
  readonly warnings: string[];
  readonly auditId: string;
  /** Of the audit event; made when there is a first one. */
  annotations: Map<string, string> | undefined;
  /** Whether bytes of the body are still under way. */
  readonly bodyPending?: boolean;
  /**
   * What the request holds of the event loop's time; given back early by what goes on elsewhere. May end twice. `slow`:
   * it waits for a turn of the loop, beside as many others of its user as leave seats to other users.
   */
  seats?: { end(): void; slow(): void } | undefined;
  /** There while the request is recorded in the audit log. */
  audit?: AuditedBody | undefined;
}

/** What the audit log hears of a body from those who read it. */
export interface AuditedBody {
  /** The decoded object, before anything is added to it. */
  sent(object: { readonly metadata?: ObjectMeta }): void;
  sentPatch(bytes: Buffer): void;
}

export interface ClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** DER of the leaf, for checks the TLS layer did not make. */
  readonly raw: Buffer;
  /** DER of certificates that came with it, in any order. */
  readonly issuers: readonly Buffer[];
}

/**
 * One answer; headers are lower-case. What it says is an `object`, a `list` or `events`, with the `encoding` that the
 * client negotiated: `encode-reply.ts` makes bytes of it, beside which it stays for those who record answers. What is no
 * object (documents, metrics, logs) has its bytes from the beginning, in exactly one form.
 */
export interface Reply {
  readonly code: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly object?: Encodable | undefined;
  readonly list?: EncodableList | undefined;
  readonly events?: (encoding: Encoding) => ReplyStream;
  /** There until the reply is encoded. */
  readonly encoding?: Encoding;
  /** Ready bytes, sent as they are (in pieces when an array). */
  readonly bytes?: Buffer | readonly Buffer[];
  /** Pulled one at a time, the next when the peer has taken the last. */
  readonly pieces?: Pieces;
  /** The same, of what takes time to be made. */
  readonly chunks?: Chunks;
  readonly contentType?: string;
  /** Bytes that may be gzip-compressed when the client asks and they are long enough. */
  readonly compressible?: boolean;
  /** A stream: the writer calls `open` once headers are out; the stream ends when it closes the sink. */
  readonly stream?: ReplyStream;
  /** Ask the client to make a new connection: `Connection: close`, or GOAWAY on HTTP/2. */
  readonly closeConnection?: boolean;
  /** Called once when the reply was written or given up, by whoever writes it. */
  readonly done?: () => void;
}

/** Where a streaming reply writes. */
export interface StreamSink {
  /** Queues bytes. Returns false when the peer reads too slowly; `onDrain` is called when it caught up. */
  write(bytes: Buffer): boolean;
  /** Whether earlier bytes still wait for the peer. */
  readonly blocked: boolean;
  onDrain: (() => void) | undefined;
  /** The peer is gone or the server ends the connection. Called once. */
  onClose: (() => void) | undefined;
  end(): void;
}

export interface ReplyStream {
  open(sink: StreamSink): void;
  /** Whether much comes before what is still to happen: the state there is. Then `onBegun` is called once. */
  readonly hasBeginning?: boolean;
  /** The beginning is written, or the stream is over. */
  onBegun?: (() => void) | undefined;
}

/** Who asks before anybody has looked. */
export const unknownUser: UserInfo = { name: "", groups: [] };

/** A client that takes longer to read what it was sent is slow. */
export const slowMs = 250;
