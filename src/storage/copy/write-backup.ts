/**
 * Copies an etcd, as it is at one revision, into a file of the form of a backup, which `restore.ts` makes a data folder
 * of. Servers may go on meanwhile.
 *
 * In etcd several keys may have one revision; a log here has one change in each. So the first key of a revision keeps it,
 * and the others get revisions after the last one.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import type { Clock } from "#std/clock.ts";
import { syncPath } from "#std/folder.ts";
import { printable } from "#std/printable.ts";

import { type Revision, StorageFailure, type Unversioned } from "../log-store.ts";
import { packedForm } from "../packed-value.ts";
import { LogFile } from "../sqlite/log-file.ts";
import type { PlannedRow } from "../sqlite/segments.ts";
import { openVerification } from "../verify.ts";
import { type CopyCipher, type CopyProgress, type CopyReport, Problems } from "./cipher.ts";
import { ContentDigest } from "./content-digest.ts";
import { callMs, type EtcdKeyspace, type KeyspaceEntry } from "./etcd-keyspace.ts";

interface WriteBackupOptions {
  readonly source: EtcdKeyspace;
  readonly cipher: CopyCipher;
  /** The new file. It gets its name when it is complete and durable. */
  readonly file: string;
  /** A record that a store of ours has; it is added to one that kube-apiserver wrote. */
  readonly record: { readonly key: string; readonly value: Unversioned };
  /** Whether a source that changes meanwhile is refused. */
  readonly mustBeLast?: boolean;
  readonly clock: Clock;
  readonly progress: CopyProgress;
}

/** The number of rows of one transaction of the file, and about the bytes of their values. */
const batchRows = 1000;
const batchBytes = 8 * 1024 * 1024;

/** Writes the file, and compares both sides. Rejects with a `StorageFailure`, and leaves no file then. */
export async function writeBackup(options: WriteBackupOptions): Promise<CopyReport> {
  const { source, file, clock } = options;
  const startMs = clock.monotonic();
  if (existsSync(file)) throw new StorageFailure(`${file} exists already`);
  const { revision } = await source.present();
  const plan = await readEtcd(options, revision);
  const partial = `${file}.partial`;
  const discard = (): void => {
    for (const rest of ["", "-wal", "-journal"]) rmSync(partial + rest, { force: true });
  };
  discard();
  try {
    await fill(partial, options, revision, plan);
    await compare(partial, options, plan);
    if (options.mustBeLast === true) await checkLast(options, revision, plan);
    syncPath(partial);
    renameSync(partial, file);
    syncPath(dirname(file));
  } catch (error) {
    discard();
    throw error;
  }
  const { digest, leftOut } = plan;
  return {
    keys: plan.revisions.length,
    leftOut,
    revision: plan.last,
    seconds: (clock.monotonic() - startMs) / 1000,
    digest,
  };
}

interface Plan {
  readonly digest: string;
  readonly leftOut: number;
  /**
   * The revisions that the rows get and the bytes of their clear values, in the order of etcd's keys, and in the end those
   * of the added record.
   */
  readonly revisions: Float64Array;
  readonly bytes: Float64Array;
  readonly last: Revision;
  readonly addsRecord: boolean;
}

/** Reads everything, and refuses a store with anything that could not be copied. */
async function readEtcd({ source, cipher, record, progress }: WriteBackupOptions, at: Revision): Promise<Plan> {
  const digest = new ContentDigest();
  const problems = new Problems();
  const given = new Revisions();
  let addsRecord = true;
  const leftOut = await source.read(at, async (entry) => {
    const { key, revision, lease } = entry;
    progress("reading", given.count + 1);
    if (key === record.key) addsRecord = false;
    const clear = await clearOf(entry, source, cipher);
    given.add(revision, "problem" in clear ? 0 : clear.value.bytes.length);
    if ("problem" in clear) problems.add(key, clear.problem);
    else if (lease === undefined) digest.add(key, clear.value.bytes);
  });
  if (given.count === 0)
    throw new StorageFailure(
      `etcd at ${source.name} has no objects below ${source.keys.prefix}: is --etcd-prefix right?`,
    );
  if (problems.count > 0)
    throw new StorageFailure(
      `etcd at ${source.name} cannot be copied as it is, and nothing was written: ${String(problems)}`,
    );
  if (addsRecord) {
    given.add(0, record.value.bytes.length);
    digest.add(record.key, record.value.bytes);
  }
  return { digest: String(digest), leftOut, ...given.singleFrom(at), addsRecord };
}

const clearOf = (entry: KeyspaceEntry, source: EtcdKeyspace, cipher: CopyCipher) =>
  entry.unreadable === undefined ? cipher.open(source.form, entry) : { problem: entry.unreadable };

/** A list of numbers that grows: eight bytes for each. */
class Numbers {
  #list = new Float64Array(1024);
  count = 0;

  add(value: number): void {
    if (this.count === this.#list.length) {
      const longer = new Float64Array(2 * this.count);
      longer.set(this.#list);
      this.#list = longer;
    }
    this.#list[this.count++] = value;
  }

  get all(): Float64Array {
    return this.#list.slice(0, this.count);
  }
}

/** The revisions of keys, of which several may be the same, and the bytes of their values. */
class Revisions {
  readonly #revisions = new Numbers();
  readonly #bytes = new Numbers();

