/** Checks of the history of a simulation. Each throws an `AssertionError` that names what contradicts. */
import assert from "node:assert/strict";
import type { Revision } from "../log-store.ts";
import type { History, ReadRecord, Restored, WatchRecord, WriteRecord } from "./simulation-for-tests.ts";
import { textOf, type TrueChange, type Truth } from "./truth-for-tests.ts";

/**
 * Checks everything that servers said. Where etcd was restored, what they said before is compared with what had happened,
 * and what they said after with what happened then. What they said meanwhile is one of both, and whole: an acknowledged
 * write may be among those that are lost, and no state is a mixture.
 */
export function checkHistory(history: History, truth: Truth): void {
  const { restored } = history;
  const byId = new Map(history.writes.map((write) => [write.id, write]));
  for (const one of restored === undefined ? [truth] : [restored.truth, truth]) {
    for (const change of one.changes) checkChange(change, history, byId, one);
    checkTurns(history.writes, one);
  }
  for (const write of history.writes) inItsTime(write, restored, truth, (one) => checkWrite(write, one, restored));
  for (const read of history.reads) inItsTime(read, restored, truth, (one) => checkRead(read, one));
  for (const watch of history.watches) {
    if (restored === undefined || watch.isAfterRestoration) checkWatch(watch, truth);
    else either(restored.truth, truth, (one) => checkWatch(watch, one));
  }
}

/** Checks something by what had happened before a restoration, by what happened after it, or by one of both. */
function inItsTime(
  { startMs, endMs }: { readonly startMs: number; readonly endMs: number },
  restored: Restored | undefined,
  truth: Truth,
  check: (truth: Truth) => void,
): void {
  if (restored === undefined || startMs > restored.atMs) check(truth);
  else if (endMs < restored.atMs) check(restored.truth);
  else either(restored.truth, truth, check);
}

function either(before: Truth, truth: Truth, check: (truth: Truth) => void): void {
  try {
    check(before);
  } catch (error) {
    if (!(error instanceof assert.AssertionError)) throw error;
    check(truth);
  }
}

const show = (value: unknown): string => JSON.stringify(value);

/** Throws an `AssertionError` unless something holds. Its message is made only then: most of a check would be messages. */
function holds(isTrue: boolean, message: () => string): asserts isTrue {
  if (!isTrue) assert.fail(message());
}

/** Returns the changes that a write may have made: those with its value, or the deletion of the version it expects. */
function changesOf(write: WriteRecord, truth: Truth): TrueChange[] {
  return truth.changes.filter(({ key, id, previous }) =>
    write.isDeletion ? key === write.key && id === undefined && previous?.revision === write.expected : id === write.id,
  );
}

/** A write has done what its caller was told, in the time of the call, and no more. */
function checkWrite(write: WriteRecord, truth: Truth, restored: Restored | undefined): void {
  const changes = changesOf(write, truth);
  const { outcome, startMs, endMs, key, expected, requires } = write;
  const text = (): string => show(write);
  holds(changes.length <= 1, () => `a write was done twice: ${text()}, ${show(changes)}`);
  const [change] = changes;
  if (outcome.kind === "done") {
    holds(change !== undefined, () => `a write that was acknowledged was not done: ${text()}`);
    holds(change.revision === outcome.revision, () => `a write has another revision: ${text()}`);
    // A deletion without an answer counts as done, too, when another server has deleted the same version.
    const isOwn = write.isDeletion || change.atMs >= startMs;
    holds(isOwn && change.atMs <= endMs, () => `a write was done at another time: ${text()}`);
  }
  if (change !== undefined && (outcome.kind === "done" || !write.isDeletion)) {
    holds((change.previous?.revision ?? 0) === expected, () => `a write replaced another version: ${text()}`);
    const before = truth.at(change.revision - 1);
    for (const condition of requires) {
      holds(
        (before.get(condition.key)?.revision ?? 0) === condition.revision,
        () => `a condition did not hold: ${text()}`,
      );
    }
  }
  if ((outcome.kind === "refused" || outcome.kind === "failed") && !write.isDeletion)
    holds(change === undefined, () => `a write was done although its caller was told otherwise: ${text()}`);
  if (outcome.kind !== "failed") return;
  const versionsOf = (one: string): readonly Revision[] => [
    ...truth.versionsIn(one, startMs, endMs).map((version) => version?.revision ?? 0),
    ...(restored === undefined || endMs < restored.atMs ? [] : lostVersions(one, restored)),
  ];
  const versions = versionsOf(key);
  holds(versions.includes(outcome.current), () => `the present version is wrong: ${text()}, ${show(versions)}`);
  if (outcome.failed === "key" && !(write.isDeletion && expected === 0))
    holds(
      versions.some((version) => version !== expected),
      () => `a write lost to nobody: ${text()}`,
    );
  if (outcome.failed === "requires") {
    const fails = requires.some((condition) =>
      versionsOf(condition.key).some((version) => version !== condition.revision),
    );
    holds(fails, () => `a write lost although its conditions held: ${text()}`);
  }
}

