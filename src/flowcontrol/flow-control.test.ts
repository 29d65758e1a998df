/** Levels, queues and seats under a fake clock. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { FlowSchema, PriorityLevelConfiguration, QueuingConfiguration } from "#api/flowcontrol/v1.ts";
import { bootstrapFlowControl } from "#api/bootstrap-flow-control.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { Metrics } from "#std/metrics.ts";
import { dump } from "./dump.ts";
import { type Claimed, FlowControl } from "./flow-control.ts";
import { FlowMetrics } from "./flow-metrics.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { FlowRequest } from "./flow-request.ts";
import { WatchCounts } from "./watch-counts.ts";

const bootstrap = bootstrapFlowControl(kubernetesDomain);

const target = (fields: Partial<RequestAttributes> = {}): RequestAttributes => ({
  isResourceRequest: true,
  path: "/api/v1/namespaces/shop/pods/p",
  verb: "get",
  group: "",
  version: "v1",
  resource: "pods",
  subresource: "",
  namespace: "shop",
  name: "p",
  ...fields,
});

const flowRequest = (name: string, fields: Partial<RequestAttributes> = {}, ...groups: string[]): FlowRequest => ({
  user: { name, groups: [...groups, "system:authenticated"] },
  info: target(fields),
  url: "/api/v1/namespaces/shop/pods/p",
});

interface Setting {
  readonly clock: FakeClock;
  readonly control: FlowControl;
  readonly watches: WatchCounts;
  readonly metrics: Metrics;
}

function setting(seats: number, ...more: (FlowSchema | PriorityLevelConfiguration)[]): Setting {
  const clock = new FakeClock();
  const watches = new WatchCounts();
  const metrics = new Metrics();
  const control = new FlowControl({
    clock,
    metrics: new FlowMetrics(metrics),
    seats,
    bootstrap,
    work: { watches, objects: ({ resource }) => (resource === "pods" ? 450 : undefined) },
  });
  for (const object of [...bootstrap.levels, ...bootstrap.schemas, ...more]) {
    const name = object.metadata.name ?? "";
    if ("priorityLevelConfiguration" in object.spec) control.setSchema(name, object as FlowSchema);
    else control.setLevel(name, object as PriorityLevelConfiguration);
  }
  return { clock, control, watches, metrics };
}

/** Returns a level that never lends and never borrows. */
const level = (
  name: string,
  shares: number,
  queuing?: QueuingConfiguration,
  more: object = {},
): PriorityLevelConfiguration => ({
  apiVersion: "v1",
  kind: "PriorityLevelConfiguration",
  metadata: { name, uid: `${name}-uid` },
  spec: {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: shares,
      lendablePercent: 0,
      borrowingLimitPercent: 0,
      limitResponse: queuing === undefined ? { type: "Reject" } : { type: "Queue", queuing },
      ...more,
    },
  },
  status: {},
});

const schema = (name: string, group: string, by: string | undefined, precedence = 50): FlowSchema => ({
  apiVersion: "v1",
  kind: "FlowSchema",
  metadata: { name, uid: `${name}-uid` },
  spec: {
    priorityLevelConfiguration: { name },
    matchingPrecedence: precedence,
    ...(by === undefined ? {} : { distinguisherMethod: { type: by } }),
    rules: [
      {
        subjects: [{ kind: "Group", group: { name: group } }],
        resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true }],
      },
    ],
  },
  status: {},
});

const states = (claims: readonly Claimed[]): string => claims.map(({ queued }) => queued.state[0]).join("");
/** With these shares beside those of every cluster, a level has four seats of `seats`. */
const fourOf = { seats: 245 + 5, shares: 4 };

