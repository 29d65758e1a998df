/** The file of `--authorization-config`: accepted settings and errors. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { apiDomain } from "#meta/api-domain.ts";
import { type ConditionCompiler, readAuthorizationConfig } from "./configuration.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-authorization-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const kubeconfig = join(folder, "hook.yaml");
writeFileSync(
  kubeconfig,
  JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "hook" } }],
    clusters: [{ name: "hook", cluster: { server: "https://hook.example.com/authz" } }],
  }),
);

const apiVersion = "apiserver.config.platform.io/v1";
const hook = {
  timeout: "3s",
  subjectAccessReviewVersion: "v1",
  matchConditionSubjectAccessReviewVersion: "v1",
  failurePolicy: "NoOpinion",
  connectionInfo: { type: "KubeConfigFile", kubeConfigFile: kubeconfig },
};
const webhook = (over: object = {}, name: string | undefined = "hook"): object => ({
  type: "Webhook",
  ...(name === "" ? {} : { name }),
  webhook: { ...hook, ...over },
});

const anyCondition: ConditionCompiler = () => () => true;

const read = (authorizers: readonly object[], compile: ConditionCompiler = anyCondition, more: object = {}) =>
  readAuthorizationConfig(JSON.stringify({ apiVersion, kind: "AuthorizationConfiguration", authorizers, ...more }), {
    domain: apiDomain("platform.io"),
    compile,
  });

/** Returns the error, without the brackets around several ones. */
function problem(authorizers: readonly object[], compile?: ConditionCompiler): string {
  try {
    read(authorizers, compile);
  } catch (error) {
    return (error as Error).message;
  }
  return "";
}

test("authorizers stand in order, with names of their own [AUTHRES-53] [AUTHRES-54] [AUTHRES-56]", () => {
  const entries = read([webhook(), { type: "Node", name: "kubelets" }, { type: "RBAC" }, webhook({}, "second")]);
  assert.deepEqual(
    entries.map(({ type, name }) => `${type} ${name}`),
    ["Webhook hook", "Node kubelets", "RBAC rbac", "Webhook second"],
  );
  for (const version of ["v1beta1", "v1alpha1"]) {
    assert.equal(
      read([{ type: "RBAC" }], anyCondition, { apiVersion: `apiserver.config.platform.io/${version}` }).length,
      1,
    );
  }
});

test("a webhook has its times, version, policy and place [AUTHRES-57] [AUTHRES-58] [AUTHRES-59] [AUTHRES-61] [AUTHRES-63] [AUTHRES-64]", () => {
  const [entry] = read([webhook()]);
  assert.ok(entry?.type === "Webhook");
  const { connection, ...rest } = entry.webhook;
  assert.equal(connection.url, "https://hook.example.com/authz");
  assert.deepEqual(rest, {
    version: "v1",
    authorizedTtlMs: 300_000,
    unauthorizedTtlMs: 30_000,
    timeoutMs: 3000,
    failurePolicy: "NoOpinion",
    conditions: [],
  });
  const [other] = read([
    webhook({ authorizedTTL: "1m", unauthorizedTTL: "1s", timeout: "30s", subjectAccessReviewVersion: "v1beta1" }),
  ]);
  assert.ok(other?.type === "Webhook");
  assert.deepEqual(
    [other.webhook.authorizedTtlMs, other.webhook.unauthorizedTtlMs, other.webhook.timeoutMs, other.webhook.version],
    [60_000, 1000, 30_000, "v1beta1"],
  );
});

test("errors of the list of authorizers are reported by path [AUTHRES-54] [AUTHRES-55]", () => {
  const types = 'supported values: "Node", "RBAC", "Webhook"';
  assert.equal(problem([]), "authorizers: Required value: at least one authorization mode must be defined");
  assert.equal(problem([{ type: "ABAC" }]), `authorizers[0].type: Unsupported value: "ABAC": ${types}`);
  assert.equal(problem([{ type: "AlwaysAllow" }]), `authorizers[0].type: Unsupported value: "AlwaysAllow": ${types}`);
  assert.equal(problem([{ name: "a" }]), "authorizers[0].type: Required value");
  assert.equal(problem([{ type: "RBAC" }, { type: "RBAC" }]), 'authorizers[1].type: Duplicate value: "RBAC"');
  assert.equal(problem([webhook({}, "")]), "authorizers[0].name: Required value");
  assert.equal(problem([webhook(), webhook()]), 'authorizers[1].name: Duplicate value: "hook"');
  assert.match(
    problem([webhook({}, "Not_A_Name")]),
    /^authorizers\[0\]\.name: Invalid value: "Not_A_Name": authorizer name is invalid: /,
  );
  assert.equal(
    problem([{ type: "RBAC", webhook: hook }]),
    'authorizers[0].webhook: Invalid value: "non-null": may only be specified when type=Webhook',
  );
  assert.equal(
    problem([{ type: "Webhook", name: "a" }]),
    "authorizers[0].webhook: Required value: required when type=Webhook",
  );
});

