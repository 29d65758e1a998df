/** Priority and fairness: built-in objects, classification, queueing, refusals, and the server's reports. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { slowMs } from "#http/api-request.ts";
import { type Answer, patchTypes } from "../client.ts";
import {
  Api,
  domains,
  eventually,
  gated,
  openServer,
  suite,
  temporaryFolder,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { configMap } from "../objects.ts";
import { connectRaw } from "../raw.ts";

const inBothDomains = suite();
const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

const root = "/apis/flowcontrol.apiserver.k8s.io/v1";
const apiVersion = "flowcontrol.apiserver.k8s.io/v1";
const schemas = `${root}/flowschemas`;
const levels = `${root}/prioritylevelconfigurations`;
const annotation = "apf.kubernetes.io/autoupdate-spec";
const debug = "/debug/api_priority_and_fairness";

const queuing = { queues: 1, handSize: 1, queueLengthLimit: 1 };
const level = (name: string, shares: number, queue: object | undefined, more: object = {}): object => ({
  apiVersion,
  kind: "PriorityLevelConfiguration",
  metadata: { name },
  spec: {
    type: "Limited",
    limited: {
      nominalConcurrencyShares: shares,
      limitResponse: queue === undefined ? { type: "Reject" } : { type: "Queue", queuing: queue },
      ...more,
    },
  },
});
const user = (name: string): object => ({ kind: "User", user: { name } });
const everything = [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true }];
const schema = (name: string, to: string, ...subjects: object[]): object => ({
  apiVersion,
  kind: "FlowSchema",
  metadata: { name },
  spec: {
    priorityLevelConfiguration: { name: to },
    matchingPrecedence: 50,
    distinguisherMethod: { type: "ByUser" },
    rules: [{ subjects, resourceRules: everything }],
  },
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Named {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation: number;
    readonly resourceVersion: string;
    readonly annotations?: Record<string, string>;
  };
  readonly spec: Record<string, unknown>;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

const body = <T = Named>(answer: Answer): T => JSON.parse(answer.expect([200, 201]).text) as T; // checked by those who look
const itemsOf = async (api: Api, path: string): Promise<readonly Named[]> =>
  body<{ items: readonly Named[] }>(await api.get(path)).items;

/** Returns the UIDs of the schema and of the level that an answer names. */
const marks = ({ headers }: Answer): readonly unknown[] => [
  headers["x-kubernetes-pf-flowschema-uid"],
  headers["x-kubernetes-pf-prioritylevel-uid"],
];

inBothDomains("every cluster has the flow schemas and levels of 1.32, and none is dangling", async (api) => {
  const rows = (await itemsOf(api, schemas)).map(
    ({ metadata, spec }) =>
      `${String(spec["matchingPrecedence"])} ${metadata.name} ${(spec["priorityLevelConfiguration"] as { name: string }).name} ${(spec["distinguisherMethod"] as { type: string } | undefined)?.type ?? "-"} ${metadata.annotations?.[api.name(annotation)]}`,
  );
  assert.deepEqual(
    rows
      .filter((row) => row.endsWith("true"))
      .sort((a, b) => Number.parseInt(a) - Number.parseInt(b) || (a < b ? -1 : 1)),
    [
      "1 exempt exempt - true",
      "2 probes exempt - true",
      "100 system-leader-election leader-election ByUser true",
      "150 endpoint-controller workload-high ByUser true",
      "200 workload-leader-election leader-election ByUser true",
      "400 system-node-high node-high ByUser true",
      "500 system-nodes system ByUser true",
      "800 kube-controller-manager workload-high ByNamespace true",
      "800 kube-scheduler workload-high ByNamespace true",
      `900 ${api.name("kube-system")}-service-accounts workload-high ByNamespace true`,
      "9000 service-accounts workload-low ByUser true",
      "9900 global-default global-default ByUser true",
      "10000 catch-all catch-all ByUser true",
    ],
  );
  const names = (await itemsOf(api, levels)).map(({ metadata }) => metadata.name);
  for (const name of [
    "catch-all",
    "exempt",
    "global-default",
    "leader-election",
    "node-high",
    "system",
    "workload-high",
    "workload-low",
  ]) {
    assert.ok(names.includes(name), name);
  }
  await eventually(async () => {
    const { status } = body(await api.get(`${schemas}/global-default`));
    assert.deepEqual(
      status?.conditions?.map(({ type, status: value, reason, message }) => [type, value, reason, message]),
      [
        [
          "Dangling",
          "False",
          "Found",
          'This FlowSchema references the PriorityLevelConfiguration object named "global-default" and it exists',
        ],
      ],
    );
  });
});

