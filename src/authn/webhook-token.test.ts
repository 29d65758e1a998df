/** The token webhook: request, accepted answers, cache, and failures. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Outgoing, type OutgoingCall, OutgoingError } from "#egress/outgoing-https.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { WebhookTokens } from "./webhook-token.ts";

type Respond = (token: string, call: OutgoingCall) => Promise<{ code: number; body: string }>;

const reviewReply = (status: object, code = 201) =>
  Promise.resolve({ code, body: JSON.stringify({ kind: "TokenReview", apiVersion: "x/v1", status }) });
const authenticatedReview = (user: object, more: object = {}) => reviewReply({ authenticated: true, user, ...more });

function webhook(respond: Respond, over: { audiences?: readonly string[]; cacheTtlMs?: number } = {}) {
  const clock = new FakeClock();
  const calls: OutgoingCall[] = [];
  const failures: unknown[] = [];
  const outgoing: Outgoing = {
    async callOut(call) {
      calls.push(call);
      const { spec } = JSON.parse(call.body!.toString()) as { spec: { token: string } };
      const { code, body } = await respond(spec.token, call);
      return { code, headers: {}, body: Buffer.from(body) };
    },
    close() {},
  };
  const tokens = new WebhookTokens({
    url: "https://hook/authn",
    headers: { authorization: "Bearer hook-secret" },
    outgoing,
    apiVersion: "authentication.k8s.io/v1",
    audiences: ["api"],
    cacheTtlMs: 120_000,
    clock,
    random: { ...seededRandom(1), next: () => 0 },
    failed: (error) => failures.push(error),
    ...over,
  });
  return { tokens, clock, calls, failures, ask: async (token: string) => tokens.authenticateToken(token) };
}

/** Lets promises settle that wait for nothing but each other. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("the webhook is sent a TokenReview and believed [AWH-01] [AWH-02]", async () => {
  const { ask, calls } = webhook(() =>
    authenticatedReview(
      { username: "alice", uid: "u1", groups: ["a"], extra: { k: ["v", "w"] } },
      { audiences: ["api", "other"] },
    ),
  );
  assert.deepEqual(await ask("t"), {
    outcome: "user",
    user: { name: "alice", uid: "u1", groups: ["a"], extra: { k: ["v", "w"] } },
    audiences: ["api"],
  });
  const [call] = calls;
  assert.deepEqual(
    [call!.url, call!.method, call!.headers!["authorization"], call!.headers!["content-type"]],
    ["https://hook/authn", "POST", "Bearer hook-secret", "application/json"],
  );
  const { kind, apiVersion, spec } = JSON.parse(call!.body!.toString()) as Record<string, unknown>;
  assert.deepEqual(
    [kind, apiVersion, spec],
    ["TokenReview", "authentication.k8s.io/v1", { token: "t", audiences: ["api"] }],
  );
});

test("a token the webhook does not know is refused with the webhook's error [AWH-01]", async () => {
  const { ask } = webhook((token) =>
    reviewReply({ authenticated: false, ...(token === "odd" ? { error: "it is odd" } : {}) }),
  );
  assert.deepEqual(await ask("t"), { outcome: "none" });
  assert.deepEqual(await ask("odd"), { outcome: "refused", reason: "it is odd" });
});

test("an answer whose fields have other types names nobody; null is as good as nothing", async () => {
  const answers: Readonly<Record<string, [user: object, more?: object]>> = {
    uid: [{ username: "a", uid: 1 }],
    groups: [{ username: "a", groups: "x" }],
    extra: [{ username: "a", extra: { k: "v" } }],
    audiences: [{ username: "a" }, { audiences: "api" }],
    nulls: [{ username: "a", uid: null, groups: null, extra: { k: null } }, { audiences: null }],
  };
  const { ask } = webhook((token) => authenticatedReview(...answers[token]!));
  for (const token of ["uid", "groups", "extra", "audiences"])
    assert.equal((await ask(token)).outcome, "refused", token);
  const answer = await ask("nulls");
  assert.ok(answer.outcome === "user");
  assert.deepEqual(answer.user, { name: "a", groups: [], extra: { k: [] } });
});

test("a token for other audiences is refused", async () => {
  const { tokens } = webhook((token) =>
    authenticatedReview({ username: "alice" }, token === "silent" ? {} : { audiences: ["vault"] }),
  );
  assert.deepEqual(await tokens.authenticateToken("t"), { outcome: "none" });
  assert.deepEqual(await tokens.authenticateToken("t", ["vault", "api"]), {
    outcome: "user",
    user: { name: "alice", groups: [] },
    audiences: ["vault"],
  });
  // A webhook that names no audience knows none: its tokens are for this server.
  assert.equal((await tokens.authenticateToken("silent")).outcome, "user");
  assert.equal((await tokens.authenticateToken("silent", ["vault"])).outcome, "none");
});

test("the audiences of a token are those of the answer, once each, and a token for others has no error", async () => {
  const { tokens } = webhook((token) =>
    token === "bad"
      ? reviewReply({ authenticated: false, error: "it is bad" })
      : authenticatedReview({ username: "alice" }, { audiences: ["a", "b"] }),
  );
  for (const [asked, named] of [
    [
      ["b", "a"],
      ["a", "b"],
    ],
    [["a", "a"], ["a"]],
  ] as const) {
    const answer = await tokens.authenticateToken("good", asked);
    assert.deepEqual(answer, { outcome: "user", user: { name: "alice", groups: [] }, audiences: named });
  }
  assert.deepEqual(await tokens.authenticateToken("bad"), { outcome: "refused", reason: "it is bad" });
  assert.deepEqual(await tokens.authenticateToken("bad", ["vault"]), { outcome: "none" });
});

test("answers are cached for a while, and then given at once [AWH-02]", async () => {
  const { tokens, calls, clock, ask } = webhook((token) =>
    token === "good" ? authenticatedReview({ username: "alice" }) : reviewReply({ authenticated: false }),
  );
  for (let i = 0; i < 3; i++) {
    await ask("good");
    await ask("bad");
  }
  assert.equal(calls.length, 2);
  assert.ok(!(tokens.authenticateToken("good") instanceof Promise));
  clock.advance(120_000);
  await ask("good");
  await ask("bad");
  assert.equal(calls.length, 4);
});

test("an error in an answer is asked about again", async () => {
  const { ask, calls } = webhook(() => reviewReply({ authenticated: false, error: "try again" }));
  for (let i = 0; i < 3; i++) assert.deepEqual(await ask("t"), { outcome: "refused", reason: "try again" });
  assert.equal(calls.length, 3);
});

test("ten thousand bad tokens neither drive out a good one nor stay", async () => {
  const { calls, ask } = webhook((token) =>
    token === "good" ? authenticatedReview({ username: "alice" }) : reviewReply({ authenticated: false }),
  );
  await ask("good");
  for (let i = 0; i < 10_000; i += 500) await Promise.all(Array.from({ length: 500 }, (_, j) => ask(`bad${i + j}`)));
  const before = calls.length;
  assert.equal((await ask("good")).outcome, "user");
  assert.equal(calls.length, before);
  await ask("bad0");
  assert.equal(calls.length, before + 1);
});

test("a token that many clients send at once is asked about once; beyond a number of different tokens, clients are told to come again", async () => {
  let answer: () => void = () => undefined;
  const open = new Promise<void>((resolve) => (answer = resolve));
  const { calls, ask } = webhook(async () => {
    await open;
    return authenticatedReview({ username: "alice" });
  });
  const same = Array.from({ length: 50 }, () => ask("same"));
  const different = Array.from({ length: 1200 }, (_, i) => ask(`t${i}`));
  const settled = Promise.allSettled([...same, ...different]);
  await turn();
  assert.equal(calls.length, 1000);
  answer();
  const answers = await settled;
  assert.equal(answers.filter(({ status }) => status === "fulfilled").length, 50 + 999);
  for (const answer of answers) {
    if (answer.status === "rejected") assert.match(String(answer.reason), /too many new tokens wait for the webhook/);
    else assert.equal(answer.value.outcome, "user");
  }
});

test("the webhook is asked again when a call was interrupted or it is overloaded, and not otherwise", async () => {
  for (const [code, attempts] of [
    [500, 5],
    [429, 5],
    [504, 5],
    [403, 1],
    [302, 1],
    [404, 1],
  ] as const) {
    const { calls, clock, failures, ask } = webhook(() => Promise.resolve({ code, body: "token: hook-secret" }));
    const answer = ask("t");
    for (let i = 0; i < 5; i++) {
      await turn();
      clock.advance(5000);
    }
    assert.deepEqual(await answer, { outcome: "refused", reason: `token webhook: the webhook answered ${code}` });
    assert.deepEqual([calls.length, failures.length], [attempts, 1]);
  }
});

test("without an answer a token is refused, and the failure is not kept", async () => {
  let isDown = true;
  const { calls, ask } = webhook(() => {
    if (isDown) throw new OutgoingError("TIMEOUT", "no answer from hook within 10000ms");
    return authenticatedReview({ username: "alice" });
  });
  assert.deepEqual(await ask("t"), {
    outcome: "refused",
    reason: "token webhook: no answer from hook within 10000ms",
  });
  isDown = false;
  assert.equal((await ask("t")).outcome, "user");
  assert.equal(calls.length, 2);
});

test("an answer that is no review, or names no user, is a failure", async () => {
  for (const body of [
    "",
    "<html>",
    "[]",
    "{}",
    '{"kind":"Status","status":"Failure"}',
    '{"kind":"TokenReview","status":{"authenticated":true}}',
    '{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":""}}}',
    '{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":["a"]}}}',
    '{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","groups":"system:masters"}}}',
    '{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"a","extra":{"k":"v"}}}}',
    '{"kind":"TokenReview","status":{"authenticated":"true","user":{"username":"a"}}}',
  ]) {
    const { ask } = webhook(() => Promise.resolve({ code: 200, body }));
    assert.notEqual((await ask("t")).outcome, "user", body);
  }
});

test("keys and groups called like parts of objects are data", async () => {
  const body =
    '{"kind":"TokenReview","status":{"authenticated":true,"user":{"username":"__proto__","extra":{"__proto__":["v"]}}}}';
  const { ask } = webhook(() => Promise.resolve({ code: 200, body }));
  const answer = await ask("t");
  assert.ok(answer.outcome === "user");
  assert.deepEqual(Object.entries(answer.user.extra ?? {}), [["__proto__", ["v"]]]);
});
