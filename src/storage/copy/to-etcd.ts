/**
 * Copies a data folder, or a backup, into an etcd that is empty below its prefix. A key of its own says how far it has
 * come; each transaction compares and writes it, so that two copies never mix, a second run goes on where the first one
 * ended, and no server starts on half a store.
 *
 *     <prefix>/binnacle/copies/unfinished   {"of":"digest of the source","reached":5000}
 */
import { type Clock, pause } from "#std/clock.ts";
import { isObject } from "#std/is-object.ts";
import { printable } from "#std/printable.ts";

import { EtcdError, type EtcdOperation, type KeyValue, type Transaction } from "../etcd/client.ts";
import { isPassing, writeError } from "../etcd/errors.ts";
import { type Revision, StorageFailure } from "../log-store.ts";
import type { Verification, VerifiedEntry } from "../verify.ts";
import { type CopyCipher, type CopyProgress, type CopyReport, Problems } from "./cipher.ts";
import { ContentDigest } from "./content-digest.ts";
import { callMs, type EtcdKeyspace } from "./etcd-keyspace.ts";

interface ToEtcdOptions {
  /** The store that is copied, which nobody else may open meanwhile. */
  readonly source: Verification;
  /** The name of the source, for messages. */
  readonly sourceName: string;
  readonly target: EtcdKeyspace;
  readonly cipher: CopyCipher;
  /** Whether empty writes may bring etcd to the revision that it needs. */
  readonly burns: boolean;
  readonly clock: Clock;
  readonly progress: CopyProgress;
}

/** The number of objects of one transaction, and about the bytes of their values. */
const batchKeys = 64;
const batchBytes = 512 * 1024;
/** Leases end with whole minutes, so that keys that expire at about the same time share one. */
const leaseMs = 60_000;
const tries = 50;
const againMs = 200;

/** Copies everything, and compares both sides. Rejects with a `StorageFailure`; a second call goes on. */
export async function copyToEtcd(options: ToEtcdOptions): Promise<CopyReport> {
  const { source, target, clock, progress } = options;
  let startMs = clock.monotonic();
  const plan = await readSource(options);
  const readMs = clock.monotonic() - startMs;
  await target.unused(() => progress("waiting", 0));
  const marker = await Marker.open(options, plan);
  startMs = clock.monotonic() - readMs;
  const writer = new BatchWriter(options, marker);
  await source.read(
    (entry) => writer.add(entry),
    () => undefined,
  );
  await writer.flush();
  await compare(options, plan);
  // Clients that know a version of the source begin anew.
  await target.compact(marker.revision);
  const revision = await marker.remove();
  const seconds = (clock.monotonic() - startMs) / 1000;
  return { keys: plan.keys, leftOut: 0, revision, seconds, digest: plan.digest };
}

interface Plan {
  readonly digest: string;
  readonly keys: number;
  /** The last revision that clients of the source may know. */
  readonly floor: Revision;
}

/** Reads the whole source, and refuses one with anything that could not be copied. */
async function readSource({ source, sourceName, target, cipher, progress }: ToEtcdOptions): Promise<Plan> {
  const problems = new Problems();
  const digest = new ContentDigest();
  let keys = 0;
  const { floor } = await source.read(
    async (entry) => {
      const { key, expiresAt } = entry;
      progress("reading", ++keys);
      const clear = await cipher.open(source.form, entry);
      if ("problem" in clear) problems.add(key, clear.problem);
      else if (target.keys.fromEtcd(target.keys.toEtcd(key)) !== key) problems.add(key, "has no place in etcd");
      else if (expiresAt === 0) digest.add(key, clear.value.bytes);
    },
    ({ key, problem }) => problems.add(key, problem),
  );
  if (problems.count > 0)
    throw new StorageFailure(`${sourceName} cannot be copied as it is, and nothing was written: ${String(problems)}`);
  return { digest: String(digest), keys, floor };
}

/** The key that says how far the copy is. */
class Marker {
  readonly #target: EtcdKeyspace;
  readonly #clock: Clock;
  readonly #of: string;
  /** The revision of the key, the last one of the copy. */
  revision: Revision;
  /** The last revision of the source whose entry is in etcd. */
  reached: Revision;

  /** Finds the key of an earlier run, or makes it when etcd is empty and far enough. */
  static async open(options: ToEtcdOptions, { digest, floor }: Plan): Promise<Marker> {
    const { target, burns, progress } = options;
    const found = (await target.range({ key: target.keys.copy })).entries[0];
    if (found !== undefined) {
      const { of, reached } = progressIn(found, target);
      if (of !== digest)
        throw new StorageFailure(`etcd at ${target.name} has a part of another store. ${emptyIt(target)}`);
      const marker = new Marker(options, digest, found.revision, reached);
      // The run before may have ended while it burnt revisions.
      await marker.#reach(options, floor);
      return marker;
    }
    const { keys, revision } = await target.present();
    if (keys > 0) throw new StorageFailure(`etcd at ${target.name} has ${keys} keys already. ${emptyIt(target)}`);
    if (revision <= floor && (!burns || floor - revision > burnsMax))
      throw new StorageFailure(tooLow(options, revision, floor));
    const marker = new Marker(options, digest, 0, 0);
    await marker.write([], 0);
    await marker.#standAlone(options);
    progress("writing", 0);
    await marker.#reach(options, floor);
    return marker;
  }

