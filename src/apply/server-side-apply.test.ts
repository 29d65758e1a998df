/**
 * Server-side apply: recorded cases for every list and map type; versions, schema changes, subresources, objects
 * without managers, and migration from client-side apply. Inputs are frozen.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import { applyDefaults, checkListTypes, type StructuralSchema, validateValue } from "#schema/structural.ts";
import { growsInProportion } from "#std/growth-for-tests.ts";
import { checkApplied } from "./check-applied.ts";
import { elementText, type ConflictReport } from "./conflicts.ts";
import { type FieldSet, fieldSetOf, pathsOf } from "./field-set.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { gadget, gadgetSpec } from "./gadget-for-tests.ts";
import type { JsonObject } from "./json-value.ts";
import { type OwnedObject, updateManagedFields } from "./managed-fields.ts";
import { applyFields, type FieldApply } from "./server-side-apply.ts";

const apiVersion = "v1";
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";
const gadgets = gadget();

type More = Partial<FieldApply> & { readonly metadata?: JsonObject; readonly status?: JsonObject };

/** One object that is applied and updated, one second apart. */
class Story {
  structural: StructuralSchema;
  object: OwnedObject | undefined;
  second = 0;

  constructor(structural: StructuralSchema = gadgets) {
    this.structural = structural;
  }

  get spec(): unknown {
    return this.object?.["spec"];
  }

  get entries(): readonly ManagedFieldsEntry[] {
    return this.object?.metadata?.managedFields ?? [];
  }

  /** Applies a configuration; returns `undefined` on success, and the object is then the new one. */
  apply(manager: string, spec: unknown, more: More = {}): ConflictReport | string | undefined {
    const { metadata = {}, status, ...options } = more;
    const version = options.apiVersion ?? apiVersion;
    const applied = deepFreeze({
      apiVersion: version,
      kind: "Gadget",
      metadata: { name: "one", ...metadata },
      ...(spec === undefined ? {} : { spec }),
      ...(status === undefined ? {} : { status }),
    });
    const { schema } = this.structural;
    const problem = checkApplied(schema, applied);
    if (problem !== undefined) return problem;
    const result = applyFields({
      live: this.object,
      applied,
      apiVersion,
      subresource: "",
      manager,
      force: false,
      now: this.#tick(),
      lastAppliedAnnotation,
      schemaFor: () => schema,
      ...options,
    });
    if (!result.ok) return result.conflicts;
    return this.#keep(
      result.changed ? (applyDefaults(result.object, this.structural.node, false) as OwnedObject) : result.object,
    ); // an object stays one
  }

  update(manager: string, spec: unknown, more: { readonly metadata?: JsonObject } = {}): string | undefined {
    const managedFields = this.object?.metadata?.managedFields;
    const metadata = { name: "one", ...more.metadata, ...(managedFields === undefined ? {} : { managedFields }) };
    const sent = deepFreeze({ apiVersion, kind: "Gadget", metadata, spec });
    const next = applyDefaults(sent, this.structural.node) as OwnedObject; // an object stays one
    const { schema } = this.structural;
    const update = { old: this.object, next, schemaFor: () => schema, apiVersion, subresource: "", manager };
    const entries = updateManagedFields({ ...update, now: this.#tick() });
    const { managedFields: _sent, ...own } = next.metadata ?? {};
    return this.#keep({ ...next, metadata: entries === undefined ? own : { ...own, managedFields: entries } });
  }

  #tick(): string {
    return `2026-01-01T00:00:${String(this.second++).padStart(2, "0")}Z`;
  }

  #keep(object: OwnedObject): string | undefined {
    const { node } = this.structural;
    const findings = [...validateValue(object, node, this.object), ...checkListTypes(object, node)];
    if (findings.length > 0) return "invalid";
    this.object = deepFreeze(object);
    return undefined;
  }
}

const fieldsText = (set: FieldSet): string =>
  Array.from(
    pathsOf(set),
    (path) =>
      path
        .map(elementText)
        .join("")
        .replace(/^\.spec/, "") || "spec",
  )
    .sort()
    .join(", ");

