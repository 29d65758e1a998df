/** The image policy webhook: the questions to it, the answers that are cached and for how long, and its failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ImageReviewSpec } from "#api/imagepolicy/v1alpha1.ts";
import { type Outgoing, type OutgoingCall, OutgoingError } from "#egress/outgoing-https.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import { type ImagePolicyOptions, imagePolicyWebhook } from "./image-policy-webhook.ts";
import type { AdmissionAttributes } from "./plugin.ts";

type Respond = (spec: ImageReviewSpec) => Promise<{ code: number; body: string }>;

const reviewReply = (status: object) =>
  Promise.resolve({ code: 200, body: JSON.stringify({ kind: "ImageReview", apiVersion: "x/v1alpha1", status }) });

const podAttributes = {
  resource: { group: "", version: "v1", resource: "pods" },
  kind: { group: "", version: "v1", kind: "Pod" },
} as const;

function podOf(image: string, annotations: Readonly<Record<string, string>> = {}) {
  const metadata = { name: "p", annotations };
  const containers = [{ name: "c", image }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata,
    spec: { containers, initContainers: [{ name: "i", image: "init" }] },
  };
}

function openWebhook(respond: Respond, over: Partial<ImagePolicyOptions> = {}) {
  const clock = new FakeClock();
  const calls: OutgoingCall[] = [];
  const failures: string[] = [];
  const noted: Record<string, string> = {};
  const outgoing: Outgoing = {
    async callOut(call) {
      calls.push(call);
      const { spec } = JSON.parse(call.body!.toString()) as { spec: ImageReviewSpec };
      const { code, body } = await respond(spec);
      return { code, headers: {}, body: Buffer.from(body) };
    },
    close() {},
  };
  const plugin = imagePolicyWebhook({
    domain: kubernetesDomain,
    url: "https://hook/images",
    headers: { authorization: "Bearer hook-secret" },
    outgoing,
    allowTtlMs: 300_000,
    denyTtlMs: 30_000,
    retryBackoffMs: 500,
    defaultAllow: false,
    clock,
    random: seededRandom(1),
    failed: (error) => failures.push((error as Error).message),
    ...over,
  });
  const { context } = attributesOf(undefined);
  /** Returns the message of the refusal; `undefined` when the pod is allowed. */
  const review = async (
    object = podOf("good"),
    more: Partial<AdmissionAttributes> = {},
  ): Promise<string | undefined> => {
    const annotate = (key: string, value: string): void => void (noted[key] = value);
    const attributes = attributesOf(object, { ...podAttributes, context: { ...context, annotate }, ...more });
    try {
      await plugin.validate!(attributes); // it validates
      return undefined;
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      assert.equal(error.status.code, 403);
      return error.message;
    }
  };
  const lastReview = (): Readonly<Record<string, unknown>> =>
    JSON.parse(calls.at(-1)!.body!.toString()) as Readonly<Record<string, unknown>>;
  return { plugin, review, sent: lastReview, clock, calls, failures, noted };
}

