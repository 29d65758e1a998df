/**
 * Random applies and updates by several managers, compared with a naive model that keeps owned fields as sets of path
 * strings. Hostile configurations must get an answer.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { isObject } from "#std/is-object.ts";
import { type Random, seededRandom } from "#std/random.ts";
import type { Schema } from "#schema/schema.ts";
import { checkApplied } from "./check-applied.ts";
import { elementText } from "./conflicts.ts";
import { type FieldSet, parseFieldSet, pathsOf } from "./field-set.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { gadget, gadgetSpec } from "./gadget-for-tests.ts";
import type { JsonObject } from "./json-value.ts";
import { type OwnedObject, updateManagedFields } from "./managed-fields.ts";
import { applyFields } from "./server-side-apply.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 400);

type Json = Record<string, unknown>;

/** The members of the gadget without defaults, which the model does not know. */
const { size, note, limits, selector, rooms, steps, tags, pools } = gadgetSpec;
const room = { type: "object", properties: { number: { type: "integer" }, wing: { type: "string" } } };
const placeSchema = { type: "object", properties: { city: { type: "string" }, room } };
const members = {
  size: size!,
  note: note!,
  place: placeSchema,
  limits: limits!,
  selector: selector!,
  rooms: rooms!,
  steps: steps!,
};
const { schema } = gadget({ ...members, tags: tags!, pools: pools! });
const schemaFor = (): Schema => schema;

/** The model of a position in an object: the rule by which its parts are found. */
type Shape =
  | { readonly is: "leaf" }
  | { readonly is: "struct"; readonly fields: Readonly<Record<string, Shape>> }
  | { readonly is: "map"; readonly values: Shape }
  | { readonly is: "set" }
  | { readonly is: "keyed"; readonly key: string; readonly items: Shape };

const leaf: Shape = { is: "leaf" };
const struct = (fields: Readonly<Record<string, Shape>>): Shape => ({ is: "struct", fields });
const roomShape = struct({ number: leaf, wing: leaf });
const nodeShape = struct({ id: leaf, role: leaf, tags: { is: "set" } });
const specShape = struct({
  size: leaf,
  note: leaf,
  place: struct({ city: leaf, room: roomShape }),
  limits: { is: "map", values: leaf },
  selector: leaf,
  rooms: { is: "map", values: roomShape },
  steps: leaf,
  tags: { is: "set" },
  pools: {
    is: "keyed",
    key: "name",
    items: struct({
      name: leaf,
      size: leaf,
      labels: { is: "map", values: leaf },
      tags: { is: "set" },
      nodes: { is: "keyed", key: "id", items: nodeShape },
    }),
  },
});
const objectShape = struct({ spec: specShape });

interface Part {
  readonly element: string;
  readonly shape: Shape;
  readonly value: unknown;
  /** Whether the schema names the part; entries of maps and lists are members of a set by themselves. */
  readonly isField: boolean;
}

/** Returns the parts of a value; `undefined` for a value without parts. */
function partsOf(shape: Shape, value: unknown): Part[] | undefined {
  if (value === null || shape.is === "leaf") return undefined;
  if (shape.is === "set") {
    return (value as string[]).map((item) => ({
      element: `[=${JSON.stringify(item)}]`,
      shape: leaf,
      value: item,
      isField: false,
    }));
  }
  if (shape.is === "keyed") {
    const element = (item: Json): string => `[${shape.key}=${JSON.stringify(item[shape.key])}]`;
    return (value as Json[]).map((item) => ({
      element: element(item),
      shape: shape.items,
      value: item,
      isField: false,
    }));
  }
  return Object.entries(value as Json).map(([name, inner]) => ({
    element: `.${name}`,
    shape: shape.is === "map" ? shape.values : shape.fields[name]!,
    value: inner,
    isField: shape.is === "struct",
  }));
}

/** A path as its elements, joined by a text that is in no element. */
type Path = string;
const between = "\u0000";
const below = (path: Path, element: string): Path => (path === "" ? element : path + between + element);

/** Returns every path, with the values that are owned as a whole. */
function collectPaths(shape: Shape, value: unknown, path: Path = "", out = new Map<Path, string>()): Map<Path, string> {
  const parts = partsOf(shape, value);
  if (path !== "") out.set(path, parts === undefined ? canonical(value) : "");
  for (const part of parts ?? []) collectPaths(part.shape, part.value, below(path, part.element), out);
  return out;
}

/** Prints a value with the members of atomic maps in one order. */
const canonical = (value: unknown): string =>
  JSON.stringify(isObject(value) ? Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : value);

