/** Validation of policies and bindings, with the messages of 1.32. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Unstructured } from "#meta/object-meta.ts";
import { kindUnderTest } from "../kind-for-tests.ts";

const group = "admissionregistration.k8s.io";
const policies = kindUnderTest(
  { group, version: "v1", kind: "ValidatingAdmissionPolicy" },
  { gates: ["AuthorizeWithSelectors"] },
);
const bindings = kindUnderTest({ group, version: "v1", kind: "ValidatingAdmissionPolicyBinding" });

const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] };

const policy = (spec: object): Unstructured => ({
  metadata: { name: "p" },
  spec: { matchConstraints: { resourceRules: [rule] }, validations: [{ expression: "true" }], ...spec },
});

await policies.loadRules(policy({}));

function check(spec: object, ...expected: readonly string[]): void {
  assert.deepEqual(policies.refuseCreate(policies.defaults(policy(spec))), expected, JSON.stringify(spec));
}

const compileError = (at: string, source: string, offset: number, problem: string): string =>
  `${at}: Invalid value: ${JSON.stringify(source)}: compilation failed: ERROR: <input>:1:${offset + 1}: ${problem}\n | ${source}\n | ${".".repeat(offset)}^`;

test("expressions are compiled with the types that their place wants [EXPR-58]", () => {
  const at = "spec.validations[0].expression";
  const expectRefusal = (expression: string, problem: string): void =>
    check({ validations: [{ expression }] }, `${at}: Invalid value: ${JSON.stringify(expression)}: ${problem}`);
  expectRefusal("object.spec.x", "must evaluate to bool but got dyn");
  expectRefusal("'a'", "must evaluate to bool but got string");
  check(
    { validations: [{ expression: "x" }] },
    compileError(at, "x", 0, "undeclared reference to 'x' (in container '')"),
  );
  check(
    { validations: [{ expression: "request.uid == ''" }] },
    compileError(at, "request.uid == ''", 7, "undefined field 'uid'"),
  );
  check(
    { validations: [{ expression: "int('a') == 1" }] },
    `${at}: Internal error: program instantiation failed: type conversion error from 'string' to 'int'`,
  );
  check({ validations: [{ expression: "" }] }, `${at}: Required value: expression is not specified`);
  check(
    { auditAnnotations: [{ key: "a", valueExpression: "1" }] },
    'spec.auditAnnotations[0].valueExpression: Invalid value: "1": must evaluate to one of [string null_type] but got int',
  );
});

test("messages are texts without an authorizer, conditions see no variables, parameters need a kind", () => {
  const at = "spec.validations[0].messageExpression";
  const messages = (messageExpression: string) => ({ validations: [{ expression: "true", messageExpression }] });
  check(messages("1"), `${at}: Invalid value: "1": must evaluate to string but got int`);
  check(
    messages("string(authorizer)"),
    compileError(at, "string(authorizer)", 7, "undeclared reference to 'authorizer' (in container '')"),
  );
  check(messages(" "), `${at}: Invalid value: " ": must be non-empty if specified`);
  const variables = [{ name: "a", expression: "1" }];
  const matchConditions = [{ name: "c", expression: "variables.a == 1" }];
  check(
    { variables, matchConditions },
    compileError(
      "spec.matchConditions[0].expression",
      "variables.a == 1",
      0,
      "undeclared reference to 'variables' (in container '')",
    ),
  );
  check({ variables, validations: [{ expression: "variables.a == 1" }] });
  check(
    { validations: [{ expression: "params == null" }] },
    compileError(
      "spec.validations[0].expression",
      "params == null",
      0,
      "undeclared reference to 'params' (in container '')",
    ),
  );
  check({ paramKind: { apiVersion: "v1", kind: "ConfigMap" }, validations: [{ expression: "params == null" }] });
});

test("variables have names, and see those before them", () => {
  const variableNamed = (name: string) => ({ variables: [{ name, expression: "1" }] });
  const invalidName = (name: string): string =>
    `spec.variables[0].name: Invalid value: "${name}": name is not a valid CEL identifier`;
  for (const name of ["a-b", "in", "1a", "namespace"]) check(variableNamed(name), invalidName(name));
  check(variableNamed("__a"));
  check(
    { variables: [{ name: "", expression: " " }] },
    "spec.variables[0].name: Required value: name is not specified",
    "spec.variables[0].expression: Required value: expression is not specified",
  );
  const later = [
    { name: "a", expression: "variables.b" },
    { name: "b", expression: "1" },
  ];
  check({ variables: later }, compileError("spec.variables[0].expression", "variables.b", 9, "undefined field 'b'"));
  // The fields of custom types and of types of libraries are not checked.
  const typedPolicy = (expression: string, use: string) => ({
    variables: [{ name: "a", expression }],
    validations: [{ expression: use }],
  });
  check(typedPolicy("request.userInfo", "variables.a.nope == 1"));
  check(typedPolicy("quantity('1')", "variables.a + 1 == 1"));
  check(
    typedPolicy("[request.userInfo]", "variables.a == 1"),
    compileError(
      "spec.validations[0].expression",
      "variables.a == 1",
      12,
      "found no matching overload for '_==_' applied to '(list(dyn), int)'",
    ),
  );
});

test("all expressions of a policy have bounds together for what compiling them takes", () => {
  const many = (count: number, expression: (at: number) => string) => ({
    validations: Array.from({ length: count }, (_, at) => ({ expression: expression(at) })),
  });
  const last = (spec: object): string => policies.refuseCreate(policies.defaults(policy(spec))).at(-1) ?? "";
  const pattern = (at: number): string => `'a'.matches('(ab${at}){900}')`;
  assert.equal(last(many(20, pattern)), "");
  assert.match(
    last(many(250, pattern)),
    /regular expressions of a policy must not have more than 500000 instructions together$/,
  );
  const longExpression = (at: number): string =>
    `optional.of([${Array(300).fill(at).join(", ")}]).optMap(x, x).hasValue()`;
  assert.equal(last(many(20, longExpression)), "");
  assert.match(last(many(80, longExpression)), /optMap\(\) is nested too deeply/);
});

test("an expression that was stored may use more than a new one", () => {
  const expression = "[1].all(i, v, v == 1)";
  const old = policies.defaults(policy({ validations: [{ expression }] }));
  const [finding] = policies.refuseCreate(old);
  assert.match(finding ?? "", /undeclared reference to 'all'/);
  const next = policies.defaults(policy({ validations: [{ expression }], failurePolicy: "Ignore" }));
  assert.deepEqual(policies.refuseUpdate(next, old), []);
});

test("a policy says what it does and to what", () => {
  const nothing = "validations or auditAnnotations must contain at least one item";
  check(
    { validations: [] },
    `spec.validations: Required value: ${nothing}`,
    `spec.auditAnnotations: Required value: ${nothing}`,
  );
  check({ failurePolicy: "X" }, 'spec.failurePolicy: Unsupported value: "X": supported values: "Fail", "Ignore"');
  check({ matchConstraints: null }, "spec.matchConstraints: Required value");
  check({ matchConstraints: {} }, "spec.matchConstraints.resourceRules: Required value");
  check(
    { paramKind: { apiVersion: "A_/v1", kind: "x y" } },
    "spec.paramKind.apiVersion: Invalid value: \"A_\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    "spec.paramKind.kind: Invalid value: \"x y\": may have mixed case, but should otherwise match: a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  );
  check(
    { validations: [{ expression: "true", message: "a\nb", reason: "Unauthorized" }] },
    'spec.validations[0].message: Invalid value: "a\\nb": message must not contain line breaks',
    'spec.validations[0].reason: Unsupported value: "Unauthorized": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
  );
  check(
    { auditAnnotations: [{ key: "a", valueExpression: `'${"x".repeat(5120)}'` }] },
    "spec.auditAnnotations[0].valueExpression: Required value: must not exceed 5120 bytes in length",
  );
});

test("rules name operations, groups, versions and resources, wildcards alone", () => {
  const path = "spec.matchConstraints.resourceRules[0]";
  const expectRefusal = (more: object, ...findings: readonly string[]): void =>
    check(
      { matchConstraints: { resourceRules: [{ ...rule, ...more }] } },
      ...findings.map((finding) => `${path}.${finding}`),
    );
  expectRefusal(
    { operations: ["CREATE", "*"], apiGroups: ["*", "a"] },
    `operations: Invalid value: []admissionregistration.OperationType{"CREATE", "*"}: if '*' is present, must not specify other operations`,
    `apiGroups: Invalid value: []string{"*", "a"}: if '*' is present, must not specify other API groups`,
  );
  expectRefusal(
    { operations: ["X"], apiVersions: [""], resources: [] },
    'operations[0]: Unsupported value: "X": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    "apiVersions[0]: Required value",
    "resources: Required value",
  );
  expectRefusal(
    { resources: ["pods/*", "pods/status", "*/status", "a/status"] },
    "resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, must not specify pods/status",
    "resources[3]: Invalid value: \"a/status\": if '*/status' is present, must not specify a/status",
  );
  expectRefusal(
    { resources: ["*", "pods"] },
    `resources: Invalid value: []string{"*", "pods"}: if '*' is present, must not specify other resources without subresources`,
  );
  expectRefusal({ resources: ["*", "", "pods/x"] }, "resources[1]: Required value");
  expectRefusal({ scope: "X" }, 'scope: Unsupported value: "X": supported values: "*", "Cluster", "Namespaced"');
  expectRefusal({ resourceNames: ["a", "a"] }, 'resourceNames[1]: Duplicate value: "a"');
});

