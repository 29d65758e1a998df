/** Events in both APIs, and deprecation warnings. */
import assert from "node:assert/strict";
import { asTable, patchTypes } from "../client.ts";
import { type Api, eventually, gated, suite, withOwnServer } from "../harness.ts";
import { namespace, type NamespacePaths, namespacePaths } from "../objects.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

const time = "2026-01-02T03:04:05.123456Z";

/** Returns an event of the newer group. */
const event = (name: string, ns: string, fields: object = {}): Record<string, unknown> => ({
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name, namespace: ns },
  eventTime: time,
  type: "Normal",
  action: "Binding",
  reason: "Bound",
  note: "it is bound",
  reportingController: "example.com/controller",
  reportingInstance: "controller-1",
  regarding: { apiVersion: "v1", kind: "PersistentVolumeClaim", name: "c1", namespace: ns },
  ...fields,
});

const without = (object: Record<string, unknown>, field: string): Record<string, unknown> => {
  const { [field]: _, ...rest } = object;
  return rest;
};

async function expectRefusal(
  api: Api,
  { newEvents, ns }: NamespacePaths,
  body: Record<string, unknown>,
  field: RegExp,
): Promise<void> {
  (await api.post(newEvents, body)).expectFailure(422, "Invalid", field);
  (await api.get(`/apis/events.k8s.io/v1/namespaces/${ns}/events/bad`)).expect(404);
}

inBothDomains(
  "an event regards an object, happened at a time, and is kept as sent [EVENT-14] [EVENT-19] [EVENT-25]",
  async (api) => {
    const { newEvents, ns } = await api.createNamespace();
    const related = { apiVersion: "v1", kind: "Node", name: "n1" };
    const body = event("e1", ns, { related });
    (await api.post(newEvents, body)).expect(201);
    (await api.get(`${newEvents}/e1`)).expect(200, {
      apiVersion: "events.k8s.io/v1",
      regarding: body["regarding"],
      eventTime: time,
      note: "it is bound",
      related,
      action: "Binding",
      reason: "Bound",
      reportingController: "example.com/controller",
      reportingInstance: "controller-1",
      type: "Normal",
    });
  },
);

inBothDomains(
  "an event is normal or a warning [EVENT-13]",
  async (api) => {
    const paths = await api.createNamespace();
    (await api.post(paths.newEvents, event("w", paths.ns, { type: "Warning" }))).expect(201);
    await expectRefusal(api, paths, event("bad", paths.ns, { type: "Foo" }), /type: Invalid value/);
    await expectRefusal(api, paths, without(event("bad", paths.ns), "type"), /type: Invalid value/);
  },
  { differs: "the reference does not validate events" },
);

inBothDomains(
  "an event needs action, reason, controller, instance and time [EVENT-15] [EVENT-16] [EVENT-17] [EVENT-18] [EVENT-19]",
  async (api) => {
    const paths = await api.createNamespace();
    for (const field of ["action", "reason", "reportingController", "reportingInstance", "eventTime"]) {
      await expectRefusal(api, paths, without(event("bad", paths.ns), field), new RegExp(`${field}: Required value`));
    }
  },
  { differs: "the reference does not validate events" },
);

inBothDomains("a series has a count and the time it was last seen [EVENT-20]", async (api) => {
  const { newEvents, ns } = await api.createNamespace();
  const series = { count: 3, lastObservedTime: "2026-01-02T03:05:05.000000Z" };
  (await api.post(newEvents, event("e1", ns, { series }))).expect(201, { series });
  (await api.get(`${newEvents}/e1`)).expect(200, { series });
  const more = { count: 4, lastObservedTime: "2026-01-02T03:06:05.000000Z" };
  (await api.patch(`${newEvents}/e1`, { series: more })).expect(200, { series: more });
});

inBothDomains(
  "a new event has none of the old fields [EVENT-21] [EVENT-22] [EVENT-23]",
  async (api) => {
    const paths = await api.createNamespace();
    const old = {
      deprecatedFirstTimestamp: "2026-01-02T03:04:05Z",
      deprecatedLastTimestamp: "2026-01-02T03:04:05Z",
      deprecatedCount: 1,
    };
    for (const [field, value] of Object.entries(old)) {
      await expectRefusal(api, paths, event("bad", paths.ns, { [field]: value }), /Invalid value/);
    }
    await expectRefusal(api, paths, event("bad", paths.ns, { deprecatedSource: { component: "x" } }), /Invalid value/);
  },
  { differs: "the reference does not validate events" },
);

