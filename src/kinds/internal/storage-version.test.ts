/** Rules of storage versions, with messages recorded from a 1.32 server. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { nameRules } from "#meta/names.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const versions = kindUnderTest({ group: "internal.apiserver.k8s.io", version: "v1alpha1", kind: "StorageVersion" });
const stored = { metadata: { name: "a.b" }, spec: {}, status: {} };

const refuses = (status: object, ...expected: readonly string[]): void =>
  assert.deepEqual(versions.refuseUpdate({ ...stored, status }, stored, "status"), expected);

const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const label =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const qualified =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";

test("a name is a group and a resource", () => {
  const rule = nameRules["group.resource"]!;
  for (const name of ["core.pods", "a.b.c"]) assert.deepEqual(rule(name, false), []);
  assert.deepEqual(rule("pods", false), ["name must be in the form of <group>.<resource>"]);
  for (const name of [".b", "A.b", "-a.b"]) assert.deepEqual(rule(name, false), [`the group segment ${subdomain}`]);
  for (const name of ["a.", "a.B"]) assert.deepEqual(rule(name, false), [`the resource segment ${label}`]);
});

test("a server says what it writes once, and reads what it writes and serves", () => {
  const entry = {
    apiServerID: "a",
    encodingVersion: "v1",
    decodableVersions: ["v1", "b/v1"],
    servedVersions: ["b/v1"],
  };
  refuses({ storageVersions: [entry], commonEncodingVersion: "v1" });
  refuses(
    { storageVersions: [entry, entry], commonEncodingVersion: "v1" },
    'status.storageVersions[1].apiServerID: Duplicate value: "a"',
  );
  refuses(
    { storageVersions: [{ ...entry, decodableVersions: ["v2"], servedVersions: ["v9"] }], commonEncodingVersion: "v1" },
    'status.storageVersions[0].decodableVersions: Invalid value: []string{"v2"}: decodableVersions must include encodingVersion v1',
    'status.storageVersions[0].servedVersions[0]: Invalid value: "v9": individual served version : v9 must be included in decodableVersions : [v2]',
  );
  refuses(
    { storageVersions: [{ apiServerID: "-x_", encodingVersion: "A/B/C", decodableVersions: ["v 2", ""] }] },
    `status.storageVersions[0].apiServerID: Invalid value: "-x_": ${subdomain}`,
    `status.storageVersions[0].encodingVersion: Invalid value: "A/B/C": an apiVersion is ${label.replace("a DNS-1035 label", "a DNS-1035 label, which")} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyVersion')`,
    `status.storageVersions[0].decodableVersions[0]: Invalid value: "v 2": version part: ${label}`,
    'status.storageVersions[0].decodableVersions[1]: Invalid value: "": version part: must be non-empty',
    'status.storageVersions[0].decodableVersions: Invalid value: []string{"v 2", ""}: decodableVersions must include encodingVersion A/B/C',
    'status.commonEncodingVersion: Invalid value: "null": the common encoding version is A/B/C',
  );
});

test("the common version is what all servers write, and nothing where they differ", () => {
  const [a, b] = ["v1", "v2"].map((version) => ({
    apiServerID: version,
    encodingVersion: version,
    decodableVersions: [version],
  }));
  const path = "status.commonEncodingVersion: Invalid value";
  const none =
    "should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet";
  refuses({ storageVersions: [a, b] });
  refuses({ storageVersions: [a, b], commonEncodingVersion: "v1" }, `${path}: "v1": ${none}`);
  refuses({ storageVersions: [], commonEncodingVersion: "v1" }, `${path}: "v1": ${none}`);
  refuses({ storageVersions: [a] }, `${path}: "null": the common encoding version is v1`);
  refuses(
    { storageVersions: [a], commonEncodingVersion: "v2" },
    `${path}: "v2": the actual common encoding version is v1`,
  );
});

test("conditions have a type of their own, a reason and a message", () => {
  refuses(
    {
      conditions: [
        { type: "A", status: "X", reason: "r", message: "m" },
        { type: "A", status: "", reason: "" },
      ],
    },
    'status[1].type: Invalid value: "A": the type of the condition is not unique, it also appears in conditions[0]',
    'status[1].status: Invalid value: "": name part must be non-empty',
    `status[1].status: Invalid value: "": ${qualified}`,
    "status[1].reason: Required value: reason cannot be empty",
    "status[1].message: Required value: message cannot be empty",
  );
});
