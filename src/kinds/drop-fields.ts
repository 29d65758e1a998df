/**
 * Drops the fields whose feature gates are off from written objects, unless the stored object uses the fields already.
 * This runs on every write of a kind that has such fields, so an object without them costs a few property reads and no
 * copy.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { withField } from "./edit.ts";

/**
 * The kind of a write. `update` includes subresources that change the spec; `status` is an update of the status alone.
 */
export type Write = "create" | "update" | "status";

/**
 * Fields that are dropped together. Paths have dots; `*` stands for every member of a list. `T` is the part of the
 * object that has the fields.
 */
export interface GatedFields<T = unknown> {
  /**
   * The fields exist while one of these gates is on. An empty list means fields of earlier releases, which are never
   * written.
   */
  readonly gates: readonly string[];
  readonly paths: readonly string[];
  /**
   * The paths by which a stored object shows that it uses the fields; by default `paths`. An empty list means that no
   * stored object does.
   */
  readonly usedAt?: readonly string[];
  /** Whether a value counts as use; by default every value counts. */
  readonly isUse?: (value: unknown) => boolean;
  /** Returns the value that replaces a dropped one; `undefined` removes the field. By default the field is removed. */
  becomes?(value: unknown): unknown;
  /** Returns the part without the fields, if more than the fields has to be removed. */
  without?(part: T): T;
  /** The writes that drop the fields: by default creates and updates. */
  readonly on?: readonly Write[];
}

/** The gated fields of a part of an object. */
export interface GatedPart {
  /** The path of the part. */
  readonly at: string;
  readonly fields: readonly GatedFields[];
}

/**
 * Returns the object without fields that it may not have; the same object when nothing is dropped. `old` is `undefined`
 * for a create.
 */
export type DropFields = (object: Unstructured, old: Unstructured | undefined) => Unstructured;

type Path = readonly string[];

interface Step {
  readonly fields: GatedFields;
  readonly paths: readonly Path[];
  readonly usedAt: readonly Path[];
}

/**
 * Returns the function that drops fields from a write while some gates are off; `undefined` if there is nothing to
 * drop.
 */
export function dropFields(
  parts: readonly GatedPart[],
  write: Write,
  isOn: (gate: string) => boolean,
): DropFields | undefined {
  const rows = parts
    .map(({ at, fields }) => {
      const steps = fields.filter((each) => isDropped(each, write, isOn)).map(step);
      return { at: parsePath(at), steps, fields: branchOf(steps.flatMap(({ paths }) => paths)) };
    })
    .filter(({ steps }) => steps.length > 0);
  if (rows.length === 0) return undefined;
  return (object, old) => {
    let next = object;
    for (const { at, steps, fields } of rows) {
      const part = valueAt(next, at);
      if (!hasAny(part, fields)) continue;
      const remaining = applySteps(part, valueAt(old, at), steps);
      if (remaining !== part) next = change(next, at, 0, () => remaining) as Unstructured; // an object stays an object
    }
    return next;
  };
}

const isDropped = ({ gates, on = ["create", "update"] }: GatedFields, write: Write, isOn: (gate: string) => boolean) =>
  on.includes(write) && !gates.some(isOn);

function step(fields: GatedFields): Step {
  const paths = fields.paths.map(parsePath);
  return { fields, paths, usedAt: fields.usedAt?.map(parsePath) ?? paths };
}

const parsePath = (text: string): Path => (text === "" ? [] : text.split("."));

function applySteps(part: unknown, old: unknown, steps: readonly Step[]): unknown {
  let next = part;
  for (const { fields, paths, usedAt } of steps) {
    if (!paths.some((path) => isThere(next, path, 0)) || usedAt.some((path) => isThere(old, path, 0, fields.isUse)))
      continue;
    const becomes = (value: unknown): unknown => fields.becomes?.(value);
    next = fields.without?.(next) ?? paths.reduce((current, path) => change(current, path, 0, becomes), next);
  }
  return next;
}

/** Whether a value for which `counts` is true exists at a path, from its member `from` on. */
function isThere(value: unknown, path: Path, from: number, counts: (value: unknown) => boolean = () => true): boolean {
  if (value === undefined || value === null) return false;
  const name = path[from];
  if (name === undefined) return counts(value);
  if (name !== "*") return isThere((value as Fields)[name], path, from + 1, counts);
  for (const item of value as readonly unknown[]) if (isThere(item, path, from + 1, counts)) return true;
  return false;
}

/** Paths as a tree, so that common beginnings are walked once: nearly all objects have none of the fields. */
interface Branch {
  readonly isEnd: boolean;
  /** The branch for every member of a list. */
  readonly each: Branch | undefined;
  readonly members: readonly (readonly [name: string, branch: Branch])[];
}

function branchOf(paths: readonly Path[]): Branch {
  const below = Map.groupBy(
    paths.filter((path) => path.length > 0),
    ([first]) => first!, // not empty
  );
  const branches = [...below].map(([name, inner]) => [name, branchOf(inner.map((path) => path.slice(1)))] as const);
  return {
    isEnd: paths.some((path) => path.length === 0),
    each: branches.find(([name]) => name === "*")?.[1],
    members: branches.filter(([name]) => name !== "*"),
  };
}

function hasAny(value: unknown, { isEnd, each, members }: Branch): boolean {
  if (value === undefined || value === null) return false;
  if (isEnd) return true;
  if (each !== undefined) {
    for (const item of value as readonly unknown[]) if (hasAny(item, each)) return true;
    return false;
  }
  for (const [name, branch] of members) if (hasAny((value as Fields)[name], branch)) return true;
  return false;
}

/** An object. Paths lead through objects and lists only, since schemas decoded the objects. */
type Fields = Readonly<Record<string, unknown>>;

function valueAt(value: unknown, path: Path): unknown {
  let inner = value;
  for (const name of path) inner = (inner as Fields | undefined)?.[name];
  return inner;
}

/**
 * Returns the value with the part at a path replaced by the result of `to`, or removed if it is `undefined`; the same
 * value when nothing changes.
 */
function change(value: unknown, path: Path, from: number, to: (value: unknown) => unknown): unknown {
  if (value === undefined || value === null) return value;
  const name = path[from];
  if (name === undefined) return to(value);
  if (name !== "*") {
    const fields = value as Fields;
    return withField(fields, name, change(fields[name], path, from + 1, to));
  }
  let next: unknown[] | undefined;
  for (const [index, item] of (value as readonly unknown[]).entries()) {
    const changed = change(item, path, from + 1, to);
    if (changed !== item) (next ??= [...(value as readonly unknown[])])[index] = changed;
  }
  return next ?? value;
}
