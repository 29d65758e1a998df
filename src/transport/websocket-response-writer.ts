/**
 * Replies on an HTTP/1.1 connection with an upgrade: a watch over WebSocket, a tunnel to another server, or a refusal.
 */
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import { binaryFrame, closedNormally, closeFrame, pongFrame, WebSocketReader } from "#std/websocket.ts";
import type { StreamSink, Tunnel } from "#http/api-request.ts";
import { ChannelSink, onceTaken, whenDrained } from "./channel-sink.ts";
import { type Handshake, textFrames } from "./websocket.ts";
import { endUnread } from "./end-unread.ts";
import type { SocketReader } from "./read-turns.ts";
import type { ResponseWriter } from "./response-writer.ts";

const { STATUS_CODES } = process.getBuiltinModule("node:http");

/** The time in milliseconds that a client has to close after the server has sent a close frame. */
const closingMs = 1_000;
/** The maximum bytes that may arrive before the answer. */
const heldBytesMax = 64 * 1024;
/** Matches characters that would end a header line, or are not Latin-1. */
const unsafeValue = /[^\t\x20-\x7e\x80-\xff]/;

export class WebSocketResponseWriter implements ResponseWriter {
  readonly channel: TLSSocket;
  readonly #handshake: Handshake | undefined;
  readonly #reader: SocketReader;
  readonly #clock: Clock;
  /** The bytes that arrived before the answer. */
  #heldPieces: Buffer[] = [];
  #heldBytes = 0;
  #take = (piece: Buffer): void => this.#hold(piece);
  #ended = false;

  /** `early` are the bytes received with the request. Without `handshake`, the protocol is not WebSocket. */
  constructor(socket: TLSSocket, reader: SocketReader, early: Buffer, handshake: Handshake | undefined, clock: Clock) {
    this.channel = socket;
    this.#reader = reader;
    this.#handshake = handshake;
    this.#clock = clock;
    socket.on("data", this.#data);
    if (early.length > 0) this.#hold(early);
    socket.resume();
  }

  readonly #data = (piece: Buffer): void => this.#take(piece);

  #hold(piece: Buffer): void {
    this.#heldPieces.push(piece);
    this.#heldBytes += piece.length;
    if (this.#heldBytes > heldBytesMax) this.channel.pause();
  }

  #takeHeld(): readonly Buffer[] {
    const pieces = this.#heldPieces;
    this.#heldPieces = [];
    return pieces;
  }

  /** Reads the client's frames, beginning with the bytes that arrived before the answer. */
  #readFrames(): void {
    const socket = this.channel;
    const reader = new WebSocketReader({
      ping: (payload) => {
        // Pongs are not queued for a client that does not read.
        if (!this.gone && !this.blocked) socket.write(pongFrame(payload));
      },
      ended: (code) => {
        if (!this.gone) socket.write(closeFrame(code));
        this.#ended = true;
        socket.destroySoon();
      },
    });
    this.#take = (piece) => reader.take(piece);
    for (const piece of this.#takeHeld()) reader.take(piece);
    socket.resume();
  }

  get gone(): boolean {
    return this.#ended || !this.channel.writable;
  }

  /** Begins the WebSocket. */
  head(_code: number, headers: readonly string[]): void {
    if (this.#handshake === undefined) throw new Error("only a WebSocket carries a stream");
    const { accept, protocol } = this.#handshake;
    const own = ["Upgrade", "websocket", "Connection", "Upgrade", "Sec-WebSocket-Accept", accept];
    const isChosen = headers.some((name, at) => at % 2 === 0 && /^sec-websocket-protocol$/i.test(name));
    if (protocol !== "" && !isChosen) own.push("Sec-WebSocket-Protocol", protocol);
    const rest = without(headers, ["Connection", "Content-Type"]);
    this.channel.write(headText(101, [...own, ...rest], this.#clock.now()), "latin1");
    this.#readFrames();
  }

  tunnel({ headers, connection, early }: Tunnel, own: readonly string[]): void {
    const socket = this.channel;
    this.#ended = true;
    socket.write(headText(101, [...own, ...without(headers, ["Audit-Id"])], this.#clock.now()), "latin1");
    if (early.length > 0) socket.write(early);
    socket.off("data", this.#data);
    for (const piece of this.#takeHeld()) connection.write(piece);
    connection.on("error", () => socket.destroy());
    connection.once("close", () => socket.destroySoon());
    if (connection.destroyed) {
      socket.destroySoon();
      return;
    }
    socket.once("close", () => connection.destroy());
    socket.pipe(connection);
    connection.pipe(socket);
  }

  /** Writes lines of text, each as a text frame. */
  write(bytes: Buffer): boolean {
    return this.channel.write(textFrames(bytes));
  }

  /** Refuses the WebSocket. */
  whole(code: number, headers: readonly string[], bytes: Buffer | undefined, length: number): void {
    this.#heldPieces = [];
    this.#take = () => undefined;
    const own = [
      ...(this.#handshake?.isKnownVersion === false ? ["Sec-WebSocket-Version", "13"] : []),
      "Connection",
      "close",
    ];
    if (length >= 0) own.push("Content-Length", String(length));
    const rest = without(headers, ["Connection"]);
    this.channel.write(headText(code, [...rest, ...own], this.#clock.now()), "latin1");
    this.#ended = true;
    endUnread(this.channel, this.#reader, this.#clock, bytes);
  }

  sink(): StreamSink {
    const sink = new ChannelSink(this);
    const message = (bytes: Buffer): boolean => !this.gone && this.channel.write(binaryFrame(bytes));
    return Object.assign(sink, { message });
  }

  end(): void {
    if (!this.gone) this.#close(closeFrame(closedNormally));
  }

  destroy(): void {
    this.channel.destroy();
  }

  get blocked(): boolean {
    return this.channel.writableNeedDrain;
  }

  whenDrained(settled: (hasDrained: boolean) => void): () => void {
    return whenDrained(this.channel, settled);
  }

  whileUntaken(begin: () => () => void): void {
    if (this.blocked) onceTaken(this.channel, begin());
  }

  /** Sends the last bytes and lets the client close, which may still be sending. */
  #close(last: Buffer): void {
    this.#ended = true;
    const socket = this.channel;
    socket.end(last);
    socket.once("finish", () => this.#clock.after(closingMs, () => socket.destroy()));
  }
}

/** Returns the head as Node writes it on other connections. In `headers` names and values alternate. */
function headText(code: number, headers: readonly string[], nowMs: number): string {
  let text = `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}\r\nDate: ${new Date(nowMs).toUTCString()}\r\n`;
  for (let i = 0; i < headers.length; i += 2) {
    if (unsafeValue.test(headers[i + 1]!))
      throw new TypeError(`the header ${headers[i]} has a value that cannot be sent`);
    text += `${headers[i]}: ${headers[i + 1]}\r\n`;
  }
  return `${text}\r\n`;
}

function without(headers: readonly string[], names: readonly string[]): string[] {
  return headers.filter((_, i) => !names.includes(headers[i - (i % 2)]!));
}
