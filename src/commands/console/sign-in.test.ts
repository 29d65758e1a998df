/** Tests of the sign-in: a code is good once, for a minute, and until somebody has guessed too often. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { SignIn } from "./sign-in.ts";

test("a code gives one token, and only the newest code does", () => {
  const signIn = new SignIn(new FakeClock(), seededRandom(1));
  const [old, code] = [signIn.newCode(), signIn.newCode()];
  assert.strictEqual(signIn.redeem(old), undefined);
  const token = signIn.redeem(code);
  assert.ok(token !== undefined && token.length >= 43);
  assert.ok(code.length >= 22);
  assert.strictEqual(signIn.redeem(code), undefined);
  assert.ok(signIn.isSession(token));
  const second = signIn.redeem(signIn.newCode())!;
  signIn.end(second);
  signIn.end("unknown");
  assert.deepEqual([signIn.isSession(token), signIn.isSession(second)], [true, false]);
  for (const other of ["", code, `${token}x`, token.toLowerCase()]) assert.ok(!signIn.isSession(other));
});

test("a code is no longer good after a minute, or after five wrong ones", () => {
  const clock = new FakeClock();
  const signIn = new SignIn(clock, seededRandom(1));
  const late = signIn.newCode();
  clock.advance(60_001);
  assert.strictEqual(signIn.redeem(late), undefined);
  const guessed = signIn.newCode();
  for (let i = 0; i < 5; i++) assert.strictEqual(signIn.redeem(`wrong-${i}`), undefined);
  assert.strictEqual(signIn.redeem(guessed), undefined);
  const fourWrong = signIn.newCode();
  for (let i = 0; i < 4; i++) signIn.redeem("wrong");
  assert.ok(signIn.redeem(fourWrong) !== undefined);
});

test("the oldest of many pages is signed out", () => {
  const signIn = new SignIn(new FakeClock(), seededRandom(1));
  const tokens = Array.from({ length: 33 }, () => signIn.redeem(signIn.newCode())!);
  assert.deepEqual(
    [tokens[0]!, tokens[1]!, tokens[32]!].map((token) => signIn.isSession(token)),
    [false, true, true],
  );
});
