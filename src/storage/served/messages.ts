/**
 * The messages between the process that owns the log and the others.
 *
 *     other process                        owner
 *     hello                         →
 *                                   ←      welcome
 *     ask 1 range …                 →                                  the state at a revision, in pages
 *                                   ←      answer 1
 *     ask 2 subscribe               →
 *                                   ←      answer 2 {revision: 7}      all changes after 7 follow
 *     commit 3 {key, value, …}      →
 *                                   ←      changed 8 [own 3]           the write was done, by this change
 *                                   ←      changed 9 [put …]           a change of somebody else
 *     commit 4 {…}                  →
 *                                   ←      settled 4 refused           its conditions do not hold
 */
import type {
  CommitResult,
  Compacted,
  FailedCondition,
  HistoryEvent,
  HistoryPage,
  KeyCondition,
  LogEntry,
  LogRange,
  LogVersion,
  LogVersions,
  LogWrite,
  Revision,
  RevisionsAround,
  Turn,
  Unversioned,
} from "../log-store.ts";
import type { StoreMaintenance } from "../opened-store.ts";
import { type SentError, sentError } from "./errors.ts";
import {
  boolean,
  type FrameField,
  list,
  natural,
  number,
  oneOf,
  optional,
  record,
  rest,
  text,
  type TypeOf,
  word,
} from "./fields.ts";

/** The first message of both sides names it, so that other programs and versions are refused. */
export const protocolName = "binnacle log 1";

const value: FrameField<Unversioned> = {
  write(to, { bytes, revisionOffset }) {
    to.uint32(revisionOffset < 0 ? nowhere : revisionOffset);
    to.bytes(bytes);
  },
  read(from) {
    const offset = from.uint32();
    const bytes = from.bytes();
    return { bytes, revisionOffset: offset > bytes.length ? -1 : offset };
  },
};
/** The offset of values that show no revision. */
const nowhere = 0xffffffff;
const nothing = record<object>({});
const revision = record<{ readonly revision: Revision }>({ revision: natural });
const entry = record<LogEntry>({ key: text, value, revision: natural, unreadable: optional(text) });

const write = record<LogWrite>({
  key: text,
  expected: natural,
  value: optional(value),
  ttlSeconds: number,
  isForDeletion: boolean,
  requires: list(record<KeyCondition>({ key: text, revision: natural })),
  turn: optional(record<Turn>({ name: text, seen: natural })),
  note: optional(text),
});

const failed = word<FailedCondition>(["key", "requires", "turn"]);
const result: FrameField<CommitResult> = {
  write(to, one) {
    boolean.write(to, one.committed);
    natural.write(to, one.revision);
    if (!one.committed) failed.write(to, one.failed);
  },
  read(from) {
    const committed = boolean.read(from);
    const at = natural.read(from);
    return committed ? { committed, revision: at } : { committed, revision: at, failed: failed.read(from) };
  },
};

/** The revision that was delivered to followers, and the oldest one that can be read. */
export interface LogPosition {
  readonly revision: Revision;
  readonly compacted: Revision;
}
const position = record<LogPosition>({ revision: natural, compacted: natural });

/** The questions, of which each has an answer of its own. */
const question = oneOf({
  /** Asks for the position of the log. */
  present: nothing,
  /** Asks for all changes from now on. */
  subscribe: nothing,
  range: record<{
    readonly prefix: string;
    readonly from: string;
    /** The maximum number of entries; the answer may have fewer, and is then a page. */
    readonly limit: number;
    readonly at: Revision;
    /** See `LogRangeOptions`. */
    readonly isKept: boolean;
  }>({ prefix: text, from: text, limit: natural, at: natural, isKept: boolean }),
  history: record<{
    readonly prefix: string;
    readonly exact: boolean;
    readonly after: Revision;
    readonly upTo: Revision;
  }>({ prefix: text, exact: boolean, after: natural, upTo: natural }),
  versions: record<{ readonly key: string; readonly before: Revision; readonly limit: number }>({
    key: text,
    before: natural,
    limit: natural,
  }),
  /** Asks for the revisions around a moment. */
  around: record<{ readonly at: number }>({ at: number }),
  compact: revision,
  backup: record<{ readonly file: string }>({ file: text }),
  /** Drops history before a revision, or a time in milliseconds since the epoch. */
  drop: record<{ readonly revision?: Revision; readonly at?: number }>({
    revision: optional(natural),
    at: optional(number),
  }),
  probe: nothing,
});
export type Question = TypeOf<typeof question>;
export type QuestionKind = Question["kind"];
export type QuestionOf<K extends QuestionKind> = Extract<Question, { readonly kind: K }>;