test("match conditions have different names, and at most 64 of them", () => {
  const twice = [
    { name: "a", expression: "true" },
    { name: "a", expression: "false" },
  ];
  check({ matchConditions: twice }, 'spec.matchConditions[1].name: Duplicate value: "a"');
  const many = Array.from({ length: 65 }, (_, at) => ({ name: `n${at}`, expression: "true" }));
  check({ matchConditions: many }, "spec.matchConditions: Too many: 65: must have at most 64 items");
});

test("a binding names a policy and actions, and parameters by name or selector", () => {
  const expectRefusal = (spec: object, ...findings: readonly string[]): void =>
    assert.deepEqual(
      bindings.refuseCreate(
        bindings.defaults({ metadata: { name: "b" }, spec: { policyName: "p", validationActions: ["Deny"], ...spec } }),
      ),
      findings,
    );
  expectRefusal({});
  expectRefusal(
    { policyName: "", validationActions: [] },
    "spec.policyName: Required value",
    "spec.validationActions: Required value: at least one validation action is required",
  );
  expectRefusal(
    { validationActions: ["Deny", "Warn", "X", "Deny"] },
    'spec.validationActions[2]: Unsupported value: "X": supported values: "Audit", "Deny", "Warn"',
    'spec.validationActions[3]: Duplicate value: "Deny"',
    'spec.validationActions: Invalid value: []admissionregistration.ValidationAction{"Deny", "Warn", "X", "Deny"}: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
  );
  expectRefusal(
    { paramRef: {} },
    "spec.paramRef: Required value: one of name or selector must be specified",
    "spec.paramRef.parameterNotFoundAction: Required value",
  );
  expectRefusal(
    { paramRef: { name: "a", selector: { matchLabels: { "a b": "" } }, parameterNotFoundAction: "X" } },
    "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
    "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
    `spec.paramRef.selector.matchLabels: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
    'spec.paramRef.parameterNotFoundAction: Unsupported value: "X": supported values: "Deny", "Allow"',
  );
});

test("a status has complete warnings and valid conditions", () => {
  const object = policies.create(policies.defaults(policy({})));
  const status = { typeChecking: { expressionWarnings: [{ fieldRef: "", warning: "" }] } };
  assert.deepEqual(policies.refuseUpdate({ ...object, status }, object, "status"), [
    "status.typeChecking.expressionWarnings[0].warning: Required value",
    "status.typeChecking.expressionWarnings[0].fieldRef: Required value",
  ]);
});

test("a warning of a status names its expression by a JSONPath", () => {
  const object = policies.create(policies.defaults(policy({})));
  const problemOf = (fieldRef: string): string | undefined => {
    const status = { typeChecking: { expressionWarnings: [{ fieldRef, warning: "w" }] } };
    return policies.refuseUpdate({ ...object, status }, object, "status")[0];
  };
  const at = "status.typeChecking.expressionWarnings[0].fieldRef";
  for (const [fieldRef, problem] of [
    ["-x", "cannot parse number -"],
    ["[0", "unterminated array"],
    ["[a]", "invalid array index a"],
    ["a[99999999999999999999]", "array index 99999999999999999999 is not a number"],
    ["'abc", "unterminated quoted string"],
    ["'\\q'", "unquote string '\\q' error invalid syntax"],
    ["a[?(@.x", "unterminated filter"],
    ["a[?(@.x==1)b", "unclosed array expect ]"],
    ["a{b}", "unrecognized character in action: U+007B '{'"],
  ] as const) {
    assert.equal(
      problemOf(fieldRef),
      `${at}: Invalid value: ${JSON.stringify(fieldRef)}: invalid JSONPath: ${problem}`,
    );
  }
  assert.equal(problemOf("\n"), `${at}: Required value`);
  assert.equal(problemOf("spec.validations[0].expression"), undefined);
});
