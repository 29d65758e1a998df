/**
 * A log store of a plane that takes no more bytes than its quota allows. Deletions and their steps, and writes that make an
 * object no larger, go on. Others are refused as upstream refuses what exceeds a quota: forbidden, which clients do not repeat.
 */
import type { StatusError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { ForwardingLog } from "#storage/forwarding-log.ts";
import type { CommitResult, LogStore, LogWrite } from "#storage/log-store.ts";

export interface ByteQuota {
  /** Returns the bytes that all objects may have; `undefined` when they are not bounded. */
  limit(): number | undefined;
  /** Counts the bytes of all objects, without the digits of their revisions, which takes time. */
  count(): number;
  /** Returns the bytes of one object, without the digits of its revision; 0 for none. */
  bytesOf(key: string): number;
  refusal(used: number, limit: number): StatusError;
}

/**
 * The time after which bytes are counted again before a write is refused, since objects expire by themselves, and before any
 * write where other servers write, too.
 */
const countAgainMs = 1000;

export class QuotaLog extends ForwardingLog {
  readonly #quota: ByteQuota;
  readonly #clock: Clock;
  /** The bytes when they were counted, and what was written since, or is being written. */
  #usedBytes = 0;
  #countedMs = Number.NEGATIVE_INFINITY;
  /** The bytes of writes that are under way. */
  #pendingBytes = 0;

  constructor(log: LogStore, quota: ByteQuota, clock: Clock) {
    super(log);
    this.#quota = quota;
    this.#clock = clock;
  }

  override commit(write: LogWrite): Promise<CommitResult> {
    const limit = this.#quota.limit();
    if (limit !== undefined) return this.#commitWithin(limit, write);
    this.#countedMs = Number.NEGATIVE_INFINITY;
    return this.log.commit(write);
  }

  async #commitWithin(limit: number, write: LogWrite): Promise<CommitResult> {
    const { key, value, isForDeletion } = write;
    const addedBytes = (value?.bytes.length ?? 0) - this.#quota.bytesOf(key);
    if (addedBytes > 0 && !isForDeletion) this.#check(addedBytes, limit);
    const pendingBytes = Math.max(0, addedBytes);
    this.#pendingBytes += pendingBytes;
    try {
      const result = await this.log.commit(write);
      if (result.committed) this.#usedBytes += addedBytes;
      return result;
    } finally {
      this.#pendingBytes -= pendingBytes;
    }
  }

  /** Throws the refusal of a write that adds too much. */
  #check(addedBytes: number, limit: number): void {
    const isTooMuch = (): boolean => this.#usedBytes + this.#pendingBytes + addedBytes > limit;
    const now = this.#clock.monotonic();
    const isOld = now >= this.#countedMs + countAgainMs;
    if (this.#countedMs === Number.NEGATIVE_INFINITY || (isOld && (this.isShared || isTooMuch()))) {
      this.#usedBytes = this.#quota.count();
      this.#countedMs = now;
    }
    if (isTooMuch()) throw this.#quota.refusal(this.#usedBytes, limit);
  }
}