inBothDomains("answers say which schema and level they belong to, errors as well", async (api) => {
  const uids = new Map(
    [
      ...(await itemsOf(api, schemas)),
      ...(await itemsOf(api, levels)).map((one) => ({
        ...one,
        metadata: { ...one.metadata, name: `level ${one.metadata.name}` },
      })),
    ].map(({ metadata }) => [metadata.name, metadata.uid]),
  );
  const check = (answer: Answer, schemaName: string, levelName: string): void =>
    assert.deepEqual(marks(answer), [uids.get(schemaName), uids.get(`level ${levelName}`)]);
  check((await api.get(schemas)).expect(200), "exempt", "exempt");
  check((await api.get("/api/v1/nodes", { as: "bob" })).expect(403), "global-default", "global-default");
  check((await api.get("/api/v1/namespaces/none")).expect(404), "exempt", "exempt");
  check((await api.get("/livez", { as: "bob" })).expect(200), "probes", "exempt");
  const acting = { headers: { "impersonate-user": "system:serviceaccount:shop:till" } };
  check((await api.get("/api/v1/nodes", acting)).expect(403), "service-accounts", "workload-low");
});

inBothDomains("a schema is in force as soon as its write is answered, and so is its end", async (api) => {
  const name = api.unique("flow");
  const object = body(await api.post(levels, level(name, 10, queuing)));
  const flow = body(await api.post(schemas, schema(name, name, user("carol"))));
  const ask = async (): Promise<Answer> => api.get("/api/v1/nodes", { as: "carol" });
  assert.deepEqual(marks(await ask()), [flow.metadata.uid, object.metadata.uid]);
  (await api.delete(`${schemas}/${name}`)).expect(200);
  assert.notDeepEqual(marks(await ask()), [flow.metadata.uid, object.metadata.uid]);
  (await api.delete(`${levels}/${name}`)).expect(200);
});

inBothDomains("a schema without its level is dangling and takes no request", async (api) => {
  const name = api.unique("flow");
  const flow = body(await api.post(schemas, schema(name, name, user("alice"))));
  const answer = await api.get("/api/v1/nodes", { as: "alice" });
  assert.notEqual(marks(answer)[0], flow.metadata.uid);
  const readCondition = async (): Promise<Condition | undefined> =>
    body(await api.get(`${schemas}/${name}`)).status?.conditions?.[0];
  await eventually(async () => {
    const condition = await readCondition();
    assert.equal(condition?.status, "True");
    assert.equal(condition.reason, "NotFound");
    assert.equal(
      condition.message,
      `This FlowSchema references the PriorityLevelConfiguration object named "${name}" but there is no such object`,
    );
  });
  (await api.post(levels, level(name, 10, queuing))).expect(201);
  await eventually(async () => assert.equal((await readCondition())?.status, "False"));
  // Another existing level changes the message.
  const elsewhere = { spec: { priorityLevelConfiguration: { name: "catch-all" } } };
  (await api.patch(`${schemas}/${name}`, elsewhere)).expect(200);
  await eventually(async () =>
    assert.match((await readCondition())?.message ?? "", /named "catch-all" and it exists$/),
  );
  (await api.delete(`${schemas}/${name}`)).expect(200);
  (await api.delete(`${levels}/${name}`)).expect(200);
});

