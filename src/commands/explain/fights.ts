/** Fields that several managers keep on changing, as the history of an object shows them. */
import type { Unstructured } from "#meta/object-meta.ts";
import type { PastItem } from "#meta/past-item.ts";
import { isObject } from "#std/is-object.ts";

/** A field that managers change in turn. */
export interface Fight {
  /** The path of the field, as `binnacle blame` writes it. */
  readonly path: string;
  /** The managers, the newest first. */
  readonly managers: readonly string[];
  /** The number of changes. */
  readonly changes: number;
  /** The newest values as they may be shown, the newest first, each different value once. */
  readonly values: readonly unknown[];
  /** The time of the oldest change. */
  readonly since?: string;
}

interface FieldChange {
  readonly manager: string;
  readonly value: unknown;
  readonly shown: unknown;
  readonly time: string | undefined;
}

/** The number of changes of hands from which it is a fight: one manager took the field back from another. */
const turnsMin = 2;

const shownValuesMax = 3;

/**
 * Returns the fields that managers took from each other and back. `items` are versions of one object, newest first;
 * `shownOf` returns a version with the values that may be shown in it.
 */
export function fightsOf(
  items: readonly PastItem[],
  shownOf: (object: Unstructured) => Unstructured,
): readonly Fight[] {
  const byPath = new Map<string, FieldChange[]>();
  for (const [at, { event, object, manager, time, uid }] of items.entries()) {
    const older = items[at + 1];
    if (event !== "updated" || object === undefined || older?.object === undefined || older.uid !== uid) continue;
    for (const { path, value, shown } of changedFields(older.object, object, shownOf(object))) {
      const change = { manager: manager ?? "unknown", value, shown, time };
      const before = byPath.get(path);
      if (before === undefined) byPath.set(path, [change]);
      else before.push(change);
    }
  }
  return [...byPath].flatMap(([path, changes]): Fight[] => {
    const turns = changes.filter(({ manager }, at) => at > 0 && manager !== changes[at - 1]!.manager).length;
    if (turns < turnsMin) return [];
    const { time: since } = changes.at(-1)!;
    const values = [...new Map(changes.map(({ value, shown }) => [JSON.stringify(value), shown])).values()];
    return [
      {
        path,
        managers: [...new Set(changes.map(({ manager }) => manager))],
        changes: changes.length,
        values: values.slice(0, shownValuesMax),
        ...(since === undefined ? {} : { since }),
      },
    ];
  });
}

interface ChangedField {
  readonly path: string;
  readonly value: unknown;
  /** The value as it may be shown. */
  readonly shown: unknown;
}

/** The fields that change with every write. */
const ownFields: ReadonlySet<string> = new Set([
  "metadata.managedFields",
  "metadata.resourceVersion",
  "metadata.generation",
]);

const depthMax = 20;

/** Returns the smallest fields in which two states of an object differ, with their later values. */
function changedFields(before: Unstructured, after: Unstructured, shownAfter: Unstructured): readonly ChangedField[] {
  const changed: ChangedField[] = [];
  const compare = (one: unknown, other: unknown, shown: unknown, path: string, depth: number): void => {
    if (ownFields.has(path)) return;
    const isList = Array.isArray(one) && Array.isArray(other) && one.length === other.length;
    const isMap = isObject(one) && isObject(other);
    if (depth < depthMax && (isList || isMap)) {
      const [left, right] = [one, other] as [Readonly<Record<string, unknown>>, Readonly<Record<string, unknown>>]; // lists have members, too
      for (const name of new Set([...Object.keys(left), ...Object.keys(right)])) {
        const shownMember = (shown as Readonly<Record<string, unknown>> | undefined)?.[name]; // it has the form of the other
        compare(left[name], right[name], shownMember, isList ? `${path}[${name}]` : memberPath(path, name), depth + 1);
      }
    } else if (JSON.stringify(one) !== JSON.stringify(other)) changed.push({ path, value: other, shown });
  };
  compare(before, after, shownAfter, "", 0);
  return changed;
}

/** Returns the path of a member: `spec.replicas`, `metadata.labels["a.b/c"]`. */
export const memberPath = (path: string, name: string): string =>
  path === "" ? name : /^[\w-]+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
