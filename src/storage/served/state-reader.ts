/** Reads of many keys from the owner of the log, in pages that follow the size of the values. */
import { type Compacted, isCompacted, type LogEntry, type LogRange, type Revision } from "../log-store.ts";
import type { OwnerConnection } from "./owner-connection.ts";

const entriesAtFirst = 16;
const entriesMax = 1000;
/** The bytes of values that a page should have at most. */
const bytesWanted = 2 * 1024 * 1024;
/** The time in which a page must come. */
const pageMs = 15_000;

interface PagedRange {
  readonly prefix: string;
  readonly from: string;
  readonly limit: number;
  readonly at: Revision;
  readonly isKept: boolean;
}

interface StateRange extends LogRange {
  readonly entries: LogEntry[];
  /** The keys of the entries that are stale (`stale-keys.ts`). */
  readonly stale: readonly string[];
}

/** Reads a range at one revision. Rejects with `Unavailable`. */
export async function readRange(
  connection: OwnerConnection,
  { prefix, from, limit, at, isKept }: PagedRange,
): Promise<StateRange | Compacted> {
  const entries: LogEntry[] = [];
  const stale: string[] = [];
  let next = from;
  for (let size = Math.min(entriesAtFirst, limit); ; ) {
    const page = await connection.ask({ kind: "range", prefix, from: next, limit: size, at, isKept }, pageMs);
    if (isCompacted(page)) return { compacted: page.compacted };
    let bytes = 1;
    for (const entry of page.entries) {
      entries.push(entry);
      bytes += entry.value.bytes.length;
    }
    stale.push(...page.stale);
    const last = page.entries.at(-1);
    const left = limit - entries.length;
    if (last === undefined || page.remaining === 0 || left <= 0) return { entries, remaining: page.remaining, stale };
    next = `${last.key}\u0000`;
    const fitting = Math.max(1, Math.floor((bytesWanted * page.entries.length) / bytes));
    size = Math.min(left, entriesMax, 4 * size, fitting);
  }
}

/** All entries at a revision. */
interface ReadState {
  /** The entries in the order of keys; they belong to the caller. */
  readonly entries: LogEntry[];
  readonly stale: readonly string[];
  readonly revision: Revision;
  readonly compacted: Revision;
}

/** Reads all entries at the present revision, from the start again for as long as it is compacted meanwhile. */
export async function readState(connection: OwnerConnection): Promise<ReadState> {
  for (;;) {
    const { revision, compacted } = await connection.ask({ kind: "present" }, pageMs);
    const range = await readRange(connection, {
      prefix: "",
      from: "",
      limit: Number.MAX_SAFE_INTEGER,
      at: revision,
      isKept: false,
    });
    if (!isCompacted(range)) return { entries: range.entries, stale: range.stale, revision, compacted };
  }
}
