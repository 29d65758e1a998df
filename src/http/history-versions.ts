/** Finds the versions of one object that the store keeps, for `object-history.ts` and `restore-object.ts`. */
import { qualifiedResource } from "#meta/group-version.ts";
import { expired, notFound, StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Store } from "#registry/store.ts";
import type { Stores } from "#registry/stores.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";
import type { KeyVersions, VersionReader, KeyVersion } from "#storage/watch-cache.ts";
import type { HandledRequest, Reply } from "./api-request.ts";
import type { HandlerParts } from "./scope.ts";

export interface HistoryOptions {
  readonly parts: HandlerParts;
  readonly stores: Stores;
  readonly versionReader: VersionReader;
  table(): ResourceTable;
  /** Answers authorized requests of the API. */
  route(request: HandledRequest): MaybePromise<Reply>;
}

/** The object that a path of the history names. */
export interface HistoryTarget {
  readonly definition: ResourceDefinition;
  readonly store: Store;
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

/** A page ends after the object with which it has at least this number of bytes. */
const pageBytesMax = 2 * 1024 * 1024;

/** Reads versions until there are `count`, a page is full, or there are no more. */
export async function readVersions(
  { versionReader }: HistoryOptions,
  request: HandledRequest,
  { key }: HistoryTarget,
  before: Revision | undefined,
  count: number,
): Promise<{ readonly versions: readonly KeyVersion[]; readonly lastPage: KeyVersions }> {
  let lastPage = await versionReader.versions(key, before, count);
  const versions = [...lastPage.versions];
  let bytes = 0;
  const isFull = (): boolean => versions.length >= Math.min(count, 2) && bytes > pageBytesMax;
  for (;;) {
    bytes += lastPage.versions.reduce((sum, { entry }) => sum + (entry?.valueLength ?? 0), 0);
    if (lastPage.next === 0 || versions.length >= count || isFull() || request.aborted) return { versions, lastPage };
    lastPage = await versionReader.versions(key, lastPage.next, count - versions.length);
    versions.push(...lastPage.versions);
  }
}

/** Finds a version, and the one before it. Throws `notFound` and `expired`. */
export async function findVersion(
  options: HistoryOptions,
  request: HandledRequest,
  object: HistoryTarget,
  revision: Revision,
): Promise<{ readonly version: KeyVersion; readonly older: readonly KeyVersion[]; readonly lastPage: KeyVersions }> {
  const { versions, lastPage } = await readVersions(options, request, object, revision + 1, 2);
  const [version, ...older] = versions;
  if (version?.revision === revision) return { version, older, lastPage };
  if (revision <= lastPage.since && revision !== 0) {
    throw expired(`version ${revision} is no longer kept: the history begins after ${lastPage.since}`);
  }
  const { definition, name } = object;
  const message = `${qualifiedResource(definition)} ${JSON.stringify(name)} has no version ${revision}`;
  throw new StatusError({ ...notFound(definition, name).status, message });
}

/** The error of an object of which no version is kept. */
export function noVersions({ definition, name }: HistoryTarget, { since, sinceMs }: KeyVersions): StatusError {
  const from = sinceMs === undefined ? `version ${since}` : `${timestampOf(sinceMs)} (version ${since})`;
  const message = `${qualifiedResource(definition)} ${JSON.stringify(name)} not found, now or in the history, which goes back to ${from}`;
  return new StatusError({ ...notFound(definition, name).status, message });
}