const owners = (entries: readonly ManagedFieldsEntry[]): string[] =>
  entries
    .map(
      ({ manager, operation, fieldsV1 }) =>
        `  ${manager}${operation === "Update" ? " (update)" : ""}: ${fieldsText(fieldsV1 as FieldSet)}`, // written here
    )
    .sort();

/** Fields that stories show only when they were given. */
const defaults: JsonObject = { mode: "auto", extras: { a: "1" }, marks: ["q"] };

function withoutDefaults(spec: unknown): unknown {
  if (spec === undefined) return null;
  const members = Object.entries(spec as JsonObject).sort(([a], [b]) => (a < b ? -1 : 1)); // a spec is an object
  return Object.fromEntries(
    members.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(defaults[name])),
  );
}

/** Returns the answer to a step, in the lines of the stories. */
function answer(story: Story, problem: ConflictReport | string | undefined): string[] {
  if (problem === "invalid") return ["invalid"];
  if (typeof problem === "string") return [`x ${JSON.stringify(problem)}`];
  if (problem !== undefined) {
    const who = (message: string): string =>
      message.replace("conflict with ", "").replaceAll('"', "").replace(" using v1", " (update)");
    return problem.causes.map(({ field, message }) => `! ${field} of ${who(message)}`).sort();
  }
  return [`= ${JSON.stringify(withoutDefaults(story.spec))}`, ...owners(story.entries)];
}

const sortKeys = (line: string): string =>
  line.startsWith("= ") ? `= ${JSON.stringify(sortDeep(JSON.parse(line.slice(2))))}` : line;

function sortDeep(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortDeep);
  if (typeof value !== "object" || value === null) return value;
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  return Object.fromEntries(members.map(([name, inner]) => [name, sortDeep(inner)]));
}

const file = readFileSync(new URL("./server-side-apply.vectors.txt", import.meta.url), "utf8");
const stories = file.split(/^# /m).slice(1);

for (const told of stories) {
  const [name = "", ...lines] = told.trimEnd().split("\n");
  test(`apply: ${name}`, () => {
    const story = new Story();
    for (let at = 0; at < lines.length; ) {
      const [, manager, verb, body] = /^(\S+) (applies|forces|writes) (.*)$/.exec(lines[at++]!) ?? [];
      assert.ok(manager !== undefined && body !== undefined, `line ${at} is no step`);
      const expected: string[] = [];
      while (at < lines.length && /^(?:[=!x] | {2}|invalid)/.test(lines[at]!)) expected.push(lines[at++]!);
      const spec: unknown = JSON.parse(body);
      const problem =
        verb === "writes" ? story.update(manager, spec) : story.apply(manager, spec, { force: verb === "forces" });
      assert.deepEqual(
        answer(story, problem).map(sortKeys),
        expected.map(sortKeys),
        `after ${manager} ${verb} ${body}`,
      );
    }
  });
}

test("there are at least 150 stories", () => assert.ok(stories.length >= 150, String(stories.length)));

const entry = (
  manager: string,
  operation: "Apply" | "Update",
  fieldsV1: JsonObject,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation,
  apiVersion,
  time: "2025-01-01T00:00:00Z",
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
});

function annotationsOf(story: Story): JsonObject {
  const metadata = (story.object?.metadata ?? {}) as { readonly annotations?: JsonObject }; // by its schema
  return metadata.annotations ?? {};
}

/** Makes a story of a stored object. */
function storyOf(spec: JsonObject, managedFields: readonly ManagedFieldsEntry[], structural = gadgets): Story {
  const story = new Story(structural);
  story.object = deepFreeze({ apiVersion, kind: "Gadget", metadata: { name: "one", managedFields }, spec });
  return story;
}

const message = (problem: ConflictReport | string | undefined): string =>
  typeof problem === "string" ? problem : (problem?.message ?? "");

test("applying the same again gives the same object back, times and all [SSA-19]", () => {
  const story = new Story();
  story.apply("m1", { size: 1, tags: ["a"], pools: [{ name: "x" }] });
  const { object } = story;
  assert.equal(story.apply("m1", { pools: [{ name: "x" }], tags: ["a"], size: 1 }), undefined);
  assert.equal(story.object, object);
});

