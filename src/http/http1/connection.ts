/**
 * One HTTP/1.1 connection from the server's side: requests come out of its bytes one after the other, the next when the
 * last is answered. It watches the time a client takes and bounds what it may send ahead.
 *
 * Our own, since node's server makes two streams and a dozen events of each request: with it a GET cost a fifth more CPU
 * and a create a quarter (docs/decisions/0003-own-http1.md).
 */
import type { TLSSocket } from "node:tls";
import type { Clock } from "#std/clock.ts";
import { Input } from "./input.ts";
import { HeadReader, type Refusal, type RequestHead, tooLargeHead } from "./request-head.ts";
import type { Outbox } from "./outbox.ts";
import { RequestBody } from "./request-body.ts";

export interface Http1Limits {
  /** Request line and headers together. */
  readonly headerBytes: number;
  /** Header fields of one request. */
  readonly headerCount: number;
  /** Time for the headers, and for a whole request with its body. */
  readonly headerMs: number;
  readonly requestMs: number;
  /** Time without a request. */
  readonly idleMs: number;
}

/** Who answers the requests of a connection. */
export interface Http1Handler {
  /** Calls `replied` of the connection once the reply is written. */
  request(connection: Http1Connection, head: RequestHead, body: RequestBody | undefined): void;
  /** No reply may be written any more: the client was refused, and the connection is about to close. */
  refused(connection: Http1Connection): void;
}

/** What becomes of a connection after a reply. */
export type Afterwards = "keep" | "close" | "linger";

/** A body that nobody read is thrown away up to this length, and the connection kept. */
export const shortBody = 256 * 1024;
/** The same before the connection closes: closing with unread bytes resets it, and the client would lose the reply. */
const lingerBytes = 16 * 1024 * 1024;
const lingerMs = 5_000;
/** How long a client may go on after it was refused: whoever made a mistake reads the answer first. */
const refusedMs = 1_000;
/** Bytes that may wait for their turn before no more are read. */
const aheadMax = 64 * 1024;

const headEnd = Buffer.from("\r\n\r\n");

/**
 * `head`: idle, or part of a head has come. `request`: a reply is awaited or being written, the body may still be
 * coming. `rest`: answered, and what is left of the body is thrown away before the next head. `linger`: the same before
 * the connection closes. `over`: what comes is ignored.
 */
type Phase = "head" | "request" | "rest" | "linger" | "over";

export class Http1Connection {
  readonly socket: TLSSocket;
  readonly #handler: Http1Handler;
  readonly #limits: Http1Limits;
  readonly #clock: Clock;
  readonly #outbox: Outbox;
  readonly #input = new Input();
  readonly #heads: HeadReader;
  #phase: Phase = "head";
  /** Of the current request, while some of it was not taken yet. */
  #body: RequestBody | undefined;
  /** Part of the reply is written. */
  #replying = false;
  /** The time of a head is running: part of it has come, or the connection is new. */
  #headBegun = true;
  /** When the head, the idle time or the end began, on the monotonic clock. */
  #sinceMs: number;
  /** Up to where no end of a head was found. */
  #searched = 0;
  #awaitsDrain = false;
  #advancing = false;
  #paused = false;