  private constructor({ target, clock }: ToEtcdOptions, of: string, revision: Revision, reached: Revision) {
    this.#target = target;
    this.#clock = clock;
    this.#of = of;
    this.revision = revision;
    this.reached = reached;
  }

  /**
   * Looks for servers once more: one that started at the same time may not have seen the key, and its own key was not there
   * before. It gives way when it has seen this one; else the copy does.
   */
  async #standAlone({ target, progress }: ToEtcdOptions): Promise<void> {
    try {
      await target.unused(() => progress("waiting", 0));
    } catch (error) {
      await this.remove().catch(() => undefined);
      throw error;
    }
  }

  /** Makes etcd go beyond a revision, by writes of an empty key. */
  async #reach(options: ToEtcdOptions, floor: Revision): Promise<void> {
    const target = this.#target;
    const { client, keys } = target;
    const burn: Transaction = {
      compare: [{ key: keys.copy, revision: this.revision }],
      then: [{ kind: "put", key: keys.burnt, value: Buffer.alloc(0) }],
      otherwise: [],
    };
    for (;;) {
      const { revision } = await target.present();
      if (revision > floor) return;
      if (!options.burns) throw new StorageFailure(tooLow(options, revision, floor));
      options.progress("burning", floor - revision);
      const count = Math.min(burnsAtOnce, floor + 1 - revision);
      const answers = await Promise.allSettled(
        Array.from({ length: count }, () => client.transact(burn, { timeoutMs: callMs })),
      );
      for (const answer of answers) {
        if (answer.status === "fulfilled" && !answer.value.succeeded) throw this.#disturbed();
        if (answer.status === "rejected" && !isPassing(answer.reason)) throw refusalOf(answer.reason as EtcdError, []);
      }
    }
  }

  #disturbed(): StorageFailure {
    return new StorageFailure(
      `something else writes into etcd at ${this.#target.name}: is there another copy at work?`,
    );
  }

  #value(reached: Revision): Buffer {
    return Buffer.from(JSON.stringify({ of: this.#of, reached }));
  }

  /** Writes entries of the source up to a revision. */
  async write(operations: readonly EtcdOperation[], reached: Revision): Promise<void> {
    const { copy: key } = this.#target.keys;
    const value = this.#value(reached);
    this.revision = await this.#transact([...operations, { kind: "put", key, value }], (present) =>
      present.equals(value),
    );
    this.reached = reached;
  }

  /** Removes the key. Resolves with the revision of that, the last one of the copy. */
  async remove(): Promise<Revision> {
    const { copy, burnt } = this.#target.keys;
    const then = [copy, burnt].map((key): EtcdOperation => ({ kind: "delete", key }));
    return this.#transact(then, (present) => present.length === 0);
  }

  /** Makes a transaction until it is known to be done. `isDone` tells it by the value of the key, empty for none. */
  async #transact(then: readonly EtcdOperation[], isDone: (present: Buffer) => boolean): Promise<Revision> {
    const { client, keys } = this.#target;
    const transaction: Transaction = {
      compare: [{ key: keys.copy, revision: this.revision }],
      then,
      otherwise: [{ kind: "range", range: { key: keys.copy } }],
    };
    let failure: unknown;
    let mayBeDone = false;
    for (let count = 0; count < tries; count++) {
      try {
        const { succeeded, header, ranges } = await client.transact(transaction, { timeoutMs: callMs });
        if (succeeded) return header.revision;
        const present = ranges[0]?.entries[0];
        if (mayBeDone && isDone(present?.value ?? Buffer.alloc(0))) return present?.revision ?? header.revision;
        throw this.#disturbed();
      } catch (error) {
        if (!(error instanceof EtcdError)) throw error;
        if (!isPassing(error)) throw refusalOf(error, then);
        mayBeDone ||= error.mayBeDone;
        failure = error;
        await pause(this.#clock, againMs, new AbortController().signal);
      }
    }
    throw writeError(failure as EtcdError, mayBeDone); // set in each round
  }
}

/** Reads the value of the key. Throws a `StorageFailure` for one that no copy has written. */
function progressIn(
  { key, value }: KeyValue,
  target: EtcdKeyspace,
): { readonly of: string; readonly reached: Revision } {
  let read: unknown;
  try {
    read = JSON.parse(value.toString());
  } catch {
    read = undefined;
  }
  const { of, reached } = isObject(read) ? read : {};
  if (typeof of === "string" && typeof reached === "number" && Number.isSafeInteger(reached) && reached >= 0)
    return { of, reached };
  throw new StorageFailure(
    `${key} in etcd at ${target.name} does not say how far a copy has come, as it should: it is damaged. ${emptyIt(target)}`,
  );
}