inBothDomains(
  "the first moment of the first year is a time for the checks, although none is stored [EVENT-19] [EVENT-20] [EVENT-21]",
  async (api) => {
    const { ns, newEvents } = await api.createNamespace();
    const first = "0001-01-01T00:00:00.000000Z";
    const series = { count: 2, lastObservedTime: first };
    (await api.post(newEvents, event("a", ns, { eventTime: first }))).expect(201, { eventTime: null });
    (await api.post(newEvents, event("b", ns, { series }))).expect(201, { "series.lastObservedTime": null });
    for (const name of ["firstTimestamp", "lastTimestamp"]) {
      const field = `deprecated${name[0]!.toUpperCase()}${name.slice(1)}`;
      const body = event("bad", ns, { [field]: "0001-01-01T00:00:00Z" });
      (await api.post(newEvents, body)).expectFailure(422, "Invalid", new RegExp(`${name}: .*needs to be unset`));
    }
    const events = `/api/v1/namespaces/${ns}/events`;
    const old = { apiVersion: "v1", kind: "Event", metadata: { name: "c" }, involvedObject: { namespace: ns } };
    const unreported = /reportingComponent: Required value/;
    (await api.post(events, { ...old, eventTime: first })).expectFailure(422, "Invalid", unreported);
    (await api.post(events, old)).expect(201);
    for (const type of [patchTypes.merge, patchTypes.strategic]) {
      (await api.patch(`${events}/c`, { eventTime: first }, type)).expectFailure(422, "Invalid", unreported);
      (await api.patch(`${events}/c`, { eventTime: null }, type)).expect(200);
    }
    const applied = { ...old, metadata: { name: "d" }, eventTime: first };
    (await api.patch(`${events}/d?fieldManager=m`, applied, patchTypes.apply)).expectFailure(
      422,
      "Invalid",
      unreported,
    );
  },
);

inBothDomains("both forms show one object [EVENT-24]", async (api) => {
  const { events, newEvents, ns } = await api.createNamespace();
  const involvedObject = { apiVersion: "v1", kind: "PersistentVolumeClaim", name: "c1", namespace: ns };
  const core = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: "e1", namespace: ns },
    involvedObject,
    source: { component: "scheduler", host: "h1" },
    firstTimestamp: "2026-01-02T03:04:05Z",
    lastTimestamp: "2026-01-02T03:04:06Z",
    count: 2,
    message: "text",
    reason: "Because",
    type: "Normal",
  };
  const answer = (await api.post(events, core)).expect(201, { source: core.source });
  (await api.get(`${newEvents}/e1`)).expect(200, {
    apiVersion: "events.k8s.io/v1",
    "metadata.uid": answer.at("metadata.uid"),
    regarding: involvedObject,
    note: "text",
    deprecatedSource: core.source,
    deprecatedFirstTimestamp: core.firstTimestamp,
    deprecatedLastTimestamp: core.lastTimestamp,
    deprecatedCount: 2,
    source: absent,
    involvedObject: absent,
  });
  (await api.post(newEvents, event("e2", ns))).expect(201);
  (await api.get(`${events}/e2`)).expect(200, {
    apiVersion: "v1",
    involvedObject,
    message: "it is bound",
    reportingComponent: "example.com/controller",
    regarding: absent,
  });
  (await api.get(events)).expect(200, { kind: "EventList", apiVersion: "v1", "items.length": 2 });
  (await api.get(newEvents)).expect(200, {
    apiVersion: "events.k8s.io/v1",
    "items.length": 2,
    "items.0.regarding": present,
  });
});

inBothDomains("a watch of one form shows what was written in the other [EVENT-24]", async (api) => {
  const { events, newEvents, ns } = await api.createNamespace();
  const version = (await api.get(events)).string("metadata.resourceVersion");
  const stream = await api.watch(`${events}?resourceVersion=${version}`);
  (await api.post(newEvents, event("e1", ns))).expect(201);
  (await stream.next()).has({ type: "ADDED", "object.apiVersion": "v1", "object.message": "it is bound" });
});

inBothDomains("a failed precondition names the stored form of an event [DELOPT-09]", async (api) => {
  const { newEvents, events, ns } = await api.createNamespace();
  (await api.post(newEvents, event("e1", ns))).expect(201);
  for (const path of [newEvents, events]) {
    (await api.delete(`${path}/e1`, { preconditions: { uid: "other" } })).expectFailure(
      409,
      "Conflict",
      /^Operation cannot be fulfilled on Event "e1": the UID in the precondition/,
      { details: { name: "e1", kind: "Event" } },
    );
  }
});