  constructor(socket: TLSSocket, handler: Http1Handler, limits: Http1Limits, clock: Clock, outbox: Outbox) {
    this.socket = socket;
    this.#handler = handler;
    this.#limits = limits;
    this.#clock = clock;
    this.#outbox = outbox;
    this.#heads = new HeadReader(limits.headerCount);
    this.#sinceMs = clock.monotonic();
    socket.on("data", (piece: Buffer) => {
      if (this.#phase === "over") return;
      this.#input.append(piece);
      this.#advance();
    });
    // Before the socket's own listener: after it nothing can be written.
    socket.prependListener("end", () => this.#outbox.flush());
  }

  /** The first bytes of the reply are about to be written. */
  replyBegins(): void {
    this.#replying = true;
  }

  /** Writes a whole reply: with those of other connections, when it was there at once and the connection is kept. */
  sendWhole(reply: Buffer, afterwards: Afterwards): void {
    if (this.#advancing && afterwards === "keep") this.#outbox.add(this.socket, reply);
    else this.written().write(reply);
  }

  /** The socket, with everything said before written to it. */
  written(): TLSSocket {
    this.#outbox.flush();
    return this.socket;
  }

  /** The last byte of the reply was handed to the socket. */
  replied(afterwards: Afterwards): void {
    if (this.#phase !== "request") return;
    this.#replying = false;
    const body = this.#body;
    if (afterwards === "close") {
      this.#end();
    } else if (afterwards === "linger") {
      this.#phase = "linger";
      this.#clock.after(lingerMs, () => this.#end());
      body?.discard(lingerBytes);
    } else if (body !== undefined) {
      this.#phase = "rest";
      body.discard(shortBody);
    } else {
      this.#awaitHead();
    }
    this.#advance();
  }

  /** Closes a connection that has no request under way. */
  closeIfIdle(): void {
    if (this.#phase === "head" || this.#phase === "rest") this.#end();
  }

  /** Cuts off who takes too long, by the monotonic clock. */
  checkTime(nowMs: number): void {
    // Who ends his side ends ours, but what is still to be written may never leave.
    if (this.#phase !== "over" && !this.socket.writable) this.#end();
    const tookMs = nowMs - this.#sinceMs;
    const { headerMs, requestMs, idleMs } = this.#limits;
    switch (this.#phase) {
      case "head":
        if (this.#headBegun && tookMs > headerMs) this.refuse(timedOut);
        else if (!this.#headBegun && tookMs > idleMs) this.#end();
        return;
      case "request":
        // While nothing is read, nobody would learn that the client is gone.
        if (tookMs > requestMs && (this.#paused || this.#body?.isTaking === true)) this.refuse(timedOut);
        return;
      case "rest":
        if (tookMs > requestMs) this.#end();
        return;
      case "over":
        // The last reply is not taken.
        if (tookMs > idleMs) this.socket.destroy();
    }
  }

  /** Answers with a short text, if nothing else is being said, and closes. */
  refuse(refusal: Refusal): void {
    if (this.#phase === "over") return;
    const socket = this.written();
    this.#ignoreInput();
    if (this.#replying || !socket.writable) {
      socket.destroy();
    } else {
      const head = `HTTP/1.1 ${refusal}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n`;
      socket.end(head + refusal);
      this.#clock.after(refusedMs, () => socket.destroy());
    }
    this.#handler.refused(this);
  }

  #end(): void {
    this.#ignoreInput();
    this.written().destroySoon();
  }

  #ignoreInput(): void {
    this.#phase = "over";
    this.#sinceMs = this.#clock.monotonic();
    this.#body = undefined;
    this.#input.clear();
    this.socket.resume();
  }

  #awaitHead(): void {
    this.#phase = "head";
    this.#headBegun = false;
    this.#sinceMs = this.#clock.monotonic();
  }

  /** Goes on as far as the bytes, their readers and the replies allow. */
  #advance(): void {
    // A handler that answers at once, or reads its body, comes here from within.
    if (this.#advancing) return;
    this.#advancing = true;
    while (this.#step());
    this.#advancing = false;
    this.#regulate();
  }

  /** Whether there may be another step. */
  #step(): boolean {
    const body = this.#body;
    if (body !== undefined) {
      const refusal = body.advance();
      if (refusal !== undefined && this.#phase === "request") this.refuse(refusal);
      else if (refusal !== undefined || body.isTooMuch) this.#end();
      if (!body.complete) return false;
      this.#body = undefined;
    }
    if (this.#phase === "linger") this.#end();
    else if (this.#phase === "rest") this.#awaitHead();
    return this.#phase === "head" && this.#input.length > 0 && this.#beginRequest();
  }

  /** False when the head is not complete, or the client must first take what it asked for. */
  #beginRequest(): boolean {
    const input = this.#input;
    if (this.socket.writableNeedDrain) {
      this.#awaitDrain();
      return false;
    }
    // Some clients send an empty line after a body.
    while (input.at(0) === carriageReturn && input.at(1) === lineFeed) {
      input.skip(2);
      this.#searched = 0;
    }
    const length = input.indexOf(headEnd, Math.max(0, this.#searched - headEnd.length + 1));
    if ((length < 0 ? input.length : length) > this.#limits.headerBytes) {
      this.refuse(tooLargeHead);
      return false;
    }
    if (length < 0) {
      this.#beginHead();
      return false;
    }
    const head = this.#heads.read(input.text(length));
    if (typeof head === "string") {
      this.refuse(head);
      return false;
    }
    input.skip(length + headEnd.length);
    this.#searched = 0;
    // The time of the body counts from the first byte of the head.
    if (!this.#headBegun) this.#sinceMs = this.#clock.monotonic();
    this.#phase = "request";
    if (head.bodyLength !== 0) this.#body = new RequestBody(input, head.bodyLength, () => this.#advance());
    this.#handler.request(this, head, this.#body);
    return true;
  }

  /** Part of a head is there. What will never be a head is refused at once, instead of waiting for its end. */
  #beginHead(): void {
    const input = this.#input;
    if (input.length === 0) return;
    if (!this.#headBegun) {
      this.#headBegun = true;
      this.#sinceMs = this.#clock.monotonic();
    }
    let end = input.indexOf(lineFeed, this.#searched);
    while (end > 0 && input.at(end - 1) === carriageReturn) end = input.indexOf(lineFeed, end + 1);
    this.#searched = input.length;
    const first = input.at(0)!;
    if (end >= 0 || !(first === carriageReturn || (first > 0x20 && first < 0x7f))) this.refuse("400 Bad Request");
  }

  #awaitDrain(): void {
    if (this.#awaitsDrain) return;
    this.#awaitsDrain = true;
    this.socket.once("drain", () => {
      this.#awaitsDrain = false;
      this.#advance();
    });
  }

  /** Stops reading while much waits here already. */
  #regulate(): void {
    const waits =
      this.#input.length > aheadMax && (this.#phase === "request" || (this.#phase === "head" && this.#awaitsDrain));
    if (waits === this.#paused) return;
    this.#paused = waits;
    if (waits) this.socket.pause();
    else this.socket.resume();
  }
}

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const timedOut: Refusal = "408 Request Timeout";
