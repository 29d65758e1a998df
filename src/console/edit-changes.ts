/**
 * The difference between an object and what somebody has made of it, as fields: those that are set, which server-side
 * apply can write and which may belong to others, and those that are taken away.
 */
import { FieldOwners, isOfItem, type KeyPath, withFields } from "#meta/field-owners.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";

interface ChangedField {
  /** The path as people write it. */
  readonly path: string;
  readonly keys: KeyPath;
  /** Whether the field is taken away. */
  readonly isRemoved: boolean;
  /** The other managers that own it. */
  readonly managers: readonly string[];
}

/** The name under which the console writes. */
export const consoleManager = "console";

type Members = Readonly<Record<string, unknown>>;

/** Metadata that the server keeps itself. */
const ownMetadata: ReadonlySet<string> = new Set(
  ["managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"].map(
    (name) => `metadata.${name}`,
  ),
);

/** Returns the fields in which two states of an object differ. */
export function changedFields(before: Unstructured, after: Unstructured): readonly ChangedField[] {
  const owners = FieldOwners.of(before.metadata.managedFields ?? []);
  return memberChanges(before, after, { owners, path: "", keys: [] });
}

/** A part of an object on the way down. */
interface Spot {
  readonly owners: FieldOwners;
  readonly path: string;
  readonly keys: KeyPath;
}

const changeAt = ({ owners, path, keys }: Spot, isRemoved: boolean): ChangedField => {
  const names = owners.managers.map(({ manager = "unknown" }) => manager).filter((name) => name !== consoleManager);
  return { path, keys, isRemoved, managers: [...new Set(names)] };
};

function changesOf(before: unknown, after: unknown, spot: Spot): readonly ChangedField[] {
  if (isSame(before, after)) return [];
  if (isObject(before) && isObject(after)) return memberChanges(before, after, spot);
  if (Array.isArray(before) && Array.isArray(after)) return itemChanges(before, after, spot);
  return [changeAt(spot, false)];
}

function memberChanges(before: Members, after: Members, spot: Spot): readonly ChangedField[] {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => {
    const below: Spot = {
      owners: spot.owners.member(name),
      path:
        spot.path === ""
          ? name
          : /^[\w-]+$/.test(name)
            ? `${spot.path}.${name}`
            : `${spot.path}[${JSON.stringify(name)}]`,
      keys: [...spot.keys, `f:${name}`],
    };
    if (ownMetadata.has(below.path)) return [];
    if (!Object.hasOwn(after, name)) return [changeAt(below, true)];
    return Object.hasOwn(before, name) ? changesOf(before[name], after[name], below) : [changeAt(below, false)];
  });
}

/** Lists whose items have keys are compared item by item, as server-side apply does; others are one value. */
function itemChanges(before: readonly unknown[], after: readonly unknown[], spot: Spot): readonly ChangedField[] {
  const names = itemKeys(spot.owners);
  const keyOf = (item: unknown): string | undefined => keyOfItem(item, names);
  const olds = new Map(before.map((item, at) => [keyOf(item), at]));
  const news = new Map(after.map((item, at) => [keyOf(item), at]));
  const areKeyed =
    olds.size === before.length && news.size === after.length && !olds.has(undefined) && !news.has(undefined);
  if (names.length === 0 || !areKeyed) return [changeAt(spot, false)];
  return [...new Set([...olds.keys(), ...news.keys()])].flatMap((key = "") => {
    const [old, now] = [olds.get(key), news.get(key)];
    const item = old === undefined ? after[now!] : before[old];
    const below: Spot = {
      owners: spot.owners.item(item, old ?? -1),
      path: `${spot.path}[${key.slice(2)}]`,
      keys: [...spot.keys, key],
    };
    if (now === undefined) return [changeAt(below, true)];
    return old === undefined ? [changeAt(below, false)] : changesOf(before[old], after[now], below);
  });
}

/** Returns the names of the members that are the key of an item, as managers know them; none for other lists. */
function itemKeys(owners: FieldOwners): readonly string[] {
  const [first] = owners.namesOf((key) => key.startsWith("k:"));
  if (first === undefined) return [];
  try {
    const key: unknown = JSON.parse(first.slice(2));
    return isObject(key) ? Object.keys(key) : [];
  } catch {
    return [];
  }
}

function keyOfItem(item: unknown, names: readonly string[]): string | undefined {
  if (!isObject(item) || names.length === 0) return undefined;
  const key: Record<string, unknown> = {};
  for (const name of names) {
    // A part of a key that has a default may be missing.
    if (item[name] !== undefined) key[name] = item[name];
  }
  return Object.keys(key).length === 0 ? undefined : `k:${JSON.stringify(key)}`;
}

/** Whether two values of JSON are the same; the order of members does not count. */
function isSame(one: unknown, other: unknown): boolean {
  if (Array.isArray(one) && Array.isArray(other)) {
    return one.length === other.length && one.every((item, at) => isSame(item, other[at]));
  }
  if (isObject(one) && isObject(other)) {
    const [names, others] = [Object.keys(one), Object.keys(other)];
    return (
      names.length === others.length &&
      names.every((name) => Object.hasOwn(other, name) && isSame(one[name], other[name]))
    );
  }
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

/**
 * Returns the configuration that applies the fields that are set, with those that the console has applied before, which
 * would be taken away otherwise.
 */
export function appliedPart(after: Unstructured, changes: readonly ChangedField[]): Unstructured {
  const { apiVersion = "", kind = "", metadata } = after;
  const own = metadata.managedFields?.find(
    ({ manager, operation, subresource = "" }) =>
      manager === consoleManager && operation === "Apply" && subresource === "",
  );
  let fields: Members = own?.fieldsV1 ?? {};
  for (const { keys, isRemoved } of changes) if (!isRemoved) fields = withFields(fields, keys, {});
  const part = valueOf(after, fields) as Unstructured; // a part of an object
  const { name, namespace } = metadata;
  return {
    ...part,
    apiVersion,
    kind,
    metadata: {
      ...part.metadata,
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined ? {} : { namespace }),
    },
  };
}

/** Returns the part of a value that a set of fields names. */
function valueOf(value: unknown, fields: Members): unknown {
  const names = Object.keys(fields).filter((name) => name !== ".");
  if (names.length === 0) return value;
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => {
      const name = names.find((one) => isOfItem(one, item, at));
      if (name === undefined) return [];
      const inner = valueOf(item, fields[name] as Members); // a set of fields
      return [
        isObject(inner) && name.startsWith("k:") ? { ...(JSON.parse(name.slice(2)) as object), ...inner } : inner,
      ];
    });
  }
  if (!isObject(value)) return value;
  const part: Record<string, unknown> = {};
  for (const name of names) {
    const member = name.slice(2);
    if (name.startsWith("f:") && Object.hasOwn(value, member))
      part[member] = valueOf(value[member], fields[name] as Members); // a set of fields
  }
  return part;
}