const historyEvent = record<HistoryEvent>({
  key: text,
  value: optional(value),
  revision: natural,
  unreadable: optional(text),
  previous: optional(entry),
  writtenAt: optional(number),
  note: optional(text),
});
const version = record<LogVersion>({
  key: text,
  value: optional(value),
  revision: natural,
  unreadable: optional(text),
  replaces: natural,
  writtenAt: optional(number),
  note: optional(text),
});

export const answers = {
  present: position,
  subscribe: position,
  range: oneOf({
    page: record<LogRange & { readonly stale: readonly string[] }>({
      entries: list(entry),
      remaining: natural,
      /** The keys of the entries whose current values are stale (`stale-keys.ts`). */
      stale: list(text),
    }),
    compacted: record<Compacted>({ compacted: natural }),
  }),
  history: optional(record<HistoryPage>({ events: list(historyEvent), reached: natural })),
  versions: record<LogVersions>({
    versions: list(version),
    next: natural,
    since: natural,
    sinceMs: optional(number),
  }),
  around: record<RevisionsAround>({ before: natural, after: natural }),
  compact: nothing,
  backup: revision,
  drop: record<{ readonly revision: Revision; readonly bytes: number }>({ revision: natural, bytes: number }),
  probe: nothing,
} satisfies { [K in QuestionKind]: unknown };
export type AnswerOf<K extends QuestionKind> = TypeOf<(typeof answers)[K]>;

/** The messages to the owner of the log. */
export const toOwner = oneOf({
  hello: record<{ readonly protocol: string }>({ protocol: text }),
  commit: record<{ readonly id: number; readonly write: LogWrite }>({ id: natural, write }),
  ask: record<{ readonly id: number; readonly question: Question }>({ id: natural, question }),
});

const change = oneOf({
  /** A write of the process that gets the message, and knows its key and value. */
  own: record<{ readonly id: number; readonly isStale: boolean }>({ id: natural, isStale: boolean }),
  put: record<Omit<LogEntry, "revision"> & { readonly isStale: boolean }>({
    key: text,
    value,
    unreadable: optional(text),
    isStale: boolean,
  }),
  deleted: record<{ readonly key: string }>({ key: text }),
});
export type SentChange = TypeOf<typeof change>;

/** The state of the log that is known without a question. */
export interface LogState {
  readonly full?: string;
  readonly failure?: string;
  /** A name of the form in which values are stored (`stale-keys.ts`); empty: none is known. */
  readonly form: string;
  readonly size: StoreMaintenance["size"];
}

/** The messages of the owner. */
export const fromOwner = oneOf({
  welcome: record<{ readonly protocol: string }>({ protocol: text }),
  changed: record<{ readonly revision: Revision; readonly changes: readonly SentChange[] }>({
    revision: natural,
    changes: list(change),
  }),
  progressed: revision,
  compacted: revision,
  recovered: record<{ readonly entries: readonly LogEntry[] }>({ entries: list(entry) }),
  /** The result of a commit that no change shows. */
  settled: record<{ readonly id: number; readonly result: CommitResult }>({ id: natural, result }),
  failed: record<{ readonly id: number; readonly error: SentError }>({ id: natural, error: sentError }),
  answer: record<{ readonly id: number; readonly body: Buffer }>({ id: natural, body: rest }),
  state: record<LogState>({
    full: optional(text),
    failure: optional(text),
    form: text,
    size: record<StoreMaintenance["size"]>({ bytes: number, since: natural, fileBytes: number }),
  }),
});
export type FromOwner = TypeOf<typeof fromOwner>;