const allowing: Respond = () => reviewReply({ allowed: true });
/** Lets promises settle that wait for nothing but each other. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the webhook is sent an ImageReview of all images, with the annotations meant for it", async () => {
  const { review, sent, calls } = openWebhook(allowing);
  const annotations = { "x.image-policy.k8s.io/b": "2", other: "3", "a.image-policy.k8s.io/a": "1" };
  assert.equal(await review(podOf("good", annotations)), undefined);
  assert.deepEqual(sent(), {
    kind: "ImageReview",
    apiVersion: "imagepolicy.k8s.io/v1alpha1",
    metadata: { creationTimestamp: null },
    spec: {
      containers: [{ image: "good" }, { image: "init" }],
      annotations: { "a.image-policy.k8s.io/a": "1", "x.image-policy.k8s.io/b": "2" },
      namespace: "n",
    },
    status: { allowed: false },
  });
  const [call] = calls;
  assert.deepEqual(
    [call!.url, call!.method, call!.headers!["authorization"]],
    ["https://hook/images", "POST", "Bearer hook-secret"],
  );
});

test("names follow the domain", async () => {
  const status = { allowed: true, auditAnnotations: { k: "v" } };
  const { review, sent, noted } = openWebhook(() => reviewReply(status), { domain: apiDomain("platform.io") });
  await review(podOf("good", { "x.image-policy.platform.io/a": "1", "x.image-policy.k8s.io/a": "2" }));
  assert.equal(sent()["apiVersion"], "imagepolicy.platform.io/v1alpha1");
  assert.deepEqual((sent()["spec"] as ImageReviewSpec).annotations, { "x.image-policy.platform.io/a": "1" });
  assert.deepEqual(noted, { "imagepolicywebhook.image-policy.platform.io/k": "v" });
});

test("the webhook is asked about ephemeral containers alone, and never about other subresources and kinds", async () => {
  const { review, sent, calls } = openWebhook(allowing);
  const pod = { ...podOf("good"), spec: { containers: [], ephemeralContainers: [{ name: "e", image: "debug" }] } };
  await review(pod as never, { operation: "UPDATE", subresource: "ephemeralcontainers" });
  assert.deepEqual(sent()["spec"], { containers: [{ image: "debug" }], namespace: "n" });
  await review(podOf("bad"), { operation: "UPDATE", subresource: "status" });
  await review(podOf("bad"), { resource: { group: "", version: "v1", resource: "configmaps" } });
  assert.equal(calls.length, 1);
});

test("a denial has upstream's words, with the webhook's reason or without", async () => {
  const { review } = openWebhook(({ containers }) =>
    reviewReply(containers![0]!.image === "bad" ? { allowed: false, reason: "no bad" } : { allowed: false }),
  );
  assert.equal(
    await review(podOf("bad")),
    'pods "p" is forbidden: image policy webhook backend denied one or more images: no bad',
  );
  assert.equal(await review(podOf("x")), 'pods "p" is forbidden: one or more images rejected by webhook backend');
});

test("answers are cached for their time, and repeat their audit annotations", async () => {
  const status = { allowed: true, auditAnnotations: { k: "v", "not a name": "v" } };
  const { review, clock, calls, noted } = openWebhook(({ containers }) =>
    reviewReply(containers![0]!.image === "bad" ? { allowed: false } : status),
  );
  await review();
  delete noted["imagepolicywebhook.image-policy.k8s.io/k"];
  await review();
  assert.deepEqual(noted, { "imagepolicywebhook.image-policy.k8s.io/k": "v" });
  await review(podOf("bad"));
  clock.advance(29_999);
  await review(podOf("bad"));
  assert.equal(calls.length, 2);
  clock.advance(1);
  await review(podOf("bad"));
  await review();
  assert.equal(calls.length, 3);
  clock.advance(270_000);
  await review();
  assert.equal(calls.length, 4);
  const none = openWebhook(allowing, { allowTtlMs: 0 });
  await none.review();
  await none.review();
  assert.equal(none.calls.length, 2);
});

test("equal questions in progress share a call, and a caller that gives up does not end it", async () => {
  const answer = Promise.withResolvers<{ code: number; body: string }>();
  const { review, calls } = openWebhook(() => answer.promise);
  const gone = new AbortController();
  const { context } = attributesOf(undefined);
  const first = review(undefined, { context: { ...context, signal: gone.signal } });
  const second = review();
  gone.abort(new Error("late"));
  await assert.rejects(first, /late/);
  answer.resolve(await reviewReply({ allowed: true }));
  assert.equal(await second, undefined);
  assert.equal(calls.length, 1);
});

test("without an answer the plugin refuses, or allows and says so; neither is cached", async () => {
  const broken: Respond = () => Promise.resolve({ code: 200, body: "<html>" });
  const closed = openWebhook(broken);
  assert.equal(await closed.review(), 'pods "p" is forbidden: the webhook\'s answer is no ImageReview');
  const open = openWebhook(broken, { defaultAllow: true });
  assert.equal(await open.review(), undefined);
  assert.deepEqual(open.noted, { "imagepolicywebhook.image-policy.k8s.io/failed-open": "true" });
  await open.review();
  assert.equal(open.calls.length, 2);
  assert.deepEqual(open.failures, Array(2).fill("the webhook's answer is no ImageReview"));
});

test("a reply that is no review counts as no answer, a review without a status as a denial", async () => {
  const one = (body: unknown) => openWebhook(() => Promise.resolve({ code: 200, body: JSON.stringify(body) })).review();
  for (const body of [{ kind: "Status", status: "Failure" }, [], null, { status: { allowed: "yes" } }]) {
    assert.match((await one(body))!, /is no ImageReview$/);
  }
  assert.match((await one({ kind: "ImageReview" }))!, /rejected by webhook backend$/);
});

test("an overloaded webhook is asked five times, with growing pauses; others once", async () => {
  const busy = openWebhook(() => Promise.resolve({ code: 429, body: "" }));
  const answer = busy.review();
  for (const pauseMs of [600, 900, 1350, 2025]) {
    await turn();
    busy.clock.advance(pauseMs);
  }
  assert.equal(await answer, 'pods "p" is forbidden: Error contacting webhook: 429');
  assert.equal(busy.calls.length, 5);
  const refusing = openWebhook(() => Promise.resolve({ code: 403, body: "" }));
  assert.match((await refusing.review())!, /Error contacting webhook: 403$/);
  const slow = openWebhook(() => Promise.reject(new OutgoingError("TIMEOUT", "no answer from hook within 30000ms")));
  assert.match((await slow.review())!, /no answer from hook within 30000ms$/);
  assert.deepEqual([refusing.calls.length, slow.calls.length], [1, 1]);
});

test("closing ends pauses without an answer", async () => {
  const { plugin, review, failures } = openWebhook(() => Promise.resolve({ code: 500, body: "" }));
  const answer = review();
  await turn();
  plugin.close();
  assert.match((await answer)!, /Error contacting webhook: 500$/);
  assert.deepEqual(failures, []);
});