test("requests belong to the first schema that matches them", () => {
  const { control } = setting(600);
  const check = (request: FlowRequest, wanted: string): void => {
    const { flow, queued } = control.claim(request);
    assert.equal(`${flow.schema.name} ${queued.level.config.name}`, wanted);
    queued.end();
  };
  const account = (name: string): string => `system:serviceaccount:${name}`;
  const probe = { isResourceRequest: false, path: "/livez/ping", resource: "", namespace: "", name: "" };
  check(flowRequest("admin", {}, "system:masters"), "exempt exempt");
  check(flowRequest("bob"), "global-default global-default");
  check(flowRequest("bob", probe), "probes exempt");
  check(flowRequest("bob", { ...probe, path: "/livezz" }), "global-default global-default");
  check(flowRequest("bob", { ...probe, verb: "post" }), "global-default global-default");
  check(flowRequest("system:kube-scheduler"), "kube-scheduler workload-high");
  check(
    flowRequest("system:kube-scheduler", { group: "coordination.k8s.io", resource: "leases" }),
    "system-leader-election leader-election",
  );
  check(flowRequest("n1", {}, "system:nodes"), "system-nodes system");
  check(
    flowRequest("n1", { resource: "nodes", subresource: "status", namespace: "" }, "system:nodes"),
    "system-node-high node-high",
  );
  check(
    flowRequest("n1", { resource: "nodes", subresource: "proxy", namespace: "" }, "system:nodes"),
    "system-nodes system",
  );
  check(
    flowRequest(account("kube-system:x"), {}, "system:serviceaccounts"),
    "kube-system-service-accounts workload-high",
  );
  check(flowRequest(account("kube-system2:x"), {}, "system:serviceaccounts"), "service-accounts workload-low");
  check(
    flowRequest(account("kube-system:x"), { resource: "endpoints" }, "system:serviceaccounts"),
    "workload-leader-election leader-election",
  );
  check(
    flowRequest(account("kube-system:endpoint-controller"), { resource: "endpoints" }, "system:serviceaccounts"),
    "endpoint-controller workload-high",
  );
});

test("wide requests of one user leave half of the seats to others, and one may always run", () => {
  const queuing = { queues: 8, handSize: 2, queueLengthLimit: 10 };
  // 20 of 265 seats, and lists of pods take 2 of them: a tenth of the hand.
  const { control } = setting(265 * 2, level("one", 20, queuing), schema("one", "g", "ByUser"));
  const lists = (name: string, count: number): Claimed[] =>
    Array.from({ length: count }, () => control.claim(flowRequest(name, { verb: "list", name: "" }, "g")));
  const level1 = control.levels().find(({ config }) => config.name === "one")!;
  const width = lists("alice", 1).map(({ queued }) => queued.width)[0]!;
  const half = Math.floor(level1.limit / 2 / width);
  const more = lists("alice", half + 3);
  assert.equal(states(more), `${"e".repeat(half - 1)}${"w".repeat(4)}`);
  const others = Array.from({ length: 5 }, () => control.claim(flowRequest("bob", {}, "g")));
  assert.equal(states(others), "eeeee", "requests that ask for little do not wait for it");
  more[0]!.queued.end();
  assert.equal(
    more.filter(({ queued }) => queued.state === "waiting").length,
    3,
    "one of them runs when one has ended",
  );
});

test("a user whose requests turn out to be slow leaves half of the seats to others from then on", () => {
  const queuing = { queues: 8, handSize: 2, queueLengthLimit: 50 };
  const { control } = setting(265, level("one", 20, queuing), schema("one", "g", "ByUser"));
  const { limit } = control.levels().find(({ config }) => config.name === "one")!;
  const ask = (name: string, count: number): Claimed[] =>
    Array.from({ length: count }, () => control.claim(flowRequest(name, {}, "g")));
  const first = ask("mallory", limit);
  assert.equal(states(first), "e".repeat(limit));
  for (const { queued } of first) queued.slow();
  const more = ask("mallory", 10);
  const [other] = ask("bob", 1);
  assert.equal(states(more), "w".repeat(10));
  first[0]!.queued.end();
  assert.equal(states([other!]), "e", "the first seat is for somebody else");
  other!.queued.end();
  for (const { queued } of first.slice(0, limit / 2)) queued.end();
  assert.equal(states(more), "w".repeat(10));
  first[limit / 2]!.queued.end();
  assert.equal(states(more), "w".repeat(10).replace("w", "e"));
  assert.equal(states(ask("bob", 5)), "eeeee");
});

test("a user whose groups change is looked at anew", () => {
  const { control } = setting(600);
  const nameOf = (request: FlowRequest): string => control.claim(request).flow.schema.name;
  assert.equal(nameOf(flowRequest("bob")), "global-default");
  assert.equal(nameOf(flowRequest("bob", {}, "system:masters")), "exempt");
  assert.equal(nameOf(flowRequest("bob")), "global-default");
});

test("mandatory configuration is in force without being stored, and levels that are not stored take no requests", () => {
  const { control } = setting(600);
  for (const { metadata } of bootstrap.levels) control.setLevel(metadata.name ?? "", undefined);
  const nameOf = (request: FlowRequest): string => control.claim(request).flow.schema.name;
  assert.equal(nameOf(flowRequest("bob")), "catch-all");
  assert.equal(nameOf(flowRequest("admin", {}, "system:masters")), "exempt");
  control.clear("schemas");
  assert.equal(nameOf(flowRequest("bob")), "catch-all");
  assert.deepEqual(
    control.levels().map(({ config }) => config.name),
    ["catch-all", "exempt", "global-default"].filter((name) => name !== "global-default"),
  );
});