test("an apply that only shares or gives up fields keeps the time, or has none [MF-06]", () => {
  const story = new Story();
  const times = (): unknown[] => story.entries.map(({ manager, time }) => [manager, time]);
  story.apply("m1", { size: 1, note: "n" });
  story.apply("m2", { size: 1 });
  assert.deepEqual(times(), [
    ["m2", undefined],
    ["m1", "2026-01-01T00:00:00Z"],
  ]);
  story.apply("m1", { note: "n" });
  assert.deepEqual(times(), [
    ["m2", undefined],
    ["m1", "2026-01-01T00:00:00Z"],
  ]);
  story.apply("m2", { size: 2 });
  assert.deepEqual(times(), [
    ["m1", "2026-01-01T00:00:00Z"],
    ["m2", "2026-01-01T00:00:03Z"],
  ]);
});

test("one conflict is told in one line, several by manager in order [SSA-06]", () => {
  const story = new Story();
  story.apply("b", { size: 1, pools: [{ name: "x", size: 1, labels: { k: "v" } }] });
  story.apply("a", { note: "n", codes: [1] });
  assert.equal(message(story.apply("c", { size: 2 })), 'Apply failed with 1 conflict: conflict with "b": .spec.size');
  assert.equal(
    message(story.apply("c", { size: 2, note: "o", pools: [{ name: "x", size: 2, labels: { k: "w" } }] })),
    `Apply failed with 4 conflicts: conflicts with "a":
- .spec.note
conflicts with "b":
- .spec.size
- .spec.pools[name="x"].size
- .spec.pools[name="x"].labels.k`,
  );
});

test("a conflict names subresource and version of an updater [MF-11]", () => {
  const fields = { "f:status": { "f:phase": {} } };
  const story = storyOf({}, [
    entry("u", "Update", fields, { subresource: "status" }),
    entry("a", "Apply", fields, { subresource: "status" }),
  ]);
  story.object = deepFreeze({ ...story.object, status: { phase: "x" } });
  const problem = story.apply("m", undefined, { subresource: "status", status: { phase: "y" } });
  assert.match(message(problem), /conflicts with "a" with subresource "status":\n/);
  assert.match(message(problem), /conflicts with "u" with subresource "status" using v1:\n/);
});

test("the main resource never owns or takes status, nor status the rest", () => {
  const story = new Story();
  const main = { resetFields: fieldSetOf([["f:status"]]) };
  const status = { subresource: "status", resetFields: fieldSetOf([["f:spec"], ["f:metadata"]]) };
  story.apply("m1", { size: 1 }, { ...main, status: { phase: "x" } });
  story.apply("m2", { size: 2 }, { ...status, status: { phase: "y" } });
  assert.deepEqual(owners(story.entries), ["  m1: .size", "  m2: .status.phase"]);
  assert.equal(story.apply("m1", { size: 3 }, { ...main, status: { phase: "z" } }), undefined);
  assert.deepEqual(owners(story.entries), ["  m1: .size", "  m2: .status.phase"]);
});

test("before its first apply, an object without managers gets one that owns all its fields [SSA-11]", () => {
  const story = storyOf({ size: 1, limits: { a: "1" } }, []);
  assert.equal(
    message(story.apply("m1", { size: 2 })),
    'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .spec.size',
  );
  assert.equal(story.apply("m1", { size: 1 }), undefined);
  assert.deepEqual(owners(story.entries), [
    "  before-first-apply (update): .limits, .limits.a, .size, spec",
    "  m1: .size",
  ]);
});

test("no manager owns fields that only the server sets [MF-12]", () => {
  const story = new Story();
  story.apply("m1", {}, { metadata: { labels: { a: "1" }, finalizers: ["a.b/c"] } });
  story.apply("m1", {}, { metadata: { labels: {} } });
  assert.deepEqual(owners(story.entries), ["  m1: .metadata.labels, spec"]);
  assert.equal(story.object?.metadata === undefined, false);
});

