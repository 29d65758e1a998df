/** Tests when webhooks are asked again, and what ends the wait. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Clock } from "#std/clock.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { OutgoingError } from "./outgoing-https.ts";
import { askWebhook, retryCall, reviewStatus } from "./webhook-question.ts";

/** Lets promises settle that wait only for other promises. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function question(answers: readonly (number | Error)[]) {
  const clock = new FakeClock();
  const pauses: number[] = [];
  const noted: Clock = {
    now: () => clock.now(),
    monotonic: () => clock.monotonic(),
    after(delayMs, callback) {
      pauses.push(delayMs);
      return clock.after(delayMs, callback);
    },
  };
  const closing = new AbortController();
  let calls = 0;
  const answer = askWebhook({
    outgoing: {
      callOut({ signal }) {
        if (signal?.aborted === true) return Promise.reject(new OutgoingError("ABORTED", "the call was given up"));
        const next = answers[calls++]!;
        if (next instanceof Error) return Promise.reject(next);
        return Promise.resolve({ code: next, headers: {}, body: Buffer.from("{}") });
      },
      close() {},
    },
    url: "https://hook",
    headers: {},
    body: Buffer.from("{}"),
    timeoutMs: 1000,
    answerBytesMax: 1000,
    firstPauseMs: 500,
    clock: noted,
    random: { ...seededRandom(1), next: () => 0.5 },
    signal: closing.signal,
  });
  answer.catch(() => undefined);
  return { answer, clock, pauses, closing, calls: () => calls };
}

test("each pause is half as long again, up to a fifth longer by chance", async () => {
  const { answer, clock, pauses, calls } = question([
    500,
    Object.assign(new Error(), { code: "ECONNRESET", syscall: "read" }),
    429,
    200,
  ]);
  for (let i = 0; i < 3; i++) {
    await turn();
    clock.advance(2000);
  }
  assert.equal((await answer).toString(), "{}");
  assert.deepEqual([pauses.map(Math.round), calls()], [[550, 825, 1238], 4]);
});

test("a pause ends when the server stops, and nothing is asked again", async () => {
  const { answer, closing, calls } = question([500, 200]);
  await turn();
  closing.abort();
  await assert.rejects(answer, /given up/);
  assert.equal(calls(), 1);
});

test("a request that would fail again is not repeated", async () => {
  for (const [said, message] of [
    [403, /^the webhook answered 403$/],
    [new OutgoingError("TIMEOUT", "no answer"), /^no answer$/],
    [Object.assign(new Error("socket hang up"), { code: "ECONNRESET" }), /^socket hang up$/],
  ] as const) {
    const { answer, calls } = question([said]);
    await assert.rejects(answer, { message });
    assert.equal(calls(), 1);
  }
});

test("no pause goes on until the deadline", async () => {
  const clock = new FakeClock();
  const options = { firstPauseMs: 500, clock, random: seededRandom(1), signal: new AbortController().signal };
  let calls = 0;
  const call = (): Promise<never> => {
    calls++;
    return Promise.reject(new Error("busy"));
  };
  await assert.rejects(
    retryCall(call, () => true, { ...options, deadlineMs: clock.monotonic() + 500 }),
    /busy/,
  );
  assert.equal(calls, 1);
});

test("an answer of another kind or version, or none, has no status; one that says neither counts", () => {
  const status = (text: string): unknown => reviewStatus(Buffer.from(text), "Review", "x.example/v1");
  for (const text of [
    "",
    "[]",
    '{"kind":"Other","status":{}}',
    '{"kind":"Review","status":[]}',
    '{"kind":"Review","apiVersion":"x.example/v1beta1","status":{}}',
    '{"kind":"Review","apiVersion":1,"status":{}}',
  ]) {
    assert.throws(() => status(text), { message: "the webhook's answer is no Review" }, text);
  }
  for (const said of ['"kind":"Review","apiVersion":"y.example/v1",', '"kind":"Review",', '"apiVersion":"v1",', ""]) {
    assert.deepEqual(status(`{${said}"status":{"a":1}}`), { a: 1 });
  }
  assert.deepEqual([status("{}"), status('{"kind":"Review","status":null}')], [{}, {}]);
});
