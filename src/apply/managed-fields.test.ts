/** Ownership after plain writes: gains, losses, order, resets, merged entries. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import { fieldSetOf } from "./field-set.ts";
import { deepFreeze } from "./deep-freeze.ts";
import { type FieldUpdate, ManagerNames, type OwnedObject, updateManagedFields } from "./managed-fields.ts";
import { configMap, everyTopology, workload } from "./schemas-for-tests.ts";

type Entries = readonly ManagedFieldsEntry[];

const time = (second: number): string => `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;

/** An object that is written repeatedly, one second apart. Inputs are frozen. */
class History {
  readonly schema: Schema;
  object: OwnedObject | undefined;
  second = 0;

  constructor(schema: Schema) {
    this.schema = schema;
  }

  /** Writes the object; it keeps its managedFields unless `sent` gives others. */
  write(
    manager: string,
    fields: Record<string, unknown>,
    more: Partial<FieldUpdate> & { sent?: unknown } = {},
  ): Entries {
    const { sent, ...rest } = more;
    const list = "sent" in more ? (sent as Entries | undefined) : this.object?.metadata?.managedFields; // what a client may send
    const metadata = { name: "one", ...(list === undefined ? {} : { managedFields: list }) };
    const next = deepFreeze({ metadata, ...fields });
    const update: FieldUpdate = {
      old: this.object,
      next,
      schemaFor: () => this.schema,
      apiVersion: "v1",
      subresource: "",
      manager,
      now: time(this.second++),
      ...rest,
    };
    const entries = updateManagedFields(update);
    const own = { name: "one", uid: "u", ...(entries === undefined ? {} : { managedFields: entries }) };
    this.object = deepFreeze({ ...next, metadata: own });
    return entries ?? [];
  }
}

const brief = (entries: Entries): unknown[] =>
  entries.map((entry) => [entry.manager, entry.operation, JSON.stringify(entry.fieldsV1)]);

const check = (entries: Entries, ...expected: unknown[]): void => assert.deepEqual(brief(entries), expected);

const entry = (
  manager: string,
  fieldsV1: Record<string, unknown>,
  more: Partial<ManagedFieldsEntry> = {},
): ManagedFieldsEntry => ({
  manager,
  operation: "Update",
  apiVersion: "v1",
  time: time(0),
  fieldsType: "FieldsV1",
  fieldsV1,
  ...more,
});

test("a create records all fields of the object for its manager [MF-01, MF-03, MF-05, MF-06, MF-07, MF-08, MF-09, META-20]", () => {
  const entries = new History(configMap).write("m1", { data: { a: "1", "b.c": "2" } });
  assert.equal(
    JSON.stringify(entries),
    '[{"manager":"m1","operation":"Update","apiVersion":"v1","time":"2026-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{".":{},"f:a":{},"f:b.c":{}}}}]',
  );
});

test("an object without fields of its own has no entries [MF-12]", () => {
  check(new History(configMap).write("m1", {}));
  check(new History(workload).write("m1", { spec: { strategy: {}, containers: null }, status: {} }));
});

test("the last manager to change a field owns it; a removed field has no owner [MF-04]", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1" } });
  check(
    map.write("m2", { data: { a: "1", b: "2" } }),
    ["m1", "Update", '{"f:data":{".":{},"f:a":{}}}'],
    ["m2", "Update", '{"f:data":{"f:b":{}}}'],
  );
  check(
    map.write("m3", { data: { a: "x" } }),
    ["m1", "Update", '{"f:data":{}}'],
    ["m3", "Update", '{"f:data":{"f:a":{}}}'],
  );
  check(map.write("m4", {}));
});

test("a second write of one manager joins its entry and renews the time [MF-06]", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1" } });
  map.write("m2", { data: { a: "1", b: "1" } });
  const entries = map.write("m1", { data: { a: "1", b: "1", c: "1" } });
  check(entries, ["m2", "Update", '{"f:data":{"f:b":{}}}'], ["m1", "Update", '{"f:data":{".":{},"f:a":{},"f:c":{}}}']);
  assert.deepEqual(
    entries.map((one) => one.time),
    [time(1), time(2)],
  );
});

