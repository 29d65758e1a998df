/**
 * The server's side of a connection of HTTP/2. Frames of a turn of the event loop are written together, what comes is read
 * where it lies, and a request is one small object (docs/decisions/0024). A client that breaks the protocol, or sends much that
 * is neither a request nor a body, loses the connection.
 *
 * Hot path. Source: RFC 9113.
 */
import type { Duplex } from "node:stream";
import { LinkedList } from "#std/linked-list.ts";
import {
  defaultWindow,
  errorCodes,
  flags,
  frameBytesMax,
  frameTypes,
  headLength,
  kindOf,
  numberOf,
  preface,
  settings,
  settingsOf,
  streamIdMax,
  windowMax,
  writeHead,
} from "./frames.ts";
import { BlockReader } from "./hpack-reader.ts";
import { BlockWriter, type FieldNames } from "./hpack-writer.ts";
import type { OutBuffers } from "./out-buffers.ts";
import { areTrailers, headersOf } from "./request-fields.ts";
import { ServerStream, type StreamSession } from "./server-stream.ts";

interface SessionOptions {
  /** The number of streams that may be open at once. */
  readonly streamsMax: number;
  /** The bytes of a body that may come before they are read, once the first body of the connection is wanted. */
  readonly bodyWindowBytes: number;
  /** The bytes of a list of header fields (each counts 32 more), and the number of fields. */
  readonly headerBytesMax: number;
  readonly fieldsMax: number;
  /** The buffers of frames and the names of headers, which all sessions share. */
  readonly buffers: OutBuffers;
  readonly names: FieldNames;
  /** Returns milliseconds of a clock that never goes back. */
  now(): number;
}

interface SessionHandler {
  /** Takes a request. Its body may follow. */
  request(stream: ServerStream): void;
  /** Is told of the bytes that came, before they are looked at. */
  took(bytes: number): void;
  /** Is called when the connection is lost, before its streams are closed. */
  lost(): void;
}

/** The bytes that may wait in all: what exceeds them are heads of answers, which the peer asks for and does not read. */
const waitingBytesMax = 1024 * 1024;
/** The confirmations that may wait for a peer that does not read, as with `nghttp2`. */
const confirmationsMax = 1000;
/** The header blocks of one request may come in so many frames, as with `nghttp2`. */
const continuationsMax = 8;
/** The bytes of a body in a frame: with its head it fills one record of TLS, so that no record has a few bytes only. */
const bodyBytesMax = 16 * 1024 - headLength;
/** A block may be longer than the fields that it stands for: names and values may be written in full. */
const blockBytesMax = 256 * 1024;
/**
 * The streams that may be of no use at once, and in each second for ever, as with `nghttp2`: those that the peer resets,
 * those that are refused, and those that the peer makes us reset.
 */
const resetsMax = 1000;
const resetsPerSecond = 33;
/**
 * The bytes of frames that are neither requests nor bodies which a peer may send at once, and each second for ever. For
 * what it was sent, and for its requests, it may send more: clients confirm what they have read.
 */
const controlBytesMax = 512 * 1024;
const controlBytesPerSecond = 16 * 1024;
const writtenPerControlByte = 8;
const controlBytesPerRequest = 256;

export class ServerSession implements StreamSession {
  readonly #socket: Duplex;
  readonly #options: SessionOptions;
  readonly #handler: SessionHandler;
  readonly #reader: BlockReader;
  readonly #writer: BlockWriter;
  readonly #streams = new Map<number, ServerStream>();
  /** Streams of which bytes wait that the peer takes, as soon as the connection does, in the order in which they go on. */
  readonly #sending = new LinkedList<ServerStream>();
  /** Streams that are closed, and whose owners are not told yet. */
  #closed: ServerStream[] = [];
  #lastId = 0;
  /** The stream after which no request is taken; the last possible one until the session closes. */
  #finalId = streamIdMax;

  /** The frames that are written at the end of this turn. */
  #out: Buffer | undefined;
  #outBytes = 0;
  #isFlushPlanned = false;
  /** Whether the socket takes no more bodies for now. */
  #isSocketFull = false;

