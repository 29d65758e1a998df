/** Failures in the audit log; `test/access/audit.test.ts` tests the rest from outside. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { AuditBackend } from "#audit/backend.ts";
import type { AuditEvent } from "#audit/event.ts";
import { AuditPolicy } from "#audit/policy.ts";
import { conflict, tooManyRequests } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { ApiRequest } from "./api-request.ts";
import { auditFilters, type AuditOptions } from "./audit-requests.ts";
import { unknownUser } from "./api-request.ts";
import { unknownInfo } from "./request-info.ts";

const eventCollector = (events: AuditEvent[]): AuditBackend => ({
  process: ({ event }) => events.push(event) > 0,
  close: () => Promise.resolve(),
});

/** Options that record everything and count nothing. */
const quiet: Omit<AuditOptions, "backend"> = {
  policy: new AuditPolicy({ rules: [{ level: "RequestResponse" }] }),
  clock: new FakeClock(),
  latencyAnnotation: "total",
  truncatedAnnotation: "truncated",
  observeLevel: () => undefined,
  observeEvent: () => undefined,
  observeRejected: () => undefined,
};

const request = {
  method: "PUT",
  url: "/x",
  headers: {},
  user: { name: "alice", groups: [] },
  info: { ...unknownInfo, path: "/x", verb: "put" },
  remoteAddress: "127.0.0.1",
  receivedMs: 0,
  auditId: "id",
  aborted: false,
  annotations: undefined,
} as unknown as ApiRequest; // what the filters look at

async function eventsOf(error: unknown, aborted = false): Promise<readonly AuditEvent[]> {
  const events: AuditEvent[] = [];
  const { audit } = auditFilters({ ...quiet, backend: eventCollector(events) });
  const reply = audit({ ...request, aborted } as ApiRequest, () => Promise.reject(error as Error));
  await assert.rejects(Promise.resolve(reply), (thrown) => thrown === error);
  return events;
}

test("an internal failure is recorded as a panic and passed on", async () => {
  const [, last, ...more] = await eventsOf(new TypeError("x is not a function"));
  assert.equal(last?.stage, "Panic");
  assert.equal(last.responseStatus?.code, 500);
  assert.equal(last.responseStatus.message, "APIServer panic'd: TypeError: x is not a function");
  assert.deepEqual(more, []);
});

test("an error for the client is recorded as the answer it becomes", async () => {
  const error = conflict({ group: "", resource: "pods" }, "p", "it changed");
  const [first, last] = await eventsOf(error);
  assert.equal(first?.stage, "RequestReceived");
  assert.equal(first.responseStatus, undefined);
  assert.equal(last?.stage, "ResponseComplete");
  assert.equal(last.responseStatus?.code, 409);
  assert.deepEqual(JSON.parse(last.responseObject ?? ""), error.status);
});

test("a client that left is no failure of the server's, and neither is a body nested too deeply", async () => {
  const [, left] = await eventsOf(new Error("the client closed the connection"), true);
  assert.equal(left?.stage, "ResponseComplete");
  assert.equal(left.responseStatus?.code, 499);
  const [, deep] = await eventsOf(new RangeError("Maximum call stack size exceeded"));
  assert.equal(deep?.stage, "ResponseComplete");
  assert.equal(deep.responseStatus?.code, 400);
});

test("a refusal before the user is known is recorded once by this filter, a later one elsewhere", async () => {
  const events: AuditEvent[] = [];
  const { auditUnauthenticated } = auditFilters({ ...quiet, backend: eventCollector(events) });
  const refuse = (user: UserInfo, error: Error): Promise<void> =>
    assert.rejects(
      async () => auditUnauthenticated({ ...request, user } as ApiRequest, () => Promise.reject(error)),
      (thrown) => thrown === error,
    );
  await refuse(unknownUser, tooManyRequests("too many wait", 1));
  assert.deepEqual(
    events.map(({ stage, user, responseStatus }) => [stage, user, responseStatus?.code, responseStatus?.message]),
    [["ResponseStarted", undefined, 429, "too many wait"]],
  );
  await refuse({ name: "alice", groups: [] }, tooManyRequests("too many wait", 1));
  await refuse(unknownUser, new Error("a bug"));
  assert.equal(events.length, 1);
});
