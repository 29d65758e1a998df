/** The filters before handlers: identity, permission, limits, deadlines; and the form of errors. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { orAnonymous, withAuthenticatedGroup } from "#authn/authenticator.ts";
import { bearerToken } from "#authn/bearer-token.ts";
import { readTokenFile } from "#authn/token-file.ts";
import { type Authorizer, type Attributes, union } from "#authz/authorizer.ts";
import { privilegedGroups } from "#authz/privileged-groups.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { yamlEncoding } from "#codec/yaml-encoding.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { AuditPolicy } from "#audit/policy.ts";
import type { AuditEvent } from "#audit/event.ts";
import { internalError, notFound } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { silentLog } from "#std/log.ts";
import { Metrics } from "#std/metrics.ts";
import type { Span, SpanAttributes } from "#std/tracer.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { auditFilters } from "#http/audit-requests.ts";
import { recordRequests } from "#http/record-requests.ts";
import { RequestMetrics } from "#http/request-metrics.ts";
import { type ChainOptions, requestChain } from "#http/chain.ts";
import { BodyBudget } from "#transport/body-budget.ts";
import { DividedBudget } from "#transport/divided-budget.ts";
import { IncomingRequest } from "#transport/incoming-request.ts";
import { negotiator } from "#http/negotiation.ts";
import { durationProblem } from "#http/filters/request-deadline.ts";
import { splitTarget } from "#http/request-info.ts";

const tokens = readTokenFile("admin,admin,admin-uid,system:masters\nbob,bob,bob-uid\n", "tokens");

/** Permits health for everybody, and discovery for every known user. */
const healthAndDiscovery: Authorizer = {
  authorize({ user, path }) {
    const open = path === "/healthz" || (path === "/apis" && user.groups.includes("system:authenticated"));
    return { decision: open ? "allow" : "noOpinion", reason: "" };
  },
};

interface Fixture {
  readonly clock: FakeClock;
  readonly logged: string[];
  /** The requests that reached the router. */
  readonly routed: ApiRequest[];
  send(line: string, headers?: Readonly<Record<string, string | readonly string[]>>, h2?: boolean): Promise<Reply>;
}

/** `streamsMax` is the number of streams that may be open, of which one user gets half. */
function chain({ streamsMax = 1000, ...over }: Partial<ChainOptions> & { streamsMax?: number } = {}): Fixture {
  const streams = new DividedBudget(streamsMax);
  const clock = new FakeClock();
  const logged: string[] = [];
  const routed: ApiRequest[] = [];
  const route = over.route ?? (() => Promise.resolve({ code: 200 }));
  const handle = requestChain({
    isIdentityHeader: (name) => name === "authorization",
    domain: kubernetesDomain,
    clock,
    random: seededRandom(1),
    log: {
      debug() {},
      error: (fields, message) => logged.push(`${message}: ${String((fields as { error: unknown }).error)}`),
    },
    negotiator: negotiator([jsonEncoding, yamlEncoding]),
    authenticator: orAnonymous(withAuthenticatedGroup(bearerToken([tokens]))),
    authorizer: union([privilegedGroups(["system:masters"]), healthAndDiscovery]),
    requestTimeoutMs: 60_000,
    requestsInFlightMax: 2,
    mutatingRequestsInFlightMax: 1,
    goAwayChance: 0,
    closesUnauthenticated: true,
    corsAllowedOrigins: [],
    ...over,
    route(request) {
      routed.push(request);
      return route(request);
    },
  });
  const send: Fixture["send"] = async (line, headers = {}, h2 = false) =>
    handle(requestOf(line, headers, h2, { clock, streams }));
  return { clock, logged, routed, send };
}

