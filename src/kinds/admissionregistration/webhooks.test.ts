/** Validation of webhook configurations, with the messages of 1.32, and errors that an update may keep. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ValidatingWebhook, ValidatingWebhookConfiguration } from "#api/admissionregistration/v1.ts";
import { validateWebhooks } from "./validate-webhook.ts";

const rule = { operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"], scope: "*" };

const hook = (more: object = {}): ValidatingWebhook => ({
  name: "a.hooks.example.com",
  clientConfig: { url: "https://hooks.example.com/check" },
  rules: [rule],
  failurePolicy: "Fail",
  matchPolicy: "Equivalent",
  sideEffects: "None",
  timeoutSeconds: 10,
  admissionReviewVersions: ["v1"],
  ...more,
});

const of = (...webhooks: ValidatingWebhook[]): ValidatingWebhookConfiguration => ({
  metadata: { name: "c" },
  webhooks,
});

const validate = (webhooks: readonly ValidatingWebhook[], old?: readonly ValidatingWebhook[]): string[] =>
  validateWebhooks(of(...webhooks), old && of(...old), { hasSelectors: true }).map(
    ({ field, message }) => `${field}: ${message}`,
  );

const check = (more: object, ...expected: (string | RegExp)[]): void => {
  const findings = validate([hook(more)]);
  assert.equal(findings.length, expected.length, findings.join("\n"));
  for (const [index, wanted] of expected.entries()) {
    const finding = findings[index]!.replace(/^webhooks\[0\]\./, "");
    if (typeof wanted === "string") assert.equal(finding, wanted);
    else assert.match(finding, wanted);
  }
};

test("a webhook has a full name, known versions and says what effects it has [VER-63] [VER-64]", () => {
  check({});
  check({ name: "" }, "name: Required value");
  check({ name: "a.b" }, /^name: .*should be a domain with at least three segments separated by dots$/);
  check({ name: "A.b.c" }, /^name: Invalid value: "A.b.c": a lowercase RFC 1123 subdomain /);
  check({ sideEffects: null }, "sideEffects: Required value: must specify one of None, NoneOnDryRun");
  check({ sideEffects: "Some" }, /^sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"$/);
  check({ admissionReviewVersions: [] }, "admissionReviewVersions: Required value: must specify one of v1, v1beta1");
  check({ admissionReviewVersions: ["v7"] }, /must include at least one of v1, v1beta1$/);
  check({ admissionReviewVersions: ["v1", "v1"] }, /^admissionReviewVersions\[1\]: .*duplicate version$/);
});

test("failure policies, timeouts, rules and selectors must be valid", () => {
  check({ timeoutSeconds: 31 }, /^timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 sec/);
  check({ failurePolicy: "Maybe" }, /^failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"$/);
  check({ matchPolicy: "Loose" }, /^matchPolicy: Unsupported value/);
  check({ reinvocationPolicy: "Often" }, /^reinvocationPolicy: .* supported values: "IfNeeded", "Never"$/);
  check({ rules: [{ ...rule, operations: [] }] }, "rules[0].operations: Required value");
  check({ namespaceSelector: { matchExpressions: [{ key: "a", operator: "Foo" }] } }, /^namespaceSelector\.match/);
  check({ objectSelector: { matchLabels: { a: "b c" } } }, /^objectSelector\.matchLabels: /);
});

test("a webhook has either a URL or a service, and a valid one", () => {
  check({ clientConfig: {} }, "clientConfig: Required value: exactly one of url or service is required");
  check(
    { clientConfig: { url: "http://a/b" } },
    /^clientConfig\.url: Invalid value: "http": 'https' is the only allow/,
  );
  check(
    { clientConfig: { url: "https://u:p@a/b?x#f" } },
    /user info/,
    /fragments/,
    /query parameters are not permitted/,
  );
  check({ clientConfig: { url: "https://a b/" } }, /invalid character " " in host name/);
  check({ clientConfig: { url: "https://a/%zz" } }, /invalid URL escape "%zz"/);
  check({ clientConfig: { url: "https://[::1" } }, /parse "https:\/\/\[::1": missing .\]. in host/);
  const service = { name: "s", namespace: "n" };
  check({ clientConfig: { service } });
  // Upstream: each message is at the field of the other.
  check({ clientConfig: { service: { ...service, name: "" } } }, /^clientConfig\.service\.namespace: Required value/);
  check({ clientConfig: { service: { ...service, namespace: "" } } }, /^clientConfig\.service\.name: Required value/);
  check({ clientConfig: { service: { ...service, port: 0 } } }, /^clientConfig\.service\.port: .*between 1 and 65535/);
  check({ clientConfig: { service: { ...service, path: "/A" } } }, /^clientConfig\.service\.path: .*segment\[0\]: /);
});

test("names are unique, and conditions compile [VER-65]", () => {
  assert.deepEqual(validate([hook(), hook()]), ['webhooks[1].name: Duplicate value: "a.hooks.example.com"']);
  check({ matchConditions: [{ name: "x", expression: "1" }] }, /expression: .*must evaluate to bool but got int$/);
  check({ matchConditions: [{ name: "x", expression: "params.x" }] }, /undeclared reference to 'params'/);
});

test("an update may keep what a stored configuration breaks, and break nothing else", () => {
  assert.deepEqual(validate([hook(), hook()], [hook(), hook()]), []);
  const some = hook({ sideEffects: "Some" });
  assert.deepEqual(validate([some], [some]), []);
  assert.equal(validate([some], [hook()]).length, 1);
  const unknown = hook({ admissionReviewVersions: ["v7"] });
  assert.deepEqual(validate([unknown], [unknown]), []);
  assert.equal(validate([unknown], [hook()]).length, 1);
  const broken = hook({ matchConditions: [{ name: "x", expression: "object." }] });
  assert.deepEqual(validate([broken], [broken]), []);
  assert.equal(validate([broken], [hook()]).length, 1);
});
