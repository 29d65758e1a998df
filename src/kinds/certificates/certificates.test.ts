/** The rules of certificate requests and trust bundles. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { newKey, signCertificate } from "#std/certificate.ts";
import { seededRandom } from "#std/random.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "certificates.k8s.io";
const requests = kindUnderTest({ group, version: "v1", kind: "CertificateSigningRequest" });

/** A request for O=builders, CN=robot. */
const request =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIZE1JR0ZBZ0VBTUNNeEVUQVBCZ05WQkFvTUNHSjFhV3hrWlhKek1RNHdEQVlEVlFRRERBVnliMkp2ZERCWgpNQk1HQnlxR1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQUJBVkkxNEZScjBTbm1wbWUwQW9ZZU4zVkwrNFRXSUhrCmw3NTZzcEFmS1NwUW5PNTVRK3FIQXFuS0NGVVRBU3BDbDl6L0JlN1pQMkJOeEN6UjBKN1V4VTJnQURBS0JnZ3EKaGtqT1BRUURBZ05IQURCRUFpQUZ1VXZ5SThsZFBMWm9NbVFMZUlDVEZnaWlUdXBaTStESEFyZGJtbzV3OXdJZwpZTmRHblY3R05vNExjRU9DNG9RMHJORHlXQUM1cTk5RkhoVXYxNFRyeVNRPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";
const key = newKey();
const period = { notBeforeMs: 1_600_000_000_000, notAfterMs: 1_900_000_000_000 };
const authority = await signCertificate(
  { commonName: "ca", publicKey: createPublicKey(key), usage: "authority", ...period },
  { commonName: "ca", key },
  seededRandom(1),
);
const leaf = await signCertificate(
  { commonName: "leaf", publicKey: createPublicKey(key), usage: "client", ...period },
  { commonName: "ca", key },
  seededRandom(2),
);
const certificate = Buffer.from(leaf).toString("base64");

const csr = (spec: Record<string, unknown> = {}, status?: Record<string, unknown>): Unstructured => ({
  metadata: { name: "a" },
  spec: { request, signerName: "example.com/signer", usages: ["client auth"], ...spec },
  ...(status === undefined ? {} : { status }),
});
const condition = (type: string, more: Record<string, unknown> = {}) => ({ type, status: "True", ...more });

await requests.loadRules(csr());

test("the server sets the requesting user, and a new request is neither approved nor signed", () => {
  const object = requests.create(
    csr({ username: "eve", uid: "1", groups: ["x"], extra: { a: ["b"] } }, { conditions: [condition("Approved")] }),
  );
  assert.deepEqual(object["spec"], {
    request,
    signerName: "example.com/signer",
    usages: ["client auth"],
    username: "admin",
    groups: ["system:masters"],
  });
  assert.deepEqual(object["status"], {});
});

test("a request is checked: key and signature, usages, signer, duration [VER-82] [VER-83] [VER-84]", () => {
  const check = (spec: Record<string, unknown>, ...expected: string[]) =>
    assert.deepEqual(requests.refuseCreate(csr(spec)), expected);
  check({});
  const noPem = "PEM block type must be CERTIFICATE REQUEST";
  check({ request: "bm8gcGVt" }, `spec.request: Invalid value: "bm8gcGVt": ${noPem}`);
  check({ request: undefined }, `spec.request: Invalid value: "null": ${noPem}`);
  check({ request: "" }, `spec.request: Invalid value: "": ${noPem}`);
  check({ usages: [] }, "spec.usages: Required value");
  check({ usages: ["client auth", "client auth"] }, 'spec.usages[1]: Duplicate value: "client auth"');
  assert.match(
    requests.refuseCreate(csr({ usages: ["x"] }))[0]!,
    /^spec\.usages\[0\]: Unsupported value: "x": supported/,
  );
  check({ signerName: undefined }, "spec.signerName: Required value");
  check(
    { signerName: "kubernetes.io/legacy-unknown" },
    'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
  );
  for (const signerName of ["no-slash", "a.example/b/c"]) {
    check(
      { signerName },
      `spec.signerName: Invalid value: "${signerName}": must be a fully qualified domain and path of the form 'example.com/signer-name'`,
    );
  }
  assert.match(requests.refuseCreate(csr({ signerName: "a_.b/c" }))[0]!, /"a_.b": validating label "a_": a lowercase/);
  assert.match(requests.refuseCreate(csr({ signerName: "a.b/C" }))[0]!, /"C": validating label "C": a lowercase/);
  check(
    { signerName: "a/b" },
    'spec.signerName: Invalid value: "a": should be a domain with at least two segments separated by dots',
  );
  check(
    { expirationSeconds: 599 },
    "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
  );
});

