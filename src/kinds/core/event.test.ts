/** The rules of both event APIs, and the conversion between them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const core = kindUnderTest({ group: "", version: "v1", kind: "Event" });
const newer = kindUnderTest({ group: "events.k8s.io", version: "v1", kind: "Event" });
const metadata = { name: "e", namespace: "n" };
const time = "2026-01-01T00:00:00.000000Z";
const about = { kind: "Pod", namespace: "n", name: "p" };
const event: Unstructured = {
  metadata,
  eventTime: time,
  regarding: about,
  action: "Binding",
  reason: "Scheduled",
  reportingController: "example.com/scheduler",
  reportingInstance: "one",
  type: "Normal",
  note: "it fits",
};
const without = (name: string): Unstructured => ({ ...event, [name]: undefined });

test("a complete event of the newer group is taken [EVENT-14] [EVENT-19]", () => {
  assert.deepEqual(newer.refuseCreate(event), []);
  assert.deepEqual(newer.refuseCreate({ ...event, series: { count: 2, lastObservedTime: time } }), []);
});

test("the type is Normal or Warning [EVENT-13]", () => {
  assert.deepEqual(newer.refuseCreate({ ...event, type: "Foo" }), ['type: Invalid value: "": has invalid value: Foo']);
});

test("an event of the newer group has an action [EVENT-15]", () => {
  assert.deepEqual(newer.refuseCreate(without("action")), ["action: Required value"]);
});

test("an event of the newer group has a reason [EVENT-16]", () => {
  assert.deepEqual(newer.refuseCreate(without("reason")), ["reason: Required value"]);
});

test("an event of the newer group has a reporting controller [EVENT-17]", () => {
  assert.match(newer.refuseCreate(without("reportingController"))[0]!, /^reportingController: Required value$/);
  assert.match(newer.refuseCreate({ ...event, reportingController: "a b" })[0]!, /^reportingController: Invalid value/);
});

test("an event of the newer group has a reporting instance [EVENT-18]", () => {
  assert.deepEqual(newer.refuseCreate(without("reportingInstance")), ["reportingInstance: Required value"]);
  assert.deepEqual(newer.refuseCreate({ ...event, reportingInstance: "x".repeat(129) }), [
    'reportingInstance: Invalid value: "": can have at most 128 characters',
  ]);
});

test("an event of the newer group has an event time [EVENT-19]", () => {
  assert.deepEqual(newer.refuseCreate(without("eventTime")), ["eventTime: Required value"]);
});

test("a series has a count of two or more and a last time [EVENT-20]", () => {
  assert.deepEqual(newer.refuseCreate({ ...event, series: { count: 1, lastObservedTime: null } }), [
    'series.count: Invalid value: "": should be at least 2',
    "series.lastObservedTime: Required value",
  ]);
});

test("deprecated times and counts are for old events only [EVENT-21] [EVENT-22] [EVENT-23] [EVENT-24]", () => {
  const errors = newer.refuseCreate({
    ...event,
    deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
    deprecatedLastTimestamp: "2026-01-01T00:00:00Z",
    deprecatedCount: 1,
    deprecatedSource: { component: "c" },
  });
  assert.deepEqual(
    errors,
    ["firstTimestamp", "lastTimestamp", "count", "source"].map(
      (field) => `${field}: Invalid value: "": needs to be unset`,
    ),
  );
});

test("of an event of the newer group only the series may change", () => {
  assert.deepEqual(newer.refuseUpdate({ ...event, series: { count: 2, lastObservedTime: time } }, event), []);
  assert.deepEqual(newer.refuseUpdate({ ...event, reason: "Other", note: "no" }, event), [
    'reason: Invalid value: "Other": field is immutable',
    'message: Invalid value: "no": field is immutable',
  ]);
  const times = { eventTime: "2025-01-02T03:04:05.120000Z", deprecatedLastTimestamp: "2025-01-02T03:04:05Z" };
  assert.deepEqual(newer.refuseUpdate({ ...event, ...times, deprecatedSource: { component: "a" } }, event), [
    'source: Invalid value: {"component":"a"}: field is immutable',
    'lastTimestamp: Invalid value: "2025-01-02T03:04:05Z": field is immutable',
    'eventTime: Invalid value: "2025-01-02T03:04:05.120000Z": field is immutable',
  ]);
});

test("an old event needs little, and is in the namespace of its object", () => {
  assert.deepEqual(core.refuseCreate({ metadata, involvedObject: about }), []);
  const mismatch = (namespace: string) =>
    `involvedObject.namespace: Invalid value: "${namespace}": does not match event.namespace`;
  assert.deepEqual(core.refuseCreate({ metadata, involvedObject: { namespace: "other" } }), [mismatch("other")]);
  assert.deepEqual(core.refuseCreate({ metadata, involvedObject: {} }), [mismatch("")]);
  assert.deepEqual(core.refuseCreate({ metadata: { ...metadata, namespace: "default" }, involvedObject: {} }), []);
  const timed = { metadata, involvedObject: about, eventTime: time };
  assert.equal(core.refuseCreate(timed)[0], "reportingComponent: Required value");
  const inSystem = { ...event, metadata: { ...metadata, namespace: "kube-system" }, regarding: {} };
  assert.deepEqual(newer.refuseCreate(inSystem), []);
});

test("both groups show one object, and nothing is lost between them [EVENT-24] [EVENT-25]", () => {
  const { conversion } = newer.definition;
  const old: Unstructured = {
    metadata,
    involvedObject: about,
    reason: "r",
    message: "m",
    source: { component: "kubelet", host: "h" },
    firstTimestamp: "2026-01-01T00:00:00Z",
    lastTimestamp: "2026-01-02T00:00:00Z",
    count: 3,
    type: "Warning",
    eventTime: null,
    related: { kind: "Node", name: "x" },
    reportingComponent: "",
    reportingInstance: "",
  };
  const oldForm = conversion!.fromHub(old);
  assert.deepEqual(oldForm, {
    metadata,
    eventTime: null,
    reason: "r",
    regarding: about,
    related: { kind: "Node", name: "x" },
    note: "m",
    type: "Warning",
    deprecatedSource: { component: "kubelet", host: "h" },
    deprecatedFirstTimestamp: "2026-01-01T00:00:00Z",
    deprecatedLastTimestamp: "2026-01-02T00:00:00Z",
    deprecatedCount: 3,
  });
  assert.deepEqual(conversion!.toHub(oldForm), old);
  const complete = newer.decode({ ...event, series: { count: 2, lastObservedTime: time } });
  assert.deepEqual(conversion!.fromHub(conversion!.toHub(complete)), complete);
  assert.deepEqual(complete["deprecatedSource"], {});
});

test("selectors name the fields of each form", () => {
  const hub = newer.definition.conversion!.toHub(newer.decode(event));
  const fields = core.definition.strategy.fields!(hub);
  assert.equal(fields["involvedObject.name"], "p");
  assert.equal(fields["source"], "example.com/scheduler");
  assert.equal(newer.definition.strategy.fields!(newer.decode(event))["regarding.name"], "p");
  for (const one of [core, newer]) {
    const known = Object.keys(one.definition.strategy.fields!(one === core ? hub : newer.decode(event)));
    assert.deepEqual([...known].sort(), [...one.definition.selectableFields].sort());
  }
});

test("a table of events is the same for both groups", () => {
  const hub = newer.definition.conversion!.toHub(event);
  const now = Date.parse("2026-01-01T00:01:00Z");
  const row = core.row(hub, now);
  assert.deepEqual(row, newer.row(event, now));
  assert.deepEqual(row, {
    "Last Seen": "60s",
    Type: "Normal",
    Reason: "Scheduled",
    Object: "pod/p",
    Subobject: "",
    Source: "example.com/scheduler, one",
    Message: "it fits",
    "First Seen": "60s",
    Count: 1,
    Name: "e",
  });
});

test("events expire by themselves", () => {
  assert.equal(core.definition.strategy.ttlSeconds!(event), 3600);
  assert.equal(newer.definition.strategy.ttlSeconds!(event), 3600);
});
