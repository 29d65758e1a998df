/** Runs work on a store: in the server that has opened it, else in this process. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readMarker } from "#server/data-folder.ts";
import { findServer, Unreachable, withServer } from "#server/running-server.ts";
import { asStartError } from "#server/store.ts";
import { jsonBody } from "#client/rest-client.ts";
import { systemClock } from "#std/clock.ts";
import { StartError } from "#std/start-error.ts";
import { StoreInUse } from "#storage/log-store.ts";
import { hasStore, openSqliteStore, type SqliteStore } from "#storage/sqlite.ts";

/** The timeout of a call. Large stores take minutes. */
const timeoutMs = 60 * 60_000;

interface StoreWork<T> {
  /** The path of the call to a running server. */
  readonly path: string;
  readonly body: object;
  /** Does the same work on an open store. */
  offline(log: SqliteStore["log"]): Promise<T>;
}

/** Resolves with the result of the work. Rejects with `StartError`. */
export async function withStore<T>(dataDir: string, { path, body, offline }: StoreWork<T>): Promise<T> {
  const asked = await askServer<T>(dataDir, path, body);
  if (!(asked instanceof Unreachable)) return asked;
  const marker = readMarker(dataDir);
  if (marker === undefined) throw new StartError(`${dataDir} is no data folder (--data-dir)`);
  const isExpected = marker.holds.includes("store");
  if (!isExpected && !hasStore(dataDir))
    throw new StartError(
      `${dataDir} has no store: its servers kept objects in memory, or in etcd (binnacle backup --etcd-servers, etcdctl compact)`,
    );
  try {
    const store = await openSqliteStore({ dataDir, isExpected, clock: systemClock, compactionIntervalMs: 0 });
    try {
      return await offline(store.log);
    } finally {
      await store.cache.close();
    }
  } catch (error) {
    if (error instanceof StoreInUse) throw new StartError(`${error.message}, and ${asked.message}`, { cause: error });
    throw asStartError(error);
  }
}

/** Returns the answer of the running server, or the reason why there is no answer. */
async function askServer<T>(dataDir: string, path: string, body: object): Promise<T | Unreachable> {
  // Without this file, no server has used the folder.
  if (!existsSync(join(dataDir, "admin.kubeconfig"))) return new Unreachable(`no admin.kubeconfig in ${dataDir}`);
  try {
    const request = { method: "POST", path, ...jsonBody(body) } as const;
    return await withServer(await findServer({ dataDir }), ({ rest }) => rest.exact<T>(request), { timeoutMs });
  } catch (error) {
    if (error instanceof Unreachable) return error;
    throw error;
  }
}