inBothDomains("schemas and levels that cannot work are refused with every reason", async (api) => {
  const wrong = {
    ...(schema("wrong", "x") as { readonly metadata: object }),
    spec: {
      priorityLevelConfiguration: { name: "" },
      matchingPrecedence: 1,
      rules: [
        {
          subjects: [{ kind: "User", group: { name: "g" } }, { kind: "Robot" }],
          resourceRules: [{ verbs: ["fly"], apiGroups: ["*", "x"], resources: [], namespaces: ["A"] }],
          nonResourceRules: [{ verbs: ["*", "get"], nonResourceURLs: ["healthz", "/a*", "/b//c"] }],
        },
        { subjects: [] },
      ],
    },
  };
  const causes = (answer: Answer): readonly string[] =>
    (
      JSON.parse(answer.expect(422).text) as { details: { causes: readonly { field: string; message: string }[] } }
    ).details.causes.map(({ field, message }) => `${field}: ${message}`);
  assert.deepEqual(causes(await api.post(schemas, wrong)), [
    "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
    "spec.priorityLevelConfiguration.name: Required value: must reference a priority level",
    "spec.rules[0].subjects[0].user: Required value: user is required when subject kind is 'User'",
    "spec.rules[0].subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'",
    'spec.rules[0].subjects[1].kind: Unsupported value: "Robot": supported values: "Group", "ServiceAccount", "User"',
    'spec.rules[0].resourceRules[0].verbs: Unsupported value: []string{"fly"}: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"',
    'spec.rules[0].resourceRules[0].apiGroups: Invalid value: []string{"*", "x"}: if \'*\' is present, must not specify other api groups',
    "spec.rules[0].resourceRules[0].resources: Required value: resource rules must supply at least one resource",
    "spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: \"A\": each member of this list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
    'spec.rules[0].nonResourceRules[0].verbs: Invalid value: []string{"*", "get"}: if \'*\' is present, must not specify other verbs',
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "healthz": must start with slash',
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[1]: Invalid value: "/a*": wildcard can only do suffix matching',
    'spec.rules[0].nonResourceRules[0].nonResourceURLs[2]: Invalid value: "/b//c": must not contain double slash',
    "spec.rules[1].subjects: Required value: subjects must contain at least one value",
    "spec.rules[1]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
  ]);
  const hand = { queues: 4, handSize: 5, queueLengthLimit: -1 };
  assert.deepEqual(
    causes(await api.post(levels, level("wrong", -1, hand, { lendablePercent: 101, borrowingLimitPercent: -1 }))),
    [
      "spec.limited.nominalConcurrencyShares: Invalid value: -1: must be a non-negative integer",
      "spec.limited.limitResponse.queuing.queueLengthLimit: Invalid value: -1: must be positive",
      "spec.limited.limitResponse.queuing.handSize: Invalid value: 5: should not be greater than queues (4)",
      "spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive",
      "spec.limited.borrowingLimitPercent: Invalid value: -1: if specified, must be a non-negative integer",
    ],
  );
  const wide = { queues: 10_000, handSize: 10, queueLengthLimit: 1 };
  assert.match(
    causes(await api.post(levels, level("wrong", 1, wide)))[0]!,
    /required entropy bits of deckSize 10000 and handSize 10 should not be greater than 60/,
  );
});

inBothDomains("shares are 30 unless they are given, and 0 stays 0 [VER-40] [VER-41]", async (api) => {
  const name = api.unique("level");
  const limited = { limitResponse: { type: "Reject" } };
  const object = { apiVersion, kind: "PriorityLevelConfiguration", metadata: { name } };
  (await api.post(levels, { ...object, spec: { type: "Limited", limited } })).expect(201, {
    "spec.limited.nominalConcurrencyShares": 30,
  });
  const none = { "spec.limited.nominalConcurrencyShares": 0 };
  (await api.patch(`${levels}/${name}`, { spec: { limited: { nominalConcurrencyShares: 0 } } })).expect(200, none);
  (await api.get(`${levels}/${name}`)).expect(200, none);
  (await api.delete(`${levels}/${name}`)).expect(200);
});

inBothDomains("what has to be in force cannot be changed, but for the shares of exempt requests", async (api) => {
  const text = /spec of 'catch-all' must equal the fixed value/;
  (await api.patch(`${schemas}/catch-all`, { spec: { matchingPrecedence: 9999 } })).expectFailure(422, "Invalid", text);
  (await api.patch(`${levels}/catch-all`, { spec: { limited: { nominalConcurrencyShares: 1 } } })).expectFailure(
    422,
    "Invalid",
    text,
  );
  (await api.patch(`${levels}/exempt`, { spec: { type: "Limited" } })).expectFailure(
    422,
    "Invalid",
    /type must be 'Exempt'/,
  );
  const shares = (count: number) =>
    api.patch(`${levels}/exempt`, { spec: { exempt: { nominalConcurrencyShares: count } } });
  (await shares(7)).expect(200);
  (await shares(0)).expect(200);
});