test("of flow schemas with the same precedence the first by name decides", () => {
  const { control } = setting(
    600,
    level("b", 1),
    level("a", 1),
    schema("b", "g", undefined),
    schema("a", "g", undefined),
  );
  assert.equal(control.claim(flowRequest("x", {}, "g")).flow.schema.name, "a");
});

test("a level without queues refuses what has no seat, a level with queues lets it wait", () => {
  const { control, clock } = setting(
    fourOf.seats + 4,
    level("now", 4),
    schema("now", "now", undefined),
    level("later", 4, { queues: 1, handSize: 1, queueLengthLimit: 2 }),
    schema("later", "later", "ByUser"),
  );
  const now = Array.from({ length: 6 }, () => control.claim(flowRequest("x", {}, "now")));
  assert.equal(states(now).slice(0, 4), "eeee");
  assert.equal(now.at(-1)!.queued.state, "refused");
  assert.equal(now.at(-1)!.queued.refusal, "concurrency-limit");
  const seats = control.levels().find(({ config }) => config.name === "later")!.limit;
  const later = Array.from({ length: seats + 3 }, () => control.claim(flowRequest("x", {}, "later")));
  assert.equal(states(later), `${"e".repeat(seats)}wwr`);
  assert.equal(later.at(-1)!.queued.refusal, "queue-full");
  clock.advance(10);
  later[0]!.queued.end();
  assert.equal(states(later).slice(1), `${"e".repeat(seats)}wr`);
});

test("seats are handed on in order, and those that give up leave their place", () => {
  const { control } = setting(
    fourOf.seats,
    level("q", 1, { queues: 1, handSize: 1, queueLengthLimit: 10 }),
    schema("q", "g", "ByUser"),
  );
  const claims = Array.from({ length: 5 }, () => control.claim(flowRequest("x", {}, "g")));
  const decided: number[] = [];
  for (const [index, { queued }] of claims.entries()) queued.decided = () => void decided.push(index);
  const running = claims.filter(({ queued }) => queued.state === "executing").length;
  assert.ok(running >= 1 && running <= 2);
  claims[running]!.queued.giveUp("cancelled");
  assert.equal(claims[running]!.queued.state, "refused");
  claims[0]!.queued.end();
  assert.equal(claims[running + 1]!.queued.state, "executing");
  claims[0]!.queued.end();
  assert.deepEqual(decided, [running, running + 1]);
});

test("a flow that asks for a little is served between the many requests of another one", () => {
  const { control, clock } = setting(
    fourOf.seats,
    level("q", 1, { queues: 64, handSize: 4, queueLengthLimit: 50 }),
    schema("q", "g", "ByUser"),
  );
  const heavy = Array.from({ length: 60 }, () => control.claim(flowRequest("heavy", {}, "g")));
  const light = control.claim(flowRequest("light", {}, "g"));
  const running: Claimed[] = heavy.filter(({ queued }) => queued.state === "executing");
  let ended = 0;
  while (light.queued.state === "waiting") {
    clock.advance(20);
    running.shift()!.queued.end();
    ended++;
    running.push(...heavy.filter((one) => one.queued.state === "executing" && !running.includes(one)));
  }
  // Sixty requests were before it; a few queues of the heavy flow share with its queue.
  assert.ok(ended <= 8, `served after ${ended}`);
});