  /** The first `#begunBytes` bytes of a frame whose rest has not come. */
  #begun: Buffer | undefined;
  #begunBytes = 0;
  #prefaceLeft = preface.length;
  #hasSettings = false;
  /** A block of headers whose rest has not come. */
  #block: { readonly id: number; readonly isEnd: boolean; readonly parts: Buffer[]; bytes: number } | undefined;

  #peerWindow = defaultWindow;
  #sendWindow = defaultWindow;
  #ownWindow = defaultWindow;
  #sessionWindow = defaultWindow;
  #receiveWindow = defaultWindow;
  #taken = 0;
  /** The bytes of bodies that nobody wants any more and that the peer may have sent before it knew. */
  #lateBytes = 0;

  #confirmations = 0;
  #controlBytes = 0;
  #controlSinceMs: number;
  #writtenBytes = 0;
  #resets = 0;
  #resetsSinceMs: number;

  #isClosing = false;
  #isOver = false;

  /** Takes a socket that is connected. Its errors are for its owner. */
  constructor(socket: Duplex, options: SessionOptions, handler: SessionHandler) {
    this.#socket = socket;
    this.#options = options;
    this.#handler = handler;
    const { headerBytesMax, fieldsMax, names } = options;
    this.#writer = new BlockWriter(names);
    this.#reader = new BlockReader({ tableBytesMax: 4096, listBytesMax: headerBytesMax, fieldsMax });
    this.#controlSinceMs = this.#resetsSinceMs = options.now();
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("drain", () => this.#drained());
    socket.on("end", () => this.#lose());
    socket.on("close", () => this.#lose());
    this.#begin();
  }

  /** Whether no request is taken any more. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  /** Takes no new requests, and ends the connection when those on their way are answered. */
  close(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#finalId = this.#lastId;
    this.#mayCome(this.#receiveWindow);
    this.#goAway(errorCodes.none);
    this.#endIfDone();
  }

  /** Ends the connection at once. */
  destroy(): void {
    this.#lose();
    this.#socket.destroy();
  }

  bodyWanted(): void {
    const { bodyWindowBytes: streamBytes, streamsMax } = this.#options;
    const sessionBytes = Math.min(streamBytes * streamsMax, windowMax);
    if (this.#isOver || this.#ownWindow >= streamBytes || this.#sessionWindow >= sessionBytes) return;
    this.#frame(frameTypes.settings, 0, 0, settingsOf([settings.window, streamBytes]));
    for (const stream of this.#streams.values()) stream.receiveWindow += streamBytes - this.#ownWindow;
    this.#ownWindow = streamBytes;
    this.#frame(frameTypes.windowUpdate, 0, 0, numberOf(sessionBytes - this.#sessionWindow));
    this.#receiveWindow += sessionBytes - this.#sessionWindow;
    this.#sessionWindow = sessionBytes;
  }

  #begin(): void {
    const payload = settingsOf(
      [settings.streamsMax, this.#options.streamsMax],
      [settings.headerBytes, this.#options.headerBytesMax],
    );
    this.#frame(frameTypes.settings, 0, 0, payload);
  }

  // Frames are sent.

  sendHeaders(stream: ServerStream, fields: readonly string[], isEnd: boolean): void {
    const lengthMax = this.#writer.lengthMax(fields);
    if (lengthMax > frameBytesMax) return this.#sendLongHeaders(stream, fields, isEnd);
    const out = this.#room(headLength + lengthMax);
    const start = this.#outBytes;
    const end = this.#writer.write(fields, out, start + headLength);
    const flag = isEnd ? flags.endHeaders | flags.endStream : flags.endHeaders;
    writeHead(out, start, end - start - headLength, kindOf(frameTypes.headers, flag), stream.id);
    this.#outBytes = end;
    this.#planFlush();
  }

  /** Sends a block that may not fit into one frame. */
  #sendLongHeaders({ id }: ServerStream, fields: readonly string[], isEnd: boolean): void {
    const block = Buffer.allocUnsafe(this.#writer.lengthMax(fields));
    const length = this.#writer.write(fields, block, 0);
    for (let at = 0; at === 0 || at < length; at += frameBytesMax) {
      const type = at === 0 ? frameTypes.headers : frameTypes.continuation;
      const isLast = at + frameBytesMax >= length;
      const flag = (isLast ? flags.endHeaders : 0) | (isEnd && at === 0 ? flags.endStream : 0);
      this.#frame(type, flag, id, block.subarray(at, Math.min(length, at + frameBytesMax)));
    }
  }

  sendBody(stream: ServerStream): void {
    if (stream.sendingNode === undefined && this.#sendFrame(stream)) {
      stream.sendingNode = this.#sending.add(stream);
      this.#pump();
    }
  }

  get #canSend(): boolean {
    return this.#sendWindow > 0 && !this.#isSocketFull && !this.#isOver;
  }

  /** Sends a frame of each stream that waits, in turn, for as long as the connection takes more. */
  #pump(): void {
    while (this.#canSend) {
      const stream = this.#sending.first;
      if (stream === undefined) return;
      this.#stopSending(stream);
      if (this.#sendFrame(stream)) stream.sendingNode = this.#sending.add(stream);
    }
  }

  #stopSending(stream: ServerStream): void {
    if (stream.sendingNode !== undefined) this.#sending.remove(stream.sendingNode);
    stream.sendingNode = undefined;
  }

  /** Sends what one frame takes of a stream. Returns whether more waits, and the peer takes it of this stream. */
  #sendFrame(stream: ServerStream): boolean {
    const { waitingBytes } = stream;
    if (waitingBytes > 0) {
      if (stream.sendWindow <= 0) return false;
      if (!this.#canSend) return true;
      const length = Math.min(waitingBytes, this.#sendWindow, stream.sendWindow, bodyBytesMax);
      const out = this.#room(headLength + length);
      if (stream.isClosed) return false; // the connection ended
      // The socket may be full of frames that were written for lack of room.
      if (!this.#canSend) return true;
      const isLast = length === waitingBytes && stream.isEnded;
      writeHead(out, this.#outBytes, length, kindOf(frameTypes.data, isLast ? flags.endStream : 0), stream.id);
      stream.take(out, this.#outBytes + headLength, length);
      this.#outBytes += headLength + length;
      this.#sendWindow -= length;
      stream.sendWindow -= length;
      this.#planFlush();
      if (length < waitingBytes) return stream.sendWindow > 0;
      if (isLast) stream.sent();
      else stream.drained();
      return false;
    }
    if (stream.isEnded) {
      this.#frame(frameTypes.data, flags.endStream, stream.id, nothing);
      stream.sent();
    } else stream.drained();
    return false;
  }

  sendReset(stream: ServerStream, code: number): void {
    if (!this.#isOver) this.#frame(frameTypes.reset, 0, stream.id, numberOf(code));
  }

  consumed(stream: ServerStream, bytes: number): void {
    stream.taken += bytes;
    if (!stream.isBodyComplete && stream.taken >= this.#ownWindow / 2) {
      this.#frame(frameTypes.windowUpdate, 0, stream.id, numberOf(stream.taken));
      stream.receiveWindow += stream.taken;
      stream.taken = 0;
    }
    this.dropped(bytes);
  }

  dropped(bytes: number): void {
    this.#taken += bytes;
    if (this.#taken < this.#sessionWindow / 2) return;
    this.#frame(frameTypes.windowUpdate, 0, 0, numberOf(this.#taken));
    this.#receiveWindow += this.#taken;
    this.#taken = 0;
  }

  forget(stream: ServerStream): void {
    this.#streams.delete(stream.id);
    this.#stopSending(stream);
    if (!stream.isBodyComplete) this.#mayCome(stream.receiveWindow);
    this.#closed.push(stream);
    this.#planFlush();
  }

  #goAway(code: number): void {
    const payload = Buffer.allocUnsafe(8);
    payload.writeUInt32BE(Math.min(this.#lastId, this.#finalId), 0);
    payload.writeUInt32BE(code, 4);
    this.#frame(frameTypes.goAway, 0, 0, payload);
  }

  #frame(type: number, flag: number, id: number, payload: Buffer): void {
    if (this.#isOver) return;
    const out = this.#room(headLength + payload.length);
    writeHead(out, this.#outBytes, payload.length, kindOf(type, flag), id);
    payload.copy(out, this.#outBytes + headLength);
    this.#outBytes += headLength + payload.length;
    this.#planFlush();
  }

  /** Returns a buffer that has room for `bytes` more. */
  #room(bytes: number): Buffer {
    const { buffers } = this.#options;
    if (this.#out !== undefined && this.#outBytes + bytes > this.#out.length) {
      const longer = buffers.longer(this.#out, this.#outBytes);
      if (longer === undefined) this.#write();
      else this.#out = longer;
    }
    this.#out ??= buffers.take(bytes);
    return this.#out;
  }

  #planFlush(): void {
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    this.#write();
    if (this.#closed.length > 0) {
      const closed = this.#closed;
      this.#closed = [];
      for (const stream of closed) stream.tellClosed();
    }
    if (this.#isClosing) this.#endIfDone();
  }

  /** Hands what was framed to the socket. */
  #write(): void {
    const out = this.#out;
    const bytes = this.#outBytes;
    if (out === undefined) return;
    this.#out = undefined;
    this.#outBytes = 0;
    const { buffers } = this.#options;
    if (this.#isOver || bytes === 0) return buffers.give(out);
    this.#writtenBytes += bytes;
    this.#isSocketFull = !buffers.write(this.#socket, out, bytes);
    if (this.#socket.writableLength > waitingBytesMax) this.destroy();
  }

  #drained(): void {
    this.#isSocketFull = false;
    this.#confirmations = 0;
    this.#pump();
  }

  // Frames are taken.

  #take(piece: Buffer): void {
    this.#handler.took(piece.length);
    let at = this.#prefaceLeft > 0 ? this.#takePreface(piece) : 0;
    if (this.#begun !== undefined) at = this.#takeBegun(this.#begun, piece, at);
    while (!this.#isOver && piece.length - at >= headLength) {
      const length = this.#frameLength(piece, at);
      if (this.#isOver || length > piece.length - at) break;
      this.#takeFrame(piece, at, at + length);
      at += length;
    }
    if (this.#isOver || at >= piece.length) return;
    this.#begunBytes = piece.length - at;
    this.#begun = Buffer.allocUnsafe(Math.max(2 * this.#begunBytes, headLength));
    piece.copy(this.#begun, 0, at);
  }

  /** Takes what every connection begins with. Returns its length in this piece. */
  #takePreface(piece: Buffer): number {
    const left = preface.slice(-this.#prefaceLeft);
    const came = piece.toString("latin1", 0, left.length);
    if (!left.startsWith(came)) this.#break(errorCodes.protocol);
    this.#prefaceLeft -= came.length;
    return came.length;
  }

  /** Returns the bytes of a frame, with its head. Ends the connection if they are too many. */
  #frameLength(bytes: Buffer, at: number): number {
    const length = bytes.readUIntBE(at, 3);
    if (length > frameBytesMax) this.#break(errorCodes.frameSize);
    return headLength + length;
  }

  /** Takes more of a frame that began in another piece. Returns the index after it. */
  #takeBegun(begun: Buffer, piece: Buffer, start: number): number {
    let at = start;
    for (let length = headLength; ; ) {
      const bytes = this.#begunBytes;
      if (bytes >= headLength) length = this.#frameLength(begun, 0);
      if (this.#isOver) return at;
      const more = Math.min(length - bytes, piece.length - at);
      if (bytes + more > begun.length) {
        // Pieces may be as short as a byte: the space doubles, so that each is copied once or twice.
        const larger = Buffer.allocUnsafe(Math.min(length, 2 * (bytes + more)));
        begun.copy(larger, 0, 0, bytes);
        begun = larger;
      }
      piece.copy(begun, bytes, at, at + more);
      at += more;
      this.#begun = begun;
      this.#begunBytes = bytes + more;
      if (this.#begunBytes < length) return at;
      // The head is all of a frame without a payload.
      if (bytes < headLength && this.#frameLength(begun, 0) > headLength) continue;
      this.#begun = undefined;
      this.#begunBytes = 0;
      this.#takeFrame(begun, 0, length);
      return at;
    }
  }

  #takeFrame(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3]!;
    const flag = bytes[at + 4]!;
    const id = bytes.readUInt32BE(at + 5) & streamIdMax;
    const start = at + headLength;
    if (!this.#hasSettings && (type !== frameTypes.settings || (flag & flags.ack) !== 0))
      return this.#break(errorCodes.protocol);
    if (this.#block !== undefined && type !== frameTypes.continuation) return this.#break(errorCodes.protocol);
    switch (type) {
      case frameTypes.headers:
        return this.#takeHeaders(id, flag, bytes, start, end);
      case frameTypes.data:
        return this.#takeData(id, flag, bytes, start, end);
      case frameTypes.continuation:
        return this.#takeContinuation(id, flag, bytes.subarray(start, end));
      default:
        this.#takeOther(type, flag, id, bytes.subarray(start, end));
    }
  }

  #takeOther(type: number, flag: number, id: number, payload: Buffer): void {
    if (!this.#countControl(headLength + payload.length)) return;
    switch (type) {
      case frameTypes.windowUpdate:
        return this.#takeWindow(id, payload);
      case frameTypes.reset:
        return this.#takeReset(id, payload);
      case frameTypes.settings:
        return this.#takeSettings(id, flag, payload);
      case frameTypes.ping:
        if (id !== 0) return this.#break(errorCodes.protocol);
        if (payload.length !== 8) return this.#break(errorCodes.frameSize);
        if ((flag & flags.ack) === 0) this.#confirm(frameTypes.ping, payload);
        return;
      case frameTypes.priority:
        if (id === 0) return this.#break(errorCodes.protocol);
        if (payload.length !== 5) this.#break(errorCodes.frameSize);
        return;
      case frameTypes.goAway:
        if (id !== 0) return this.#break(errorCodes.protocol);
        if (payload.length < 8) this.#break(errorCodes.frameSize);
        return;
      case frameTypes.push:
        return this.#break(errorCodes.protocol);
      default: // frames of unknown types mean nothing
    }
  }

  #confirm(type: number, payload: Buffer): void {
    if (this.#isSocketFull && ++this.#confirmations > confirmationsMax) return this.#break(errorCodes.calm);
    this.#frame(type, flags.ack, 0, payload);
  }

  /** Counts bytes that are neither a request nor a body. Ends the connection when they are too many. */
  #countControl(bytes: number): boolean {
    // Small frames cost as much as longer ones.
    this.#controlBytes += Math.max(bytes, 32);
    if (this.#controlBytes <= controlBytesMax) return true;
    const nowMs = this.#options.now();
    const forgiven =
      ((nowMs - this.#controlSinceMs) / 1000) * controlBytesPerSecond + this.#writtenBytes / writtenPerControlByte;
    this.#controlSinceMs = nowMs;
    this.#writtenBytes = 0;
    this.#controlBytes = Math.max(0, this.#controlBytes - forgiven);
    if (this.#controlBytes <= controlBytesMax) return true;
    this.#break(errorCodes.calm);
    return false;
  }

  #takeHeaders(id: number, flag: number, bytes: Buffer, start: number, end: number): void {
    if (id % 2 === 0) return this.#break(errorCodes.protocol);
    let from = start;
    let to = end;
    if ((flag & flags.padded) !== 0) {
      to -= bytes[from] ?? end;
      from++;
    }
    if ((flag & flags.priority) !== 0) from += 5;
    if (from > to) return this.#break(errorCodes.protocol);
    const isEnd = (flag & flags.endStream) !== 0;
    const block = bytes.subarray(from, to);
    if ((flag & flags.endHeaders) !== 0) this.#takeBlock(id, isEnd, block);
    else this.#block = { id, isEnd, parts: [Buffer.from(block)], bytes: block.length };
  }

  #takeContinuation(id: number, flag: number, part: Buffer): void {
    const block = this.#block;
    if (block === undefined || block.id !== id) return this.#break(errorCodes.protocol);
    block.parts.push(Buffer.from(part));
    block.bytes += part.length;
    if (block.parts.length > continuationsMax + 1 || block.bytes > blockBytesMax) return this.#break(errorCodes.calm);
    if ((flag & flags.endHeaders) === 0) return;
    this.#block = undefined;
    this.#takeBlock(id, block.isEnd, Buffer.concat(block.parts));
  }

  /** Takes the headers of a request, or the fields at its end. */
  #takeBlock(id: number, isEnd: boolean, block: Buffer): void {
    let fields: string[] | undefined;
    try {
      fields = this.#reader.read(block);
    } catch {
      return this.#break(errorCodes.compression); // the reader throws nothing else
    }
    if (id <= this.#lastId) return this.#takeTrailers(id, isEnd, fields, block.length);
    this.#lastId = id;
    if (id > this.#finalId) return void this.#countControl(headLength + block.length); // sent before the peer knew
    this.#controlBytes = Math.max(0, this.#controlBytes - controlBytesPerRequest);
    const headers = fields === undefined ? undefined : headersOf(fields);
    const hasWrongLength = isEnd && Number(headers?.["content-length"] ?? 0) > 0;
    if (headers === undefined || fields === undefined || hasWrongLength)
      return this.#refuseRequest(id, errorCodes.protocol, isEnd);
    if (this.#streams.size >= this.#options.streamsMax) return this.#refuseRequest(id, errorCodes.refused, isEnd);
    const windows = { send: this.#peerWindow, receive: this.#ownWindow };
    const stream = new ServerStream(id, { headers, fields, hasBody: !isEnd }, this, windows);
    this.#streams.set(id, stream);
    this.#handler.request(stream);
  }

  #refuseRequest(id: number, code: number, isEnd: boolean): void {
    this.#frame(frameTypes.reset, 0, id, numberOf(code));
    if (!isEnd) this.#mayCome(this.#ownWindow);
    this.#countReset();
  }

  /** Gives a stream up because the peer broke the protocol, which it may do to have more work under way than it may. */
  #refuse(stream: ServerStream, code: number): void {
    stream.reset(code);
    this.#countReset();
  }

  #takeTrailers(id: number, isEnd: boolean, fields: readonly string[] | undefined, bytes: number): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return void this.#countControl(headLength + bytes); // it was given up
    if (stream.isBodyComplete) return this.#refuse(stream, errorCodes.streamClosed);
    if (!isEnd || fields === undefined || !areTrailers(fields) || stream.bodyLeft > 0)
      return this.#refuse(stream, errorCodes.protocol);
    stream.complete();
  }

  #takeData(id: number, flag: number, bytes: Buffer, start: number, end: number): void {
    if (id % 2 === 0 || id > this.#lastId) return this.#break(errorCodes.protocol);
    let from = start;
    let to = end;
    if ((flag & flags.padded) !== 0) {
      to -= bytes[from] ?? end;
      from++;
      if (from > to) return this.#break(errorCodes.protocol);
    }
    const length = end - start;
    this.#receiveWindow -= length;
    if (this.#receiveWindow < 0) return this.#break(errorCodes.flowControl);
    const stream = this.#streams.get(id);
    const isEnd = (flag & flags.endStream) !== 0;
    // Padding is no body, and small pieces cost as much as longer ones.
    const body = to - from;
    if ((body < 32 && !isEnd) || body < length / 2) if (!this.#countControl(headLength + length - body)) return;
    if (stream === undefined) return this.#takeLate(length);
    stream.receiveWindow -= length;
    const problem = this.#dataProblem(stream, body, isEnd);
    if (problem !== undefined) {
      this.dropped(length);
      return this.#refuse(stream, problem);
    }
    if (length > body) this.consumed(stream, length - body);
    if (body > 0) stream.came(bytes.subarray(from, to));
    if (isEnd && !stream.isClosed) stream.complete();
  }

  /** Counts the next part of a body. Returns the error of one that may not come. */
  #dataProblem(stream: ServerStream, body: number, isEnd: boolean): number | undefined {
    if (stream.isBodyComplete) return errorCodes.streamClosed;
    if (stream.receiveWindow < 0) return errorCodes.flowControl;
    if (stream.bodyLeft < 0) return undefined;
    stream.bodyLeft -= body;
    return stream.bodyLeft < 0 || (isEnd && stream.bodyLeft > 0) ? errorCodes.protocol : undefined;
  }

  /** Lets the peer send bytes of bodies that nobody wants any more, which it cannot know yet. */
  #mayCome(bytes: number): void {
    this.#lateBytes = Math.min(this.#lateBytes + Math.max(bytes, 0), this.#sessionWindow);
  }

  /** Takes a part of a body that nobody wants any more. */
  #takeLate(bytes: number): void {
    this.dropped(bytes);
    this.#lateBytes -= bytes;
    if (this.#lateBytes >= 0) return;
    this.#countControl(-this.#lateBytes);
    this.#lateBytes = 0;
  }

  #takeWindow(id: number, payload: Buffer): void {
    if (payload.length !== 4) return this.#break(errorCodes.frameSize);
    const more = payload.readUInt32BE(0) & windowMax;
    if (id === 0) {
      this.#sendWindow += more;
      if (more === 0) return this.#break(errorCodes.protocol);
      if (this.#sendWindow > windowMax) return this.#break(errorCodes.flowControl);
      return this.#pump();
    }
    if (id % 2 === 0 || id > this.#lastId) return this.#break(errorCodes.protocol);
    const stream = this.#streams.get(id);
    if (stream === undefined) return; // it has ended
    stream.sendWindow += more;
    if (more === 0) return this.#refuse(stream, errorCodes.protocol);
    if (stream.sendWindow > windowMax) return this.#refuse(stream, errorCodes.flowControl);
    if (stream.waitingBytes > 0) this.sendBody(stream);
  }

  #takeReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) return this.#break(errorCodes.frameSize);
    if (id % 2 === 0 || id > this.#lastId) return this.#break(errorCodes.protocol);
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.receiveWindow = 0; // no more of its body comes
    stream.close();
    this.#countReset();
  }

  /** Counts a stream that was of no use. Ends the connection of a peer that makes many. */
  #countReset(): void {
    this.#resets++;
    if (this.#resets <= resetsMax) return;
    const nowMs = this.#options.now();
    this.#resets = Math.max(0, this.#resets - ((nowMs - this.#resetsSinceMs) / 1000) * resetsPerSecond);
    this.#resetsSinceMs = nowMs;
    if (this.#resets > resetsMax) this.#break(errorCodes.calm);
  }

  #takeSettings(id: number, flag: number, payload: Buffer): void {
    if (id !== 0) return this.#break(errorCodes.protocol);
    const isAck = (flag & flags.ack) !== 0;
    if (payload.length % 6 !== 0 || (isAck && payload.length > 0)) return this.#break(errorCodes.frameSize);
    this.#hasSettings = true;
    if (isAck) return;
    const windowBefore = this.#peerWindow;
    for (let at = 0; at < payload.length; at += 6) {
      const problem = this.#takeSetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
      if (problem !== undefined) return this.#break(problem);
    }
    this.#confirm(frameTypes.settings, nothing);
    const more = this.#peerWindow - windowBefore;
    if (more === 0) return;
    for (const stream of this.#streams.values()) {
      stream.sendWindow += more;
      if (stream.sendWindow > windowMax) return this.#break(errorCodes.flowControl);
      if (stream.waitingBytes > 0) this.sendBody(stream);
    }
  }

  /** Returns the error of a setting that is wrong. */
  #takeSetting(name: number, value: number): number | undefined {
    switch (name) {
      case settings.tableSize:
        this.#writer.limitTable(value);
        return undefined;
      case settings.push:
        return value > 1 ? errorCodes.protocol : undefined;
      case settings.window:
        if (value > windowMax) return errorCodes.flowControl;
        this.#peerWindow = value;
        return undefined;
      case settings.frameSize:
        return value < frameBytesMax || value >= 2 ** 24 ? errorCodes.protocol : undefined;
      default:
        return undefined;
    }
  }

  // The connection ends.

  #endIfDone(): void {
    if (this.#streams.size > 0 || this.#isOver || !this.#isClosing) return;
    this.#write();
    // Nothing may be written after the end, not even the confirmation of what still comes.
    this.#lose();
    this.#socket.end();
  }

  /** Ends the connection of a peer that broke the protocol. */
  #break(code: number): void {
    if (this.#isOver) return;
    this.#isClosing = true;
    this.#goAway(code);
    this.#write();
    this.#lose();
    // A peer that does not read would not see why.
    if (this.#isSocketFull) this.#socket.destroy();
    else this.#socket.end();
  }

  #lose(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isClosing = true;
    this.#begun = undefined;
    this.#block = undefined;
    this.#handler.lost();
    for (const stream of this.#streams.values()) stream.close();
    this.#planFlush();
  }
}

const nothing = Buffer.alloc(0);
