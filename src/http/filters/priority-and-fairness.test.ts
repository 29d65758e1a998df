/** Admission of requests by priority and fairness, and their seats. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { bootstrapFlowControl } from "#api/bootstrap-flow-control.ts";
import { FlowControl } from "#flowcontrol/flow-control.ts";
import { FlowMetrics } from "#flowcontrol/flow-metrics.ts";
import { WatchCounts } from "#flowcontrol/watch-counts.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { notFound, StatusError, timeout } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import type { ApiRequest, Reply, ReplyStream } from "../api-request.ts";
import { priorityAndFairness } from "./priority-and-fairness.ts";

const clock = new FakeClock();
const info = {
  isResourceRequest: true,
  path: "/api/v1/pods",
  verb: "list",
  apiPrefix: "api",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "",
  name: "",
  parts: ["pods"],
};

/** Makes a request of an ordinary user, with the members that the filter reads. */
function openRequest(fields: Partial<ApiRequest> = {}): { request: ApiRequest; abort: AbortController } {
  const abort = new AbortController();
  const request = {
    user: { name: "bob", groups: ["system:authenticated"] },
    info,
    url: "/api/v1/pods",
    receivedMs: clock.now(),
    deadlineMs: clock.now() + 60_000,
    signal: abort.signal,
    ...fields,
  };
  return { request: request as ApiRequest, abort };
}

/** Sets up flow control with one seat for each level, and one place to wait. */
function oneSeat() {
  const watches = new WatchCounts();
  const control = new FlowControl({
    clock,
    metrics: new FlowMetrics(new Metrics()),
    seats: 1,
    bootstrap: bootstrapFlowControl(kubernetesDomain),
    work: { watches, objects: () => 1 },
  });
  const { levels, schemas } = bootstrapFlowControl(kubernetesDomain);
  for (const object of levels) control.setLevel(object.metadata.name!, object);
  for (const object of schemas) control.setSchema(object.metadata.name!, object);
  const lines: string[] = [];
  const filter = priorityAndFairness({
    control,
    watches,
    clock,
    waitLimitMs: 15_000,
    errorReply: (_request, { status }) => ({ code: status.code, headers: { "retry-after": "1" } }),
    observe: (reads, writes) => void lines.push(`${reads} ${writes}`),
  });
  const level = () => control.levels().find(({ config }) => config.name === "global-default")!;
  return { filter, level, watches, seen: lines };
}

const marks = ["x-kubernetes-pf-flowschema-uid", "x-kubernetes-pf-prioritylevel-uid"];
const isMarked = ({ headers }: Reply): void => assert.ok(marks.every((name) => Object.hasOwn(headers!, name)));

test("a request that finds a seat is answered at once, without a promise", () => {
  const { filter, level, seen } = oneSeat();
  const reply = filter(openRequest().request, () => ({ code: 200, headers: { a: "b" } })) as Reply;
  isMarked(reply);
  assert.equal(reply.headers!["a"], "b");
  assert.equal(level().isIdle, true);
  assert.deepEqual(seen, ["1 0", "0 0"]);
});

test("errors for the client are marked as well, and the server's own go on to where they are logged", () => {
  const { filter, level } = oneSeat();
  const reply = filter(openRequest().request, () => {
    throw notFound({ group: "", resource: "pods" }, "p");
  }) as Reply;
  isMarked(reply);
  assert.equal(reply.code, 404);
  const late = filter(openRequest().request, () => {
    throw timeout("it took too long");
  }) as Reply;
  isMarked(late);
  assert.equal(late.code, 504);
  const bug = new Error("a bug");
  assert.throws(
    () =>
      filter(openRequest().request, () => {
        throw bug;
      }),
    bug,
  );
  assert.equal(level().isIdle, true);
});

test("a waiting request runs when a seat is free, is refused when the wait is too long, and is dropped when its client leaves", async () => {
  const { filter, level } = oneSeat();
  let answer: (reply: Reply) => void = () => undefined;
  const first = filter(openRequest().request, () => new Promise((resolve) => (answer = resolve)));
  const next = () => ({ code: 200 });
  const second = filter(openRequest().request, next);
  const impatient = filter(openRequest().request, next);
  const gone = openRequest();
  const third = filter(gone.request, next);
  assert.equal(level().waiting, 3);
  gone.abort.abort();
  assert.equal(((await third) as Reply).code, 429);
  assert.equal(level().cancelled, 1);
  answer({ code: 201 });
  assert.equal((await first).code, 201);
  assert.equal((await second).code, 200);
  assert.equal((await impatient).code, 200);
  const slow = filter(openRequest().request, () => new Promise((resolve) => (answer = resolve)));
  const late = filter(openRequest().request, next);
  clock.advance(15_000);
  const refused = await late;
  assert.equal(refused.code, 429);
  assert.equal(refused.headers!["retry-after"], "1");
  isMarked(refused);
  answer({ code: 200 });
  await slow;
  assert.equal(level().isIdle, true);
});