inBothDomains("schemas and levels are replaced without a version, and their status by itself", async (api) => {
  const name = api.unique("flow");
  (await api.post(levels, level(name, 10, queuing))).expect(201);
  (await api.put(`${levels}/${name}`, level(name, 11, queuing))).expect(200, { "metadata.generation": 2 });
  const conditions = (...types: readonly string[]) => ({
    ...(level(name, 12, queuing) as { readonly metadata: object }),
    metadata: { name, labels: { a: "b" } },
    status: { conditions: types.map((type) => ({ type, status: "True" })) },
  });
  const written = (await api.put(`${levels}/${name}/status`, conditions("Mine"))).expect(200, {
    "metadata.generation": 2,
    "metadata.labels": undefined,
    "spec.limited.nominalConcurrencyShares": 11,
    "status.conditions[0].type": "Mine",
  });
  assert.equal(written.headers["content-type"], "application/json");
  (await api.put(`${levels}/${name}/status`, conditions("Mine", "Mine"))).expectFailure(
    422,
    "Invalid",
    /status\.conditions\[1\]\.type: Duplicate value: "Mine"/,
  );
  (await api.delete(`${levels}/${name}`)).expect(200);
});

/**
 * Settings with four seats. Bob's level has one of them, and one place in its queue; a request waits there for at most
 * a minute, a quarter of a request's timeout.
 */
const small = { ...gated, maxRequestsInflight: 3, maxMutatingRequestsInflight: 1, requestTimeoutMs: 240_000 };
/** The query of a read that waits for its version until the clock is advanced by the maximum wait. */
const slowly = "?resourceVersion=99999999999";
const readWaitMs = 3000;

for (const domain of domains) {
  test(`${domain}: a request without a seat waits in a queue, and a full queue answers 429 [LIMIT-07]`, {
    skip,
  }, async () => {
    const clock = new MovingClock(readWaitMs);
    await usingObserved(domain, small, ({ api }) => queueForOneSeat(api, clock), clock);
  });
}

async function queueForOneSeat(api: Api, clock: MovingClock): Promise<void> {
  const { configMaps } = await api.createNamespace();
  (await api.post(levels, level("tight", 1, queuing, { borrowingLimitPercent: 0 }))).expect(201);
  (await api.post(schemas, schema("tight", "tight", user("bob")))).expect(201);
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", metadata: { name: "bob" } };
  const rbac = "/apis/rbac.authorization.k8s.io/v1";
  const rules = [{ verbs: ["*"], apiGroups: [""], resources: ["configmaps"] }];
  (await api.post(`${rbac}/clusterroles`, { ...role, kind: "ClusterRole", rules })).expect(201);
  (
    await api.post(`${rbac}/clusterrolebindings`, {
      ...role,
      kind: "ClusterRoleBinding",
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "bob" },
      subjects: [{ kind: "User", apiGroup: "rbac.authorization.k8s.io", name: "bob" }],
    })
  ).expect(201);
  const first = api.get(`${configMaps}${slowly}`, { as: "bob" });
  first.catch(() => undefined);
  await eventually(async () => assert.match(await dump(api, "requests"), /^tight, +tight, +0, +-1, +bob, /m));
  // The maximum wait is a quarter of a request's timeout.
  (await api.get(`${configMaps}?timeout=1s`, { as: "bob" })).expectFailure(429, "TooManyRequests");
  const second = api.get(configMaps, { as: "bob" });
  second.catch(() => undefined);
  await eventually(async () => assert.match(await dump(api, "levels"), /^tight, +1, +false, +false, +1, +1, +1, +1,/m));
  const third = await api.get(configMaps, { as: "bob" });
  third.expectFailure(429, "TooManyRequests", "Too many requests, please try again later.");
  assert.equal(third.headers["retry-after"], "1");
  assert.equal(marks(third).filter((uid) => typeof uid === "string" && uid.length === 36).length, 2);
  // Other users are not affected, and neither are users with all rights.
  (await api.get(configMaps, { as: "alice" })).expect(403);
  (await api.get(configMaps)).expect(200);
  assert.match(
    await dump(api, "requests?includeRequestDetails=1"),
    /tight, +tight, +0, +0, +bob, .* bob, +list, +\/api/,
  );
  assert.match(await dump(api, "queues"), /^tight, +0, +1, +1, +1, +[\d.]+ss, +1, +1, +0\.00300000ss$/m);
  clock.advance(readWaitMs);
  (await first).expect(504);
  (await second).expect(200);
  const metrics = (await api.get("/metrics")).expect(200).text;
  const labels = 'priority_level="tight",flow_schema="tight"';
  for (const line of [
    `rejected_requests_total{${labels},reason="queue-full"} 1`,
    `rejected_requests_total{${labels},reason="time-out"} 1`,
    `dispatched_requests_total{${labels}} 2`,
    `current_inqueue_requests{${labels}} 0`,
    `current_executing_seats{${labels}} 0`,
    'nominal_limit_seats{priority_level="tight"} 1',
    `work_estimated_seats_count{${labels}} 4`,
  ]) {
    assert.ok(metrics.includes(`\napiserver_flowcontrol_${line}\n`), line);
  }
}

