/**
 * Leaves out of what clients write the fields whose feature gates are off, unless the stored object uses them already. Runs on
 * every write of a kind that has such fields, so an object without them costs a few property reads and no copy.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { withField } from "./edit.ts";

/** Creates, updates of the object (and of subresources that change its spec), and updates of its status. */
export type Write = "create" | "update" | "status";

/** Fields that come and go together. Paths have dots; `*` stands for every member of a list. `T` is the part that has them. */
export interface GatedFields<T = unknown> {
  /** The fields exist while one of these gates is on. An empty list: they are fields of earlier releases. */
  readonly gates: readonly string[];
  readonly paths: readonly string[];
  /**
   * The paths by which a stored object shows that it uses the fields; by default `paths`. With an empty list, no use
   * counts.
   */
  readonly usedAt?: readonly string[];
  /** Whether a value counts as use; by default every value does. */
  readonly isUse?: (value: unknown) => boolean;
  /** Returns what becomes of a value that stays. */
  becomes?(value: unknown): unknown;
  /** Returns the part without the fields, where more goes than they. */
  without?(part: T): T;
  /** Writes that drop them: by default creates and updates. */
  readonly on?: readonly Write[];
}

/** Gated fields of a part of an object. */
export interface GatedPart {
  /** The path of the part. */
  readonly at: string;
  readonly fields: readonly GatedFields[];
}

/** The object without what may not be there; the same object when nothing goes. A create has no old one. */
export type DropFields = (object: Unstructured, old: Unstructured | undefined) => Unstructured;

type Path = readonly string[];

interface Step {
  readonly fields: GatedFields;
  readonly paths: readonly Path[];
  readonly usedAt: readonly Path[];
}

/** Returns what a write drops while some gates are off; `undefined` for nothing. */
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
      if (remaining !== part) next = change(next, at, 0, () => remaining) as Unstructured; // the part is inside of it
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
    next = fields.without?.(next) ?? paths.reduce((left, path) => change(left, path, 0, becomes), next);
  }
  return next;
}

/** Whether something is at a path, from its member `from` on, that counts. */
function isThere(value: unknown, path: Path, from: number, counts: (value: unknown) => boolean = () => true): boolean {
  if (value === undefined || value === null) return false;
  const name = path[from];
  if (name === undefined) return counts(value);
  if (name !== "*") return isThere((value as Fields)[name], path, from + 1, counts);
  for (const item of value as readonly unknown[]) if (isThere(item, path, from + 1, counts)) return true;
  return false;
}

/** Paths with what they share written once: nearly all objects have none of them, and are looked through once. */
interface Branch {
  readonly isEnd: boolean;
  /** Every member of a list continues here. */
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

/** An object; paths lead through nothing else, since schemas made the objects. */
type Fields = Readonly<Record<string, unknown>>;

function valueAt(value: unknown, path: Path): unknown {
  let inner = value;
  for (const name of path) inner = (inner as Fields | undefined)?.[name];
  return inner;
}

/** The value with another one at a path, or none where `to` gives `undefined`; itself where nothing changes. */
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