/** Returns the fields that an applier of a value owns. */
function ownable(shape: Shape, value: unknown, path: Path = "", isField = true, out = new Set<Path>()): Set<Path> {
  const parts = partsOf(shape, value);
  const isEmptyMap = parts?.length === 0 && (shape.is === "struct" || shape.is === "map");
  if (path !== "" && (!isField || parts === undefined || isEmptyMap)) out.add(path);
  for (const part of parts ?? []) ownable(part.shape, part.value, below(path, part.element), part.isField, out);
  return out;
}

/** Adds every struct member that a path of the set goes through. */
function withFields(set: ReadonlySet<Path>): Set<Path> {
  const out = new Set(set);
  for (const path of set) {
    const elements = path.split(between);
    let shape: Shape = objectShape;
    for (let at = 1; at < elements.length; at++) {
      const element = elements[at - 1]!;
      if (shape.is === "struct") out.add(elements.slice(0, at).join(between));
      shape = partShape(shape, element);
    }
  }
  return out;
}

function partShape(shape: Shape, element: string): Shape {
  if (shape.is === "struct") return shape.fields[element.slice(1)] ?? leaf;
  if (shape.is === "map") return shape.values;
  return shape.is === "keyed" ? shape.items : leaf;
}

/** Removes the paths of the set from the value; a value that loses all parts is null. */
function without(shape: Shape, value: unknown, set: ReadonlySet<Path>, path: Path = ""): unknown {
  const parts = partsOf(shape, value);
  if (parts === undefined || parts.length === 0) return value;
  const kept = parts
    .filter((part) => !set.has(below(path, part.element)))
    .map((part) => ({ ...part, value: without(part.shape, part.value, set, below(path, part.element)) }));
  if (kept.length === 0) return null;
  if (shape.is === "set" || shape.is === "keyed") return kept.map((part) => part.value);
  return Object.fromEntries(kept.map((part) => [part.element.slice(1), part.value]));
}

function mergeNaively(shape: Shape, live: unknown, applied: unknown): unknown {
  const old = partsOf(shape, live);
  const own = partsOf(shape, applied);
  if (old === undefined || own === undefined) return applied;
  const all = new Map(old.map((part) => [part.element, part]));
  for (const part of own) {
    const before = all.get(part.element);
    const value = before === undefined ? part.value : mergeNaively(part.shape, before.value, part.value);
    all.set(part.element, { ...part, value });
  }
  const parts = [...all.values()];
  if (shape.is === "set" || shape.is === "keyed") return parts.map((part) => part.value);
  return Object.fromEntries(parts.map((part) => [part.element.slice(1), part.value]));
}

const minus = (a: ReadonlySet<Path>, ...others: readonly ReadonlySet<Path>[]): Set<Path> =>
  new Set([...a].filter((path) => !others.some((other) => other.has(path))));

class Model {
  object: Json | undefined;
  owners = new Map<string, Set<Path>>();

  /** Applies a configuration; returns whether it succeeded. */
  apply(manager: string, applied: Json, force: boolean): boolean {
    const owners = new Map(this.owners);
    const live = this.object ?? {};
    if (owners.size === 0 && this.object !== undefined) {
      owners.set("before-first-apply (update)", new Set(collectPaths(objectShape, live).keys()));
    }
    const own = ownable(objectShape, applied);
    const last = owners.get(manager) ?? new Set();
    const owned = withFields(
      new Set([...owners].flatMap(([name, set]) => (name === manager ? [] : [...set]))).union(own),
    );
    const whole = mergeNaively(objectShape, live, applied) as Json;
    const next = this.#prune(whole, withFields(last), owned);
    if (JSON.stringify(next).includes("null")) return false;
    const { taken, removed } = this.#changes(live, next);
    for (const [name, set] of owners) {
      if (name === manager) continue;
      if (!force && [...set].some((path) => taken.has(path))) return false;
      owners.set(name, minus(set, taken, removed));
    }
    owners.set(manager, own);
    this.#keep(next, owners);
    return true;
  }

