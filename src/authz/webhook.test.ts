/** The authorization webhook: request, accepted answers, cache, conditions, and failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Outgoing, type OutgoingCall, OutgoingError } from "#egress/outgoing-https.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { attributes, pathAttributes } from "./attributes-for-tests.ts";
import type { Attributes, Verdict } from "./authorizer.ts";
import type { SubjectAccessReviewSpec } from "#api/authorization/v1.ts";
import { webhookAuthorizer, type WebhookOptions } from "./webhook.ts";

type Respond = (spec: SubjectAccessReviewSpec, call: OutgoingCall) => Promise<{ code: number; body: string }>;

const reviewReply = (status: object, code = 201) =>
  Promise.resolve({ code, body: JSON.stringify({ kind: "SubjectAccessReview", apiVersion: "x/v1", status }) });

function openWebhook(respond: Respond, over: Partial<WebhookOptions> = {}) {
  const clock = new FakeClock();
  const calls: OutgoingCall[] = [];
  const observed: string[] = [];
  const outgoing: Outgoing = {
    async callOut(call) {
      calls.push(call);
      const { spec } = JSON.parse(call.body!.toString()) as { spec: SubjectAccessReviewSpec };
      const { code, body } = await respond(spec, call);
      return { code, headers: {}, body: Buffer.from(body) };
    },
    close() {},
  };
  const authorizer = webhookAuthorizer({
    name: "hook",
    url: "https://hook/authz",
    headers: { authorization: "Bearer hook-secret" },
    outgoing,
    group: "authorization.k8s.io",
    version: "v1",
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    timeoutMs: 3000,
    failurePolicy: "NoOpinion",
    conditions: [],
    selectors: true,
    clock,
    random: { ...seededRandom(1), next: () => 0 },
    observe: {
      asked: (result) => observed.push(result),
      failedOpen: (result) => observed.push(`open ${result}`),
      evaluated: () => observed.push("evaluated"),
      excluded: () => observed.push("excluded"),
      conditionFailed: () => observed.push("condition failed"),
      failed: (error) => observed.push((error as Error).message),
    },
    ...over,
  });
  const decide = async (of: Attributes): Promise<Verdict> => authorizer.authorize(of);
  const lastReview = (): { readonly spec: SubjectAccessReviewSpec; readonly [field: string]: unknown } =>
    JSON.parse(calls.at(-1)!.body!.toString()) as { spec: SubjectAccessReviewSpec };
  return { authorizer, decide, sent: lastReview, clock, calls, observed };
}

const allowing: Respond = () => reviewReply({ allowed: true, reason: "because" });
/** Lets promises settle that wait for nothing but each other. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the webhook is sent a SubjectAccessReview of the user and the resource [AUTHZ-09] [AUTHZ-10] [AUTHZ-12] [AUTHZ-33]", async () => {
  const { decide, sent, calls } = openWebhook(allowing);
  const user = { name: "bob", uid: "u", groups: ["a", "b"], extra: { k: ["v", "w"] } };
  assert.deepEqual(
    await decide(attributes({ user, verb: "patch", resource: "persistentvolumeclaims", subresource: "status" })),
    { decision: "allow", reason: "because" },
  );
  assert.deepEqual(sent(), {
    kind: "SubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: { creationTimestamp: null },
    spec: {
      resourceAttributes: {
        namespace: "n",
        verb: "patch",
        version: "v1",
        resource: "persistentvolumeclaims",
        subresource: "status",
        name: "c",
      },
      user: "bob",
      groups: ["a", "b"],
      extra: { k: ["v", "w"] },
      uid: "u",
    },
    status: { allowed: false },
  });
  const [call] = calls;
  assert.deepEqual(
    [call!.url, call!.method, call!.headers!["authorization"], call!.timeoutMs],
    ["https://hook/authz", "POST", "Bearer hook-secret", 3000],
  );
});

test("other paths are sent as such, and v1beta1 says group [AUTHZ-10] [AUTHZ-11] [AUTHRES-61]", async () => {
  const { decide, sent } = openWebhook(allowing, { version: "v1beta1" });
  await decide(pathAttributes("/livez"));
  assert.equal(sent()["apiVersion"], "authorization.k8s.io/v1beta1");
  assert.deepEqual(sent().spec, {
    nonResourceAttributes: { path: "/livez", verb: "get" },
    user: "bob",
    group: ["devs", "system:authenticated"],
  });
});

test("the webhook is sent the selectors of a list, in operators it knows, unless the gate is off", async () => {
  const of = attributes({
    verb: "list",
    name: "",
    fieldSelector: [
      { field: "spec.nodeName", operator: "=", value: "n1" },
      { field: "metadata.name", operator: "!=", value: "x" },
    ],
    labelSelector: [
      { key: "a", operator: "=", values: ["1"] },
      { key: "b", operator: "notin", values: ["1", "2"] },
      { key: "c", operator: "exists", values: [] },
      { key: "d", operator: "gt", values: ["5"] },
    ],
  });
  const { decide, sent } = openWebhook(allowing);
  await decide(of);
  const { fieldSelector, labelSelector } = sent().spec.resourceAttributes!;
  assert.deepEqual(fieldSelector, {
    requirements: [
      { key: "spec.nodeName", operator: "In", values: ["n1"] },
      { key: "metadata.name", operator: "NotIn", values: ["x"] },
    ],
  });
  assert.deepEqual(labelSelector, {
    requirements: [
      { key: "a", operator: "In", values: ["1"] },
      { key: "b", operator: "NotIn", values: ["1", "2"] },
      { key: "c", operator: "Exists" },
    ],
  });
  const without = openWebhook(allowing, { selectors: false });
  await without.decide(of);
  assert.deepEqual(Object.keys(without.sent().spec.resourceAttributes!), ["namespace", "verb", "version", "resource"]);
});

test("the webhook may allow, deny, do neither or both, and is believed [AUTHZ-03] [AUTHZ-06]", async () => {
  const status: Readonly<Record<string, object>> = {
    yes: { allowed: true },
    no: { allowed: false, denied: true, reason: "never" },
    maybe: { allowed: false, reason: "ask others" },
    both: { allowed: true, denied: true },
  };
  const { decide } = openWebhook((spec) => reviewReply(status[spec.resourceAttributes!["name"] as string]!));
  assert.deepEqual(await decide(attributes({ name: "yes" })), { decision: "allow", reason: "" });
  assert.deepEqual(await decide(attributes({ name: "no" })), { decision: "deny", reason: "never" });
  assert.deepEqual(await decide(attributes({ name: "maybe" })), { decision: "noOpinion", reason: "ask others" });
  assert.equal((await decide(attributes({ name: "both" }))).decision, "deny");
});

test("permissions are cached, and refusals for a shorter time [AUTHRES-57] [AUTHRES-58]", async () => {
  const { authorizer, decide, clock, calls } = openWebhook((spec) =>
    reviewReply({ allowed: spec.resourceAttributes!["name"] === "yes" }),
  );
  const yes = attributes({ name: "yes" });
  const no = attributes({ name: "no" });
  for (let i = 0; i < 3; i++) {
    await decide(yes);
    await decide(no);
  }
  assert.equal(calls.length, 2);
  assert.ok(!(authorizer.authorize(yes) instanceof Promise), "what is kept needs no waiting");
  clock.advance(30_000);
  await decide(yes);
  assert.equal(calls.length, 2);
  await decide(no);
  assert.equal(calls.length, 3);
  clock.advance(270_000);
  await decide(yes);
  assert.equal(calls.length, 4);
  // Another user makes another question.
  await decide({ ...yes, user: { name: "bob", groups: ["devs"] } });
  await decide({ ...yes, user: { name: "bobdevs", groups: [] } });
  assert.equal(calls.length, 6);
});

test("a flood of refused questions does not drive out what is allowed, and takes bounded memory", async () => {
  const { decide, calls } = openWebhook((spec) => reviewReply({ allowed: spec.resourceAttributes!["name"] === "yes" }));
  const yes = attributes({ name: "yes" });
  await decide(yes);
  for (let i = 0; i < 20_000; i++) await decide(attributes({ name: `no-${i}` }));
  const before = calls.length;
  await decide(yes);
  assert.equal(calls.length, before);
  await decide(attributes({ name: "no-0" }));
  assert.equal(calls.length, before + 1);
});

test("one question is asked once at a time, and only so many wait", async () => {
  const { decide, calls, authorizer } = openWebhook(() => new Promise(() => undefined));
  const first = authorizer.authorize(attributes());
  assert.equal(authorizer.authorize(attributes()), first);
  assert.equal(calls.length, 1);
  for (let i = 1; i < 2000; i++) void decide(attributes({ name: `n-${i}` }));
  const { decision, error } = await decide(attributes({ name: "one more" }));
  assert.deepEqual([decision, error], ["noOpinion", "hook: too many questions wait for it"]);
  assert.equal(calls.length, 2000);
});

test("without an answer the policy decides, and nothing is kept [AUTHZ-48] [AUTHZ-49]", async () => {
  const failures: readonly (readonly [string, Respond, string])[] = [
    ["timeout", () => Promise.reject(new OutgoingError("TIMEOUT", "no answer from hook within 3000ms")), "no answer"],
    ["error", () => Promise.reject(Object.assign(new Error("connect"), { code: "ECONNREFUSED" })), "connect"],
    ["error", () => Promise.resolve({ code: 200, body: "<html>" }), "no SubjectAccessReview"],
    [
      "error",
      () => Promise.resolve({ code: 200, body: '{"kind":"TokenReview","status":{}}' }),
      "no SubjectAccessReview",
    ],
    ["error", () => reviewReply({ allowed: "true" }), "no SubjectAccessReview"],
    ["error", () => reviewReply({ allowed: true, reason: 7 }), "no SubjectAccessReview"],
    ["error", () => reviewReply({ allowed: true }, 302), "answered 302"],
    ["error", () => reviewReply({ allowed: true }, 401), "answered 401"],
  ];
  for (const [result, respond, message] of failures) {
    const open = openWebhook(respond);
    const verdict = await open.decide(attributes());
    assert.equal(verdict.decision, "noOpinion", message);
    assert.match(verdict.error!, new RegExp(message));
    assert.deepEqual(open.observed.slice(0, 2), [result, `open ${result}`]);
    await open.decide(attributes());
    assert.equal(open.calls.length, 2);

    const closed = openWebhook(respond, { failurePolicy: "Deny" });
    const denied = await closed.decide(attributes());
    assert.deepEqual([denied.decision, denied.reason], ["deny", "authorizer hook could not decide"]);
    assert.equal(closed.observed[0], result);
    assert.ok(!closed.observed.some((line) => line.startsWith("open")));
  }
});

test("an overloaded webhook is asked again, within its timeout", async () => {
  let left = 2;
  const busy = openWebhook(() => (left-- > 0 ? reviewReply({}, 429) : reviewReply({ allowed: true })));
  const verdict = busy.decide(attributes());
  for (let i = 0; i < 4; i++) {
    await turn();
    busy.clock.advance(500);
  }
  assert.equal((await verdict).decision, "allow");
  assert.equal(busy.calls.length, 3);
  assert.ok(busy.calls[2]!.timeoutMs < 3000);

  const never = openWebhook(() => reviewReply({}, 500), { failurePolicy: "Deny" });
  const denied = never.decide(attributes());
  for (let i = 0; i < 10; i++) {
    await turn();
    never.clock.advance(500);
  }
  assert.equal((await denied).decision, "deny");
  assert.ok(never.calls.length >= 3 && never.calls.length <= 5);
});

test("the webhook is skipped if one condition is false, even if others fail [AUTHZ-43] [AUTHZ-44] [AUTHZ-45] [AUTHZ-46] [AUTHZ-47] [AUTHZ-50] [AUTHZ-51]", async () => {
  const inNamespace = (spec: SubjectAccessReviewSpec): boolean => spec.resourceAttributes?.namespace === "n";
  const isDev = (spec: SubjectAccessReviewSpec): boolean => spec.groups?.includes("devs") === true;
  const broken = (): boolean => {
    throw new Error("no such key");
  };
  const check = async (
    conditions: WebhookOptions["conditions"],
    of: Attributes,
    failurePolicy: WebhookOptions["failurePolicy"] = "Deny",
  ): Promise<unknown> => {
    const { decide, calls } = openWebhook(allowing, { conditions, failurePolicy });
    return [(await decide(of)).decision, calls.length];
  };
  assert.deepEqual(await check([inNamespace, isDev], attributes()), ["allow", 1]);
  assert.deepEqual(await check([inNamespace, isDev], attributes({ namespace: "m" })), ["noOpinion", 0]);
  assert.deepEqual(await check([inNamespace], pathAttributes("/livez")), ["noOpinion", 0]);
  assert.deepEqual(await check([isDev], attributes({ user: { name: "eve", groups: [] } })), ["noOpinion", 0]);
  assert.deepEqual(await check([broken, inNamespace], attributes()), ["deny", 0]);
  assert.deepEqual(await check([broken, inNamespace], attributes(), "NoOpinion"), ["noOpinion", 0]);
  assert.deepEqual(await check([broken, inNamespace], attributes({ namespace: "m" })), ["noOpinion", 0]);
  const { decide, observed } = openWebhook(allowing, { conditions: [broken] });
  await decide(attributes());
  assert.deepEqual(observed, ["evaluated", "condition failed"]);
});

test("an explanation uses the cached answer while it is valid, without a call", async () => {
  const { authorizer, decide, clock, calls } = openWebhook(
    ({ resourceAttributes: of }) =>
      reviewReply({ denied: of?.["verb"] === "delete", ...(of?.["verb"] === "list" ? {} : { reason: "after hours" }) }),
    { conditions: [({ user }) => user !== "eve"] },
  );
  const explain = (over: Partial<Attributes>): string => authorizer.explain!(attributes(over));
  assert.equal(explain({ verb: "delete" }), "Webhook hook: decides by itself");
  assert.equal(explain({ user: { name: "eve", groups: [] } }), "Webhook hook: is not asked");
  for (const verb of ["delete", "get", "list"]) await decide(attributes({ verb }));
  assert.equal(explain({ verb: "delete" }), "Webhook hook: denies it: after hours");
  assert.equal(explain({ verb: "get" }), "Webhook hook: has no opinion: after hours");
  assert.equal(explain({ verb: "list" }), "Webhook hook: has no opinion");
  clock.advance(31_000);
  assert.equal(explain({ verb: "delete" }), "Webhook hook: decides by itself");
  assert.equal(calls.length, 3);
});

test("the webhook lists no rules, and the answer says so", () => {
  const { authorizer } = openWebhook(allowing);
  const rules = authorizer.rulesFor({ name: "u", groups: [] }, "");
  assert.deepEqual(rules, {
    resourceRules: [],
    nonResourceRules: [],
    incomplete: true,
    errors: ["webhook authorizer does not support user rule resolution"],
  });
});

test("a secret of the webhook is in no reason, no error and no observation", async () => {
  const { decide, observed } = openWebhook(() => Promise.resolve({ code: 403, body: "Bearer hook-secret" }));
  const verdict = await decide(attributes());
  assert.ok(!JSON.stringify([verdict, observed]).includes("hook-secret"));
});