test("a list that turns from atomic to set or map gives no conflict [SSA-34]", () => {
  const { tags, pools } = gadgetSpec;
  const before = gadget({
    tags: { ...tags, "x-kubernetes-list-type": "atomic" },
    pools: { ...pools, "x-kubernetes-list-type": "atomic" },
  });
  const story = new Story(before);
  story.apply("m1", { tags: ["a"], pools: [{ name: "x", size: 1 }] });
  story.structural = gadget({ tags: tags!, pools: pools! });
  assert.equal(story.apply("m2", { tags: ["b"], pools: [{ name: "x", size: 2 }, { name: "y" }] }), undefined);
  assert.equal(story.apply("m1", { tags: ["a"], pools: [{ name: "z" }] }), undefined);
  assert.deepEqual(story.spec, { tags: ["a", "b"], pools: [{ name: "x", size: 2 }, { name: "y" }, { name: "z" }] });
});

test("a manager of a part of a field that becomes atomic owns the whole field [SSA-35]", () => {
  const { tags, limits, place } = gadgetSpec;
  const story = new Story(gadget({ tags: tags!, limits: limits!, place: place! }));
  story.apply("m1", { tags: ["a"], limits: { a: "1" }, place: { room: { number: 1 } } });
  story.apply("m2", { tags: ["b"], limits: { b: "1" } });
  story.structural = gadget({
    tags: { ...tags, "x-kubernetes-list-type": "atomic" },
    limits: { ...limits, "x-kubernetes-map-type": "atomic" },
    place: { ...place, "x-kubernetes-map-type": "atomic" },
  });
  assert.match(message(story.apply("m2", { tags: ["b"] })), /conflict with "m1": \.spec\.tags$/);
  assert.equal(story.update("u", story.spec), undefined);
  assert.deepEqual(owners(story.entries), ["  m1: .limits, .place, .tags", "  m2: .limits, .tags"]);
  assert.equal(story.apply("m2", { tags: ["a", "b"], limits: { a: "1", b: "1" } }), undefined);
});

test("entries of other versions are held against the object as that version has it [MF-05]", () => {
  // Version 2 has another name for the size.
  const v2 = gadget({ amount: gadgetSpec["size"]!, note: gadgetSpec["note"]! });
  const move = (object: OwnedObject, from: string, to: string): OwnedObject => {
    const { [from]: value, ...rest } = (object["spec"] ?? {}) as JsonObject; // these gadgets have a struct there
    return { ...object, spec: value === undefined ? rest : { ...rest, [to]: value } };
  };
  const versions: Partial<FieldApply> = {
    schemaFor: (version) => (version === "v1" ? gadgets.schema : version === "v2" ? v2.schema : undefined),
    convert: (object, from, to) =>
      from === to ? object : to === "v2" ? move(object, "size", "amount") : move(object, "amount", "size"),
  };
  const story = storyOf({ size: 1, note: "n" }, [
    entry("m2", "Apply", { "f:spec": { "f:amount": {}, "f:note": {} } }, { apiVersion: "v2" }),
    entry("old", "Apply", { "f:spec": { "f:size": {} } }, { apiVersion: "v0" }),
  ]);
  assert.equal(
    message(story.apply("m1", { size: 2 }, versions)),
    'Apply failed with 1 conflict: conflict with "m2": .spec.amount',
  );
  assert.equal(story.apply("m2", { note: "n" }, versions), undefined);
  assert.deepEqual(withoutDefaults(story.spec), { note: "n" });
  assert.deepEqual(owners(story.entries), ["  m2: .note"]);
  assert.equal(story.entries[0]?.apiVersion, "v1");
});

