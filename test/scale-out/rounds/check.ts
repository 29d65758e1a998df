/**
 * The rules for the history of a round. That of calls is linearizability, which a program with porcupine checks for each
 * object; the others compare calls and watches with what etcd committed.
 */
import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { GoModule } from "../../go-program.ts";
import { buildOnce } from "../etcd-for-tests.ts";
import type { Call, Change, History, Item, Segment } from "./history.ts";

const module = new GoModule("scale-out/linearizable");

/** The reason why histories cannot be checked here; `undefined` if they can. */
export const checkerMissing = (): string | undefined => module.missingModule(".");

/** Returns what is wrong in a history, in words; nothing if all is well. */
export async function check(history: History): Promise<string[]> {
  const truth = new Map(history.changes.map((change) => [change.revision, change]));
  return [
    ...problemsOfOutcomes(history),
    ...problemsOfReads(history, truth),
    ...problemsOfLists(history),
    ...history.segments.flatMap((segment) => problemsOfSegment(segment, history)),
    ...(await problemsOfOrder(history)),
  ];
}

const say = (call: Call): string => JSON.stringify({ ...call, items: call.items === undefined ? undefined : "…" });

const isWrite = ({ kind }: Call): boolean => kind !== "get" && kind !== "list";
const isAcknowledged = (call: Call): boolean => isWrite(call) && call.status >= 200 && call.status < 300;

/** Whether the answer leaves open what became of a write. */
const isOpen = ({ status }: Call): boolean => status === 0 || status === 500 || status === 504;

const known = new Set([0, 200, 201, 404, 409, 410, 429, 500, 503, 504]);

/** Indexes of what etcd committed. */
function indexes(changes: readonly Change[]) {
  const byValue = new Map<string, Change[]>();
  const deletions = new Map<number, Change>();
  for (const change of changes) {
    if (change.isDeletion) deletions.set(change.before, change);
    else if (change.value !== undefined) byValue.set(change.value, [...(byValue.get(change.value) ?? []), change]);
  }
  return { byValue, deletions };
}

/** Acknowledged writes are there, once; refused ones are not. */
function problemsOfOutcomes({ calls, changes }: History): string[] {
  const { byValue, deletions } = indexes(changes);
  const problems: string[] = [];
  for (const [value, found] of byValue)
    if (found.length > 1) problems.push(`the write ${value} was done ${found.length} times: ${JSON.stringify(found)}`);
  for (const call of calls) {
    if (!known.has(call.status)) problems.push(`an unexpected answer: ${say(call)}`);
    if (!isWrite(call)) continue;
    const found = call.kind === "delete" ? deletions.get(call.expected!) : byValue.get(call.wanted!)?.[0];
    if (isAcknowledged(call)) {
      if (found === undefined) problems.push(`an acknowledged write is missing: ${say(call)}`);
      else if (found.key !== call.key || (call.kind !== "delete" && found.revision !== call.version))
        problems.push(`an acknowledged write is another one in etcd: ${say(call)} ${JSON.stringify(found)}`);
    } else if (!isOpen(call) && call.kind !== "delete" && found !== undefined)
      problems.push(`a refused write was done: ${say(call)} ${JSON.stringify(found)}`);
  }
  return problems;
}

function problemsOfReads({ calls }: History, truth: ReadonlyMap<number, Change>): string[] {
  const check = (call: Call, key: string, { version, value }: Item): string[] => {
    const change = truth.get(version);
    const isRight = change === undefined ? value === undefined : change.key === key && change.value === value;
    return isRight ? [] : [`an answer shows what etcd does not have: ${key} ${version} ${value} in ${say(call)}`];
  };
  return calls.flatMap((call) => {
    const read = Object.entries(call.items ?? {}).flatMap(([key, item]) => check(call, key, item));
    if (call.kind === "get" && call.status === 200)
      read.push(...check(call, call.key, { version: call.version!, value: call.value }));
    return read;
  });
}

/** A list shows the state of its version, with all pages, and that version is not before what was acknowledged. */
function problemsOfLists({ calls, changes, first }: History): string[] {
  const lists = calls.filter((call) => call.kind === "list" && call.status === 200);
  const problems: string[] = [];
  const state = new Map<string, number>();
  let at = 0;
  for (const list of lists.sort((a, b) => a.version! - b.version!)) {
    for (; at < changes.length && changes[at]!.revision <= list.version!; at++) {
      const { key, revision, isDeletion } = changes[at]!;
      if (isDeletion) state.delete(key);
      else state.set(key, revision);
    }
    if (list.pageVersions!.some((version) => version !== list.version))
      problems.push(`pages have several versions: ${say(list)}`);
    const isOlder = (version: number): boolean => version <= first;
    const shown = Object.entries(list.items!).filter(([, { version }]) => !isOlder(version));
    const right = shown.every(([key, { version }]) => state.get(key) === version);
    if (!right || shown.length !== state.size)
      problems.push(`a list is not the state of its version: ${JSON.stringify(list)} ${JSON.stringify([...state])}`);
  }
  const writes = calls.filter((call) => isAcknowledged(call) && call.version !== undefined);
  writes.sort((a, b) => a.end - b.end);
  let newest = 0;
  let next = 0;
  for (const list of lists.sort((a, b) => a.begin - b.begin)) {
    for (; next < writes.length && writes[next]!.end < list.begin; next++)
      newest = Math.max(newest, writes[next]!.version!);
    if (list.version! < newest) problems.push(`a list is older than the write ${newest}: ${say(list)}`);
  }
  return problems;
}