  get count(): number {
    return this.#revisions.count;
  }

  add(revision: Revision, bytes: number): void {
    this.#revisions.add(revision);
    this.#bytes.add(bytes);
  }

  /**
   * Returns revisions in the same order, of which each occurs once: the first key of a revision keeps it, and others, and
   * keys without one, get those after `at`.
   */
  singleFrom(at: Revision): Pick<Plan, "revisions" | "bytes" | "last"> {
    const revisions = this.#revisions.all;
    const order = Uint32Array.from(revisions.keys()).sort((a, b) => revisions[a]! - revisions[b]! || a - b);
    let last = at;
    let before = 0;
    for (const index of order) {
      const revision = revisions[index]!;
      if (revision === before) revisions[index] = ++last;
      before = revision;
    }
    return { revisions, bytes: this.#bytes.all, last };
  }
}

/** Yields the rows in the order of their revisions. */
function* inOrder({ revisions, bytes }: Plan): Generator<PlannedRow> {
  const order = Uint32Array.from(revisions.keys()).sort((a, b) => revisions[a]! - revisions[b]!);
  for (const index of order) yield { revision: revisions[index]!, bytes: bytes[index]! };
}

async function fill(path: string, options: WriteBackupOptions, at: Revision, plan: Plan): Promise<void> {
  const { source, record, progress } = options;
  const { revisions, last } = plan;
  const file = new LogFile(path, { scratch: true });
  try {
    file.transaction(() => file.prepareFor(inOrder(plan)));
    const rows = new RowBatch(file);
    const leases = new LeaseEnds(options);
    let count = 0;
    const add = (key: string, value: Unversioned, expires: number): void => {
      const revision = revisions[count++]!;
      rows.add({ revision, key, previous: 0, expires, deleted: 0, value: packedForm.pack(value) });
      progress("writing", count);
    };
    await source.read(at, async (entry) => {
      const expires = entry.lease === undefined ? 0 : await leases.endOf(entry.lease);
      add(entry.key, await sealed(entry, options), expires);
    });
    if (plan.addsRecord) add(record.key, record.value, 0);
    rows.flush();
    file.transaction(() => {
      file.insertedAll();
      file.setCheckpoint("compacted", last);
      file.setCheckpoint("swept", last);
    });
    file.finish();
  } finally {
    file.close();
  }
}

/** Returns the value of an entry as a folder keeps it. */
async function sealed(entry: KeyspaceEntry, { source, cipher }: WriteBackupOptions): Promise<Unversioned> {
  const clear = await clearOf(entry, source, cipher);
  if ("problem" in clear) throw new StorageFailure(`${printable(entry.key)} can no longer be read: ${clear.problem}`);
  return cipher.seal(packedForm, entry.key, clear.value);
}

type Row = Parameters<LogFile["insert"]>[0];

/** Inserts rows, many in each transaction. */
class RowBatch {
  readonly #file: LogFile;
  #rows: Row[] = [];
  #bytes = 0;

  constructor(file: LogFile) {
    this.#file = file;
  }

  add(row: Row): void {
    this.#rows.push(row);
    this.#bytes += row.value.length;
    if (this.#rows.length >= batchRows || this.#bytes >= batchBytes) this.flush();
  }

  flush(): void {
    this.#file.transaction(() => {
      for (const row of this.#rows) this.#file.insert(row);
    });
    this.#rows = [];
    this.#bytes = 0;
  }
}

/** The times at which leases end. */
class LeaseEnds {
  readonly #options: WriteBackupOptions;
  readonly #ends = new Map<string, number>();

  constructor(options: WriteBackupOptions) {
    this.#options = options;
  }

  async endOf(lease: string): Promise<number> {
    const { source, clock } = this.#options;
    let end = this.#ends.get(lease);
    if (end === undefined) {
      const seconds = await source.persist(() => source.client.leaseSeconds(lease, { timeoutMs: callMs }));
      end = Math.round(clock.now() + seconds * 1000);
      this.#ends.set(lease, end);
    }
    return end;
  }
}

/** Reads what was written, and throws when it differs from what was read. */
async function compare(path: string, { cipher, progress }: WriteBackupOptions, plan: Plan): Promise<void> {
  const digest = new ContentDigest();
  const problems = new Problems();
  const written = openVerification({ backupFile: path });
  let keys = 0;
  try {
    await written.read(
      async (entry) => {
        progress("comparing", ++keys);
        const clear = await cipher.open(written.form, entry);
        if ("problem" in clear) problems.add(entry.key, clear.problem);
        else if (entry.expiresAt === 0) digest.add(entry.key, clear.value.bytes);
      },
      ({ key, problem }) => problems.add(key, problem),
    );
  } finally {
    written.close();
  }
  if (problems.count > 0 || String(digest) !== plan.digest)
    throw new StorageFailure(
      `the copy differs from etcd (${String(digest)}, not ${plan.digest}): the disk or the memory may be damaged ${String(problems)}`,
    );
}

/** Throws when the source is not as it was. */
async function checkLast(options: WriteBackupOptions, at: Revision, plan: Plan): Promise<void> {
  const { revision } = await options.source.present();
  // Writes outside of the prefix do not matter.
  if (revision === at || (await readEtcd(options, revision)).digest === plan.digest) return;
  throw new StorageFailure(`etcd at ${options.source.name} was written to during the copy: stop all its servers first`);
}