async function dump(api: Api, what: string): Promise<string> {
  return (await api.get(`${debug}/dump_${what === "levels" ? "priority_levels" : what}`)).expect(200).text;
}

withOwnServer("a level without shares is a jail, and one that does not queue refuses at once", small, async (api) => {
  (await api.post(levels, level("jail", 0, queuing, { borrowingLimitPercent: 0 }))).expect(201);
  (await api.post(schemas, schema("jail", "jail", user("bob")))).expect(201);
  const jailed = await api.get("/api/v1/nodes", { as: "bob" });
  jailed.expectFailure(429, "TooManyRequests");
  (await api.post(levels, level("shut", 0, undefined, { borrowingLimitPercent: 0 }))).expect(201);
  (await api.post(schemas, schema("shut", "shut", user("alice")))).expect(201);
  (await api.get("/api/v1/nodes", { as: "alice" })).expectFailure(429, "TooManyRequests");
  const refused = 'rejected_requests_total{priority_level="shut",flow_schema="shut",reason="concurrency-limit"} 1';
  assert.ok((await api.get("/metrics")).text.includes(`\napiserver_flowcontrol_${refused}\n`));
  (await api.delete(`${schemas}/jail`)).expect(200);
  (await api.get("/api/v1/nodes", { as: "bob" })).expect(403);
});

for (const domain of domains) {
  const name = "a watch that begins with a large state has its seat until the client has read it";
  test(`${domain}: ${name}`, { skip }, async () => {
    // The seat of a slow reader is freed by the clock, which stands still here.
    const server = await openServer(domain, gated, { clock: new MovingClock(slowMs) });
    const api = new Api(server);
    const { configMaps } = await api.createNamespace();
    for (let i = 0; i < 20; i++)
      (await api.post(configMaps, configMap(`m${i}`, { k: "x".repeat(500_000) }))).expect(201);
    const raw = await connectRaw(api.endpoint, api.server.ca);
    const query = "watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    raw.socket.pause();
    raw.write(
      `GET ${api.name(configMaps)}?${query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin-token\r\n\r\n`,
    );
    const hasWatch = async (): Promise<boolean> => / watch, /.test(await dump(api, "requests?includeRequestDetails=1"));
    await eventually(async () => assert.ok(await hasWatch()));
    raw.socket.resume();
    await raw.until("k8s.io/initial-events-end".replace("k8s.io", api.domain));
    await eventually(async () => assert.ok(!(await hasWatch())));
    raw.socket.destroy();
    api.close();
    await server.close();
  });
}