test("lists take seats by the objects they go through, writes by the watches they wake", () => {
  const { control, watches, clock, metrics } = setting(600);
  const work = (fields: Partial<RequestAttributes>, url = "/x") => {
    const { queued } = control.claim({ ...flowRequest("bob", fields), url });
    queued.end();
    return queued.work;
  };
  const seats = (fields: Partial<RequestAttributes>, url?: string): number =>
    work({ name: "", ...fields }, url).initialSeats;
  // The level has 47 seats of its own, so that one request takes at most 7 of them.
  assert.equal(seats({ verb: "list" }), 5);
  assert.equal(seats({ verb: "list" }, "/x?limit=100"), 1);
  assert.equal(seats({ verb: "list" }, "/x?limit=201"), 3);
  assert.equal(seats({ verb: "list" }, "/x?limit=1&labelSelector=a"), 5);
  assert.equal(seats({ verb: "list", name: "p" }), 1);
  assert.equal(seats({ verb: "list", resource: "none" }), 1);
  assert.equal(seats({ verb: "watch" }), 1);
  assert.equal(seats({ verb: "watch" }, "/x?sendInitialEvents=true"), 5);
  assert.equal(seats({ verb: "deletecollection" }), 1);
  assert.equal(work({ verb: "update" }).lingerMs, 0);
  const ends = [
    ...Array.from({ length: 12 }, () => watches.began(target({ namespace: "", name: "" }), "/x")),
    ...Array.from({ length: 8 }, () => watches.began(target({ name: "" }), "/x")),
    watches.began(target(), "/x"),
    watches.began(target({ namespace: "other", name: "" }), "/x"),
    // Watches of a single node do not count.
    watches.began(target({ namespace: "", name: "" }), "/x?watch=1&fieldSelector=spec.nodeName%3Dn1"),
  ];
  assert.deepEqual(work({ verb: "update" }), { initialSeats: 1, finalSeats: 3, lingerMs: 5 });
  assert.deepEqual(work({ verb: "create", name: "" }), { initialSeats: 1, finalSeats: 2, lingerMs: 5 });
  assert.equal(work({ verb: "create", resource: "serviceaccounts", subresource: "token" }).finalSeats, 0);
  clock.advance(5);
  const { queued } = control.claim(flowRequest("bob", { verb: "update" }));
  const { level: used } = queued;
  const readMetric = (name: string): string | undefined =>
    new RegExp(`^apiserver_flowcontrol_${name}\\{.*"global-default"\\} (\\d+)$`, "m").exec(metrics.print())?.[1];
  const before = [readMetric("current_executing_requests"), readMetric("current_executing_seats")];
  assert.deepEqual(before, ["1", "3"]);
  queued.end();
  assert.equal(used.executing, 0);
  assert.deepEqual([readMetric("current_executing_requests"), readMetric("current_executing_seats")], ["0", "3"]);
  clock.advance(5);
  assert.equal(used.isIdle, true);
  assert.equal(readMetric("current_executing_seats"), "0");
  for (const end of ends) end();
  assert.equal(watches.seeing(target()), 0);
});

test("a level in want borrows what others do not use, and gives it back when they do", () => {
  const { control, clock, metrics } = setting(600);
  control.start();
  const limitOf = (name: string): number => control.levels().find(({ config }) => config.name === name)!.limit;
  const before = limitOf("global-default");
  const claims = Array.from({ length: 300 }, (_, index) => control.claim(flowRequest(`user-${index}`)));
  assert.equal(claims.filter(({ queued }) => queued.state === "executing").length, before);
  clock.advance(10_000);
  const after = limitOf("global-default");
  assert.ok(after > 2 * before, `${before} and then ${after}`);
  assert.equal(claims.filter(({ queued }) => queued.state === "executing").length, Math.min(after, 300));
  const sum = control.levels().reduce((all, { limit }) => all + limit, 0);
  assert.ok(sum <= 600 + control.levels().length, String(sum));
  assert.match(
    metrics.print(),
    /apiserver_flowcontrol_demand_seats_high_watermark\{priority_level="global-default"\} 300/,
  );
  const others = Array.from({ length: 300 }, (_, index) =>
    control.claim(flowRequest(`system:serviceaccount:a:${index}`, {}, "system:serviceaccounts")),
  );
  const countServed = (): number => others.filter(({ queued }) => queued.state === "executing").length;
  const few = countServed();
  clock.advance(10_000);
  for (const { queued } of claims) queued.end();
  clock.advance(10_000);
  assert.ok(countServed() > few);
  for (const { queued } of [...others, ...claims]) queued.end();
  control.close();
});

test("a removed level serves its requests, and is then forgotten", () => {
  const { control, clock } = setting(600, level("q", 1), schema("q", "g", undefined));
  control.start();
  const { queued } = control.claim(flowRequest("x", {}, "g"));
  control.setLevel("q", undefined);
  assert.equal(control.claim(flowRequest("x", {}, "g")).flow.schema.name, "global-default");
  const names = (): readonly string[] => control.levels().map(({ config }) => config.name);
  assert.ok(names().includes("q"));
  assert.match(
    dump(control, "/debug/api_priority_and_fairness/dump_priority_levels", false, clock)!,
    /^q, +0, +false, +true, /m,
  );
  queued.end();
  clock.advance(10_000);
  assert.ok(!names().includes("q"));
  control.close();
});

test("a dump keeps a request on one line", () => {
  const { control, clock } = setting(600);
  control.claim(flowRequest("a\nb, c", { path: "/x\ty" }));
  const text = dump(control, "/debug/api_priority_and_fairness/dump_requests", true, clock)!;
  const [head, row] = text.split("\n");
  assert.match(head!, /^PriorityLevelName, +FlowSchemaName, +QueueIndex, .* SubResource$/);
  assert.match(row!, /^global-default, +global-default, +\d+, +-1, +a\?b, c, +2026-01-01T00:00:00Z, +1, +0, +0s, /);
  assert.equal(dump(control, "/debug/other", true, clock), undefined);
});