test("the legacy signer is called after the domain", () => {
  const platform = kindUnderTest(
    { group, version: "v1", kind: "CertificateSigningRequest" },
    { domain: "platform.io" },
  );
  assert.equal(platform.refuseCreate(csr({ signerName: "platform.io/legacy-unknown" })).length, 1);
  assert.equal(platform.refuseCreate(csr({ signerName: "kubernetes.io/legacy-unknown" })).length, 0);
});

const storedRequest = requests.create(csr());

test("the spec of a request never changes, and a write of the main resource changes no status", () => {
  const next = requests.update(
    csr({ usages: ["server auth"] }, { conditions: [condition("Approved")] }),
    storedRequest,
  );
  assert.deepEqual([next["spec"], next["status"]], [storedRequest["spec"], {}]);
  for (const subresource of ["status", "approval"]) {
    assert.deepEqual(requests.update(csr({ usages: [] }), storedRequest, subresource)["spec"], storedRequest["spec"]);
  }
});

test("an approval changes conditions only and gives them times", () => {
  const status = { certificate, conditions: [condition("Approved", { reason: "R" })] };
  const next = requests.update({ ...storedRequest, status }, storedRequest, "approval");
  const now = "2023-11-14T22:13:20Z";
  assert.deepEqual(next["status"], {
    conditions: [condition("Approved", { reason: "R", lastUpdateTime: now, lastTransitionTime: now })],
  });
  assert.deepEqual(requests.refuseUpdate({ ...storedRequest, status }, storedRequest, "approval"), []);
  const early = condition("Approved", {
    lastUpdateTime: "2000-01-01T00:00:00Z",
    lastTransitionTime: "2000-01-01T00:00:00Z",
  });
  const approved = { ...storedRequest, status: { conditions: [early] } };
  const again = requests.update(
    { ...storedRequest, status: { conditions: [condition("Approved")] } },
    approved,
    "approval",
  );
  assert.deepEqual(again["status"], {
    conditions: [
      condition("Approved", { lastUpdateTime: now, lastTransitionTime: early["lastTransitionTime" as never] }),
    ],
  });
});

test("conditions are of one kind each, and decisions are not taken back [VER-85] [VER-86]", () => {
  const check = (subresource: string, from: readonly object[], to: readonly object[], ...expected: string[]) => {
    const old = { ...storedRequest, status: { conditions: from } };
    assert.deepEqual(
      requests.refuseUpdate({ ...storedRequest, status: { conditions: to } }, old, subresource),
      expected,
    );
  };
  const [approved, denied, failed] = ["Approved", "Denied", "Failed"].map((type) => condition(type));
  check("approval", [], [approved!]);
  check(
    "approval",
    [],
    [approved!, denied!],
    'status.conditions[1].type: Invalid value: "Denied": Approved and Denied conditions are mutually exclusive',
  );
  check(
    "approval",
    [approved!],
    [],
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  );
  check(
    "approval",
    [],
    [condition("Approved", { status: "False" })],
    'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
  );
  check("approval", [], [{ type: "Approved" }], "status.conditions[0].status: Required value");
  check("approval", [], [{ status: "True" }], "status.conditions[0].type: Required value");
  check("status", [approved!], [approved!, failed!]);
  check("status", [approved!], [approved!, failed!, failed!], 'status.conditions[2].type: Duplicate value: "Failed"');
  check("status", [], [approved!], 'status.conditions: Forbidden: updates may not add a condition of type "Approved"');
  check(
    "status",
    [approved!],
    [failed!],
    'status.conditions: Forbidden: updates may not remove a condition of type "Approved"',
  );
  check("status", [], [condition("Other", { status: "Unknown" })]);
});