/** Makes a request from a line such as `GET /path as bob`; without `as` it is anonymous. */
function requestOf(
  line: string,
  headers: Readonly<Record<string, string | readonly string[]>>,
  h2: boolean,
  { clock, streams }: { readonly clock: FakeClock; readonly streams: DividedBudget },
): IncomingRequest {
  const [method = "", url = "", , user] = line.split(" ");
  const target = splitTarget(url);
  assert.ok(target !== undefined);
  const all = { ...(user === undefined ? {} : { authorization: `Bearer ${user}` }), ...headers };
  const pairs = Object.entries(all).flatMap(([name, value]) =>
    (typeof value === "string" ? [value] : value).map((one) => [name, one] as const),
  );
  const joined: Record<string, string> = {};
  for (const [name, value] of pairs) joined[name] = name in joined ? `${joined[name]}, ${value}` : value;
  const body = { read() {}, pause() {}, resume() {}, stop() {} };
  const message = { headers: joined, rawHeaders: pairs.flat(), body, sendContinue() {} };
  const peer = {
    remoteAddress: "127.0.0.1",
    clientCertificate: undefined,
    clientCertificateProblem: "",
    identify: () => undefined,
  };
  return new IncomingRequest(
    { method, url, target, protocol: h2 ? "HTTP/2.0" : "HTTP/1.1", receivedMs: clock.now() },
    peer,
    message,
    { newId: () => "an-id", bodies: new BodyBudget(), streams },
  );
}

/** Returns the code and message of a failure. */
function failure({ code, bytes }: Reply): string {
  assert.ok(Buffer.isBuffer(bytes));
  const { message } = JSON.parse(bytes.toString()) as { message: string };
  return `${code} ${message}`;
}

const map = "/api/v1/namespaces/x/configmaps";

test("a wrong token is refused everywhere with 401, before anything else is looked at [ABEAR-03] [AUTHZ-01] [ERR-03]", async () => {
  const { send, routed } = chain();
  for (const line of [`GET ${map} as eve`, "GET /no/such/path as eve", "GET /healthz as eve", `POST ${map} as eve`]) {
    const reply = await send(line);
    assert.equal(failure(reply), "401 Unauthorized", line);
    assert.equal(reply.headers?.["www-authenticate"], undefined);
    assert.equal(reply.headers?.["x-content-type-options"], undefined);
  }
  assert.equal(routed.length, 0);
});

test("warnings about a token are in the audit event of each request", async () => {
  let uses = 0;
  const user = { name: "bob", groups: [] };
  const { send, routed } = chain({
    authenticator: withAuthenticatedGroup({
      authenticate: () => ({ outcome: "user", user, annotations: { use: String(++uses) } }),
    }),
  });
  for (const use of ["1", "2"]) {
    assert.equal((await send("GET /apis")).code, 200);
    assert.equal(routed.at(-1)?.annotations?.get("use"), use);
    assert.deepEqual(routed.at(-1)?.user.groups, ["system:authenticated"]);
  }
});

test("after authentication a request has a user and no credentials, valid or not", async () => {
  const { send, routed } = chain({
    isIdentityHeader: (name) => name === "authorization" || name.startsWith("x-remote-"),
  });
  const smuggled = { "x-remote-user": ["root", "admin"], "x-remote-extra-a": "b", "x-other": ["c", "d"] };
  assert.equal((await send("GET /apis as bob", smuggled)).code, 200);
  const { user, headers } = routed[0]!;
  assert.equal(user.name, "bob");
  for (const name of ["authorization", "x-remote-user", "x-remote-extra-a"]) {
    assert.equal(headers[name], undefined);
    assert.deepEqual(routed[0]!.headerValues(name), []);
  }
  assert.deepEqual([headers["x-other"], routed[0]!.headerValues("x-other")], ["c, d", ["c", "d"]]);
});

test("a refusal names the user, the anonymous one too, and the action [AANON-01] [AUTHZ-02] [AUTHZ-07]", async () => {
  const { send, routed } = chain();
  const answer = await send(`GET ${map}/c as bob`);
  assert.equal(
    failure(answer),
    '403 configmaps "c" is forbidden: User "bob" cannot get resource "configmaps" in API group "" in the namespace "x"',
  );
  assert.equal(answer.headers?.["x-content-type-options"], "nosniff");
  assert.equal(failure(await send("GET /apis")), '403 forbidden: User "system:anonymous" cannot get path "/apis"');
  assert.equal(routed.length, 0);
  assert.equal((await send("GET /healthz")).code, 200);
  assert.equal((await send("GET /apis as bob")).code, 200);
  assert.equal((await send(`DELETE ${map} as admin`)).code, 200);
  assert.deepEqual(
    routed.map(({ user, info }) => `${user.name} ${info.verb}`),
    ["system:anonymous get", "bob get", "admin deletecollection"],
  );
});