test("kubectl takes over what it applied on the client's side, and keeps its annotation [SSA-11]", () => {
  const gadgetWith = (spec: JsonObject): JsonObject => ({
    annotations: {
      [lastAppliedAnnotation]: `${JSON.stringify({ apiVersion, kind: "Gadget", metadata: { name: "one" }, spec })}\n`,
    },
  });
  const start = (): Story => {
    const story = new Story();
    story.update("kubectl-client-side-apply", { size: 1, note: "n" }, { metadata: gadgetWith({ size: 1, note: "n" }) });
    return story;
  };
  assert.match(message(start().apply("other", { size: 2 })), /conflict with "kubectl-client-side-apply" using v1/);
  const story = start();
  assert.equal(story.apply("kubectl", { size: 2, note: "n" }), undefined);
  const annotations = annotationsOf(story);
  assert.equal(
    annotations[lastAppliedAnnotation],
    '{"apiVersion":"v1","kind":"Gadget","metadata":{"name":"one"},"spec":{"note":"n","size":2}}\n',
  );
  story.update("hand", { size: 9, note: "n" }, { metadata: { annotations } });
  assert.match(
    message(story.apply("kubectl", { size: 3, note: "o" })),
    /1 conflict: conflict with "hand" using v1: \.spec\.size$/,
  );
});

test("an annotation of kubectl that cannot be read or is of another version allows nothing", () => {
  for (const text of [
    "{",
    "[]",
    '"x"',
    "{}",
    '{"apiVersion":"v2","kind":"Gadget","spec":{"size":1}}',
    '{"apiVersion":"v1","kind":"Gadget","spec":{"nope":1}}',
  ]) {
    const story = new Story();
    story.update("c", { size: 1 }, { metadata: { annotations: { [lastAppliedAnnotation]: text } } });
    assert.match(message(story.apply("kubectl", { size: 2 })), /conflict with "c" using v1: \.spec\.size/, text);
  }
});

test("an annotation of kubectl that would be too long is removed", () => {
  const story = new Story();
  story.update("c", { size: 1 }, { metadata: { annotations: { [lastAppliedAnnotation]: "{}" } } });
  assert.equal(story.apply("kubectl", { note: "x".repeat(300_000) }), undefined);
  assert.deepEqual(annotationsOf(story), {});
});

test("integers beyond 2^53 are told apart", () => {
  const raw = (text: string): unknown => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text); // newer than the library's types
  const story = new Story();
  story.apply("m1", { size: raw("9007199254740993"), codes: [raw("9007199254740993")] });
  assert.equal(story.apply("m2", { size: raw("9007199254740993") }), undefined);
  assert.match(message(story.apply("m3", { size: raw("9007199254740994") })), /2 conflicts/);
  assert.equal(story.apply("m3", { codes: [raw("9007199254740994")] }), undefined);
  assert.equal(JSON.stringify((story.spec as JsonObject)["codes"]), "[9007199254740993,9007199254740994]");
});

test("names that every object has are names like others", () => {
  const story = new Story();
  const own = JSON.parse('{"__proto__":"1","constructor":"2","hasOwnProperty":"3"}') as JsonObject;
  story.apply("m1", { limits: own, free: { __proto__x: 1, constructor: { a: 1 } } });
  assert.equal(story.apply("m1", { limits: JSON.parse('{"__proto__":"1"}') as JsonObject }), undefined);
  assert.equal(JSON.stringify((story.spec as JsonObject)["limits"]), '{"__proto__":"1"}');
  assert.deepEqual(owners(story.entries), ["  m1: .limits.__proto__"]);
});

test("many items and many managers cost what they are", async () => {
  await growsInProportion(5000, (length) => {
    const items = Array.from({ length }, (_, i) => ({ name: `i${i}` }));
    const story = new Story();
    story.apply("m1", { pools: items });
    story.apply("m2", { pools: items.toReversed() });
    story.apply("m1", { pools: items.filter((_, i) => i % 2 === 0) });
    story.apply("m2", { pools: [] });
    assert.equal(((story.spec as JsonObject)["pools"] as unknown[]).length, length / 2);
  });
  await growsInProportion(500, (length) => {
    const crowd = storyOf(
      { limits: Object.fromEntries(Array.from({ length }, (_, i) => [`k${i}`, "v"])) },
      Array.from({ length }, (_, i) => entry(`m${i}`, "Apply", { "f:spec": { "f:limits": { [`f:k${i}`]: {} } } })),
    );
    assert.equal(crowd.apply("m0", {}), undefined);
    assert.equal(crowd.entries.length, length);
    assert.match(message(crowd.apply("m1", { limits: { k1: "v", k2: "w" } })), /conflict with "m2"/);
  });
});
