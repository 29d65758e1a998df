/**
 * The history of a churn (`churn.fuzz.ts`), rebuilt from the answers to the writers, and the lists and watches that
 * agree with it. Some answers do not show a version: for a removal, and for the mark before it, the version comes from
 * a watch of all events, and must be possible according to the other answers.
 */
import assert from "node:assert/strict";

/** The part of an object that differs between its versions, and that selectors use. */
export interface Content {
  /** A number that differs for each version from a writer. */
  readonly n: number;
  readonly labels: Readonly<Record<string, string>>;
  /** The field of a selector; empty if the kind has none. */
  readonly field: string;
  readonly isMarked: boolean;
}

export type EventType = "ADDED" | "MODIFIED" | "DELETED";

/** A change that its writer knows. A deletion has the last content. */
export interface Change {
  readonly resource: string;
  /** The key of the object: `namespace/name`. */
  readonly key: string;
  readonly uid: string;
  readonly type: EventType;
  /** The version; `undefined` if the answer did not show it. */
  readonly version: number | undefined;
  readonly content: Content;
  /** The times of the request and the answer, on a clock that counts both. */
  readonly sent: number;
  readonly answered: number;
}

/** An event that a watch showed. */
export interface Seen {
  readonly type: EventType;
  readonly key: string;
  readonly uid: string;
  readonly version: number;
  readonly content: Content;
}

/** The objects of a resource that a client requests. */
export interface Selection {
  readonly resource: string;
  /** The namespace; empty for all. */
  readonly namespace: string;
  readonly query: string;
  matches(key: string, content: Content): boolean;
}

/** The part of a watch that was read. */
export interface Watched {
  readonly selection: Selection;
  /** The version after which the watch begins. */
  readonly after: number;
  readonly events: readonly Seen[];
  /** The bookmarks, each with the number of events before it. */
  readonly bookmarks: readonly { readonly version: number; readonly count: number }[];
  /** Whether the watch ended because history did not reach back far enough. */
  readonly isExpired: boolean;
}

/** An answered list with all its pages. `found` is `undefined` if history did not reach back far enough. */
export interface Listed {
  readonly selection: Selection;
  /** The requested version, and whether exactly this version was requested. */
  readonly asked: number;
  readonly isExact: boolean;
  /** The newest version that the client knew before, if it requested the present state. */
  readonly knownVersion: number;
  readonly version: number;
  readonly found: readonly Omit<Seen, "type">[] | undefined;
}

export interface Recorded {
  readonly changes: readonly Change[];
  readonly watches: readonly Watched[];
  readonly lists: readonly Listed[];
  /** The watches of all events, one for each resource. */
  readonly witnesses: ReadonlyMap<string, Watched>;
  /** Whether history may have dropped a version, after which `changesAfter` changes followed. */
  mayForget(version: number, changesAfter: number): boolean;
}

/** A change with its version and the content before it. */
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

/** Returns all changes with their versions, in order. */
function rebuild({ changes, witnesses }: Recorded): readonly Fact[] {
  const versions = new Set(changes.map(({ version }) => version));
  const untold = new Map<string, Seen>();
  for (const { events } of witnesses.values()) {
    for (const event of events) if (!versions.has(event.version)) untold.set(`${event.type} ${event.uid}`, event);
  }
  const dated = changes.map((change) => {
    const version = change.version ?? untold.get(`${change.type} ${change.uid}`)?.version;
    assert.ok(version !== undefined, `${describeChange(change)} was answered, and never seen`);
    return { ...change, version };
  });
  dated.sort((a, b) => a.version - b.version);
  const state = new Map<string, Change>();
  return dated.map((change, index) => {
    assert.notEqual(change.version, dated[index - 1]?.version, `two changes have the version ${change.version}`);
    const key = `${change.resource}/${change.key}`;
    const previous = state.get(key);
    assert.equal(previous === undefined, change.type === "ADDED", `${describeChange(change)} at ${change.version}`);
    if (previous !== undefined)
      assert.equal(change.uid, previous.uid, `${describeChange(change)} at ${change.version}`);
    if (change.type === "DELETED") state.delete(key);
    else state.set(key, change);
    return { ...change, previous: previous?.content };
  });
}

/** Checks that a change that was answered before another was sent has the lower version. */
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
      `${describeChange(fact)} at ${fact.version} was sent when ${describeChange(highest)} at ${highest.version} had been answered`,
    );
  }
}

const describeChange = ({ type, resource, key }: Change): string => `${type} of ${resource} ${key}`;

const isIn = ({ namespace }: Selection, key: string): boolean => namespace === "" || key.startsWith(`${namespace}/`);

const line = (version: number, type: string, key: string, uid: string, { n, isMarked }: Content): string =>
  `${version} ${type} ${key} ${uid} n=${n}${isMarked ? " marked" : ""}`;

/** Returns the events that a selection shows after a version. */
function expectedEvents(
  facts: readonly Fact[],
  selection: Selection,
  after: number,
): { version: number; text: string }[] {
  const events: { version: number; text: string }[] = [];
  for (const { version, type, resource, key, uid, content, previous } of facts) {
    if (version <= after || resource !== selection.resource || !isIn(selection, key)) continue;
    const was = previous !== undefined && selection.matches(key, previous);
    const is = type !== "DELETED" && selection.matches(key, content);
    const add = (shown: string, as: Content): void =>
      void events.push({ version, text: line(version, shown, key, uid, as) });
    if (is) add(was ? "MODIFIED" : "ADDED", content);
    // An object that leaves a selection is shown with its last content inside.
    else if (was) add("DELETED", type === "DELETED" ? content : previous);
  }
  return events;
}

/**
 * Checks that a watch shows exactly the events of its selection after its start, in order, as far as it was read. No
 * event before a bookmark may be missing.
 */
function checkWatch(recorded: Recorded, facts: readonly Fact[], watched: Watched): void {
  const { selection, after, events, bookmarks, isExpired } = watched;
  const wanted = expectedEvents(facts, selection, after);
  const title = `a watch of ${describeSelection(selection)} after ${after}`;
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

/** Checks that a list is the state at its version. */
function checkList(recorded: Recorded, facts: readonly Fact[], listed: Listed): void {
  const { selection, asked, isExact, knownVersion, version, found } = listed;
  const title = `a list of ${describeSelection(selection)} at ${asked}`;
  if (found === undefined) {
    const later = facts.filter((fact) => fact.version > asked).length;
    assert.ok(isExact && recorded.mayForget(asked, later), `${title} was refused although ${later} changes followed`);
    return;
  }
  assert.ok(isExact ? version === asked : version >= asked, `${title} shows ${version}`);
  assert.ok(version >= knownVersion, `${title} shows ${version} although ${knownVersion} was known`);
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

const describeSelection = ({ resource, namespace, query }: Selection): string =>
  `${resource} of "${namespace}" ${query}`;
