/**
 * Looks at what HTTP/2 connections read and the protocol does not show. Its own frames, as `WINDOW_UPDATE` or those of
 * unknown type, cause no event, and cost more than bodies do. A sample compares what a connection read with what its
 * requests and bodies account for; one with much else is to read in turns, and one that goes on is closed.
 */
import type { Clock } from "#std/clock.ts";
import { LinkedList, type Node } from "#std/linked-list.ts";

/** The time between two samples, and the number of connections in a sample. */
export const sampleMs = 20;
export const samplesMax = 64;
/** A sample that is late by this much finds the event loop busy, and looks at more. */
const lateMs = 10;
const samplesMaxLate = 1024;
/** Less than this in a turn, or between two samples, is neither a body nor a flood of frames. */
export const quietBytes = 4 * 1024;
/** A request accounts for so many bytes: as it has usually, and with a body that nobody read. */
const requestBytesUsual = 1024;
const requestBytesMax = 256 * 1024;
/** Frames for which no request accounts, beyond what is forgiven in each sample: a connection with more is closed. */
export const unaccountedBytesMax = 512 * 1024;
const forgivenBytes = 256;
/** Bodies come after their requests, and may wait unread for long: as many requests as a client may have open account so far. */
const accountedBytesMax = 100 * requestBytesMax;
/** Clients say of about every 4 KiB that they have read them. */
const writtenPerRead = 8;

/** A connection, as far as samples look at it. */
export interface SampledConnection {
  readonly isClosed: boolean;
  /** All bytes that were read and written on the socket. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Reads in turns from now on. */
  meter(): void;
  /** Ends it, as it read too much of no use. */
  abuse(): void;
}

/** Compares what one connection read with what accounts for it. */
export class FrameAccount {
  readonly connection: SampledConnection;
  /** Its node in the list of accounts that samples look at. */
  node: Node<FrameAccount> | undefined;
  /** Whether it reads in turns. */
  isMetered = false;
  /** It had read and written so much when it was last looked at, and brought these bodies and requests since. */
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

  /** Whether it read much for which neither requests nor bodies account. Ends the connection after too much of that. */
  isBusy(): boolean {
    const { connection } = this;
    const { bytesRead } = connection;
    const bytes = bytesRead - this.#bytesSeen;
    this.#bytesSeen = bytesRead;
    // Connections with little need no more than this. Their requests account for bodies that are still to come.
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

/** Looks at the accounts in turn, for as long as there are any. */
export class FrameSamples {
  readonly #clock: Clock;
  /** The first account is the one that was looked at longest ago. */
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
