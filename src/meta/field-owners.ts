/**
 * The managers of an object's fields, as `metadata.managedFields` has them: a tree of `f:` for members, `k:` for items by
 * key, `v:` for items by value and `i:` for items by index. Source: structured-merge-diff's `fieldpath` serialization.
 */
import type { ManagedFieldsEntry } from "./object-meta.ts";
import { isObject } from "#std/is-object.ts";

/** The fields that a manager owns at or below a part in the object. */
type Fields = Readonly<Record<string, unknown>>;

/** A part of an object, with the managers that own it or something in it. */
export class FieldOwners {
  readonly #sets: readonly (readonly [ManagedFieldsEntry, Fields])[];
  /** The managers of this part and everything below it. */
  readonly owners: readonly ManagedFieldsEntry[];

  constructor(sets: readonly (readonly [ManagedFieldsEntry, Fields])[], above: readonly ManagedFieldsEntry[] = []) {
    this.#sets = sets;
    // An owner of a part without parts owns everything below.
    this.owners = [...above, ...sets.filter(([, fields]) => Object.keys(fields).length === 0).map(([entry]) => entry)];
  }

  /** Returns the part of the whole object. */
  static of(entries: readonly ManagedFieldsEntry[]): FieldOwners {
    return new FieldOwners(
      entries.flatMap((entry) =>
        isObject(entry.fieldsV1) && Object.keys(entry.fieldsV1).length > 0
          ? [[entry, entry.fieldsV1 as Fields] as const]
          : [],
      ),
    );
  }

  /** Returns the managers of the part itself; those of parts of it are left out. */
  get managers(): readonly ManagedFieldsEntry[] {
    const own = this.#sets.filter(([, fields]) => Object.hasOwn(fields, ".")).map(([entry]) => entry);
    return [...this.owners, ...own];
  }

  member(name: string): FieldOwners {
    return this.#below((key) => key === `f:${name}`);
  }

  item(value: unknown, at: number): FieldOwners {
    return this.#below((key) => isOfItem(key, value, at));
  }

  /** Returns the names by which managers know a member or an item; none if nobody owns a part of it. */
  namesOf(matches: (key: string) => boolean): readonly string[] {
    return [...new Set(this.#sets.flatMap(([, fields]) => Object.keys(fields).filter(matches)))];
  }

  #below(matches: (key: string) => boolean): FieldOwners {
    const sets = this.#sets.flatMap(([entry, fields]) => {
      const key = Object.keys(fields).find(matches);
      return key === undefined || !isObject(fields[key]) ? [] : [[entry, fields[key] as Fields] as const];
    });
    return new FieldOwners(sets, this.owners);
  }
}

/** Whether a key of a list stands for an item. */
export function isOfItem(key: string, item: unknown, at: number): boolean {
  if (key === `i:${at}`) return true;
  const kind = key.slice(0, 2);
  if (kind !== "k:" && kind !== "v:") return false;
  const value = parsed(key.slice(2));
  if (kind === "v:") return value === item;
  return (
    isObject(value) && isObject(item) && Object.entries(value).every(([name, one]) => (item as Fields)[name] === one)
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The keys that lead from the whole object to a part. */
export type KeyPath = readonly string[];

/** Returns the fields that a set has at a path; `undefined` for nothing. */
export function fieldsAt(fields: unknown, path: KeyPath): Fields | undefined {
  let inner = fields;
  for (const key of path) inner = isObject(inner) && Object.hasOwn(inner, key) ? (inner as Fields)[key] : undefined;
  return isObject(inner) ? (inner as Fields) : undefined;
}

/** Returns the set without what it has at a path; `undefined` when nothing is left. */
export function withoutFields(fields: Fields, [first, ...rest]: KeyPath): Fields | undefined {
  if (first === undefined) return undefined;
  if (!Object.hasOwn(fields, first)) return fields;
  const { [first]: inner, ...others } = fields;
  const left = isObject(inner) ? withoutFields(inner as Fields, rest) : undefined;
  const next = left === undefined ? others : { ...fields, [first]: left };
  return Object.keys(next).length === 0 ? undefined : next;
}

/** Returns the set with these fields at a path, joined with what it has there. */
export function withFields(fields: Fields, [first, ...rest]: KeyPath, more: Fields): Fields {
  if (first === undefined) return joined(fields, more);
  const inner = fields[first];
  return { ...fields, [first]: withFields(isObject(inner) ? (inner as Fields) : {}, rest, more) };
}

function joined(one: Fields, other: Fields): Fields {
  const all: Record<string, unknown> = { ...one };
  for (const [key, value] of Object.entries(other)) {
    all[key] = isObject(all[key]) && isObject(value) ? joined(all[key] as Fields, value as Fields) : value;
  }
  return all;
}