test("errors of a webhook are reported by path [AUTHRES-59] [AUTHRES-60] [AUTHRES-61] [AUTHRES-62] [AUTHRES-63] [AUTHRES-64] [AUTHRES-65] [AUTHRES-66]", () => {
  const at = "authorizers[0]";
  const cases: readonly (readonly [object, string])[] = [
    [{ timeout: undefined }, `${at}.timeout: Required value`],
    [{ timeout: "31s" }, `${at}.timeout: Invalid value: "31s": must be > 0s and <= 30s`],
    [{ timeout: "-1s" }, `${at}.timeout: Invalid value: "-1s": must be > 0s and <= 30s`],
    [{ authorizedTTL: "-1s" }, `${at}.authorizedTTL: Invalid value: "-1s": must be > 0s`],
    [{ subjectAccessReviewVersion: undefined }, `${at}.subjectAccessReviewVersion: Required value`],
    [
      { subjectAccessReviewVersion: "v2" },
      `${at}.subjectAccessReviewVersion: Unsupported value: "v2": supported values: "v1", "v1beta1"`,
    ],
    [
      { matchConditionSubjectAccessReviewVersion: undefined },
      `${at}.matchConditionSubjectAccessReviewVersion: Required value`,
    ],
    [
      { matchConditionSubjectAccessReviewVersion: undefined, matchConditions: [{ expression: "true" }] },
      `${at}.matchConditionSubjectAccessReviewVersion: Required value: required if match conditions are specified`,
    ],
    [
      { matchConditionSubjectAccessReviewVersion: "v1beta1" },
      `${at}.matchConditionSubjectAccessReviewVersion: Unsupported value: "v1beta1": supported values: "v1"`,
    ],
    [{ failurePolicy: undefined }, `${at}.failurePolicy: Required value`],
    [
      { failurePolicy: "Allow" },
      `${at}.failurePolicy: Unsupported value: "Allow": supported values: "NoOpinion", "Deny"`,
    ],
    [{ connectionInfo: undefined }, `${at}.connectionInfo.type: Required value`],
    [
      { connectionInfo: { type: "Other" } },
      `${at}.connectionInfo.type: Unsupported value: "Other": supported values: "InClusterConfig", "KubeConfigFile"`,
    ],
    [
      { connectionInfo: { type: "InClusterConfig" } },
      `${at}.connectionInfo.type: Forbidden: InClusterConfig is not allowed in the configuration of this server`,
    ],
    [{ connectionInfo: { type: "KubeConfigFile" } }, `${at}.connectionInfo.kubeConfigFile: Required value`],
    [
      { connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "hook.yaml" } },
      `${at}.connectionInfo.kubeConfigFile: Invalid value: "hook.yaml": must be an absolute path`,
    ],
    [
      { connectionInfo: { type: "KubeConfigFile", kubeConfigFile: folder } },
      `${at}.connectionInfo.kubeConfigFile: Invalid value: "${folder}": must be a regular file`,
    ],
    [
      { connectionInfo: { type: "KubeConfigFile", kubeConfigFile: "/no/such" } },
      `${at}.connectionInfo.kubeConfigFile: Invalid value: "/no/such": error loading file: stat /no/such: no such file or directory`,
    ],
  ];
  for (const [over, message] of cases) assert.equal(problem([webhook(over)]), message);
  assert.match(problem([webhook({ timeout: "soon" })]), /timeout|duration/);
  assert.match(problem([webhook({ timeout: "31s", failurePolicy: "Allow" })]), /^\[.*timeout.*, .*failurePolicy.*\]$/);
});

test("match conditions are at most 64, each with an expression of its own [AUTHRES-67]", () => {
  const compile: ConditionCompiler = (expression) =>
    expression.startsWith("bad") ? { problem: "no such function", isInternal: expression !== "bad" } : () => true;
  const conditions = (count: number): object => ({
    matchConditions: Array.from({ length: count }, (_, at) => ({ expression: `${at} == 0` })),
  });
  const [entry] = read([webhook(conditions(64))], compile);
  assert.ok(entry?.type === "Webhook");
  assert.equal(entry.webhook.conditions.length, 64);
  const at = "authorizers[0].matchConditions";
  assert.equal(problem([webhook(conditions(65))], compile), `${at}: Too many: 65: must have at most 64 items`);
  const wrong = (expressions: readonly string[]): string =>
    problem([webhook({ matchConditions: expressions.map((expression) => ({ expression })) })], compile);
  assert.equal(wrong(["true", " "]), `${at}[1].expression: Required value`);
  assert.equal(wrong(["true", "true"]), `${at}[1].expression: Duplicate value: "true"`);
  assert.equal(wrong(["bad"]), `${at}[0].expression: Invalid value: "bad": no such function`);
  assert.equal(wrong(["bad in itself"]), `${at}[0].expression: Internal error: no such function`);
});

test("another kind, another version and unknown fields are refused", () => {
  const rules = { domain: apiDomain("platform.io"), compile: anyCondition };
  const wrong = (document: object, message: RegExp): void =>
    assert.throws(() => readAuthorizationConfig(JSON.stringify(document), rules), { message });
  wrong({ apiVersion, kind: "AuthenticationConfiguration" }, /^must be of kind AuthorizationConfiguration in /);
  wrong(
    { apiVersion: "apiserver.config.k8s.io/v1", kind: "AuthorizationConfiguration" },
    /apiserver\.config\.platform\.io\/v1 or /,
  );
  wrong(
    { apiVersion, kind: "AuthorizationConfiguration", authorizers: [{ type: "RBAC", webhok: {} }] },
    /unknown field "authorizers\[0\]\.webhok"/,
  );
});
