/** These tests show what kube-apiserver 1.32.1 says of limit ranges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const ranges = kindUnderTest({ group: "", version: "v1", kind: "LimitRange" });

test("quantities are shown as they are kept, and those of more than 64 bits are texts", () => {
  const found = (min: string, max: string): string[] =>
    ranges.refuseCreate({
      metadata: { name: "r" },
      spec: { limits: [{ type: "PersistentVolumeClaim", min: { storage: min }, max: { storage: max } }] },
    });
  const shown = (value: number, scale: number, text: string, format: string): string =>
    `resource.Quantity{i:resource.int64Amount{value:${value}, scale:${scale}}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"${text}", Format:"${format}"}`;
  const path = "spec.limits[0].min[storage]";
  for (const [min, max, value] of [
    ["1E3", "1", shown(1, 3, "1E3", "DecimalExponent")],
    ["+5", "04", shown(5, 0, "+5", "DecimalSI")],
    ["99Ti", "1Ti", shown(99 * 2 ** 40, 0, "99Ti", "BinarySI")],
    ["100Ti", "1Ti", '"100Ti"'],
    ["1Pi", "1Ti", '"1Pi"'],
  ] as const) {
    assert.deepEqual(found(min, max), [
      `${path}: Invalid value: ${value}: min value ${min} is greater than max value ${max}`,
    ]);
  }
});
