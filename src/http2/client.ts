/**
 * The client's side of a connection of HTTP/2, for calls of gRPC. All frames of a turn of the event loop are written
 * together, answers are read where they lie, and a stream is one small object: a call takes less than half of the CPU that
 * it takes with `node:http2` (docs/decisions/0018). A peer that breaks the protocol loses the connection.
 *
 * Source: RFC 9113.
 */
import type { Duplex } from "node:stream";
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
import { FieldsReader, type HeaderFields } from "./kept-fields.ts";

const nothing: Buffer = Buffer.alloc(0);
/** The bytes of answers that a peer may send, on a stream and on all of them, before they are read. */
const windowBytes = 16 * 1024 * 1024;
const headerBytesMax = 16 * 1024;
/** The bytes of the buffer for frames that is kept. */
const keptOutBytes = 64 * 1024;
/** The bytes that may wait until the peer takes them. */
const waitingBytesMax = 128 * 1024 * 1024;

/** Takes what comes on a stream. */
export interface StreamHandler {
  /** Takes the headers of an answer, or its trailers. `isEnd`: nothing follows. */
  headers(fields: HeaderFields, isEnd: boolean): void;
  /** Takes a part of the body, whose memory is shared. */
  data(bytes: Buffer, isEnd: boolean): void;
  /**
   * Is called once, at last, also after `reset`. `isUntouched`: the peer has certainly not begun with what the stream asks
   * for.
   */
  closed(isUntouched: boolean): void;
}

/** Takes what becomes of a connection. */
interface ConnectionHandler {
  /** The peer takes no new streams any more. Those on their way may still be answered. */
  goingAway(): void;
  /** Is called once, before its streams are closed. `undefined`: one side has closed the connection. */
  ended(error: Error | undefined): void;
}

interface Piece {
  readonly bytes: Buffer;
  readonly isEnd: boolean;
}

class Stream {
  readonly handler: StreamHandler;
  /** 0 until it is begun. */
  id = 0;
  /** The bytes that the peer takes now. */
  window = 0;
  /** The bytes that came since the peer was last told of its window. */
  received = 0;
  /** The pieces that wait until the peer takes them. */
  waiting: Piece[] = [];
  isEndedHere = false;
  isAnswered = false;
  isClosed = false;

  constructor(handler: StreamHandler) {
    this.handler = handler;
  }
}

/** A request that is open. After it is closed its methods do nothing. */
export interface OpenStream {
  /** Sends a part of the body; `isEnd`: the last one. */
  send(bytes: Buffer, isEnd: boolean): void;
  /** Gives the stream up. */
  reset(): void;
}

export class Http2Client {
  readonly #socket: Duplex;
  readonly #handler: ConnectionHandler;
  readonly #fields = new FieldsReader();
  readonly #streams = new Map<number, Stream>();
  /** Streams that the peer has no room for yet, with their headers. */
  readonly #queue = new Map<Stream, Buffer>();
  #nextId = 1;
  /** The frames that are written at the end of this turn, and their bytes. */
  #out = Buffer.allocUnsafeSlow(16 * 1024);
  #outBytes = 0;
  #isFlushPlanned = false;
  /** The beginning of a frame whose rest has not come. */
  #rest: Buffer | undefined;
  /** The frame of data of which `left` bytes have not come. */
  #data = { id: 0, flag: 0, left: 0 };
  /** A block of headers whose rest has not come. */
  #block: { readonly id: number; readonly isEnd: boolean; bytes: Buffer; room: number } | undefined;
  #hasSettings = false;
  #peerFrameBytes = frameBytesMax;
  #peerWindow = defaultWindow;
  #peerStreamsMax = Number.POSITIVE_INFINITY;
  #window = defaultWindow;
  #received = 0;
  readonly #pings: (() => void)[] = [];
  #isGoingAway = false;
  #isOver = false;

