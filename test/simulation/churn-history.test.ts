/** Tests that the checks of a churn can fail: each of these histories has one fault. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Change, checkChurn, type Content, type Recorded, type Seen, type Selection } from "./churn-history.ts";

const content = (n: number, more: Partial<Content> = {}): Content => ({
  n,
  labels: {},
  field: "",
  isMarked: false,
  ...more,
});
const all: Selection = { resource: "maps", namespace: "", query: "", matches: () => true };
const labelled: Selection = { ...all, query: "l", matches: (_key, { labels }) => labels["l"] !== undefined };

const changes: readonly Change[] = [
  { type: "ADDED", version: 2, content: content(1) },
  { type: "MODIFIED", version: 4, content: content(2, { labels: { l: "" } }) },
  { type: "MODIFIED", version: 6, content: content(3) },
  { type: "DELETED", version: undefined, content: content(3) },
].map((change, i) => ({
  resource: "maps",
  key: "ns/a",
  uid: "u",
  sent: 2 * i,
  answered: 2 * i + 1,
  ...(change as Pick<Change, "type" | "version" | "content">), // a literal's type is wider
}));
const event = (type: Seen["type"], version: number, shown: Content): Seen => ({
  type,
  version,
  key: "ns/a",
  uid: "u",
  content: shown,
});
const [one, two, three] = changes.map((change) => change.content) as [Content, Content, Content]; // there are four
const events: readonly Seen[] = [
  event("ADDED", 2, one),
  event("MODIFIED", 4, two),
  event("MODIFIED", 6, three),
  event("DELETED", 8, three),
];
const watch = { selection: all, after: 0, bookmarks: [], isExpired: false };
const selected: readonly Seen[] = [event("ADDED", 4, two), event("DELETED", 6, two)];
const good: Recorded = {
  changes,
  witnesses: new Map([["maps", { ...watch, events }]]),
  watches: [
    { ...watch, after: 3, events: events.slice(1, 3), bookmarks: [{ version: 7, count: 2 }] },
    { ...watch, selection: labelled, events: selected, bookmarks: [{ version: 9, count: 2 }] },
  ],
  lists: [
    { selection: all, asked: 5, isExact: true, knownVersion: 0, version: 5, found: [event("ADDED", 4, two)] },
    { selection: labelled, asked: 0, isExact: false, knownVersion: 6, version: 6, found: [] },
  ],
  mayForget: (_version, after) => after > 3,
};

/** Returns a history with one more watch. */
const withWatch = (more: object): Partial<Recorded> => ({ watches: [{ ...watch, events, ...more }] });
/** Returns a history with one more list. */
const withListing = (more: object): Partial<Recorded> => ({ lists: [{ ...good.lists[0]!, ...more }] });
/** Returns a history in which one change is replaced. */
const withChange = (index: number, more: Partial<Change>): Partial<Recorded> => ({
  changes: changes.with(index, { ...changes[index]!, ...more }),
});

test("a history without faults passes", () => {
  checkChurn(good);
  checkChurn({ ...good, ...withWatch({ events: [], isExpired: true }) });
});

const faults: Readonly<Record<string, [Partial<Recorded>, RegExp]>> = {
  "an event is lost": [withWatch({ events: events.toSpliced(1, 1) }), /a watch of maps/],
  "an event comes twice": [withWatch({ events: events.toSpliced(1, 0, events[0]!) }), /a watch of maps/],
  "events come in another order": [withWatch({ events: [events[0], events[2], events[1]] }), /a watch of maps/],
  "an event is from before the start": [withWatch({ after: 2 }), /a watch of maps/],
  "an event shows another state": [withWatch({ events: [event("ADDED", 2, two)] }), /a watch of maps/],
  "an event has another type": [withWatch({ events: [event("MODIFIED", 2, one)] }), /a watch of maps/],
  "what leaves a selection is shown as it is now": [
    withWatch({ selection: labelled, events: [selected[0], event("DELETED", 6, three)] }),
    /a watch of maps/,
  ],
  "what leaves a selection stays": [
    withWatch({ selection: labelled, events: selected.slice(0, 1), bookmarks: [{ version: 7, count: 1 }] }),
    /had a bookmark at 7 before these/,
  ],
  "a bookmark runs ahead": [
    withWatch({ events: events.slice(0, 1), bookmarks: [{ version: 5, count: 1 }] }),
    /had a bookmark at 5 before these/,
  ],
  "a bookmark is behind": [withWatch({ bookmarks: [{ version: 3, count: 2 }] }), /had a bookmark at 3 after events/],
  "a watch of what is kept is refused": [
    withWatch({ after: 4, events: [], isExpired: true }),
    /was refused although 2 changes followed/,
  ],
  "a list lacks something": [withListing({ found: [] }), /shows another state of 5/],
  "a list shows what is gone": [withListing({ version: 9, isExact: false }), /shows another state of 9/],
  "a list is of another version": [withListing({ version: 4 }), /shows 4/],
  "a list is older than what its client knew": [withListing({ knownVersion: 6 }), /shows 5 although 6 was known/],
  "a list of what is kept is refused": [withListing({ found: undefined }), /was refused although 2 changes followed/],
  "a change is never seen": [
    { witnesses: new Map([["maps", { ...watch, events: events.slice(0, 3) }]]) },
    /never seen/,
  ],
  "two changes have one version": [withChange(1, { version: 2 }), /two changes have the version 2/],
  "an object becomes another one": [withChange(1, { uid: "v" }), /MODIFIED of maps ns\/a at 4/],
  "a later change has an earlier version": [
    { changes: [...changes, { ...changes[0]!, key: "ns/b", uid: "v", version: 1, sent: 8, answered: 9 }] },
    /ADDED of maps ns\/b at 1 was sent when/,
  ],
};

for (const [fault, [part, message]] of Object.entries(faults)) {
  test(`a history in which ${fault} does not pass`, () =>
    assert.throws(() => checkChurn({ ...good, ...part }), message));
}