/** The number of writes that are on their way while revisions are burnt. */
const burnsAtOnce = 128;

function refusalOf(error: EtcdError, operations: readonly EtcdOperation[]): StorageFailure {
  if (error.kind !== "tooLarge") return writeError(error, false);
  const [largest] = operations
    .flatMap((operation) => (operation.kind === "put" ? [operation] : []))
    .sort((a, b) => b.value.length - a.value.length);
  const { key = "", value = Buffer.alloc(0) } = largest ?? {};
  return new StorageFailure(
    `etcd takes no request as large as ${printable(key)} (${value.length} bytes): start its members with --max-request-bytes=${4 * 1024 * 1024}, and run this again`,
    { cause: error },
  );
}

const emptyIt = ({ keys }: EtcdKeyspace): string =>
  `The etcd must be empty: use another one, another --etcd-prefix, or empty it (etcdctl del --prefix ${keys.prefix})`;

function tooLow({ sourceName, target }: ToEtcdOptions, revision: Revision, floor: Revision): string {
  const bump = floor - revision + bumpMargin;
  return `etcd at ${target.name} is at revision ${revision}, and ${sourceName} at ${floor}: clients would take new versions for old ones. Bring the empty etcd beyond it: etcdctl snapshot save empty.db; then, for each member while it is stopped: etcdutl snapshot restore empty.db --bump-revision ${bump} --mark-compacted --data-dir NEW_DATA_DIR (with the member's --name and --initial-… flags). Or let this command write an empty key that often (--burn, some thousand writes a second, ${burnsMax} at most)`;
}

/** The most revisions that are burnt: more would take hours, and fill etcd. */
const burnsMax = 2_000_000;

/** A few revisions more than needed, for what the members write until the copy begins. */
const bumpMargin = 1000;

/** Puts entries into etcd, some in each transaction. */
class BatchWriter {
  readonly #options: ToEtcdOptions;
  readonly #marker: Marker;
  readonly #leases = new Map<number, string>();
  #operations: EtcdOperation[] = [];
  #bytes = 0;
  #last: Revision = 0;
  #count = 0;

  constructor(options: ToEtcdOptions, marker: Marker) {
    this.#options = options;
    this.#marker = marker;
  }

  async add(entry: VerifiedEntry): Promise<void> {
    const { source, target, cipher, clock, progress } = this.#options;
    const { key, revision, expiresAt } = entry;
    progress("writing", ++this.#count);
    if (revision <= this.#marker.reached) return;
    if (expiresAt === 0 || expiresAt > clock.now()) {
      const clear = await cipher.open(source.form, entry);
      if ("problem" in clear) throw new StorageFailure(`${printable(key)} can no longer be read: ${clear.problem}`);
      const value = target.form.pack(cipher.seal(target.form, key, clear.value));
      if (this.#operations.length > 0 && this.#bytes + value.length > batchBytes) await this.flush();
      const lease = expiresAt === 0 ? {} : { lease: await this.#leaseUntil(expiresAt) };
      this.#operations.push({ kind: "put", key: target.keys.toEtcd(key), value: Buffer.from(value), ...lease });
      this.#bytes += value.length;
    }
    this.#last = revision;
    if (this.#operations.length >= batchKeys) await this.flush();
  }

  async flush(): Promise<void> {
    if (this.#last <= this.#marker.reached) return;
    await this.#marker.write(this.#operations, this.#last);
    this.#operations = [];
    this.#bytes = 0;
  }

  async #leaseUntil(expiresAt: number): Promise<string> {
    const { target, clock } = this.#options;
    const end = Math.ceil(expiresAt / leaseMs);
    let lease = this.#leases.get(end);
    if (lease === undefined) {
      // The keys of the last minute need a lease that lives until they are written.
      const seconds = Math.ceil(((end + 1) * leaseMs - clock.now()) / 1000);
      lease = await target.persist(() => target.client.grantLease(seconds, { timeoutMs: callMs }));
      this.#leases.set(end, lease);
    }
    return lease;
  }
}

/** Reads what is in etcd now, and rejects when it differs from the source. */
async function compare({ target, cipher, progress }: ToEtcdOptions, plan: Plan): Promise<void> {
  const digest = new ContentDigest();
  const problems = new Problems();
  const { revision } = await target.present();
  let keys = 0;
  await target.read(revision, async (entry) => {
    const { key, lease, unreadable } = entry;
    progress("comparing", ++keys);
    if (lease !== undefined) return;
    const clear = unreadable === undefined ? await cipher.open(target.form, entry) : { problem: unreadable };
    if ("problem" in clear) problems.add(key, clear.problem);
    else digest.add(key, clear.value.bytes);
  });
  const differs = String(digest) !== plan.digest;
  if (problems.count > 0 || differs)
    throw new StorageFailure(
      `etcd at ${target.name} differs from the source after the copy (${String(digest)}, not ${plan.digest}). ${emptyIt(target)} ${String(problems)}`,
    );
}