  /** Takes a socket that is connected. */
  constructor(socket: Duplex, handler: ConnectionHandler) {
    this.#socket = socket;
    this.#handler = handler;
    socket.on("data", (bytes: Buffer) => this.#take(bytes));
    socket.on("end", () => this.#end(undefined));
    socket.on("error", (error) => this.#end(error));
    socket.on("close", () => this.#end(undefined));
    this.#begin();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Begins a stream with a block of headers. Its handler is called later. */
  open(headers: Buffer, handler: StreamHandler): OpenStream {
    const stream = new Stream(handler);
    const isRefused = this.#isOver || this.#isGoingAway || this.#isFull;
    if (isRefused) queueMicrotask(() => this.#close(stream, true));
    else if (this.#streams.size < this.#peerStreamsMax) this.#start(stream, headers);
    else this.#queue.set(stream, headers);
    return {
      send: (bytes, isEnd) => {
        if (!stream.isClosed && !isRefused) this.#send(stream, bytes, isEnd);
      },
      reset: () => this.#reset(stream),
    };
  }

  /** Asks the peer for a sign of life. */
  ping(answered: () => void): void {
    if (this.#isOver) return;
    this.#pings.push(answered);
    this.#frame(frameTypes.ping, 0, 0, Buffer.alloc(8));
  }

  /** Takes no new streams any more, and closes those that wait for room. */
  drain(): void {
    this.#isGoingAway = true;
    for (const stream of this.#queue.keys()) this.#close(stream, true);
  }

  /** Closes the connection with its streams. */
  close(): void {
    this.#flush();
    this.#end(undefined);
  }

  get #isFull(): boolean {
    return this.#outBytes + this.#socket.writableLength > waitingBytesMax;
  }

  #begin(): void {
    const payload = settingsOf(
      [settings.tableSize, 0],
      [settings.push, 0],
      [settings.window, windowBytes],
      [settings.headerBytes, headerBytesMax],
    );
    this.#outBytes += this.#out.write(preface, "latin1");
    this.#frame(frameTypes.settings, 0, 0, payload);
    this.#widen(0, windowBytes - defaultWindow);
  }

  #start(stream: Stream, headers: Buffer): void {
    stream.id = this.#nextId;
    stream.window = this.#peerWindow;
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    // Headers of calls are shorter than any peer's frames.
    this.#frame(frameTypes.headers, flags.endHeaders, stream.id, headers);
    if (this.#nextId > streamIdMax) this.#goAway();
  }

  #send(stream: Stream, bytes: Buffer, isEnd: boolean): void {
    stream.waiting.push({ bytes, isEnd });
    if (stream.id > 0) this.#sendWaiting(stream);
  }

  /** Sends as much as the peer takes. */
  #sendWaiting(stream: Stream): void {
    while (stream.waiting.length > 0) {
      const { bytes, isEnd } = stream.waiting[0]!;
      const room = Math.min(this.#window, stream.window, this.#peerFrameBytes);
      if (bytes.length <= room) {
        stream.waiting.shift();
        this.#sendPiece(stream, bytes, isEnd);
      } else if (room <= 0) return;
      else {
        this.#sendPiece(stream, bytes.subarray(0, room), false);
        stream.waiting[0] = { bytes: bytes.subarray(room), isEnd };
      }
    }
  }

  #sendAllWaiting(): void {
    for (const stream of this.#streams.values()) if (this.#window > 0) this.#sendWaiting(stream);
  }

  #sendPiece(stream: Stream, bytes: Buffer, isEnd: boolean): void {
    this.#window -= bytes.length;
    stream.window -= bytes.length;
    this.#frame(frameTypes.data, isEnd ? flags.endStream : 0, stream.id, bytes);
    if (isEnd) stream.isEndedHere = true;
  }

  #reset(stream: Stream): void {
    if (stream.isClosed) return;
    if (stream.id > 0 && !this.#isOver) this.#frame(frameTypes.reset, 0, stream.id, numberOf(errorCodes.cancel));
    this.#close(stream, stream.id === 0);
  }

  #close(stream: Stream, isUntouched: boolean): void {
    if (stream.isClosed) return;
    stream.isClosed = true;
    stream.waiting = [];
    this.#streams.delete(stream.id);
    this.#queue.delete(stream);
    // A peer that has begun to answer cannot say afterwards that it did nothing.
    stream.handler.closed(isUntouched && !stream.isAnswered);
    this.#startQueued();
  }

  #startQueued(): void {
    for (const [stream, headers] of this.#queue) {
      if (this.#streams.size >= this.#peerStreamsMax || this.#isGoingAway || this.#isOver) return;
      this.#queue.delete(stream);
      this.#start(stream, headers);
      this.#sendWaiting(stream);
    }
  }

  /** Tells the peer that it may send more. */
  #widen(id: number, bytes: number): void {
    this.#frame(frameTypes.windowUpdate, 0, id, numberOf(bytes));
  }

  #frame(type: number, flag: number, id: number, payload: Buffer): void {
    const start = this.#outBytes;
    const end = start + headLength + payload.length;
    if (end > this.#out.length) {
      const longer = Buffer.allocUnsafeSlow(2 * end);
      this.#out.copy(longer, 0, 0, start);
      this.#out = longer;
    }
    const out = this.#out;
    writeHead(out, start, payload.length, kindOf(type, flag), id);
    out.set(payload, start + headLength);
    this.#outBytes = end;
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isFlushPlanned = false;
    if (this.#outBytes === 0 || this.#isOver) return;
    // The socket keeps what it cannot write at once, so that these bytes are its own.
    const bytes = Buffer.allocUnsafe(this.#outBytes);
    this.#out.copy(bytes, 0, 0, this.#outBytes);
    this.#outBytes = 0;
    this.#socket.write(bytes);
    if (this.#out.length > keptOutBytes) this.#out = Buffer.allocUnsafeSlow(keptOutBytes);
    if (this.#isFull) this.#break("it takes no bytes");
  }

  /** Takes bytes of the peer, which need not begin or end with a frame. */
  #take(bytes: Buffer): void {
    let at = this.#takeRest(bytes);
    while (!this.#isOver) {
      const end = this.#endOfFrame(bytes, at);
      if (end === undefined) break;
      this.#takeFrame(bytes, at, end);
      at = end;
    }
    if (at < bytes.length && !this.#isOver) this.#keep(bytes.subarray(at));
  }

  /** Takes the rest of a frame that began before. Returns the index after it. */
  #takeRest(bytes: Buffer): number {
    const { id, flag, left } = this.#data;
    if (left > 0) {
      const taken = Math.min(left, bytes.length);
      this.#data.left -= taken;
      this.#takeData(id, taken === left ? flag : 0, bytes.subarray(0, taken));
      return taken;
    }
    const rest = this.#rest;
    if (rest === undefined || this.#isOver) return 0;
    // A frame that began before needs no more than these.
    const joined = Buffer.concat([rest, bytes.subarray(0, headLength + frameBytesMax)]);
    this.#rest = undefined;
    const end = this.#endOfFrame(joined, 0);
    if (end !== undefined) this.#takeFrame(joined, 0, end);
    else if (!this.#isOver) this.#keep(joined);
    return end === undefined ? bytes.length : end - rest.length;
  }

  /** Keeps the beginning of a frame. That of data is taken at once. */
  #keep(bytes: Buffer): void {
    const flag = bytes[4] ?? 0;
    const isData = bytes.length > headLength && bytes[3] === frameTypes.data && (flag & flags.padded) === 0;
    if (!isData || !this.#hasSettings || this.#block !== undefined) {
      this.#rest = bytes;
      return;
    }
    const id = bytes.readUInt32BE(5) & streamIdMax;
    this.#data = { id, flag, left: headLength + bytes.readUIntBE(0, 3) - bytes.length };
    this.#takeData(id, 0, bytes.subarray(headLength));
  }

  /** Returns the index after the frame that begins at `at`; `undefined` when it is not whole, or too long. */
  #endOfFrame(bytes: Buffer, at: number): number | undefined {
    if (bytes.length - at < headLength) return undefined;
    const length = bytes.readUIntBE(at, 3);
    const end = at + headLength + length;
    if (length > frameBytesMax) this.#break(`a frame has ${length} bytes`);
    return end > bytes.length || this.#isOver ? undefined : end;
  }

  #takeFrame(bytes: Buffer, at: number, end: number): void {
    const type = bytes[at + 3]!;
    const flag = bytes[at + 4]!;
    const id = bytes.readUInt32BE(at + 5) & streamIdMax;
    const payload = bytes.subarray(at + headLength, end);
    if (!this.#hasSettings && type !== frameTypes.settings) return this.#break("it does not speak HTTP/2");
    if (this.#block !== undefined && type !== frameTypes.continuation)
      return this.#break("a block of headers is interrupted");
    if (type === frameTypes.data) this.#takeData(id, flag, payload);
    else if (type === frameTypes.headers) this.#takeHeaders(id, flag, payload);
    else if (type === frameTypes.continuation) this.#takeContinuation(id, flag, payload);
    else if (type === frameTypes.windowUpdate) this.#takeWindow(id, payload);
    else if (type === frameTypes.reset) this.#takeReset(id, payload);
    else if (type === frameTypes.settings) this.#takeSettings(id, flag, payload);
    else if (type === frameTypes.ping) this.#takePing(id, flag, payload);
    else if (type === frameTypes.goAway) this.#takeGoAway(id, payload);
    else if (type === frameTypes.push) this.#break("it pushes an answer that nobody asked for");
  }

  #takeData(id: number, flag: number, payload: Buffer): void {
    const stream = this.#streamOf(id);
    const data = this.#unpadded(flag, payload);
    if (data === undefined) return;
    // All bytes of the frame count, also those of a stream that is given up.
    this.#received += payload.length;
    if (this.#received >= windowBytes / 2) {
      this.#widen(0, this.#received);
      this.#received = 0;
    }
    if (stream === undefined) return;
    const isEnd = (flag & flags.endStream) !== 0;
    stream.received += payload.length;
    if (stream.received >= windowBytes / 2 && !isEnd) {
      this.#widen(id, stream.received);
      stream.received = 0;
    }
    stream.handler.data(data, isEnd);
    if (isEnd) this.#endThere(stream);
  }

  #takeHeaders(id: number, flag: number, payload: Buffer): void {
    this.#streamOf(id);
    let block = this.#unpadded(flag, payload);
    if (block === undefined) return;
    if ((flag & flags.priority) !== 0) {
      if (block.length < 5) return this.#break("a frame of headers is too short");
      block = block.subarray(5);
    }
    this.#block = { id, isEnd: (flag & flags.endStream) !== 0, bytes: block, room: headerBytesMax - block.length };
    if ((flag & flags.endHeaders) !== 0) this.#endBlock(this.#block);
  }

  #takeContinuation(id: number, flag: number, payload: Buffer): void {
    const block = this.#block;
    if (block === undefined || block.id !== id) return this.#break("a block of headers goes on that is not open");
    block.bytes = Buffer.concat([block.bytes, payload]);
    // The head of a frame counts, so that empty ones do not go on for ever.
    block.room -= headLength + payload.length;
    if (block.room < 0) return this.#break("headers are too long");
    if ((flag & flags.endHeaders) !== 0) this.#endBlock(block);
  }

  #endBlock({ id, isEnd, bytes }: { readonly id: number; readonly isEnd: boolean; readonly bytes: Buffer }): void {
    this.#block = undefined;
    const stream = this.#streams.get(id);
    if (stream === undefined) return; // it is given up, and blocks do not depend on each other
    let fields: HeaderFields;
    try {
      fields = this.#fields.read(bytes);
    } catch (error) {
      return this.#break((error as Error).message); // the reader throws nothing else
    }
    stream.isAnswered = true;
    stream.handler.headers(fields, isEnd);
    if (isEnd) this.#endThere(stream);
  }

  /** Closes a stream that the peer has ended: what was still to be sent is of no use to it. */
  #endThere(stream: Stream): void {
    if (stream.isEndedHere) this.#close(stream, false);
    else this.#reset(stream);
  }

  #takeReset(id: number, payload: Buffer): void {
    if (payload.length !== 4) return this.#break("a frame that resets a stream has a wrong length");
    const stream = this.#streamOf(id);
    if (stream !== undefined) this.#close(stream, payload.readUInt32BE(0) === errorCodes.refused);
  }