test("names that could leave their path segment are refused, after authorization", async () => {
  const { send, routed } = chain();
  assert.match(failure(await send(`GET ${map}/%2e%2e as bob`)), /^403 /);
  assert.equal(failure(await send(`GET ${map}/%2e%2e as admin`)), `400 Name parameter invalid: "..": may not be '..'`);
  for (const path of [`${map}//one`, `/${map}/one`, "/apis//v1/configmaps"]) {
    assert.equal(failure(await send(`GET ${path} as admin`)), "404 the server could not find the requested resource");
  }
  assert.equal(routed.length, 0);
});

test("failures come back as a Status in the encoding asked for, with Retry-After where it belongs", async () => {
  const { send } = chain({
    route: () => Promise.reject(notFound({ group: "", resource: "configmaps" }, "c")),
    requestsInFlightMax: 0,
  });
  const line = `GET ${map}/c as admin`;
  const plain = await send(line);
  assert.equal(plain.contentType, "application/json");
  assert.ok(Buffer.isBuffer(plain.bytes));
  assert.equal(plain.bytes.toString().trimEnd().includes("\n"), false);
  assert.equal((await send(line, { accept: "application/yaml" })).contentType, "application/yaml");
  const unreadable = await send(line, { accept: "image/png" });
  assert.equal(unreadable.contentType, "application/json");
  assert.ok(unreadable.bytes?.toString().includes('\n  "kind": "Status"'));
});

test("a bug is a 500 that tells the client nothing, and one line in the log", async () => {
  const { send, logged } = chain({ route: () => Promise.reject(new Error("secret")) });
  assert.equal(
    failure(await send("GET /x as admin")),
    "500 Internal error occurred: the request failed unexpectedly (audit ID an-id)",
  );
  assert.deepEqual(logged, ["a request failed unexpectedly: Error: secret"]);
  const server = chain({ route: () => Promise.reject(internalError("oops", new Error("story"))) });
  assert.equal(failure(await server.send("GET /x as admin")), "500 Internal error occurred: oops");
  assert.deepEqual(server.logged, ["a request failed: Error: story"]);
});

test("a request that takes too long is answered with 504, and its work is aborted", async () => {
  let request: ApiRequest | undefined;
  const { send, clock } = chain({
    route(given) {
      request = given;
      return new Promise(() => {});
    },
  });
  const reply = send(`GET ${map} as admin`);
  await new Promise(setImmediate);
  assert.equal(request?.deadlineMs, clock.now() + 60_000);
  clock.advance(59_900);
  assert.equal(request?.signal.aborted, false);
  clock.advance(400);
  assert.equal(failure(await reply), "504 Timeout: request did not complete within the allotted timeout");
  assert.equal(request?.signal.aborted, true);
  await assert.rejects(request!.body(10), { message: /allotted timeout/ });
});

test("a read of the body that is under way ends with the request", async () => {
  const { send, clock } = chain({ route: async (request) => ({ code: 200, bytes: await request.body(100) }) });
  const reply = send(`POST ${map} as admin`);
  await new Promise(setImmediate);
  clock.advance(61_000);
  assert.match(failure(await reply), /^504 /);
});