const eventType = ({ isDeletion, before }: Change): string =>
  isDeletion ? "DELETED" : before === 0 ? "ADDED" : "MODIFIED";

/** A watch shows each change once and in order, and a bookmark comes after all that it stands for. */
function problemsOfSegment(segment: Segment, { changes, first }: History): string[] {
  const { from, events, watcher } = segment;
  const label = `watcher ${watcher} from ${from}`;
  let next = changes.findIndex(({ revision }) => revision > from);
  if (next === -1) next = changes.length;
  for (const event of events) {
    const change = changes[next];
    if (event.type === "BOOKMARK") {
      if (change !== undefined && change.revision <= event.version)
        return [`${label}: the bookmark ${event.version} came before ${JSON.stringify(change)}`];
      continue;
    }
    // Objects from before the round have no changes in it.
    if (change === undefined) return event.version <= first ? [] : [`${label}: ${JSON.stringify(event)} never was`];
    const isSame =
      event.version === change.revision &&
      event.key === change.key &&
      event.type === eventType(change) &&
      (change.isDeletion || event.value === change.value);
    if (!isSame) return [`${label}: ${JSON.stringify(event)} came, and ${JSON.stringify(change)} was next`];
    next++;
  }
  return [];
}

/** A call as the program `linearizable/` reads it. */
interface CheckedCall {
  readonly client: number;
  readonly kind: string;
  readonly key: string;
  readonly begin: number;
  readonly end: number;
  readonly outcome: "done" | "absent" | "present" | "conflict";
  readonly expected?: number;
  readonly version?: number;
  readonly items?: Readonly<Record<string, number>>;
}

/**
 * Returns a function that tells when a call without an answer has made a change at the latest: before the end of the first
 * call that shows a later version. 0 when none does. Without it the checker would try many orders for each such call.
 */
function latestEnds(calls: readonly Call[]): (call: Call, revision: number) => number {
  const shown = new Map<string, { readonly version: number; end: number }[]>();
  const add = (key: string, version: number, end: number): void => {
    const all = shown.get(key);
    if (all === undefined) shown.set(key, [{ version, end }]);
    else all.push({ version, end });
  };
  for (const { key, version, items, status, end } of calls) {
    if (status < 200 || status >= 300) continue;
    if (items === undefined) add(key, version ?? 0, end);
    else for (const [name, item] of Object.entries(items)) add(name, item.version, end);
  }
  for (const all of shown.values()) {
    all.sort((one, other) => other.version - one.version);
    let earliest = Number.POSITIVE_INFINITY;
    for (const one of all) one.end = earliest = Math.min(earliest, one.end);
  }
  return ({ key, begin }, revision) => {
    const later = shown.get(key)?.findLast(({ version }) => version > revision);
    return later === undefined ? 0 : Math.max(begin, later.end);
  };
}

/** Returns the calls whose effect is known. Of writes without an answer etcd tells what became of them. */
function checkedCalls({ calls, changes, first }: History): CheckedCall[] {
  const { byValue, deletions } = indexes(changes);
  const endOf = latestEnds(calls);
  const deleted = new Set(
    calls.filter((call) => call.kind === "delete" && isAcknowledged(call)).map((c) => c.expected),
  );
  return calls.flatMap((call): CheckedCall[] => {
    const { client, kind, key, begin, end, status, expected, reason } = call;
    const same = { client, kind, key, begin, end, ...(expected === undefined ? {} : { expected }) };
    if (status === 404) return [{ ...same, outcome: "absent" }];
    if (status === 409 && reason === "AlreadyExists") return [{ ...same, outcome: "present" }];
    if (status === 409 && expected !== undefined) return [{ ...same, outcome: "conflict" }];
    if (status >= 200 && status < 300) {
      if (kind !== "list") return [{ ...same, outcome: "done", version: call.version ?? 0 }];
      const items = Object.entries(call.items!).filter(([, { version }]) => version > first);
      return [
        { ...same, outcome: "done", items: Object.fromEntries(items.map(([name, { version }]) => [name, version])) },
      ];
    }
    if (!isWrite(call) || !isOpen(call)) return [];
    if (kind !== "delete") {
      const change = byValue.get(call.wanted!)?.[0];
      if (change === undefined) return [];
      return [{ ...same, end: endOf(call, change.revision), outcome: "done", version: change.revision }];
    }
    // Another call may have deleted that version.
    const deletion = deletions.get(expected!);
    if (deleted.has(expected) || deletion === undefined) return [];
    deleted.add(expected);
    return [{ ...same, end: endOf(call, deletion.revision), outcome: "done" }];
  });
}

interface Verdict {
  readonly wrong: readonly string[];
  readonly unknown: readonly string[];
}

async function problemsOfOrder(history: History): Promise<string[]> {
  const program = buildOnce(module, fileURLToPath(new URL("../linearizable/", import.meta.url)), ".", "linearizable");
  const child = spawn(program, { stdio: ["pipe", "pipe", "inherit"] });
  child.stdin.end(JSON.stringify({ keys: history.keys, calls: checkedCalls(history) }));
  const { wrong, unknown } = JSON.parse(await text(child.stdout)) as Verdict;
  return [
    ...wrong.map((key) => `no order of the calls of ${key} explains their answers`),
    ...unknown.map((key) => `the order of the calls of ${key} was not found in time`),
  ];
}