  #prune(whole: Json, last: ReadonlySet<Path>, owned: ReadonlySet<Path>): Json {
    const all = withFields(ownable(objectShape, whole));
    const left = withFields(ownable(objectShape, without(objectShape, whole, last) ?? {}));
    const kept = without(objectShape, whole, minus(all, left, owned)) ?? {};
    const gone = minus(all, withFields(ownable(objectShape, kept)));
    return (without(objectShape, whole, gone.intersection(last)) ?? {}) as Json; // an object stays one
  }

  update(manager: string, next: Json): void {
    const { taken, removed } = this.#changes(this.object ?? {}, next);
    const owners = new Map(this.owners);
    if (owners.size > 0 || this.object === undefined) {
      for (const [name, set] of owners) owners.set(name, minus(set, taken, removed));
      const name = `${manager} (update)`;
      owners.set(name, (owners.get(name) ?? new Set<Path>()).union(taken));
    }
    this.#keep(next, owners);
  }

  #changes(live: Json, next: Json): { readonly taken: Set<Path>; readonly removed: Set<Path> } {
    const before = collectPaths(objectShape, live);
    const after = collectPaths(objectShape, next);
    const taken = [...after].filter(([path, value]) => before.get(path) !== value);
    return {
      taken: new Set(taken.map(([path]) => path)),
      removed: new Set([...before.keys()].filter((path) => !after.has(path))),
    };
  }

  #keep(next: Json, owners: Map<string, Set<Path>>): void {
    this.object = next;
    for (const [name, set] of owners) if (set.size === 0) owners.delete(name);
    this.owners = owners;
  }
}

/** Makes the same steps with the tested code. */
class Subject {
  object: OwnedObject | undefined;

  apply(manager: string, applied: Json, force: boolean): boolean {
    const body = deepFreeze({ apiVersion: "v1", kind: "Gadget", metadata: { name: "x" }, ...applied });
    assert.equal(checkApplied(schema, body), undefined);
    const options = { apiVersion: "v1", subresource: "", now: "", lastAppliedAnnotation: "none", schemaFor };
    const result = applyFields({ ...options, live: this.object, applied: body, manager, force });
    if (!result.ok || (JSON.stringify(result.object["spec"]) ?? "").includes("null")) return false;
    this.object = deepFreeze(result.object);
    return true;
  }

  update(manager: string, next: Json): void {
    const managedFields = this.object?.metadata?.managedFields;
    const sent: OwnedObject = { apiVersion: "v1", kind: "Gadget", metadata: { name: "x" } as object, ...next };
    const options = { apiVersion: "v1", subresource: "", now: "", manager, schemaFor };
    const list = updateManagedFields({
      ...options,
      old: this.object,
      next: managedFields === undefined ? sent : { ...sent, metadata: { ...sent.metadata, managedFields } },
    });
    this.object = deepFreeze({
      ...sent,
      metadata: { ...sent.metadata, ...(list === undefined ? {} : { managedFields: list }) },
    });
  }

  get owners(): Map<string, string[]> {
    const owners = new Map<string, string[]>();
    for (const { manager = "", operation, fieldsV1 } of this.object?.metadata?.managedFields ?? []) {
      const set = fieldsV1 as FieldSet; // written by what is tested
      assert.equal(parseFieldSet(JSON.parse(JSON.stringify(set))) === undefined, false);
      const paths = Array.from(pathsOf(set), (path) => path.map(elementText).join(""));
      owners.set(operation === "Update" ? `${manager} (update)` : manager, paths.sort());
    }
    return owners;
  }
}

/** Brings sets and keyed lists into one order, which this test does not compare. */
function sortSets(shape: Shape, value: unknown): unknown {
  const parts = partsOf(shape, value);
  if (parts === undefined) return canonical(value);
  return parts.map((part) => [part.element, sortSets(part.shape, part.value)]).sort(([a], [b]) => (a! < b! ? -1 : 1));
}

const chance = (random: Random, of: number): boolean => random.next() < of;
const below4 = (random: Random): number => Math.floor(random.next() * 4);
const some = <T>(random: Random, all: readonly T[]): T[] =>
  all
    .map((one) => ({ one, at: random.next() }))
    .sort((a, b) => a.at - b.at)
    .slice(0, Math.floor(random.next() * (all.length + 1)))
    .map(({ one }) => one);

function makeSpec(random: Random): Json {
  const letter = (): string => "xyz"[Math.floor(random.next() * 3)]!;
  const few = (): string[] => some(random, ["a", "b", "c", 'd"]/']);
  const map = (make: () => unknown): Json => Object.fromEntries(few().map((name) => [name, make()]));
  const pick = (makers: Readonly<Record<string, () => unknown>>, of: number): Json =>
    Object.fromEntries(
      Object.entries(makers)
        .filter(() => chance(random, of))
        .map(([name, make]) => [name, make()]),
    );
  const makeRoom = (): Json => pick({ number: () => below4(random), wing: letter }, 0.6);
  const makeNode = (id: number): Json => ({ id, ...pick({ role: letter, tags: few }, 0.5) });
  const makePool = (name: string): Json => ({
    name,
    ...pick(
      {
        size: () => below4(random),
        labels: () => map(letter),
        tags: few,
        nodes: () => some(random, [1, 2, 10]).map(makeNode),
      },
      0.4,
    ),
  });
  return pick(
    {
      size: () => below4(random),
      note: letter,
      place: () => pick({ city: letter, room: makeRoom }, 0.6),
      limits: () => map(letter),
      selector: () => map(letter),
      rooms: () => map(makeRoom),
      steps: few,
      tags: few,
      pools: () => few().map(makePool),
    },
    0.35,
  );
}