test("the parameter timeout shortens the time, but does not lengthen it, and must be a duration [QP-12]", async () => {
  const { send, clock, routed } = chain({ route: () => new Promise(() => {}) });
  const short = send(`GET ${map}?timeout=1.5s as admin`);
  await new Promise(setImmediate);
  clock.advance(1_500);
  assert.match(failure(await short), /^504 /);
  for (const timeout of ["100h", "-1s", "0", ""]) {
    void send(`GET ${map}?timeout=${timeout} as admin`);
    await new Promise(setImmediate);
    assert.equal(routed.at(-1)?.deadlineMs, clock.now() + 60_000, timeout);
  }
  for (const [timeout, problem] of [
    ["abc", 'invalid duration "abc"'],
    ["5", 'missing unit in duration "5"'],
    ["5x", 'unknown unit "x" in duration "5x"'],
    ["1h5", 'missing unit in duration "1h5"'],
    [".", 'invalid duration "."'],
    ["1s%0a", 'unknown unit "s\\n" in duration "1s\\n"'],
  ] as const) {
    assert.equal(
      failure(await send(`GET ${map}?timeout=${timeout} as eve`)),
      `400 invalid timeout specified in the request URL - time: ${problem}`,
    );
  }
  assert.equal(durationProblem("--1s"), 'invalid duration "--1s"');
});

test("watches have no deadline", async () => {
  const { send, clock, routed } = chain({ route: () => new Promise(() => {}) });
  void send(`GET ${map}?watch=1 as admin`);
  await new Promise(setImmediate);
  clock.advance(10_000_000);
  assert.equal(routed[0]?.aborted, false);
  assert.equal(routed[0]?.deadlineMs, Number.POSITIVE_INFINITY);
});

