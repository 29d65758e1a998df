/** The written form of audit events. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AuditEvent, EventRecord, legacyLine } from "./event.ts";
import { sourceIps } from "./source-ips.ts";

const event: AuditEvent = {
  level: "RequestResponse",
  auditId: "id",
  stage: "ResponseComplete",
  requestUri: "/api/v1/pods?a=%0a",
  verb: "create",
  user: { name: 'a"b\nc', groups: ["g", "h"], extra: { key: ["v"] } },
  impersonatedUser: undefined,
  sourceIps: ["127.0.0.1"],
  userAgent: "",
  objectRef: { resource: "pods", namespace: "", name: "p", apiGroup: "", apiVersion: "v1", subresource: "" },
  responseStatus: { code: 201 },
  requestObject: '{"n":12345678901234567890}',
  responseObject: undefined,
  requestReceivedMs: Date.UTC(2026, 0, 2, 3, 4, 5, 67),
  stageMs: Date.UTC(2026, 0, 2, 3, 4, 6),
  annotations: new Map([
    ["z", "1"],
    ["__proto__", "2"],
  ]),
};

test("an event is one line of JSON: fields in upstream's order, absent ones left out, objects as they are", () => {
  assert.equal(
    new EventRecord(event).line("audit.k8s.io/v1"),
    '{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"id","stage":"ResponseComplete",' +
      '"requestURI":"/api/v1/pods?a=%0a","verb":"create","user":{"username":"a\\"b\\nc","groups":["g","h"],"extra":{"key":["v"]}},' +
      '"sourceIPs":["127.0.0.1"],"objectRef":{"resource":"pods","name":"p","apiVersion":"v1"},' +
      '"responseStatus":{"metadata":{},"code":201},"requestObject":{"n":12345678901234567890},' +
      '"requestReceivedTimestamp":"2026-01-02T03:04:05.067000Z","stageTimestamp":"2026-01-02T03:04:06.000000Z",' +
      '"annotations":{"__proto__":"2","z":"1"}}\n',
  );
});

test("the short form is a line of its own whatever clients call themselves", () => {
  assert.equal(
    legacyLine(event),
    '2026-01-02T03:04:05.067Z AUDIT: id="id" stage="ResponseComplete" ip="127.0.0.1" method="create" user="a\\"b\\nc" ' +
      'groups="\\"g\\",\\"h\\"" as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" ' +
      'uri="/api/v1/pods?a=%0a" response="201"\n',
  );
});

test("an event that loses its objects says so", () => {
  const shorter = JSON.parse(new EventRecord(event).truncate("audit.k8s.io/truncated").text);
  assert.equal(shorter.requestObject, undefined);
  assert.equal(shorter.annotations["audit.k8s.io/truncated"], "true");
  assert.equal(shorter.annotations.z, "1");
});

test("addresses are those of the headers, then the peer's, each in its one text and what is none passed over", () => {
  assert.deepEqual(sourceIps(undefined, undefined, "::ffff:10.0.0.9"), ["10.0.0.9"]);
  assert.deepEqual(sourceIps("10.0.0.1, x, 1::0:1", undefined, "10.0.0.2"), ["10.0.0.1", "1::1", "10.0.0.2"]);
  assert.deepEqual(sourceIps("10.0.0.1", "10.0.0.1", "10.0.0.1"), ["10.0.0.1"]);
  assert.deepEqual(sourceIps("10.0.0.1", "10.0.0.3", "10.0.0.1"), ["10.0.0.1", "10.0.0.3", "10.0.0.1"]);
  assert.deepEqual(sourceIps(undefined, undefined, ""), []);
});