withOwnServer("every figure that 1.32 shows of its flows is shown here", small, async (api) => {
  (await api.get("/api/v1/nodes", { as: "bob" })).expect(403);
  (await api.post("/api/v1/namespaces", { metadata: { name: api.unique("ns") } })).expect(201);
  const metrics = (await api.get("/metrics")).expect(200).text;
  const shown = [...metrics.matchAll(/^# TYPE (apiserver_(?:flowcontrol_|current_in)\w+) (\w+)$/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  const flowcontrol = [
    "current_executing_requests gauge",
    "current_executing_seats gauge",
    "current_inqueue_requests gauge",
    "current_inqueue_seats gauge",
    "current_limit_seats gauge",
    "current_r gauge",
    "demand_seats histogram",
    "demand_seats_average gauge",
    "demand_seats_high_watermark gauge",
    "demand_seats_smoothed gauge",
    "demand_seats_stdev gauge",
    "dispatch_r gauge",
    "dispatched_requests_total counter",
    "latest_s gauge",
    "lower_limit_seats gauge",
    "next_discounted_s_bounds gauge",
    "next_s_bounds gauge",
    "nominal_limit_seats gauge",
    "priority_level_request_utilization histogram",
    "priority_level_seat_utilization histogram",
    "read_vs_write_current_requests histogram",
    "request_dispatch_no_accommodation_total counter",
    "request_execution_seconds histogram",
    "request_queue_length_after_enqueue histogram",
    "request_wait_duration_seconds histogram",
    "seat_fair_frac gauge",
    "target_seats gauge",
    "upper_limit_seats gauge",
    "watch_count_samples histogram",
    "work_estimated_seats histogram",
  ].map((rest) => `apiserver_flowcontrol_${rest}`);
  const inflight = ["apiserver_current_inflight_requests gauge", "apiserver_current_inqueue_requests gauge"];
  assert.deepEqual(shown, [...inflight, ...flowcontrol]);
  const count = (name: string, labels: string): number =>
    Number(new RegExp(`^apiserver_flowcontrol_${name}_count\\{${labels}\\} (.*)$`, "m").exec(metrics)?.[1]);
  // The histograms are weighted with time: all of a level have counted the same nanoseconds.
  const ns = count("demand_seats", 'priority_level="exempt"');
  assert.ok(ns > 1e6);
  for (const phase of ["executing", "waiting"]) {
    assert.ok(
      Math.abs(count("priority_level_request_utilization", `phase="${phase}",priority_level="exempt"`) - ns) < 1,
    );
    assert.ok(count("read_vs_write_current_requests", `phase="${phase}",request_kind="readOnly"`) > 1e6);
  }
});

withOwnServer(
  "without priority and fairness only the two limits count",
  { ...gated, enablePriorityAndFairness: false },
  async (api) => {
    const answer = (await api.get("/api/v1/nodes")).expect(200);
    assert.deepEqual(marks(answer), [undefined, undefined]);
    (await api.get(`${debug}/dump_queues`)).expect(404);
    assert.deepEqual(await itemsOf(api, schemas), []);
    assert.doesNotMatch((await api.get("/metrics")).text, /apiserver_flowcontrol_/);
  },
);

inBothDomains("the state of the queues is shown to users with permission", async (api) => {
  for (const what of ["priority_levels", "queues", "requests"]) {
    (await api.get(`${debug}/dump_${what}`, { as: "bob" })).expect(403);
    assert.match((await api.get(`${debug}/dump_${what}`)).expect(200).text, /^PriorityLevelName, /);
  }
  (await api.get(`${debug}/dump_other`)).expect(404);
  const hostile = { headers: { "impersonate-user": "a, b" } };
  (await api.get("/api/v1/nodes", hostile)).expect(403);
});

withOwnServer(
  "a start changes nothing that is as it should be, and mends what is not",
  { ...gated, storage: "disk" },
  async (api) => {
    // The test creates the folder, so that it outlives a server.
    const dataDir = `${temporaryFolder()}/data`;
    const settings = { ...gated, storage: "disk", dataDir } as const;
    const usingApi = async (work: (own: Api) => Promise<void>): Promise<void> => {
      const server = await openServer(api.domain, settings);
      const own = new Api(server);
      try {
        await work(own);
      } finally {
        own.close();
        await server.close();
      }
    };
    const versions = async (own: Api): Promise<Map<string, string>> =>
      new Map(
        [...(await itemsOf(own, schemas)), ...(await itemsOf(own, levels))].map(({ metadata }) => [
          metadata.uid,
          metadata.resourceVersion,
        ]),
      );
    let before = new Map<string, string>();
    await usingApi(async (own) => {
      await eventually(async () => {
        for (const { status } of await itemsOf(own, schemas)) assert.equal(status?.conditions?.length, 1);
      });
      before = await versions(own);
    });
    await usingApi(async (own) => {
      assert.deepEqual(await versions(own), before);
      // Suggested objects: one is deleted, one changed while the server owns it, one taken over by its users.
      (await own.delete(`${levels}/node-high`)).expect(200);
      (await own.patch(`${levels}/system`, { spec: { limited: { nominalConcurrencyShares: 31 } } })).expect(200);
      const mine = {
        metadata: { annotations: { [annotation]: "false" } },
        spec: { limited: { nominalConcurrencyShares: 11 } },
      };
      (await own.patch(`${levels}/leader-election`, mine)).expect(200);
      const shares = (mark: string, nominalConcurrencyShares: number) => ({
        metadata: { annotations: { [annotation]: mark } },
        spec: { exempt: { nominalConcurrencyShares } },
      });
      // The shares of exempt requests belong to their users in any case, and the annotation to the server.
      (await own.patch(`${levels}/exempt`, shares("false", 7))).expect(200);
      // The annotation may have Go's texts for booleans.
      const words = (mark: string) => ({
        metadata: { annotations: { [annotation]: mark } },
        spec: { limited: { nominalConcurrencyShares: 51 } },
      });
      (await own.patch(`${levels}/workload-low`, words("T"))).expect(200);
      (await own.patch(`${levels}/global-default`, words("0"))).expect(200);
      const unmarked = {
        metadata: { annotations: { [annotation]: null } },
        spec: { limited: { nominalConcurrencyShares: 41 } },
      };
      (await own.patch(`${levels}/workload-high`, unmarked)).expect(200);
      // Mandatory objects are deleted. An object of another release is marked as the server's own.
      (await own.delete(`${schemas}/catch-all`)).expect(200);
      (await own.delete(`${schemas}/exempt`)).expect(200);
      const old = schema("old", "system", user("x")) as { metadata: object };
      (await own.post(schemas, { ...old, metadata: { name: "old", annotations: { [annotation]: "true" } } })).expect(
        201,
      );
      // The mandatory objects are still in force meanwhile.
      (await own.get("/api/v1/nodes")).expect(200);
    });
    await usingApi(async (own) => {
      const sharesOf = async (name: string): Promise<unknown> =>
        (body(await own.get(`${levels}/${name}`)).spec["limited"] as Record<string, unknown>)[
          "nominalConcurrencyShares"
        ];
      assert.equal(await sharesOf("node-high"), 40);
      assert.equal(await sharesOf("system"), 30);
      assert.equal(await sharesOf("leader-election"), 11);
      assert.equal(await sharesOf("workload-high"), 41);
      assert.equal(await sharesOf("workload-low"), 100);
      assert.equal(await sharesOf("global-default"), 51);
      const { spec, metadata } = body(await own.get(`${levels}/exempt`));
      assert.deepEqual(spec["exempt"], { nominalConcurrencyShares: 7, lendablePercent: 0 });
      assert.equal(metadata.annotations?.[own.name(annotation)], "true");
      assert.equal(
        body(await own.get(`${levels}/workload-high`)).metadata.annotations?.[own.name(annotation)],
        "false",
      );
      (await own.get(`${schemas}/catch-all`)).expect(200);
      (await own.get(`${schemas}/exempt`)).expect(200);
      (await own.get(`${schemas}/old`)).expect(404);
    });
    (await api.patch(`${levels}/system`, { metadata: { labels: { a: "b" } } }, patchTypes.merge)).expect(200);
  },
);

inBothDomains("fifty config maps can be written at once", async (api) => {
  const { configMaps } = await api.createNamespace();
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => api.post(configMaps, configMap(`m${index}`))),
  );
  for (const answer of answers) answer.expect(201);
});
