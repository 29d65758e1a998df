/**
 * Looks at what HTTP/2 connections read and the protocol does not show. Its own frames, as `WINDOW_UPDATE` or those of
 * unknown type, cause no event, and cost more than bodies do. A sample compares what a connection read with what its
 * requests and bodies account for; one with much else is to read in turns, and one that goes on is closed.
 */
import type { Clock } from "#std/clock.ts";
import { LinkedList, type Node } from "#std/linked-list.ts";

/** The time in milliseconds between two samples, and the number of connections in a sample. */
export const sampleMs = 20;
export const samplesMax = 64;
/** A sample that is late by this many milliseconds finds the event loop busy, and looks at more connections. */
const lateMs = 10;
const samplesMaxLate = 1024;
/** Fewer bytes than this in a turn, or between two samples, are neither a body nor a flood of frames. */
export const quietBytes = 4 * 1024;
/**
 * The usual and the maximum number of bytes for which a request accounts; the maximum includes a body that nobody read.
 */
const requestBytesUsual = 1024;
const requestBytesMax = 256 * 1024;
/**
 * The bytes of frames for which no request accounts, beyond those that each sample forgives. A connection with more is
 * closed.
 */
export const unaccountedBytesMax = 512 * 1024;
const forgivenBytes = 256;
/** The maximum bytes for which requests account in advance: their bodies arrive later and may stay unread for long. */
const accountedBytesMax = 100 * requestBytesMax;
/**
 * The number of written bytes that account for one read byte: clients confirm about every 4 KiB that they have read.
 */
const writtenPerRead = 8;

/** A connection, as samples see it. */
export interface SampledConnection {
  readonly isClosed: boolean;
  /** All bytes that were read and written on the socket. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Makes the connection read in turns from now on. */
  meter(): void;
  /** Ends the connection, since it sent too many useless bytes. */
  abuse(): void;
}

/** Compares the bytes that one connection read with the requests and bodies that account for them. */
export class FrameAccount {
  readonly connection: SampledConnection;
  /** The node in the list of accounts that samples look at. */
  node: Node<FrameAccount> | undefined;
  /** Whether the connection reads in turns. */
  isMetered = false;
  /** The bytes read and written until the last look, and the bodies and requests since then. */
  #bytesSeen: number;
  #bytesSent: number;
  #bodyBytes = 0;
  #requests = 0;
  #unaccountedBytes = 0;

  constructor(connection: SampledConnection) {
    this.connection = connection;
    this.#bytesSeen = connection.bytesRead;
    this.#bytesSent = connection.bytesWritten;
  }

  tookBody(bytes: number): void {
    this.#bodyBytes += bytes;
  }

  tookRequest(): void {
    this.#requests++;
  }

  /**
   * Returns whether the connection read much for which neither requests nor bodies account. Ends the connection when it
   * is too much.
   */
  isBusy(): boolean {
    const { connection } = this;
    const { bytesRead } = connection;
    const bytes = bytesRead - this.#bytesSeen;
    this.#bytesSeen = bytesRead;
    // Connections with few bytes need no further check. Their requests account for bodies that will still arrive.
    if (bytes < quietBytes && this.#unaccountedBytes <= 0) return false;
    const { bytesWritten } = connection;
    const frames = bytes - 2 * this.#bodyBytes - (bytesWritten - this.#bytesSent) / writtenPerRead;
    const unaccounted = this.#unaccountedBytes + frames - this.#requests * requestBytesMax - forgivenBytes;
    const isBusy = frames - this.#requests * requestBytesUsual >= quietBytes;
    this.#bytesSent = bytesWritten;
    this.#bodyBytes = 0;
    this.#requests = 0;
    this.#unaccountedBytes = Math.max(-accountedBytesMax, unaccounted);
    if (unaccounted > unaccountedBytesMax) connection.abuse();
    return isBusy && !connection.isClosed;
  }
}

/** Looks at the accounts one after the other, while there are any. */
export class FrameSamples {
  readonly #clock: Clock;
  /** The accounts; the first one was looked at longest ago. */
  readonly #accounts = new LinkedList<FrameAccount>();
  #isAwaited = false;
  #dueMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  open(connection: SampledConnection): FrameAccount {
    const account = new FrameAccount(connection);
    account.node = this.#accounts.add(account);
    if (!this.#isAwaited) this.#sampleSoon();
    return account;
  }

  leave({ node }: FrameAccount): void {
    if (node !== undefined) this.#accounts.remove(node);
  }

  #sampleSoon(): void {
    this.#isAwaited = true;
    this.#dueMs = this.#clock.monotonic() + sampleMs;
    this.#clock.after(sampleMs, () => this.#sample());
  }

  #sample(): void {
    this.#isAwaited = false;
    const accounts = this.#accounts;
    const isLate = this.#clock.monotonic() - this.#dueMs > lateMs;
    for (let count = Math.min(isLate ? samplesMaxLate : samplesMax, accounts.size); count > 0; count--) {
      const account = accounts.first;
      if (account?.node === undefined) break;
      accounts.remove(account.node);
      account.node = accounts.add(account);
      if (!account.isMetered && account.isBusy()) account.connection.meter();
    }
    if (accounts.size > 0) this.#sampleSoon();
  }
}