  #takeSettings(id: number, flag: number, payload: Buffer): void {
    if (id !== 0 || payload.length % 6 !== 0) return this.#break("its settings are malformed");
    if ((flag & flags.ack) !== 0) return;
    this.#hasSettings = true;
    const windowBefore = this.#peerWindow;
    for (let at = 0; at < payload.length && !this.#isOver; at += 6) {
      this.#takeSetting(payload.readUInt16BE(at), payload.readUInt32BE(at + 2));
    }
    if (this.#isOver) return;
    this.#frame(frameTypes.settings, flags.ack, 0, nothing);
    const more = this.#peerWindow - windowBefore;
    if (more !== 0) for (const stream of this.#streams.values()) stream.window += more;
    if (more > 0) this.#sendAllWaiting();
    this.#startQueued();
  }

  #takeSetting(name: number, value: number): void {
    if (name === settings.streamsMax) this.#peerStreamsMax = value;
    else if (name === settings.frameSize) {
      if (value < frameBytesMax || value >= 2 ** 24) return this.#break(`it takes frames of ${value} bytes`);
      this.#peerFrameBytes = value;
    } else if (name === settings.window) {
      if (value > windowMax) return this.#break(`it takes ${value} bytes of a stream`);
      this.#peerWindow = value;
    }
  }