inBothDomains("events are selected by what they are about [QP-04]", async (api) => {
  const { events, newEvents, ns } = await api.createNamespace();
  for (const name of ["a", "b"]) {
    const regarding = { apiVersion: "v1", kind: "PersistentVolumeClaim", name, namespace: ns };
    (
      await api.post(newEvents, event(`e-${name}`, ns, { regarding, type: name === "a" ? "Normal" : "Warning" }))
    ).expect(201);
  }
  const find = async (path: string, selector: string): Promise<string[]> =>
    (await api.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)).expect(200).names();
  assert.deepEqual(await find(events, "involvedObject.name=a,involvedObject.kind=PersistentVolumeClaim"), ["e-a"]);
  assert.deepEqual(await find(events, "type=Warning"), ["e-b"]);
  assert.deepEqual(await find(newEvents, "regarding.name=b"), ["e-b"]);
});

inBothDomains(
  "a request of a deprecated kind is warned about [EVENT-10]",
  async (api) => {
    const answer = (await api.get("/api/v1/componentstatuses")).expect(200, { kind: "ComponentStatusList" });
    assert.deepEqual(answer.warnings, ["v1 ComponentStatus is deprecated in v1.19+"]);
    assert.match(String(answer.headers["warning"]), /^299 - "/);
  },
  { differs: "the reference has no component statuses" },
);

inBothDomains(
  "component statuses are shown as Tables and as metadata alone, too [TABLE-04]",
  async (api) => {
    const path = "/api/v1/componentstatuses";
    const table = (await api.get(path, { accept: asTable })).expect(200, { kind: "Table" });
    assert.ok(table.list("rows").length > 0);
    const accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    const metadata = (await api.get(path, { accept })).expect(200, { kind: "PartialObjectMetadataList" });
    assert.equal(metadata.list("items").length, table.list("rows").length);
    metadata.list("items").forEach((item) => item.has({ kind: "PartialObjectMetadata" }));
    (await api.get(path, { accept: accept.replace("List", "") })).expectFailure(406, "NotAcceptable", /is a list/);
  },
  { differs: "the reference has no component statuses" },
);

inBothDomains(
  "a request of a deprecated kind is seen in the metrics [EVENT-11] [EVENT-12]",
  async (api) => {
    await api.get("/api/v1/componentstatuses");
    const { text } = (await api.get("/metrics")).expect(200);
    const line = text.split("\n").find((each) => each.startsWith("apiserver_requested_deprecated_apis{"));
    assert.ok(line !== undefined, "the gauge is missing");
    const labels = [...line.matchAll(/(\w+)="/g)].map(([, name]) => name).sort();
    assert.deepEqual(labels, ["group", "removed_release", "resource", "subresource", "version"]);
    assert.match(line, /resource="componentstatuses"/);
    assert.match(line, / 1$/);
  },
  { differs: "the reference has no component statuses" },
);

withOwnServer("events expire", { ...gated, eventTtlMs: 1000 }, async (api) => {
  (await api.post("/api/v1/namespaces", namespace("n1"))).expect(201);
  const { newEvents, ns } = namespacePaths("n1");
  const version = (await api.get(newEvents)).string("metadata.resourceVersion");
  const stream = await api.watch(`${newEvents}?resourceVersion=${version}`);
  (await api.post(newEvents, event("e1", ns))).expect(201);
  (await api.get(`${newEvents}/e1`)).expect(200);
  await eventually(async () => (await api.get(`${newEvents}/e1`)).expect(404));
  const events = await stream.take(2);
  assert.deepEqual(
    events.map((each) => each.type),
    ["ADDED", "DELETED"],
  );
});

inBothDomains(
  "findings about an event name the core kind, whatever group it was sent to [EVENT-14] [ERR-09]",
  async (api) => {
    const { ns } = await api.createNamespace();
    const events = `/apis/events.k8s.io/v1/namespaces/${ns}/events`;
    (await api.post(events, event("e1", ns))).expect(201);
    const answer = await api.patch(`${events}/e1`, { metadata: { labels: { a: "<&>" } } });
    answer.expectFailure(422, "Invalid", /^Event "e1" is invalid: metadata\.labels: /, {
      "details.group": absent,
      "details.kind": "Event",
    });
  },
);
