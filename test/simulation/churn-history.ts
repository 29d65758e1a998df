/**
 * The history of a churn (`churn.fuzz.ts`), rebuilt from what writers were answered, and what lists and watches must have
 * shown according to it. An answer does not tell every version: of a removal, and of the mark before it, the version is
 * taken from a watch of everything, and must lie where the answers of others allow it.
 */
import assert from "node:assert/strict";

/** The part of an object that tells its versions apart, and that selectors look at. */
export interface Content {
  /** Another one for each version that a writer made. */
  readonly n: number;
  readonly labels: Readonly<Record<string, string>>;
  /** A field with a selector; empty where the kind has none. */
  readonly field: string;
  readonly isMarked: boolean;
}

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** One change that a writer knows to have happened; of a deletion with the last content. */
export interface Change {
  readonly resource: string;
  /** `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly type: EventType;
  /** `undefined`: the answer did not tell. */
  readonly version: number | undefined;
  readonly content: Content;
  /** The times at which the request was sent and answered, on a clock that counts both. */
  readonly sent: number;
  readonly answered: number;
}

/** An event as a watch showed it. */
export interface Seen {
  readonly type: EventType;
  readonly key: string;
  readonly uid: string;
  readonly version: number;
  readonly content: Content;
}

/** The objects of a resource that a client asked for. */
export interface Selection {
  readonly resource: string;
  /** Empty for all. */
  readonly namespace: string;
  readonly query: string;
  matches(key: string, content: Content): boolean;
}

/** A watch as far as it was read. */
export interface Watched {
  readonly selection: Selection;
  /** The version that it began after. */
  readonly after: number;
  readonly events: readonly Seen[];
  /** Each with how many events came before it. */
  readonly bookmarks: readonly { readonly version: number; readonly count: number }[];
  /** It ended since history did not reach back so far. */
  readonly isExpired: boolean;
}

/** An answered list, all pages of it; or `found` is missing, since history did not reach back so far. */
export interface Listed {
  readonly selection: Selection;
  /** The version asked for, and whether exactly that one was. */
  readonly asked: number;
  readonly isExact: boolean;
  /** The newest version that the client had seen or been answered before, if it asked for the present. */
  readonly known: number;
  readonly version: number;
  readonly found: readonly Omit<Seen, "type">[] | undefined;
}

export interface Recorded {
  readonly changes: readonly Change[];
  readonly watches: readonly Watched[];
  readonly lists: readonly Listed[];
  /** Watches of all events, one for each resource. */
  readonly witnesses: ReadonlyMap<string, Watched>;
  /** Whether history may have forgotten a version, after which so many changes followed. */
  mayForget(version: number, changesAfter: number): boolean;
}

/** A change with its version and what it replaced. */
interface Fact extends Change {
  readonly version: number;
  readonly previous: Content | undefined;
}

export function checkChurn(recorded: Recorded): void {
  const facts = rebuild(recorded);
  checkOrder(facts);
  for (const watched of [...recorded.witnesses.values(), ...recorded.watches]) checkWatch(recorded, facts, watched);
  for (const listed of recorded.lists) checkList(recorded, facts, listed);
}

/** All changes with their versions, in order. */
function rebuild({ changes, witnesses }: Recorded): readonly Fact[] {
  const known = new Set(changes.map(({ version }) => version));
  const untold = new Map<string, Seen>();
  for (const { events } of witnesses.values()) {
    for (const event of events) if (!known.has(event.version)) untold.set(`${event.type} ${event.uid}`, event);
  }
  const dated = changes.map((change) => {
    const version = change.version ?? untold.get(`${change.type} ${change.uid}`)?.version;
    assert.ok(version !== undefined, `${told(change)} was answered, and never seen`);
    return { ...change, version };
  });
  dated.sort((a, b) => a.version - b.version);
  const state = new Map<string, Change>();
  return dated.map((change, index) => {
    assert.notEqual(change.version, dated[index - 1]?.version, `two changes have the version ${change.version}`);
    const key = `${change.resource}/${change.key}`;
    const previous = state.get(key);
    assert.equal(previous === undefined, change.type === "ADDED", `${told(change)} at ${change.version}`);
    if (previous !== undefined) assert.equal(change.uid, previous.uid, `${told(change)} at ${change.version}`);
    if (change.type === "DELETED") state.delete(key);
    else state.set(key, change);
    return { ...change, previous: previous?.content };
  });
}