  #takeWindow(id: number, payload: Buffer): void {
    if (payload.length !== 4) return this.#break("a frame of a window has a wrong length");
    const more = payload.readUInt32BE(0) & windowMax;
    const stream = id === 0 ? undefined : this.#streamOf(id);
    const wasShut = this.#window <= 0;
    if (id === 0) this.#window += more;
    else if (stream !== undefined) stream.window += more;
    if (more === 0 || Math.max(this.#window, stream?.window ?? 0) > windowMax)
      return this.#break("it opens a window by a wrong number of bytes");
    if (stream !== undefined) this.#sendWaiting(stream);
    else if (id === 0 && wasShut) this.#sendAllWaiting();
  }

  #takePing(id: number, flag: number, payload: Buffer): void {
    if (id !== 0 || payload.length !== 8) return this.#break("a ping is malformed");
    if ((flag & flags.ack) === 0) return this.#frame(frameTypes.ping, flags.ack, 0, payload);
    this.#pings.shift()?.();
  }

  /** Takes the notice that the peer does nothing about streams after the last that it names. */
  #takeGoAway(id: number, payload: Buffer): void {
    if (id !== 0 || payload.length < 8) return this.#break("the notice of its end is malformed");
    const last = payload.readUInt32BE(0) & streamIdMax;
    const code = payload.readUInt32BE(4);
    this.#goAway();
    for (const stream of this.#streams.values()) if (stream.id > last) this.#close(stream, true);
    if (code !== errorCodes.none) this.#end(new Error(`it closes the connection with the error ${code}`));
  }