test("writes of the status do not change a decision", () => {
  const time = "2000-01-01T00:00:00Z";
  const old = {
    ...storedRequest,
    status: { conditions: [condition("Approved", { reason: "good", lastUpdateTime: time, lastTransitionTime: time })] },
  };
  const next = requests.update(
    { ...storedRequest, status: { conditions: [condition("Approved", { reason: "bad" })] } },
    old,
    "status",
  );
  assert.deepEqual(next["status"], old.status);
});

test("a certificate is PEM of certificates, and stays [VER-87]", () => {
  const check = (text: string, ...expected: string[]) => {
    const status = { certificate: Buffer.from(text).toString("base64") };
    assert.deepEqual(requests.refuseUpdate({ ...storedRequest, status }, storedRequest, "status"), expected);
  };
  const invalid = 'status.certificate: Invalid value: "<certificate data>": ';
  check(leaf);
  check(leaf + authority);
  check("x", `${invalid}must contain at least one CERTIFICATE PEM block`);
  check(leaf.replaceAll("CERTIFICATE", "KEY"), `${invalid}only CERTIFICATE PEM blocks are allowed, found "KEY"`);
  check(leaf.replace("-----\n", "-----\na: b\n\n"), `${invalid}no PEM block headers are permitted`);
  check("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", `${invalid}x509: malformed certificate`);
  const signed = { ...storedRequest, status: { certificate } };
  const forbidden = ["status.certificate: Forbidden: updates may not modify existing certificate content"];
  assert.deepEqual(requests.refuseUpdate({ ...storedRequest, status: {} }, signed, "status"), forbidden);
  assert.deepEqual(requests.refuseUpdate(signed, signed, "status"), []);
});

test("a table tells what has become of a request", () => {
  const rowOf = (status: Record<string, unknown>) => requests.row({ ...storedRequest, status })["Condition"];
  assert.equal(rowOf({}), "Pending");
  assert.equal(rowOf({ conditions: [condition("Approved")], certificate }), "Approved,Issued");
  assert.equal(rowOf({ conditions: [condition("Denied"), condition("Failed")] }), "Denied,Failed");
});

test("a trust bundle holds authorities, each once, of one signer for good", () => {
  const bundles = kindUnderTest(
    { group, version: "v1alpha1", kind: "ClusterTrustBundle" },
    { gates: ["ClusterTrustBundle"] },
  );
  const bundle = (trustBundle: string, signerName?: string): Unstructured => ({
    metadata: { name: "a" },
    spec: { trustBundle, ...(signerName === undefined ? {} : { signerName }) },
  });
  const check = (trustBundle: string, ...expected: string[]) =>
    assert.deepEqual(bundles.refuseCreate(bundle(trustBundle)), expected);
  const invalid = 'spec.trustBundle: Invalid value: "<value omitted>": ';
  check(authority);
  check("", `${invalid}at least one trust anchor must be provided`);
  check(leaf, `${invalid}entry 0 does not have the CA bit set`);
  check(authority + authority, `${invalid}duplicate trust anchor (indices [0 1])`);
  check(authority.replaceAll("CERTIFICATE", "KEY"), `${invalid}entry 0 has bad block type: KEY`);
  assert.equal(bundles.refuseCreate(bundle(authority, "x")).length, 1);
  const old = bundle(authority, "a.example/b");
  assert.deepEqual(bundles.refuseUpdate(bundle(authority, "a.example/c"), old), [
    'spec.signerName: Invalid value: "a.example/c": field is immutable',
  ]);
});