/** A change that was answered before another was sent comes before it. */
function checkOrder(facts: readonly Fact[]): void {
  const answered = facts.toSorted((a, b) => a.answered - b.answered);
  let highest: Fact | undefined;
  let next = 0;
  for (const fact of facts.toSorted((a, b) => a.sent - b.sent)) {
    for (; next < answered.length && answered[next]!.answered < fact.sent; next++) {
      if (highest === undefined || answered[next]!.version > highest.version) highest = answered[next];
    }
    if (highest === undefined) continue;
    assert.ok(
      fact.version > highest.version,
      `${told(fact)} at ${fact.version} was sent when ${told(highest)} at ${highest.version} had been answered`,
    );
  }
}

const told = ({ type, resource, key }: Change): string => `${type} of ${resource} ${key}`;

const isIn = ({ namespace }: Selection, key: string): boolean => namespace === "" || key.startsWith(`${namespace}/`);

const line = (version: number, type: string, key: string, uid: string, { n, isMarked }: Content): string =>
  `${version} ${type} ${key} ${uid} n=${n}${isMarked ? " marked" : ""}`;

/** The events that a selection shows after a version. */
function expected(facts: readonly Fact[], selection: Selection, after: number): { version: number; text: string }[] {
  const events: { version: number; text: string }[] = [];
  for (const { version, type, resource, key, uid, content, previous } of facts) {
    if (version <= after || resource !== selection.resource || !isIn(selection, key)) continue;
    const was = previous !== undefined && selection.matches(key, previous);
    const is = type !== "DELETED" && selection.matches(key, content);
    const add = (shown: string, as: Content): void =>
      void events.push({ version, text: line(version, shown, key, uid, as) });
    if (is) add(was ? "MODIFIED" : "ADDED", content);
    // An object that leaves a selection is shown as it was in it.
    else if (was) add("DELETED", type === "DELETED" ? content : previous);
  }
  return events;
}

/** Exactly what the selection shows after the start, in order, as far as the watch was read; nothing before a bookmark is missing. */
function checkWatch(recorded: Recorded, facts: readonly Fact[], watched: Watched): void {
  const { selection, after, events, bookmarks, isExpired } = watched;
  const wanted = expected(facts, selection, after);
  const title = `a watch of ${described(selection)} after ${after}`;
  assert.deepEqual(
    events.map(({ version, type, key, uid, content }) => line(version, type, key, uid, content)),
    wanted.slice(0, events.length).map(({ text }) => text),
    title,
  );
  for (const { version, count } of bookmarks) {
    const due = wanted.filter((event) => event.version <= version);
    assert.deepEqual(due.slice(count), [], `${title} had a bookmark at ${version} before these`);
    assert.equal(due.length, count, `${title} had a bookmark at ${version} after events beyond it`);
  }
  if (!isExpired) return;
  const reached = events.at(-1)?.version ?? after;
  const later = facts.filter(({ version }) => version > reached).length;
  assert.ok(recorded.mayForget(reached, later), `${title} was refused although ${later} changes followed`);
}

/** The state at the version of the list. */
function checkList(recorded: Recorded, facts: readonly Fact[], listed: Listed): void {
  const { selection, asked, isExact, known, version, found } = listed;
  const title = `a list of ${described(selection)} at ${asked}`;
  if (found === undefined) {
    const later = facts.filter((fact) => fact.version > asked).length;
    assert.ok(isExact && recorded.mayForget(asked, later), `${title} was refused although ${later} changes followed`);
    return;
  }
  assert.ok(isExact ? version === asked : version >= asked, `${title} shows ${version}`);
  assert.ok(version >= known, `${title} shows ${version} although ${known} was known`);
  const state = new Map<string, string>();
  for (const fact of facts) {
    const { resource, key, uid, type, content } = fact;
    if (fact.version > version) break;
    if (resource !== selection.resource || !isIn(selection, key)) continue;
    if (type === "DELETED" || !selection.matches(key, content)) state.delete(key);
    else state.set(key, line(fact.version, "", key, uid, content));
  }
  const texts = found.map((one) => line(one.version, "", one.key, one.uid, one.content));
  assert.deepEqual(texts.toSorted(), [...state.values()].toSorted(), `${title} shows another state of ${version}`);
}

const described = ({ resource, namespace, query }: Selection): string => `${resource} of "${namespace}" ${query}`;
