/** Two lists of tolerations in one. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Toleration } from "#api/core/v1.ts";
import { seededRandom } from "#std/random.ts";
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

test("the result is that of comparing all pairs", () => {
  const random = seededRandom(1);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random.next() * items.length)]!;
  const any = (): Toleration => {
    const seconds = pick([undefined, undefined, 0, 1, 2, -1]);
    return {
      ...pick([{}, { key: "k" }, { key: "l" }, { key: "" }]),
      ...pick([{}, { operator: "Exists" }, { operator: "Equal" }, { operator: "In" }]),
      ...pick([{}, { value: "v" }, { value: "w" }]),
      ...pick([{}, { effect: "NoExecute" }, { effect: "NoSchedule" }]),
      ...(seconds === undefined ? {} : { tolerationSeconds: seconds }),
    };
  };
  for (let round = 0; round < 300; round++) {
    const all = Array.from({ length: Math.floor(random.next() * 9) }, any);
    assert.deepEqual(mergeTolerations(all, []), byPairs(all));
  }
});

test("many tolerations take no more than their number", () => {
  const all = Array.from({ length: 20_000 }, (_, at) => ({ key: "k", value: `v${at}` }));
  assert.equal(mergeTolerations(all, all).length, all.length);
});

/** Merges by comparing each toleration with each other one. */
function byPairs(all: readonly Toleration[]): Toleration[] {
  const kept: Toleration[] = [];
  for (const [at, one] of all.entries()) {
    if (kept.some((earlier) => isCovered(one, earlier))) continue;
    if (!all.slice(at + 1).some((later) => !isSame(later, one) && isCovered(one, later))) kept.push(one);
  }
  return kept;
}

function isCovered(one: Toleration, wide: Toleration): boolean {
  const [{ key = "", operator = "", value = "", effect = "" }, end] = [wide, wide.tolerationSeconds];
  if (isSame(wide, one)) return true;
  if (key !== (one.key ?? "") && (key !== "" || operator !== "Exists")) return false;
  if (effect !== "" && effect !== (one.effect ?? "")) return false;
  if (end !== undefined && (one.tolerationSeconds === undefined || one.tolerationSeconds > end)) return false;
  if (operator === "Exists") return true;
  return ["", "Equal"].includes(operator) && one.operator === "Equal" && value === (one.value ?? "");
}

const isSame = (one: Toleration, other: Toleration): boolean =>
  (["key", "operator", "value", "effect"] as const).every((name) => (one[name] ?? "") === (other[name] ?? "")) &&
  one.tolerationSeconds === other.tolerationSeconds;
