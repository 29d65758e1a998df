/** Invalid audit policies. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { printFieldError } from "#meta/field-error.ts";
import { policyErrors } from "./configuration.ts";
import type { PolicyDocument } from "./policy.ts";

test("every error of a policy is reported by its path", () => {
  const check = (policy: PolicyDocument, ...expected: readonly string[]): void => {
    const errors = policyErrors(policy).map(printFieldError);
    assert.deepEqual(
      errors.map((text) => text.slice(0, text.indexOf(":"))),
      expected,
      errors.join("\n"),
    );
  };
  check({}, "rules");
  check({ rules: [{ level: "Metadata" }] });
  check({ rules: [{ level: "Metadata" }, {}, { level: "Everything" }] }, "rules[1].level", "rules[2].level");
  check(
    { omitStages: ["Never"], rules: [{ level: "None", omitStages: ["Panic", "x"] }] },
    "omitStages[0]",
    "rules[0].omitStages[1]",
  );
  check(
    { rules: [{ level: "None", nonResourceURLs: ["healthz", "/a*b", "/a*", "*"] }] },
    "rules[0].nonResourceURLs[0]",
    "rules[0].nonResourceURLs[1]",
  );
  check({ rules: [{ level: "None", nonResourceURLs: ["/a"], namespaces: ["b"] }] }, "rules[0].nonResourceURLs");
  check(
    { rules: [{ level: "None", resources: [{ group: "Apps/v1" }, { resourceNames: ["a"] }] }] },
    "rules[0].resources[0].group",
    "rules[0].resources[1].resourceNames",
  );
});
