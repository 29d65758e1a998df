/**
 * A log store of a plane that takes no more bytes than its quota allows. Deletions and their steps, and writes that make an
 * object no larger, go on. Others are refused as upstream refuses what exceeds a quota: forbidden, which clients do not repeat.
 * The cache above the log keeps the sum of the bytes, so that a write takes the same work however many objects there are.
 */
import type { StatusError } from "#meta/status-error.ts";
import { ForwardingLog } from "#storage/forwarding-log.ts";
import type { CommitResult, LogStore, LogWrite } from "#storage/log-store.ts";
import type { CacheReader, CacheSizes } from "#storage/watch-cache.ts";

type StoredBytes = CacheSizes & Pick<CacheReader, "get" | "waitFor">;

export interface ByteQuota {
  /** Returns the bytes that all objects may have; `undefined` when they are not bounded. */
  limit(): number | undefined;
  /** Returns the cache above the log; `undefined` while it is not open. */
  stored(): StoredBytes | undefined;
  refusal(used: number, limit: number): StatusError;
}

/** The longest time for which the bytes of a write count before its change is heard of. */
const heardMsMax = 3000;

export class QuotaLog extends ForwardingLog {
  readonly #quota: ByteQuota;
  /** The writes of which the cache may not have heard yet, with the bytes that they add. */
  readonly #pending = new Map<LogWrite, number>();

  constructor(log: LogStore, quota: ByteQuota) {
    super(log);
    this.#quota = quota;
  }

  override commit(write: LogWrite): Promise<CommitResult> {
    const limit = this.#quota.limit();
    const stored = this.#quota.stored();
    if (limit === undefined || stored === undefined || write.value === undefined) return this.log.commit(write);
    const addedBytes = write.value.bytes.length - stored.presentBytesOf(write.key);
    return addedBytes > 0 ? this.#add(write, addedBytes, limit, stored) : this.log.commit(write);
  }

  /** Commits a write that adds bytes. */
  async #add(write: LogWrite, addedBytes: number, limit: number, stored: StoredBytes): Promise<CommitResult> {
    if (!write.isForDeletion) this.#check(addedBytes, limit, stored);
    this.#pending.set(write, addedBytes);
    const settled = (): void => void this.#pending.delete(write);
    try {
      const result = await this.log.commit(write);
      if (result.committed) void stored.waitFor(result.revision, heardMsMax).then(settled);
      else settled();
      return result;
    } catch (error) {
      settled();
      throw error;
    }
  }

  /** Throws the refusal of a write that adds too much. */
  #check(addedBytes: number, limit: number, stored: StoredBytes): void {
    let usedBytes = stored.presentBytes;
    for (const [{ key, expected }, bytes] of this.#pending) {
      const isHeard = (stored.get(key)?.revision ?? 0) > expected;
      if (!isHeard) usedBytes += bytes;
    }
    if (usedBytes + addedBytes > limit) throw this.#quota.refusal(usedBytes, limit);
  }
}
