/** The findings of kube-apiserver 1.32.1 about limit ranges. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "../kind-for-tests.ts";

const ranges = kindUnderTest({ group: "", version: "v1", kind: "LimitRange" });

test("quantities are shown as they are kept", () => {
  const validate = (min: string, max: string): string[] =>
    ranges.refuseCreate({
      metadata: { name: "r" },
      spec: { limits: [{ type: "PersistentVolumeClaim", min: { storage: min }, max: { storage: max } }] },
    });
  const path = "spec.limits[0].min[storage]";
  for (const [min, max] of [
    ["1E3", "1"],
    ["+5", "04"],
    ["100Ti", "1Ti"],
  ] as const) {
    assert.deepEqual(validate(min, max), [
      `${path}: Invalid value: "${min}": min value ${min} is greater than max value ${max}`,
    ]);
  }
});

test("a default out of bounds is a finding", () => {
  const item = { type: "Container", min: { cpu: "10" }, max: { cpu: "0" }, default: { cpu: "1" } };
  const findings = ranges.refuseCreate({ metadata: { name: "r" }, spec: { limits: [item] } });
  const path = "spec.limits[0].default[cpu]: Invalid value";
  assert.deepEqual(
    findings.filter((text) => text.startsWith(path)),
    [
      `${path}: "10": min value 10 is greater than default value 1`,
      `${path}: "1": default value 1 is greater than max value 0`,
    ],
  );
});
