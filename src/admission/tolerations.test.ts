/** Two lists of tolerations in one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Toleration } from "#api/core/v1.ts";
import { mergeTolerations } from "./tolerations.ts";

const exists = (key: string, more: Toleration = {}): Toleration => ({ key, operator: "Exists", ...more });

test("tolerations that a wider one makes unnecessary are left out, and of equal ones the first stays", () => {
  const merge = mergeTolerations;
  assert.deepEqual(merge([exists("k"), exists("z")], [exists("k")]), [exists("k"), exists("z")]);
  assert.deepEqual(merge([exists("k", { effect: "NoExecute" })], [exists("k")]), [exists("k")]);
  assert.deepEqual(merge([{ operator: "Exists" }], [exists("k"), { key: "a", value: "b" }]), [{ operator: "Exists" }]);
  assert.deepEqual(merge([{ key: "k", value: "v" }], [exists("k")]), [exists("k")]);
  const other: Toleration[] = [{ key: "k", value: "v" }, { key: "k", operator: "Equal", value: "w" }, exists("l")];
  assert.deepEqual(merge(other, []), other);
});

test("of tolerations that end the longer one stays", () => {
  const forSeconds = (tolerationSeconds?: number): Toleration =>
    exists("k", { effect: "NoExecute", ...(tolerationSeconds === undefined ? {} : { tolerationSeconds }) });
  assert.deepEqual(mergeTolerations([forSeconds(4)], [forSeconds(5)]), [forSeconds(5)]);
  assert.deepEqual(mergeTolerations([forSeconds(4)], [forSeconds()]), [forSeconds()]);
  assert.deepEqual(mergeTolerations([forSeconds()], [forSeconds(4)]), [forSeconds()]);
});
