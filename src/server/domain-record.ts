/**
 * The API domain, recorded in the store as well: stored objects contain names of the domain, so a copy of the store
 * must never be served under another one.
 */
import { unversionedBytes } from "#storage/versioned-value.ts";
import type { CacheReader, CacheWriter } from "#storage/watch-cache.ts";
import { StartError } from "#std/start-error.ts";

/** Distinct from the API's keys, whose groups have a dot or are empty. */
export const domainRecordKey = "/registry/binnacle/settings/api-domain";

/** Writes the record into a store that has none, refuses a store of another domain. */
export async function checkDomainRecord(cache: CacheReader & CacheWriter, apiDomain: string): Promise<void> {
  const found = cache.get(domainRecordKey)?.value.toString();
  if (found === undefined) {
    await cache.put(domainRecordKey, 0, { ...unversionedBytes(Buffer.from(apiDomain)), view: () => undefined });
  } else if (found !== apiDomain) {
    throw new StartError(`the store belongs to API domain ${found}: start with --api-domain=${found}`);
  }
}
