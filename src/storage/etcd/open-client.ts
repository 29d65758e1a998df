/** Opens a client of an etcd that can be used: one that answers, and is new enough. */
import { StorageFailure } from "../log-store.ts";
import { EtcdError } from "./client.ts";
import { openEtcd } from "./members.ts";

/** The first release of etcd 3.5 that tells the progress of a watch as it is. */
const versionMin = [3, 5, 13] as const;

/** Opens a client, which connects by itself. Throws `StorageFailure` when an address cannot be one. */
export function openClient(options: Parameters<typeof openEtcd>[0]): ReturnType<typeof openEtcd> {
  try {
    return openEtcd(options);
  } catch (error) {
    if (error instanceof EtcdError) throw new StorageFailure(`--etcd-servers: ${error.message}`, { cause: error });
    throw error;
  }
}

/** The time in which one of the members must answer at the start. */
const startMs = 10_000;

/** Rejects with `StorageFailure` when no member answers, or etcd is too old. */
export async function checkVersion(client: ReturnType<typeof openEtcd>, endpoints: readonly string[]): Promise<void> {
  let version: string;
  try {
    ({ version } = await client.status({ timeoutMs: startMs }));
  } catch (error) {
    if (!(error instanceof EtcdError)) throw error;
    throw new StorageFailure(`etcd at ${endpoints.join(", ")} cannot be used: ${error.message}`, { cause: error });
  }
  const parts = version.split(/[.-]/).map(Number);
  const at = versionMin.findIndex((least, place) => parts[place] !== least);
  if (at >= 0 && !(parts[at]! > versionMin[at]!)) {
    throw new StorageFailure(`etcd ${version} is too old: ${versionMin.join(".")} is the first that can be used`);
  }
}
