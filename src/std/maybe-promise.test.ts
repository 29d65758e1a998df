/** Values that are available now or later. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { andThen, attempt, isLate } from "./maybe-promise.ts";

test("a value that is available needs no promise", () => {
  assert.equal(
    andThen(1, (value) => value + 1),
    2,
  );
  assert.equal(
    attempt((value) => value + 1, 1, String),
    2,
  );
});

test("a late value is continued with later", async () => {
  const next = andThen(Promise.resolve(1), (value) => value + 1);
  assert.ok(isLate(next));
  assert.equal(await next, 2);
  assert.equal(await attempt((value) => Promise.resolve(value + 1), 1, String), 2);
});

test("a failure is answered with the input, whether it is thrown or rejected", async () => {
  const failure = new Error("no");
  const onFailure = (error: unknown, input: number): unknown[] => [error, input];
  const thrown = attempt(
    () => {
      throw failure;
    },
    1,
    onFailure,
  );
  assert.deepEqual(thrown, [failure, 1]);
  const rejected = attempt(() => Promise.reject(failure), 2, onFailure);
  assert.ok(isLate(rejected));
  assert.deepEqual(await rejected, [failure, 2]);
});
