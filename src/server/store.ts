/**
 * The store of a server or a command: the API domain that is recorded in it, and the messages of its failures. Stored
 * objects contain names of the domain, so a copy of the store must never be served under another domain.
 */
import { StartError } from "#std/start-error.ts";
import { LostWrites, StorageFailure } from "#storage/log-store.ts";
import { withoutRevision } from "#storage/versioned-value.ts";
import type { CacheReader, CacheWriter } from "#storage/watch-cache.ts";

export { etcdFlags } from "./store/etcd-flags.ts";

/** A key that cannot be a key of the API, whose groups have a dot or are empty. */
export const domainRecordKey = "/registry/binnacle/settings/api-domain";

/** Writes the record into a store that has none, and refuses a store of another domain. */
export async function checkDomainRecord(cache: CacheReader & CacheWriter, apiDomain: string): Promise<void> {
  let record = cache.get(domainRecordKey);
  if (record === undefined) {
    const value = { ...withoutRevision(Buffer.from(apiDomain)), decode: () => undefined };
    const written = await cache.put(domainRecordKey, 0, value);
    // Another server that starts on the same store may have been first.
    record = written.ok ? written.entry : written.current;
  }
  const storedDomain = record?.value.toString();
  if (storedDomain !== apiDomain) {
    throw new StartError(`the store belongs to API domain ${storedDomain}: start with --api-domain=${storedDomain}`);
  }
}

/** Returns a `StartError` with a remedy for a failure of the store; returns other errors unchanged. */
export function asStartError(error: unknown): unknown {
  if (!(error instanceof StorageFailure)) return error;
  const wayOn =
    error instanceof LostWrites
      ? "; put it back, restore a backup into another folder (binnacle restore), or go on without what is lost by one start with --accept-data-loss"
      : "";
  return new StartError(error.message + wayOn, { cause: error });
}
