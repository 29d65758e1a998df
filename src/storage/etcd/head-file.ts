/**
 * The file `etcd.head` in the data folder of a server: the etcd that it used, and the last revision that it heard of. A
 * start compares both, since an etcd that was restored from an older backup looks intact, and so does another one.
 *
 *     {"cluster":"cdf818194e3a8c32","revision":41057}
 *
 * It is written once a second at most, and synced. So a loss of the writes of the last second may pass unnoticed.
 */
import { readFileSync, rmSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "#std/clock.ts";

import { type Revision, StorageFailure } from "../log-store.ts";
import type { AnswerHeader } from "./client.ts";

interface EtcdHead {
  /** The hexadecimal id of the cluster. */
  readonly cluster: string;
  readonly revision: Revision;
}

const writeMs = 1000;
/**
 * The number of revisions by which an etcd with another id must be ahead to count as a restored backup: no cluster writes
 * that many between two starts, and `etcdutl` moves revisions on by a thousand million.
 */
const bumpMin = 500_000_000;

/** The command that restores a backup of etcd so that servers and clients notice. */
export const restoreRemedy = "etcdutl snapshot restore --bump-revision 1000000000 --mark-compacted";

const etcdHeadPath = (folder: string): string => join(folder, "etcd.head");

/** Returns the record; `undefined`: there is none. Throws `StorageFailure` when it is damaged. */
function readHead(folder: string): EtcdHead | undefined {
  const path = etcdHeadPath(folder);
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const { cluster, revision } = JSON.parse(text) as Partial<Record<string, unknown>>;
    if (typeof cluster === "string" && typeof revision === "number") return { cluster, revision };
  } catch {
    // The error below covers every kind of damage.
  }
  throw new StorageFailure(
    `${path} is damaged: nobody can tell whether this is the etcd that the server used; go on by one start with --accept-data-loss`,
  );
}

/**
 * Compares the etcd that answers with the record of the folder. Throws `StorageFailure`, with a remedy, when it is another
 * one or has gone back; returns a notice when that is accepted.
 */
export function checkHead(
  folder: string,
  { cluster, revision }: Pick<AnswerHeader, "cluster" | "revision">,
  { endpoint, acceptsLoss }: { readonly endpoint: string; readonly acceptsLoss: boolean },
): string | undefined {
  let problem: string | undefined;
  try {
    const head = readHead(folder);
    if (head === undefined) return undefined;
    problem = problemOf(head, { cluster, revision });
    if (problem === undefined) return undefined;
    if (!acceptsLoss)
      throw new StorageFailure(
        `etcd at ${endpoint} ${problem} (${etcdHeadPath(folder)}). Restore a backup by ${restoreRemedy}, name the etcd that was used (--etcd-servers), or go on with this one by one start with --accept-data-loss`,
      );
  } catch (error) {
    if (!acceptsLoss || !(error instanceof StorageFailure)) throw error;
    problem = error.message;
  }
  rmSync(etcdHeadPath(folder), { force: true });
  return `a loss was accepted: etcd at ${endpoint} ${problem}; clients that know later versions must be started again`;
}

function problemOf(head: EtcdHead, { cluster, revision }: EtcdHead): string | undefined {
  if (cluster !== head.cluster) {
    if (revision >= head.revision + bumpMin) return undefined;
    return `belongs to the cluster ${cluster}, at revision ${revision}, but this server used the cluster ${head.cluster}, and there was revision ${head.revision}`;
  }
  if (revision >= head.revision) return undefined;
  return `is at revision ${revision}, but this server knows of revision ${head.revision}: an older state was restored, and what was written since is missing`;
}

/** Writes the record for as long as a server runs. */
export class EtcdHeadFile {
  readonly #folder: string;
  readonly #cluster: string;
  readonly #log: { readonly revision: Revision; readonly failure: Error | undefined };
  #written: Revision = 0;
  #cancel: (() => void) | undefined;
  #writing: Promise<void> = Promise.resolve();

  /** `log` knows the last revision that was heard of. */
  constructor(
    folder: string,
    cluster: string,
    log: { readonly revision: Revision; readonly failure: Error | undefined },
  ) {
    this.#folder = folder;
    this.#cluster = cluster;
    this.#log = log;
  }

  start(clock: Clock): void {
    this.#write();
    this.#cancel = clock.after(writeMs, () => this.start(clock));
  }

  /** Resolves when what is being written is durable. */
  written(): Promise<void> {
    return this.#writing;
  }

  /** Writes the last record of one that was started. Resolves when it is durable. */
  async close(): Promise<void> {
    if (this.#cancel === undefined) return;
    this.#cancel();
    this.#write();
    await this.written();
  }

  #write(): void {
    const { revision, failure } = this.#log;
    // A log that failed has left the etcd that it followed.
    if (revision === this.#written || failure !== undefined) return;
    this.#written = revision;
    const path = etcdHeadPath(this.#folder);
    const text = `${JSON.stringify({ cluster: this.#cluster, revision })}\n`;
    // A write that fails leaves an earlier record, which notices less.
    this.#writing = this.#writing.then(() => replace(path, text)).catch(() => undefined);
  }
}

async function replace(path: string, text: string): Promise<void> {
  const fresh = `${path}.new`;
  await writeFile(fresh, text, { mode: 0o600, flush: true });
  await rename(fresh, path);
}