test("a write that changes nothing gives the old list back", () => {
  const map = new History(configMap);
  const first = map.write("m1", { data: { a: "1" } });
  assert.equal(map.write("m2", { data: { a: "1" } }), first);
  assert.equal(map.write("m2", { data: { a: "1" } }, { sent: undefined }), first);
  assert.equal(map.write("m2", { data: { a: "1" } }, { sent: structuredClone(first) }), first);
});

test("appliers lose what an update changes and stay first [MF-02, MF-04]", () => {
  const map = new History(configMap);
  const applied = entry("a", { "f:data": { "f:a": {}, "f:b": {} } }, { operation: "Apply" });
  map.write("m0", { data: { a: "1", b: "1" } });
  map.write("m0", { data: { a: "1", b: "1" } }, { sent: [applied] });
  check(
    map.write("m1", { data: { a: "2", b: "1" } }),
    ["a", "Apply", '{"f:data":{"f:b":{}}}'],
    ["m1", "Update", '{"f:data":{"f:a":{}}}'],
  );
});

test("one empty entry clears ownership, and the writer owns what it changes [SSA-22]", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1" } });
  check(map.write("m2", { data: { a: "1", b: "2" } }, { sent: [{}] }), ["m2", "Update", '{"f:data":{"f:b":{}}}']);
  check(map.write("m3", { data: { a: "1", b: "2" } }, { sent: [{}] }));
});

test("updates of an object without owners record none", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1" } });
  map.write("m1", { data: { a: "1" } }, { sent: [{}] });
  check(map.write("m2", { data: { a: "2", b: "2" } }));
});

test("a list that is left out, null, empty or unreadable keeps the old one [SSA-23]", () => {
  const bad: unknown[] = [
    undefined,
    null,
    [],
    [entry("x", {}, { operation: "Other" as "Apply" })],
    [entry("x", {}, { apiVersion: "" })],
    [entry("x", {}, { fieldsType: "FieldsV2" })],
    [entry("x", { nonsense: {} })],
    [{}, {}],
  ];
  for (const sent of bad) {
    const map = new History(configMap);
    const first = map.write("m1", { data: { a: "1" } });
    assert.equal(map.write("m2", { data: { a: "1" } }, { sent }), first);
  }
});

test("a readable list from the client is taken, put in order and normalized", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1", b: "1" } });
  const sent = [
    entry("z", { "f:data": { "f:b": {}, "f:a": {} } }),
    entry("y", { "f:data": { ".": {} } }, { operation: "Apply" }),
    entry("none", {}),
  ];
  check(
    map.write("m2", { data: { a: "1", b: "1", c: "1" } }, { sent }),
    ["y", "Apply", '{"f:data":{}}'],
    ["z", "Update", '{"f:data":{"f:a":{},"f:b":{}}}'],
    ["m2", "Update", '{"f:data":{"f:c":{}}}'],
  );
});

test("entries are ordered by operation, time, manager, version and subresource [MF-06]", () => {
  const fields = { "f:data": { "f:a": {} } };
  const ordered = [
    entry("b", fields, { operation: "Apply", time: time(9) }),
    entry("a", { "f:data": { "f:b": {} } }, { time: time(1) }),
    entry("a", fields, { time: time(2) }),
    entry("b", fields, { time: time(2), subresource: "scale" }),
    entry("b", fields, { time: time(2), subresource: "status" }),
    entry("b", fields, { time: time(2), apiVersion: "v2" }),
  ];
  const map = new History(configMap);
  map.write("m", {});
  const distinct = [...ordered.slice(0, 1), ...ordered.slice(2)];
  const entries = map.write("m", {}, { sent: distinct.toReversed() });
  assert.deepEqual(entries, distinct);
});

