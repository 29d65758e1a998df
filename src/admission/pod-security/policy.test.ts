/** Policies read from labels of namespaces. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import { printFieldError } from "#meta/field-error.ts";
import {
  type SecurityLevel,
  modes,
  type SecurityPolicy,
  PolicyLabels,
  privilegedLatest,
  readVersion,
  standardText,
} from "./policy.ts";

const privileged: SecurityPolicy = { enforce: privilegedLatest, audit: privilegedLatest, warn: privilegedLatest };

const standard = (level: SecurityLevel, version: string) => ({ level, version, minor: readVersion(version)! });
const strict: SecurityPolicy = {
  enforce: standard("restricted", "v1.12"),
  audit: standard("baseline", "latest"),
  warn: standard("baseline", "v1.10"),
};

const addPrefix = (labels: object): Record<string, string> =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [`pod-security.kubernetes.io/${key}`, value]));

/** Returns the standards of the three modes, and the errors. */
function read(labels: object, defaults = privileged): { readonly text: string; readonly errors: readonly string[] } {
  const { policy, errors, isPrivileged } = new PolicyLabels(kubernetesDomain, defaults).read(addPrefix(labels));
  const text = modes.map((mode) => standardText(policy[mode])).join(" ");
  assert.equal(isPrivileged, errors.length === 0 && /^(privileged\S+ ?){3}$/.test(text));
  return { text, errors: errors.map(printFieldError) };
}

const inForce = (labels: object, text: string, defaults?: SecurityPolicy): void =>
  assert.deepEqual(read(labels, defaults), { text, errors: [] });

test("labels say a level and a version for each mode", () => {
  inForce({}, "privileged:latest privileged:latest privileged:latest");
  inForce({ audit: "restricted", "audit-version": "v1.5" }, "privileged:latest restricted:v1.5 privileged:latest");
  inForce({ "enforce-version": "v1.5" }, "privileged:v1.5 privileged:latest privileged:latest");
  inForce({ other: "x" }, "privileged:latest privileged:latest privileged:latest");
});

test("modes without a label have the default level and version", () => {
  inForce({}, "restricted:v1.12 baseline:latest baseline:v1.10", strict);
  inForce({ enforce: "baseline" }, "baseline:v1.12 baseline:latest baseline:v1.10", strict);
  inForce({ "warn-version": "v1.8" }, "restricted:v1.12 baseline:latest baseline:v1.8", strict);
});

test("a namespace whose label enforces a level is warned about the same level, unless another label says otherwise", () => {
  inForce({ enforce: "restricted" }, "restricted:latest privileged:latest restricted:latest");
  inForce({ enforce: "restricted", "enforce-version": "v1.5" }, "restricted:v1.5 privileged:latest restricted:v1.5");
  inForce(
    { enforce: "restricted", "enforce-version": "v1.5", "warn-version": "v1.8" },
    "restricted:v1.5 privileged:latest restricted:v1.8",
  );
  inForce({ enforce: "restricted", warn: "privileged" }, "restricted:latest privileged:latest privileged:latest");
  inForce({ enforce: "restricted" }, "restricted:v1.12 baseline:latest restricted:v1.12", strict);
});

const level = "must be one of privileged, baseline, restricted";
const version = 'must be "latest" or "v1.x"';
const complaint = (name: string, value: string, message: string): string =>
  `metadata.labels[pod-security.kubernetes.io/${name}]: Invalid value: "${value}": ${message}`;

test("an unreadable level is restricted where it is enforced, and privileged elsewhere", () => {
  assert.deepEqual(read({ enforce: "x", audit: "y", warn: "", "enforce-version": "v1.3" }, strict), {
    text: "restricted:v1.3 privileged:latest privileged:v1.10",
    errors: [complaint("enforce", "x", level), complaint("audit", "y", level), complaint("warn", "", level)],
  });
  assert.deepEqual(read({ enforce: "baseline", "enforce-version": "x", "audit-version": "1" }, strict), {
    text: "baseline:latest baseline:latest baseline:v1.10",
    errors: [complaint("enforce-version", "x", version), complaint("audit-version", "1", version)],
  });
  assert.equal(read({ enforce: "x" }).text, "restricted:latest privileged:latest privileged:latest");
});

test("versions are those of Kubernetes 1, also of releases to come", () => {
  for (const text of ["latest", "v1.0", "v1.32", "v1.33", "v1.9223372036854775807"]) {
    assert.notEqual(readVersion(text), undefined, text);
  }
  for (const text of ["", "x", "Latest", "v1", "1.2", "v1.", "v1.00", "v1.01", "v1.-1", "v1.2.3", "v2.0", "v0.1"]) {
    assert.equal(readVersion(text), undefined, text);
  }
  assert.equal(readVersion("v1.9223372036854775808"), undefined);
});

test("labels have the names of the domain", () => {
  const labels = new PolicyLabels(apiDomain("platform.io"), privileged);
  assert.equal(labels.read({ "pod-security.platform.io/enforce": "baseline" }).policy.enforce.level, "baseline");
  assert.equal(labels.read({ "pod-security.kubernetes.io/enforce": "baseline" }).policy.enforce.level, "privileged");
});