/** Returns the versions of a key in the states that are lost. A server may know one of them until it notices the restoration. */
function lostVersions(key: string, { revision, truth }: Restored): Revision[] {
  const versions: Revision[] = [];
  for (let at = revision; at <= truth.revision; at++) versions.push(truth.at(at).get(key)?.revision ?? 0);
  return versions;
}

/** Every change was made by a write, or by the end of a lease, and not before that was due. */
function checkChange(
  change: TrueChange,
  { writes, restored }: History,
  byId: ReadonlyMap<number, WriteRecord>,
  truth: Truth,
): void {
  if (change.id !== undefined) {
    holds(byId.get(change.id)?.key === change.key, () => `nobody made a change: ${show(change)}`);
    return;
  }
  const claims = writes.filter(
    (write) =>
      write.isDeletion &&
      write.key === change.key &&
      write.expected === change.previous!.revision &&
      (write.outcome.kind === "done" ||
        write.outcome.kind === "unknown" ||
        // Its outcome before the restoration is lost.
        (restored !== undefined && write.startMs <= restored.atMs && write.endMs >= restored.atMs)),
  );
  if (claims.length > 0) return;
  const written = byId.get(change.previous!.id!)!;
  holds(written.ttlSeconds > 0, () => `nobody deleted a key: ${show(change)} ${truth.revision}`);
  const ageMs = change.atMs - written.startMs;
  holds(ageMs >= written.ttlSeconds * 1000, () => `a key expired after ${ageMs} ms: ${show(written)}`);
}

/** Nobody but the server itself took the turn between what a writer had seen and its write. */
function checkTurns(writes: readonly WriteRecord[], truth: Truth): void {
  const taken = writes.flatMap((write) => {
    const [change] = write.turn === undefined || write.isDeletion ? [] : changesOf(write, truth);
    return change === undefined ? [] : [{ write, revision: change.revision }];
  });
  for (const { write, revision } of taken) {
    const between = taken.find(
      (other) => other.write.server !== write.server && other.revision < revision && other.revision > write.turn!.seen,
    );
    holds(between === undefined, () => `a turn was taken twice: ${show(write)}, ${show(between)}`);
  }
}

/** A read of the present shows a state of the time of the call, whole. */
function checkRead(read: ReadRecord, truth: Truth): void {
  const { prefix, isExact, startMs, endMs, revision } = read;
  const [first, last] = [truth.revisionAt(startMs), truth.revisionAt(endMs)];
  holds(
    revision >= first && revision <= last,
    () => `a read shows ${revision}, not ${first} to ${last}: ${show(read)}`,
  );
  const wanted = truth.range(prefix, revision).filter(({ key }) => !isExact || key === prefix);
  assert.deepEqual(
    read.entries.map(({ key, value }) => [key, value.toString()]),
    wanted.map((entry) => [entry.key, textOf(entry.id!, entry.revision)]),
    `a read of ${prefix} at ${revision}`,
  );
}

/** A watch delivered every change once, in order, up to its last bookmark. */
function checkWatch({ prefix, isExact, after, events, reached }: WatchRecord, truth: Truth): void {
  const isMine = ({ key, revision }: { readonly key: string; readonly revision: Revision }): boolean =>
    revision > after && revision <= reached && (isExact ? key === prefix : key.startsWith(prefix));
  const wanted = truth.changes.filter(isMine).map(({ key, revision, id, previous }) => {
    const type = id === undefined ? "DELETED" : previous === undefined ? "ADDED" : "MODIFIED";
    // A deletion shows the last state at its own revision.
    return [
      type,
      key,
      revision,
      textOf(id ?? previous!.id!, revision),
      previous && textOf(previous.id!, previous.revision),
    ];
  });
  const told = events.map(({ type, revision, entry, previous }) => {
    return [type, entry.key, revision, entry.value.toString(), previous?.value.toString()];
  });
  assert.deepEqual(told, wanted, `a watch of ${prefix} from ${after} to ${reached}`);
}