test("a large answer has its seats until it is written, or the time of the request is over", () => {
  const { filter, level } = oneSeat();
  const pieces = { length: 0, [Symbol.iterator]: () => [][Symbol.iterator]() };
  let written = 0;
  const large = () => filter(openRequest().request, () => ({ code: 200, pieces, done: () => void written++ })) as Reply;
  const first = large();
  assert.equal(level().executing, 1);
  first.done!();
  assert.equal(level().executing, 0);
  assert.equal(written, 1);
  large();
  clock.advance(60_000);
  assert.equal(level().executing, 0);
});

test("a watch has a seat until it begins and counts until it ends; other long requests have none", () => {
  const { filter, level, watches, seen } = oneSeat();
  const watch = { ...info, verb: "watch" };
  const stream = { open: () => undefined };
  const reply = filter(openRequest({ info: watch, deadlineMs: Number.POSITIVE_INFINITY }).request, () => ({
    code: 200,
    stream,
  })) as Reply;
  assert.equal(level().executing, 0);
  assert.equal(watches.seeing({ ...info, namespace: "shop", name: "p" }), 1);
  reply.done!();
  assert.equal(watches.seeing({ ...info, namespace: "shop", name: "p" }), 0);
  seen.length = 0;
  const log = { ...info, verb: "get", namespace: "shop", name: "p", subresource: "log" };
  assert.deepEqual(
    filter(openRequest({ info: log }).request, () => ({ code: 200 })),
    { code: 200 },
  );
  assert.deepEqual(seen, []);
});

test("a request waits a quarter of the time it has, and never more than a minute [LIMIT-07]", async () => {
  const { filter, level } = oneSeat();
  let answer: (reply: Reply) => void = () => undefined;
  const first = filter(openRequest().request, () => new Promise((resolve) => (answer = resolve)));
  const waits = async (fields: Partial<ApiRequest>, ms: number): Promise<void> => {
    const waiting = filter(openRequest(fields).request, () => ({ code: 200 }));
    clock.advance(ms - 1);
    assert.equal(level().waiting, 1);
    clock.advance(1);
    assert.equal(level().waiting, 0);
    assert.equal((await waiting).code, 429);
  };
  await waits({ deadlineMs: clock.now() + 8000 }, 2000);
  await waits({ deadlineMs: clock.now() + 600_000 }, 60_000);
  // The time that the request has already used counts.
  await waits({ receivedMs: clock.now() - 1000, deadlineMs: clock.now() + 7000 }, 1000);
  await waits({ deadlineMs: Number.POSITIVE_INFINITY, info: { ...info, verb: "watch" } }, 15_000);
  answer({ code: 200 });
  await first;
});

test("a watch that begins with the state there is has its seats until that is written, for a minute at most", () => {
  const { filter, level } = oneSeat();
  const begin = () => {
    const stream: ReplyStream = { open: () => undefined, hasBeginning: true };
    const watch = { ...info, verb: "watch" };
    const { request } = openRequest({ info: watch, deadlineMs: Number.POSITIVE_INFINITY });
    void filter(request, () => ({ code: 200, stream }));
    return stream;
  };
  const stream = begin();
  assert.equal(level().executing, 1);
  stream.onBegun!();
  assert.equal(level().executing, 0);
  begin();
  clock.advance(60_000);
  assert.equal(level().executing, 0);
});

test("a failure that comes later gives the seat back", async () => {
  const { filter, level } = oneSeat();
  const failing = filter(openRequest().request, () => Promise.reject(new Error("later")));
  await assert.rejects(Promise.resolve(failing), /later/);
  const refused = filter(openRequest().request, () => Promise.reject(notFound({ group: "", resource: "pods" }, "p")));
  assert.ok(!((await refused) instanceof StatusError));
  assert.equal(level().isIdle, true);
});
