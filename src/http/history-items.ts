/** Events of the history as JSON, for `object-history.ts` and `collection-history.ts`. `docs/history.md` describes them. */
import { parseDeletionNote } from "#meta/deletion-note.ts";
import type { ManagedFieldsEntry, Unstructured } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { timestampOf } from "#meta/time.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { isObject } from "#std/is-object.ts";
import type { Revision } from "#storage/log-store.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { HistoryTarget } from "./history-versions.ts";
import type { HandlerParts } from "./scope.ts";

/** A version in the history, or a deletion. */
export interface VersionEvent {
  readonly revision: Revision;
  /** The version; `undefined`: the object was deleted. */
  readonly entry: Entry | undefined;
  /** The version before it, if it is known. */
  readonly previous: Entry | undefined;
  readonly isCreation: boolean;
  /** A time shortly after the event (milliseconds since the epoch), if the store knows it. */
  readonly writtenAt: number | undefined;
  /** The note of a deletion. */
  readonly note: string | undefined;
}

/** The parts of an item that not every answer has. */
interface ItemOptions {
  /** Whether it says of which object it is. */
  readonly isNamed: boolean;
  /** Whether it shows the object before the event. */
  readonly showsPrevious: boolean;
}

/** The facts about an event that its objects tell. */
interface EventFacts {
  readonly object: Unstructured | undefined;
  readonly previous: Unstructured | undefined;
  readonly writer: Writer | undefined;
  readonly problem: string | undefined;
  /** The time of the event, from the most exact source, and the name of the source. */
  readonly time: string | undefined;
  readonly timeSource: TimeSource | undefined;
}

type TimeSource = "creationTimestamp" | "managedFields" | "log";

type Target = Pick<HistoryTarget, "definition" | "store">;

/** Finds out about an event. If the object cannot be read any more, `problem` says why. */
export function factsOf({ store }: Target, event: VersionEvent): EventFacts {
  const read = (entry: Entry | undefined): Unstructured | undefined => entry && store.object(entry);
  let object: Unstructured | undefined;
  let previous: Unstructured | undefined;
  let problem: string | undefined;
  try {
    previous = read(event.previous);
    object = read(event.entry);
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    problem = error.status.message;
  }
  const writer = writerOf(object, previous) ?? ownerOf(object, previous);
  return { object, previous, writer, problem, ...timeOf(event, object, writer) };
}

/** Returns an event as JSON. */
export function itemText(
  { objects }: HandlerParts,
  { definition }: Target,
  event: VersionEvent,
  { isNamed, showsPrevious }: ItemOptions,
  { object, previous, writer, problem, time, timeSource }: EventFacts,
): string {
  const { entry, revision, isCreation } = event;
  const { name, namespace, uid } = (object ?? previous)?.metadata ?? {};
  const facts = {
    resourceVersion: String(revision),
    event: entry === undefined ? "deleted" : isCreation ? "created" : "updated",
    ...(isNamed ? { namespace, name } : {}),
    uid,
    time,
    timeSource,
    manager: writer?.entry.manager,
    operation: writer?.entry.operation,
    ...(entry === undefined ? parseDeletionNote(event.note) : {}),
    problem,
  };
  const text = JSON.stringify(facts);
  if (problem !== undefined) return text;
  const member = (label: string, one: Entry | undefined): string =>
    one === undefined ? "" : `,"${label}":${objects.servedBytes(definition, one).toString().trimEnd()}`;
  return `${text.slice(0, -1)}${member("object", entry)}${showsPrevious ? member("previous", event.previous) : ""}}`;
}

function timeOf(
  { writtenAt, isCreation }: VersionEvent,
  object: Unstructured | undefined,
  writer: Writer | undefined,
): Pick<EventFacts, "time" | "timeSource"> {
  const { creationTimestamp } = object?.metadata ?? {};
  if (isCreation && typeof creationTimestamp === "string") {
    return { time: creationTimestamp, timeSource: "creationTimestamp" };
  }
  const time = writer?.gained === true ? writer.entry.time : undefined;
  if (time !== undefined) return { time, timeSource: "managedFields" };
  if (writtenAt === undefined) return { time: undefined, timeSource: undefined };
  return { time: timestampOf(writtenAt), timeSource: "log" };
}

interface Writer {
  readonly entry: ManagedFieldsEntry;
  /**
   * Whether the entry has more fields than before, or others. A manager that only lost some may have lost them to
   * another one.
   */
  readonly gained: boolean;
}

/** Returns the newest of the entries that this version changed; of equally old ones, one that gained fields. */
function writerOf(object: Unstructured | undefined, previous: Unstructured | undefined): Writer | undefined {
  const before = previous?.metadata.managedFields ?? [];
  let writer: Writer | undefined;
  for (const entry of object?.metadata.managedFields ?? []) {
    if (before.some((other) => jsonEquals(other, entry))) continue;
    const gained = !before.some((other) => isSameManager(other, entry) && covers(other.fieldsV1, entry.fieldsV1));
    if (writer === undefined || isLater({ entry, gained }, writer)) writer = { entry, gained };
  }
  return writer;
}

/**
 * Returns the only manager that owns a field which this version changed: an update of a manager's own fields leaves its
 * entry as it was. `undefined` if there are several, or none.
 */
function ownerOf(object: Unstructured | undefined, previous: Unstructured | undefined): Writer | undefined {
  if (object === undefined || previous === undefined) return undefined;
  const owners = (object.metadata.managedFields ?? []).filter(({ fieldsV1 }) => differ(fieldsV1, object, previous));
  const [entry, ...others] = owners;
  return entry === undefined || others.length > 0 ? undefined : { entry, gained: false };
}

/** Whether a field of a set, as managedFields write it, has another value in two objects. */
function differ(fields: unknown, one: unknown, other: unknown): boolean {
  if (!isObject(fields)) return false;
  return Object.entries(fields).some(([segment, inner]) => {
    const [value, before] = [memberOf(one, segment), memberOf(other, segment)];
    if (jsonEquals(value, before)) return false;
    return !isObject(inner) || Object.keys(inner).length === 0 || differ(inner, value, before);
  });
}

/** Returns the part of a value that a segment of a field set names: a field, or an item of a list by its keys. */
function memberOf(value: unknown, segment: string): unknown {
  const name = segment.slice(2);
  if (segment.startsWith("f:")) return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  if (!segment.startsWith("k:") || !Array.isArray(value)) return undefined;
  let keys: unknown;
  try {
    keys = JSON.parse(name);
  } catch {
    return undefined;
  }
  if (!isObject(keys)) return undefined;
  return value.find((item) =>
    Object.entries(keys).every(([key, wanted]) => jsonEquals(memberOf(item, `f:${key}`), wanted)),
  );
}

function isLater(one: Writer, other: Writer): boolean {
  if (one.gained !== other.gained) return one.gained;
  return (one.entry.time ?? "") >= (other.entry.time ?? "");
}

const isSameManager = (one: ManagedFieldsEntry, other: ManagedFieldsEntry): boolean =>
  one.manager === other.manager && one.operation === other.operation && one.subresource === other.subresource;

/** Whether a set of fields, as managedFields write it, has all that another one has. */
function covers(fields: unknown, others: unknown): boolean {
  if (!isObject(others)) return true;
  if (!isObject(fields)) return Object.keys(others).length === 0;
  return Object.entries(others).every(([name, inner]) => Object.hasOwn(fields, name) && covers(fields[name], inner));
}