test("a watch too many is 429 for the client, metrics, the audit log and traces", async () => {
  const [opened, closed, done]: [string[], string[], string[]] = [[], [], []];
  const metrics = new Metrics();
  const requestMetrics = new RequestMetrics({ metrics, isServed: () => true, hasKind: () => true });
  const events: AuditEvent[] = [];
  const attributes: SpanAttributes[] = [];
  const span: Span = {
    isRecorded: true,
    traceparent: "",
    start: () => span,
    set: (more) => void attributes.push(more),
    rename() {},
    fail() {},
    end() {},
  };
  const watch = (url: string): Reply => ({
    code: 200,
    stream: {
      open(sink) {
        opened.push(url);
        sink.onClose = () => closed.push(url);
      },
    },
    done: () => void done.push(url),
  });
  const { send } = chain({
    streamsMax: 2,
    observe: recordRequests(requestMetrics, new FakeClock(), silentLog),
    tracer: { startTrace: () => span },
    ...auditFilters({
      policy: new AuditPolicy({ rules: [{ level: "Metadata" }] }),
      backend: { process: ({ event }) => events.push(event) > 0, close: () => Promise.resolve() },
      clock: new FakeClock(),
      latencyAnnotation: "total",
      truncatedAnnotation: "truncated",
      observeLevel() {},
      observeEvent() {},
      observeRejected() {},
    }),
    route: ({ url }) => watch(url),
  });
  const [one, other] = [`${map}?watch=1`, `${map}?watch=2`];
  assert.equal((await send(`GET ${one} as admin`)).code, 200);
  const refused = await send(`GET ${other} as admin`);
  assert.equal(failure(refused), "429 too many watches and other streams are open, please try again later");
  assert.equal(refused.headers?.["retry-after"], "1");
  // The listener opens the first one, which is under way.
  assert.deepEqual([opened, closed, done], [[other], [other], [other]]);
  const shown = metrics.print();
  assert.match(shown, /^apiserver_request_total\{.*verb="WATCH".*code="429"\} 1$/m);
  assert.match(shown, /^apiserver_request_terminations_total\{.*code="429"\} 1$/m);
  assert.match(shown, /^apiserver_longrunning_requests\{.*verb="WATCH".*\} 1$/m);
  assert.doesNotMatch(shown, /^apiserver_request_total\{.*code="200"/m);
  assert.deepEqual(
    events.map(({ stage, responseStatus }) => [stage, responseStatus?.code]),
    [
      ["RequestReceived", undefined],
      ["ResponseStarted", 200],
      ["RequestReceived", undefined],
      ["ResponseStarted", 429],
      ["ResponseComplete", 429],
    ],
  );
  assert.deepEqual(
    attributes.flatMap((some) => some["http.status_code"] ?? []),
    [200, 429],
  );
});

test("more requests than allowed at a time get 429, reads and writes apart, watches and masters excepted [LIMIT-07]", async () => {
  const release: (() => void)[] = [];
  const observed: string[] = [];
  const allowAll: Authorizer = { authorize: () => ({ decision: "allow", reason: "" }) };
  const { send, routed } = chain({
    authorizer: allowAll,
    route: () => new Promise((resolve) => release.push(() => resolve({ code: 200 }))),
    observeInFlight: (reads, writes) => observed.push(`${reads}/${writes}`),
  });
  const under = [send(`GET ${map} as bob`), send(`GET ${map}/c as bob`), send(`PUT ${map}/c as bob`)];
  await new Promise(setImmediate);
  const answer = await send(`GET ${map} as bob`);
  assert.equal(failure(answer), "429 Too many requests, please try again later.");
  assert.equal(answer.headers?.["retry-after"], "1");
  assert.match(failure(await send(`POST ${map} as bob`)), /^429 /);
  under.push(send(`GET ${map}?watch=1 as bob`), send(`DELETE ${map}/c as admin`));
  await new Promise(setImmediate);
  assert.equal(routed.length, 5);
  for (const one of release) one();
  for (const reply of await Promise.all(under)) assert.equal(reply.code, 200);
  assert.deepEqual(observed, ["1/0", "2/0", "2/1", "1/1", "0/1", "0/0"]);
  void send(`GET ${map} as bob`);
  await new Promise(setImmediate);
  assert.equal(routed.length, 6);
});

test("impersonation replaces the whole identity [IMP-03] [IMP-04] [IMP-05] [IMP-07] [IMP-08] [IMP-09] [IMP-11]", async () => {
  const { send, routed } = chain();
  const become = async (headers: Readonly<Record<string, string | readonly string[]>>): Promise<unknown> => {
    await send("GET /apis as admin", headers);
    return routed.at(-1)?.user;
  };
  const dave = { "impersonate-user": "dave" };
  assert.deepEqual(await become(dave), { name: "dave", groups: ["system:authenticated"] });
  assert.deepEqual(await become({ ...dave, "impersonate-group": ["one", "two, three"] }), {
    name: "dave",
    groups: ["one", "two, three", "system:authenticated"],
  });
  assert.deepEqual(await become({ ...dave, "impersonate-group": ["system:authenticated", "two"] }), {
    name: "dave",
    groups: ["system:authenticated", "two"],
  });
  assert.deepEqual(
    await become({
      ...dave,
      "impersonate-uid": "u",
      "impersonate-extra-scopes": ["view", "edit"],
      "impersonate-extra-example.com%2fproject": "p",
      "impersonate-extra-bad%zz": "q",
      "impersonate-extra-__proto__": "r",
    }),
    {
      name: "dave",
      uid: "u",
      groups: ["system:authenticated"],
      extra: Object.fromEntries([
        ["scopes", ["view", "edit"]],
        ["example.com/project", ["p"]],
        ["bad%zz", ["q"]],
        ["__proto__", ["r"]],
      ]),
    },
  );
  assert.deepEqual(await become({ "impersonate-user": "" }), {
    name: "admin",
    uid: "admin-uid",
    groups: ["system:masters", "system:authenticated"],
  });
});

test("service accounts and the anonymous user are impersonated with their groups [IMP-15]", async () => {
  const { send, routed } = chain();
  const groups = async (user: string, group?: string): Promise<unknown> => {
    await send("GET /healthz as admin", {
      "impersonate-user": user,
      ...(group === undefined ? {} : { "impersonate-group": group }),
    });
    return routed.at(-1)?.user.groups;
  };
  const account = "system:serviceaccount:default:robot";
  assert.deepEqual(await groups(account), [
    "system:serviceaccounts",
    "system:serviceaccounts:default",
    "system:authenticated",
  ]);
  assert.deepEqual(await groups(account, "only"), ["only", "system:authenticated"]);
  assert.deepEqual(await groups("system:serviceaccount:broken"), ["system:authenticated"]);
  assert.deepEqual(await groups("system:anonymous"), ["system:unauthenticated"]);
});

test("without permission nothing may be impersonated, and the answer names what is missing [IMP-01] [IMP-02] [IMP-13] [IMP-14] [IMP-16] [IMP-17]", async () => {
  const allowed = new Set<string>();
  const authorizer: Authorizer = {
    authorize: (of: Attributes) => ({
      decision:
        of.verb !== "impersonate" || allowed.has(`${of.resource}/${of.subresource}/${of.name}`) ? "allow" : "noOpinion",
      reason: "",
    }),
  };
  const { send } = chain({ authorizer, domain: apiDomain("platform.io") });
  const headers = {
    "impersonate-user": "dave",
    "impersonate-group": "g",
    "impersonate-extra-scopes": "view",
    "impersonate-uid": "u-1",
  };
  const account = { "impersonate-user": "system:serviceaccount:default:robot" };
  const refusal = async (given: Readonly<Record<string, string>>): Promise<string> =>
    failure(await send("GET /apis as bob", given)).replace(
      /^403 .* is forbidden: User "bob" cannot impersonate resource /,
      "",
    );
  assert.equal(await refusal(headers), '"users" in API group "" at the cluster scope');
  assert.equal(await refusal(account), '"serviceaccounts" in API group "" in the namespace "default"');
  allowed.add("users//dave");
  assert.equal(await refusal(headers), '"groups" in API group "" at the cluster scope');
  allowed.add("groups//g");
  assert.equal(
    await refusal(headers),
    '"userextras/scopes" in API group "authentication.platform.io" at the cluster scope',
  );
  allowed.add("userextras/scopes/view");
  assert.equal(await refusal(headers), '"uids" in API group "authentication.platform.io" at the cluster scope');
  allowed.add("uids//u-1");
  assert.equal((await send("GET /apis as bob", headers)).code, 200);
  assert.match(failure(await send("GET /apis as eve", headers)), /^401 /);
});

test("headers of impersonation are removed after impersonation", async () => {
  const { send, routed } = chain();
  const headers = { "impersonate-user": "dave", "impersonate-group": "g", "impersonate-extra-k": "v", accept: "x/y" };
  await send("GET /apis as admin", headers);
  const names = Object.keys(routed[0]!.headers).filter((name) => routed[0]!.headers[name] !== undefined);
  assert.ok(names.includes("accept") && !names.some((name) => name.startsWith("impersonate")), String(names));
  for (const name of Object.keys(headers)) {
    if (name !== "accept") assert.deepEqual(routed[0]!.headerValues(name), []);
  }
});

test("authorizers are told the selectors of a list, unless they cannot be read or the path is an old one", async () => {
  const questions: Attributes[] = [];
  const authorizer: Authorizer = {
    authorize(of) {
      questions.push(of);
      return { decision: "allow", reason: "" };
    },
  };
  const { send } = chain({ authorizer });
  const selectors = async (line: string): Promise<unknown> => {
    await send(`${line} as bob`);
    const { fieldSelector, labelSelector } = questions.at(-1)!;
    return [fieldSelector, labelSelector];
  };
  const field = { field: "spec.nodeName", operator: "=", value: "n" };
  const label = { key: "a", operator: "in", values: ["b", "c"] };
  const query = "fieldSelector=spec.nodeName%3Dn&labelSelector=a+in+(b,c)";
  assert.deepEqual(await selectors(`GET /api/v1/pods?${query}`), [[field], [label]]);
  assert.deepEqual(await selectors(`GET /api/v1/pods?watch=1&${query}`), [[field], [label]]);
  assert.deepEqual(await selectors(`DELETE /api/v1/namespaces/n/pods?${query}`), [[field], [label]]);
  const none = [undefined, undefined];
  assert.deepEqual(await selectors(`GET /api/v1/watch/pods?${query}`), none);
  assert.deepEqual(await selectors(`GET /api/v1/namespaces/n/pods/p?${query}`), none);
  assert.deepEqual(await selectors("GET /api/v1/pods?fieldSelector=a%3Db%3Dc&labelSelector=((("), none);
  assert.deepEqual(await selectors("GET /api/v1/pods?limit=5"), none);
});

test("groups, uid and extra need a user to impersonate [IMP-06] [IMP-10] [IMP-12]", async () => {
  const { send, routed } = chain();
  for (const name of ["impersonate-group", "impersonate-uid", "impersonate-extra-k"]) {
    const reply = await send("GET /apis as admin", { [name]: "x" });
    assert.equal(reply.code, 500);
    assert.equal(reply.contentType, "text/plain; charset=utf-8");
  }
  assert.equal(routed.length, 0);
});

test("on HTTP/2 the unknown do not keep their connection, others lose it by chance", async () => {
  const { send } = chain();
  assert.equal((await send("GET /apis as eve", {}, true)).closeConnection, true);
  assert.equal((await send("GET /healthz", {}, true)).closeConnection, true);
  assert.equal((await send("GET /apis", {}, true)).closeConnection, true);
  assert.equal((await send("GET /apis as bob", {}, true)).closeConnection, undefined);
  assert.equal((await send("GET /healthz", {}, false)).closeConnection, undefined);
  const kept = chain({ closesUnauthenticated: false });
  assert.equal((await kept.send("GET /healthz", {}, true)).closeConnection, undefined);
  const some = chain({ goAwayChance: 0.5 });
  let closed = 0;
  for (let i = 0; i < 200; i++) if ((await some.send("GET /apis as bob", {}, true)).closeConnection === true) closed++;
  assert.ok(closed > 60 && closed < 140, `${closed} of 200`);
});

test("browsers of allowed origins may read answers, others get no such header", async () => {
  const { send } = chain({ corsAllowedOrigins: [/^https:\/\/app\.example\.com$/] });
  const headers = { origin: "https://app.example.com" };
  const reply = await send("GET /apis as bob", headers);
  assert.equal(reply.headers?.["access-control-allow-origin"], headers.origin);
  assert.equal((await send("GET /apis as eve", headers)).headers?.["access-control-allow-credentials"], "true");
  assert.equal((await send("OPTIONS /apis", headers)).code, 204);
  const other = await send("GET /apis as bob", { origin: "https://app.example.com.evil" });
  assert.equal(other.headers?.["access-control-allow-origin"], undefined);
});

test("observers see every request, refused ones included, and the user before impersonation is audited", async () => {
  const lines: string[] = [];
  const { send } = chain({
    async observe(request, next) {
      const reply = await next(request);
      lines.push(`${request.info.verb} ${reply.code}`);
      return reply;
    },
    audit(request, next) {
      lines.push(request.user.name);
      return next(request);
    },
  });
  await send("GET /apis as admin", { "impersonate-user": "dave" });
  await send(`GET ${map} as bob`);
  await send("GET /apis as eve");
  assert.deepEqual(lines, ["admin", "get 200", "bob", "list 403", "get 401"]);
});

test("the audit event hears of the decision, and of a refusal more than the client", async () => {
  const heard: unknown[] = [];
  const explaining: Authorizer = {
    authorize: ({ user, path }) =>
      user.name === "bob"
        ? { decision: "allow", reason: "by a rule" }
        : { decision: path === "/apis" ? "noOpinion" : "deny", reason: path === "/version" ? "" : "for the client" },
    explain: () => "for the log",
  };
  const { send } = chain({
    domain: apiDomain("platform.io"),
    authorizer: explaining,
    async audit(request, next) {
      const reply = await next(request);
      heard.push(Object.fromEntries(request.annotations ?? []));
      return reply;
    },
  });
  await send("GET /apis as bob");
  assert.match(failure(await send("GET /apis as admin")), /cannot get path "\/apis": for the client$/);
  // A denial has its own reason. Reasons of other authorizers are left out.
  await send("GET /api as admin");
  await send("GET /version as admin");
  assert.deepEqual(heard, [
    { "authorization.platform.io/decision": "allow", "authorization.platform.io/reason": "by a rule" },
    { "authorization.platform.io/decision": "forbid", "authorization.platform.io/reason": "for the log" },
    { "authorization.platform.io/decision": "forbid", "authorization.platform.io/reason": "for the client" },
    { "authorization.platform.io/decision": "forbid", "authorization.platform.io/reason": "for the log" },
  ]);
});
