/**
 * The server side of SPDY/3.1, as much of it as a kubelet needs: streams that the peer opens, their headers, and data in
 * both directions. Source: the draft of SPDY/3.1.
 */
import type { Duplex } from "node:stream";
import { createInflate } from "node:zlib";

const synStream = 1;
const synReply = 2;
const rstStream = 3;
const ping = 6;
const finished = 1;

/** The names in the dictionary of header compression; each has its length before it. */
const names =
  "options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow " +
  "authorization cache-control connection content-base content-encoding content-language content-length " +
  "content-location content-md5 content-range content-type date etag expect expires from host if-match " +
  "if-modified-since if-none-match if-range if-unmodified-since last-modified location max-forwards pragma " +
  "proxy-authenticate proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade " +
  "user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url public set-cookie " +
  "keep-alive origin";
/** The rest of the dictionary. */
const texts =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative " +
  "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal " +
  "Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, " +
  "Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml," +
  "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8" +
  "charset=iso-8859-1,utf-,*,enq=0.";

const dictionary: Buffer = Buffer.concat([
  ...names.split(" ").flatMap((name) => [uint32(name.length), Buffer.from(name.replace("_", " "))]),
  Buffer.from(texts),
]);

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A stream that the peer opened. */
export interface SpdyStream {
  readonly id: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Calls back with each piece of data, those that came before too; `undefined` at the end. */
  read(take: (piece: Buffer | undefined) => void): void;
  write(bytes: Buffer): void;
  end(): void;
  reset(): void;
}

/** Serves one connection. `opened` is called for each stream, which is then accepted. */
export function serveSpdy(connection: Duplex, early: Buffer, opened: (stream: SpdyStream) => void): void {
  const inflate = createInflate({ dictionary });
  const pieces: Buffer[] = [];
  inflate.on("data", (piece: Buffer) => pieces.push(piece));
  const inflated = (): Buffer => Buffer.concat(pieces.splice(0));
  const streams = new Map<number, Incoming>();
  let waiting: Buffer = early;
  let isInflating = false;
  const send = (bytes: Buffer): void => {
    if (connection.writable) connection.write(bytes);
  };
  const control = (type: number, body: Buffer): void => {
    const head = Buffer.alloc(8);
    head.writeUInt16BE(0x8003);
    head.writeUInt16BE(type, 2);
    head.writeUInt32BE(body.length, 4);
    send(Buffer.concat([head, body]));
  };
  /** Reads the block of headers, then goes on with the frames behind it. */
  const open = (body: Buffer, flags: number): void => {
    isInflating = true;
    const id = body.readUInt32BE(0);
    inflate.write(body.subarray(10), () => {
      // The stream delivers its output after it has called back.
      setImmediate(() => {
        // The connection may have closed meanwhile.
        if (connection.destroyed) return;
        const stream = new Incoming(id, headersOf(inflated()), send, control);
        streams.set(id, stream);
        control(synReply, Buffer.concat([uint32(id), emptyHeaders()]));
        opened(stream);
        if ((flags & finished) !== 0) stream.took(undefined);
        isInflating = false;
        advance();
      });
    });
  };
  /**
   * The first block begins the compressed stream of this side; all are stored without compression. Go's decoder returns
   * what it has read at an empty block.
   */
  let isFirst = true;
  const emptyHeaders = (): Buffer => {
    const block = Buffer.concat([Buffer.from([0, 4, 0, 0xfb, 0xff]), uint32(0), Buffer.from([0, 0, 0, 0xff, 0xff])]);
    const begun = isFirst ? Buffer.concat([Buffer.from([0x78, 0x01]), block]) : block;
    isFirst = false;
    return begun;
  };
  const advance = (): void => {
    while (!isInflating && waiting.length >= 8) {
      const length = waiting.readUIntBE(5, 3);
      if (waiting.length < 8 + length) return;
      const flags = waiting[4]!;
      const isControl = (waiting[0]! & 0x80) !== 0;
      const [type, id] = isControl ? [waiting.readUInt16BE(2), 0] : [-1, waiting.readUInt32BE(0)];
      const body = waiting.subarray(8, 8 + length);
      waiting = waiting.subarray(8 + length);
      if (type === synStream) open(body, flags);
      else if (type === ping) control(ping, body);
      else if (type === rstStream) streams.get(body.readUInt32BE(0))?.took(undefined);
      else if (!isControl) {
        if (length > 0) streams.get(id)?.took(Buffer.from(body));
        if ((flags & finished) !== 0) streams.get(id)?.took(undefined);
      }
    }
  };
  connection.on("data", (piece: Buffer) => {
    waiting = Buffer.concat([waiting, piece]);
    advance();
  });
  connection.on("close", () => {
    inflate.close();
    for (const stream of streams.values()) stream.took(undefined);
  });
  advance();
}

class Incoming implements SpdyStream {
  readonly id: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly #send: (bytes: Buffer) => void;
  readonly #control: (type: number, body: Buffer) => void;
  #held: (Buffer | undefined)[] = [];
  #take: ((piece: Buffer | undefined) => void) | undefined;
  #isEnded = false;

  constructor(
    id: number,
    headers: Readonly<Record<string, string>>,
    send: (bytes: Buffer) => void,
    control: (type: number, body: Buffer) => void,
  ) {
    this.id = id;
    this.headers = headers;
    this.#send = send;
    this.#control = control;
  }

  took(piece: Buffer | undefined): void {
    if (this.#isEnded) return;
    if (piece === undefined) this.#isEnded = true;
    if (this.#take === undefined) this.#held.push(piece);
    else this.#take(piece);
  }

  read(take: (piece: Buffer | undefined) => void): void {
    this.#take = take;
    for (const piece of this.#held.splice(0)) take(piece);
  }

  write(bytes: Buffer): void {
    this.#frame(bytes, 0);
  }

  end(): void {
    this.#frame(Buffer.alloc(0), finished);
  }

  reset(): void {
    this.#control(rstStream, Buffer.concat([uint32(this.id), uint32(5)]));
  }

  #frame(bytes: Buffer, flags: number): void {
    this.#send(Buffer.concat([uint32(this.id), uint32(flags * 2 ** 24 + bytes.length), bytes]));
  }
}

/** Reads a block of headers; names are in lower case. */
function headersOf(block: Buffer): Record<string, string> {
  const headers: Record<string, string> = {};
  let at = 4;
  const text = (): string => {
    const length = block.readUInt32BE(at);
    at += 4 + length;
    return block.toString("utf8", at - length, at);
  };
  for (let count = block.readUInt32BE(0); count > 0; count--) {
    const name = text();
    headers[name.toLowerCase()] = text();
  }
  return headers;
}