  #goAway(): void {
    if (this.#isGoingAway || this.#isOver) return;
    this.#isGoingAway = true;
    this.#handler.goingAway();
    this.drain();
  }

  /** Returns a stream; `undefined` when it is closed. One that was never open ends the connection. */
  #streamOf(id: number): Stream | undefined {
    if (id % 2 === 0 || id >= this.#nextId) this.#break(`it speaks of the stream ${id}, which nobody opened`);
    return this.#streams.get(id);
  }

  /** Returns the payload of a frame without what fills it up; `undefined` when it has ended the connection. */
  #unpadded(flag: number, payload: Buffer): Buffer | undefined {
    if (this.#isOver) return undefined;
    if ((flag & flags.padded) === 0) return payload;
    const length = (payload[0] ?? 0) + 1;
    if (length <= payload.length) return payload.subarray(1, payload.length - length + 1);
    this.#break("a frame is filled up beyond its length");
    return undefined;
  }

  #break(reason: string): void {
    this.#end(new Error(reason));
  }

  #end(error: Error | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.ended(error);
    this.#socket.destroy();
    // A handler that ends the connection is done before it hears of that.
    queueMicrotask(() => {
      for (const stream of [...this.#streams.values(), ...this.#queue.keys()]) this.#close(stream, stream.id === 0);
    });
  }
}