test(`apply does what a naive model does, seed ${seed}`, (context) => {
  context.diagnostic(`seed ${seed}, ${runs} runs`);
  const random = seededRandom(seed);
  let applied = 0;
  let refused = 0;
  for (let run = 0; run < runs; run++) {
    const model = new Model();
    const subject = new Subject();
    const lines: string[] = [];
    for (let step = 0; step < 12; step++) {
      const manager = `m${below4(random)}`;
      const body = deepFreeze(chance(random, 0.95) ? { spec: makeSpec(random) } : {});
      if (chance(random, 0.2)) {
        lines.push(`${manager} writes ${JSON.stringify(body)}`);
        model.update(manager, body);
        subject.update(manager, body);
      } else {
        const force = chance(random, 0.4);
        lines.push(`${manager} ${force ? "forces" : "applies"} ${JSON.stringify(body)}`);
        const wanted = model.apply(manager, body, force);
        assert.equal(subject.apply(manager, body, force), wanted, lines.join("\n"));
        if (wanted) applied++;
        else refused++;
      }
      const spec = subject.object?.["spec"];
      const found = spec === undefined ? {} : { spec };
      assert.deepEqual(sortSets(objectShape, found), sortSets(objectShape, model.object ?? {}), lines.join("\n"));
      const wanted = [...model.owners].map(([name, set]) => [
        name,
        [...set].map((path) => path.replaceAll(between, "")).sort(),
      ]);
      assert.deepEqual(subject.owners, new Map(wanted as [string, string[]][]), lines.join("\n"));
    }
  }
  assert.ok(applied > runs && refused > runs / 2, `of no use: ${applied} applied, ${refused} refused`);
});

test(`any value applied to any object is merged or refused, and applying it again changes nothing, seed ${seed}`, () => {
  const random = seededRandom(seed);
  const all = gadget().schema;
  const options = { apiVersion: "v1", subresource: "", now: "", lastAppliedAnnotation: "none", schemaFor: () => all };
  let merges = 0;
  for (let run = 0; run < runs * 20; run++) {
    let live: OwnedObject | undefined;
    for (const manager of ["m1", "m2"]) {
      const spec = chance(random, 0.5) ? makeJson(random, 0) : { ...makeSpec(random), free: makeJson(random, 1) };
      const body = deepFreeze({ apiVersion: "v1", kind: "Gadget", metadata: { name: "x" }, spec });
      if (checkApplied(all, body) !== undefined) continue;
      const first = applyFields({ ...options, live, applied: body as JsonObject, manager, force: true });
      assert.ok(first.ok);
      live = deepFreeze(first.object);
      // The next apply invents an owner for an object that has none.
      if (live.metadata?.managedFields === undefined) break;
      const again = applyFields({ ...options, live, applied: body as JsonObject, manager, force: false });
      assert.ok(again.ok && !again.changed, JSON.stringify({ live, body }));
      assert.equal(JSON.stringify(again.object), JSON.stringify(live));
      merges++;
    }
  }
  assert.ok(merges > runs, `of no use: ${merges} merges`);
});

/** Makes any JSON, which often has the names of the gadget's members. */
function makeJson(random: Random, depth: number): unknown {
  const names = [
    "size",
    "place",
    "limits",
    "tags",
    "pools",
    "free",
    "any",
    "name",
    "__proto__",
    "constructor",
    ".",
    "",
  ];
  const kind = Math.floor(random.next() * (depth > 3 ? 5 : 8));
  if (kind === 0) return null;
  if (kind === 1) return chance(random, 0.5);
  if (kind === 2) return below4(random);
  if (kind < 5) return names[Math.floor(random.next() * names.length)];
  const count = below4(random);
  if (kind === 5) return Array.from({ length: count }, () => makeJson(random, depth + 1));
  const members = Array.from({ length: count }, () => {
    const name = names[Math.floor(random.next() * names.length)]!;
    return `${JSON.stringify(name)}:${JSON.stringify(makeJson(random, depth + 1))}`;
  });
  return JSON.parse(`{${members.join(",")}}`);
}