test("a subresource has entries of its own and cannot set the list [MF-11]", () => {
  const resetOnStatus = fieldSetOf([["f:spec"], ["f:metadata"]]);
  const deployment = new History(workload);
  const spec = { replicas: 1, strategy: {}, containers: [{ name: "c" }] };
  deployment.write("m1", { spec, status: { phase: "dropped" } }, { resetFields: fieldSetOf([["f:status"]]) });
  const entries = deployment.write(
    "m1",
    { spec, status: { phase: "Ready" } },
    {
      subresource: "status",
      resetFields: resetOnStatus,
      sent: [{}],
    },
  );
  check(
    entries,
    ["m1", "Update", '{"f:spec":{"f:containers":{"k:{\\"name\\":\\"c\\"}":{".":{},"f:name":{}}},"f:replicas":{}}}'],
    ["m1", "Update", '{"f:status":{"f:phase":{}}}'],
  );
  assert.deepEqual(
    entries.map((one) => one.subresource),
    [undefined, "status"],
  );
});

test("more than ten updaters are folded into ancient-changes, oldest first [MF-03]", () => {
  const map = new History(configMap);
  const data: Record<string, string> = {};
  let entries: Entries = [];
  for (let i = 0; i < 12; i++) {
    data[`k${i}`] = "1";
    entries = map.write(`m${String(i).padStart(2, "0")}`, { data: { ...data } });
  }
  assert.equal(entries.length, 10);
  check(
    entries.slice(0, 2),
    ["ancient-changes", "Update", '{"f:data":{".":{},"f:k0":{},"f:k1":{},"f:k2":{}}}'],
    ["m03", "Update", '{"f:data":{"f:k3":{}}}'],
  );
  assert.equal(entries[0]?.time, time(2));
});

test("entries of another version lose what changed in that version [MF-05]", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1", b: "1" } }, { apiVersion: "v2" });
  check(
    map.write("m2", { data: { a: "2", b: "1" } }),
    ["m1", "Update", '{"f:data":{".":{},"f:b":{}}}'],
    ["m2", "Update", '{"f:data":{"f:a":{}}}'],
  );
});

test("entries of a version without a type go", () => {
  const map = new History(configMap);
  map.write("m1", { data: { a: "1" } }, { apiVersion: "v0" });
  const entries = map.write(
    "m2",
    { data: { a: "2" } },
    {
      schemaFor: (version) => (version === "v1" ? configMap : undefined),
    },
  );
  check(entries, ["m2", "Update", '{"f:data":{"f:a":{}}}']);
});

test("duplicates in a set do not fail the write", () => {
  const map = new History(everyTopology);
  map.write("m1", { set: ["a", "a"], kl: [{ name: "x" }, { name: "x", v: "1" }] });
  check(
    map.write("m2", { set: ["a"], kl: [{ name: "x" }] }),
    ["m1", "Update", '{"f:kl":{".":{}},"f:set":{".":{}}}'.replaceAll('{".":{}}', "{}")],
    ["m2", "Update", '{"f:kl":{"k:{\\"name\\":\\"x\\"}":{".":{},"f:name":{}}},"f:set":{"v:\\"a\\"":{}}}'],
  );
});

test("without a field manager the user agent names the manager [SSA-20]", () => {
  const managers = new ManagerNames();
  assert.equal(managers.of("named", "foo/1.0"), "named");
  assert.equal(managers.of("", "foo/1.0 (linux)"), "foo");
  assert.equal(managers.of("", "with space/1 other/2"), "with space");
  assert.equal(managers.of("", "/1.0"), "unknown");
  assert.equal(managers.of("", ""), "unknown");
  assert.equal(managers.of("", `${"l".repeat(140)}/1`), "l".repeat(128));
  assert.equal(managers.of("", `${"é".repeat(100)}/1`), "é".repeat(64));
  assert.equal(managers.of("", "a\u0007b\u00a0c/1"), "abc");
});
