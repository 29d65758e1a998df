/** Modules are loaded once, and again after a failure. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { lazy } from "./lazy.ts";

void test("a module is loaded when it is first asked for, and at hand from then on", async () => {
  const module = { answer: 42 };
  let loads = 0;
  const get = lazy(() => Promise.resolve((loads++, module)));
  assert.equal(loads, 0);
  const first = get();
  assert.ok(first instanceof Promise);
  assert.equal(get(), first);
  assert.equal(await first, module);
  assert.equal(get(), module);
  assert.equal(loads, 1);
});

void test("what could not be loaded is tried again", async () => {
  const tries = [Promise.reject<object>(new Error("no such file")), Promise.resolve({})];
  const get = lazy(() => tries.shift()!);
  await assert.rejects(async () => get(), /no such file/);
  assert.deepEqual(await get(), {});
});
