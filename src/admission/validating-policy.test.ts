/** Validating policies: their decisions, their failures, and the messages to clients. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type {
  ValidatingAdmissionPolicyBindingSpec,
  ValidatingAdmissionPolicySpec,
} from "#api/admissionregistration/v1.ts";
import type { Authorizer } from "#authz/authorizer.ts";
import { apiDomain } from "#meta/api-domain.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { attributesOf } from "./attributes-for-tests.ts";
import type { AdmissionAttributes } from "./plugin.ts";
import { type ValidatingOptions, validatingAdmissionPolicy, validatingPolicies } from "./validating-policy.ts";

const rules = [{ operations: ["*"], apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps", "namespaces"] }];

const map = (data: Readonly<Record<string, string>> = { a: "1" }, labels: Readonly<Record<string, string>> = {}) =>
  ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m", namespace: "n", labels }, data }) as ApiObject;

interface Given {
  readonly spec: Partial<ValidatingAdmissionPolicySpec>;
  /** The bindings; by default one that denies. */
  readonly bindings?: readonly Partial<ValidatingAdmissionPolicyBindingSpec>[];
  readonly attributes?: Partial<AdmissionAttributes>;
  readonly object?: ApiObject;
  readonly params?: readonly ApiObject[];
  readonly authorizer?: Authorizer;
}

interface Answer {
  /** `reason code: message`, or `admitted`. */
  readonly answer: string;
  readonly warnings: readonly string[];
  readonly annotations: readonly (readonly [string, string])[];
  /** The calls of metrics. */
  readonly observed: readonly string[];
}

/** Runs a policy `p` with the bindings `b0`, `b1`, … on the write of a config map `m`. */
async function ask(given: Given): Promise<Answer> {
  const { spec, bindings = [{}], params = [], object = map() } = given;
  const observed: string[] = [];
  const policies = validatingPolicies(true);
  policies.setPolicy("p", {
    metadata: { name: "p" },
    spec: { matchConstraints: { resourceRules: rules }, ...spec },
    status: {},
  });
  for (const [at, binding] of bindings.entries()) {
    const full = { policyName: "p", validationActions: ["Deny"], ...binding };
    policies.setBinding(`b${at}`, { metadata: { name: `b${at}` }, spec: full });
  }
  const options: ValidatingOptions = {
    observed: ({ action, errorType }) => void observed.push(`${action} ${errorType}`),
    domain: apiDomain("k8s.io"),
    clock: new FakeClock(),
    authorizer: given.authorizer ?? { authorize: () => ({ decision: "noOpinion", reason: "" }) },
    forms: { convertTo: (one, kind) => ({ ...one, apiVersion: kind.version }) },
    environment: {
      equivalents: (resource) => [{ resource, kind: { group: "", version: "v1", kind: "ConfigMap" } }],
      getNamespace: (name) => ({ metadata: { name, labels: { team: "x" } }, spec: {}, status: {} }),
    },
    findParams: ({ kind }) =>
      kind === "ConfigMap"
        ? {
            namespaced: true,
            get: (namespace, name) =>
              params.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name),
            list: (_namespace, selector) => params.filter(({ metadata }) => selector.matches(metadata.labels)),
          }
        : undefined,
  };
  const warnings: string[] = [];
  const annotations: [string, string][] = [];
  const attributes = attributesOf(object, { name: "m", ...given.attributes });
  const context = {
    ...attributes.context,
    warn: (text: string) => void warnings.push(text),
    annotate: (key: string, value: string) => void annotations.push([key, value]),
  };
  let answer = "admitted";
  try {
    await validatingAdmissionPolicy(policies, options).validate!({ ...attributes, context });
  } catch (error) {
    assert.ok(error instanceof StatusError);
    const { code, reason, message } = error.status;
    answer = `${reason} ${code}: ${message}`;
  }
  return { answer, warnings, annotations, observed };
}

const denial = (text: string, status = "Invalid 422", by = "'p' with binding 'b0'"): string =>
  `${status}: configmaps "m" is forbidden: ValidatingAdmissionPolicy ${by} denied request: ${text}`;

async function check(given: Given, expected: string): Promise<void> {
  assert.equal((await ask(given)).answer, expected, JSON.stringify(given.spec));
}

test("a validation that is false refuses with its message and reason [ERR-09]", async () => {
  const validations = (more: object) => ({ spec: { validations: [{ expression: "object.data.a == '2'", ...more }] } });
  await check(validations({}), denial("failed expression: object.data.a == '2'"));
  await check(validations({ message: " no " }), denial("no"));
  await check(validations({ reason: "Forbidden" }), denial("failed expression: object.data.a == '2'", "Forbidden 403"));
  await check(validations({ message: "m", reason: "RequestEntityTooLarge" }), denial("m", "RequestEntityTooLarge 413"));
  await check(validations({ messageExpression: "'a is ' + object.data.a", message: "m" }), denial("a is 1"));
  await check({ spec: { validations: [{ expression: "object.data.a == '1'" }] } }, "admitted");
});

test("a message that has no value, is empty, has lines or is long gives way to the text of the validation", async () => {
  for (const messageExpression of ["'a' + object.missing", "'  '", "'a\\nb'", `'${"é".repeat(2561)}'`]) {
    await check({ spec: { validations: [{ expression: "false", messageExpression, message: "m" }] } }, denial("m"));
  }
  const fits = "é".repeat(2560);
  await check({ spec: { validations: [{ expression: "false", messageExpression: `'${fits}'` }] } }, denial(fits));
});

test("the failure policy decides about validations that have no value", async () => {
  const validations = [{ expression: "object.missing == 1", message: "m" }];
  const failed = "expression 'object.missing == 1' resulted in error: no such key: missing";
  await check({ spec: { validations } }, denial(failed));
  const ignored = await ask({ spec: { validations, failurePolicy: "Ignore" } });
  assert.deepEqual([ignored.answer, ignored.observed], ["admitted", ["allow invalid_error"]]);
  const matchConditions = [{ name: "c", expression: "object.missing == 1" }];
  await check({ spec: { matchConditions, validations: [{ expression: "false" }] } }, denial(failed));
  const other = await ask({
    spec: { matchConditions, validations: [{ expression: "false" }], failurePolicy: "Ignore" },
  });
  assert.deepEqual([other.answer, other.observed], ["admitted", []]);
});

test("variables are evaluated when they are used, and see those before them", async () => {
  const variables = [
    { name: "count", expression: "size(object.data)" },
    { name: "next", expression: "variables.count + 1" },
    { name: "unused", expression: "object.missing" },
    { name: "nothing", expression: "null" },
  ];
  const messageExpression = "'next is ' + string(variables.next)";
  await check(
    { spec: { variables, validations: [{ expression: "variables.next > 5", messageExpression }] } },
    denial("next is 2"),
  );
  await check({ spec: { variables, validations: [{ expression: "variables.nothing == null" }] } }, "admitted");
  await check(
    { spec: { variables, validations: [{ expression: "variables.unused == 1" }] } },
    denial(
      `expression 'variables.unused == 1' resulted in error: composited variable "unused" fails to evaluate: no such key: missing`,
    ),
  );
});

test("a chain of variables of any length ends", async () => {
  const variables = Array.from({ length: 3000 }, (_, at) => ({
    name: `v${at}`,
    expression: at === 0 ? "1" : `variables.v${at - 1} + 1`,
  }));
  const { answer } = await ask({ spec: { variables, validations: [{ expression: "variables.v2999 > 0" }] } });
  assert.match(answer, /^admitted$|^Invalid 422: /);
});

test("a variable of the name of an earlier one that refers to it has no value", async () => {
  const variables = [
    { name: "a", expression: "1" },
    { name: "a", expression: "variables.a + 1" },
  ];
  const { answer } = await ask({ spec: { variables, validations: [{ expression: "variables.a == 2" }] } });
  assert.match(answer, /composited variable "a" fails to evaluate: it refers to itself/);
});

const list = (length: number): string => JSON.stringify(Array.from({ length }, (_, at) => at));
const loops = (inner: number): string => `${list(150)}.all(a, ${list(150)}.all(b, ${list(inner)}.all(c, c >= 0)))`;

test("a policy has a budget for all its validations, and one expression a limit [LIMIT-02] [ERR-06]", async () => {
  const over = "validation failed due to running out of cost budget, no further validation rules will be run";
  const many = Array.from({ length: 30 }, () => ({ expression: loops(4) }));
  await check({ spec: { validations: many } }, denial(over));
  assert.deepEqual((await ask({ spec: { validations: many } })).observed, ["deny out_of_budget"]);
  await check({ spec: { validations: many, failurePolicy: "Ignore" } }, "admitted");
  await check(
    { spec: { validations: [{ expression: loops(50) }] } },
    denial(`expression '${loops(50)}' resulted in error: operation cancelled: actual cost limit exceeded`),
  );
  await check(
    {
      spec: {
        validations: Array.from({ length: 30 }, () => ({
          expression: "false",
          messageExpression: `string(${loops(4)})`,
        })),
      },
    },
    denial(`failed messageExpression: ${over}`),
  );
});

test("actions deny, warn and write to the audit log", async () => {
  const spec = { validations: [{ expression: "true" }, { expression: "false", message: "m" }] };
  const warned = await ask({ spec, bindings: [{ validationActions: ["Warn"] }, { validationActions: ["Audit"] }] });
  assert.deepEqual(warned, {
    answer: "admitted",
    warnings: ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b0': m"],
    annotations: [
      [
        "validation.policy.admission.k8s.io/validation_failure",
        '[{"message":"m","policy":"p","binding":"b1","expressionIndex":1,"validationActions":["Audit"]}]',
      ],
    ],
    observed: ["warn invalid_error", "audit invalid_error"],
  });
  const audit = [{ validationActions: ["Audit"] }, { validationActions: ["Audit"] }];
  const twice = await ask({
    spec: { validations: [{ expression: "1 > 2" }, { expression: "false" }] },
    bindings: audit,
  });
  assert.deepEqual(twice.annotations, [
    [
      "validation.policy.admission.k8s.io/validation_failure",
      '[{"message":"failed expression: 1 \\u003e 2","policy":"p","binding":"b0","expressionIndex":0,"validationActions":["Audit"]}]',
    ],
  ]);
  const both = await ask({ spec, bindings: [{ validationActions: ["Deny"] }, { validationActions: ["Warn"] }] });
  assert.equal(both.answer, denial("m"));
  assert.equal(both.warnings.length, 1);
});

test("audit annotations have the policy's name, and values of all bindings once", async () => {
  const auditAnnotations = [
    { key: "k", valueExpression: "' v' + object.data.a" },
    { key: "none", valueExpression: "null" },
    { key: "long", valueExpression: `['${"é".repeat(1000)}'].map(x, x + x + x + x + x + x)[0]` },
  ];
  const { annotations, answer } = await ask({ spec: { auditAnnotations }, bindings: [{}, {}] });
  assert.equal(answer, "admitted");
  assert.deepEqual(
    annotations.map(([key, value]) => [key, value.length]),
    [
      ["p/k", 2],
      ["p/long", 5120],
    ],
  );
  const failing = [{ key: "k", valueExpression: "'v' + object.missing" }];
  const response = await ask({ spec: { auditAnnotations: failing }, bindings: [{ validationActions: ["Warn"] }] });
  assert.equal(response.answer, denial("expression ''v' + object.missing' resulted in error: no such key: missing"));
  assert.deepEqual(response.observed, ["deny invalid_error"]);
  await check({ spec: { auditAnnotations: failing, failurePolicy: "Ignore" } }, "admitted");
});

const param = (name: string, most: string, labels = {}): ApiObject =>
  ({ metadata: { name, namespace: "n", labels }, data: { most } }) as ApiObject;

test("parameters come by name or selector, and none are refused where the binding says so", async () => {
  const spec = {
    paramKind: { apiVersion: "v1", kind: "ConfigMap" },
    validations: [
      {
        expression: "params != null && object.data.a <= params.data.most",
        messageExpression: "'at most ' + params.data.most",
      },
    ],
  };
  const params = [param("zero", "0", { role: "limit" }), param("nine", "9", { role: "limit" })];
  const bindParam = (paramRef: object, more: Partial<Given> = {}) => ({
    spec,
    params,
    bindings: [{ paramRef }],
    ...more,
  });
  await check(bindParam({ name: "nine" }), "admitted");
  await check(bindParam({ name: "zero" }), denial("at most 0"));
  await check(bindParam({ selector: { matchLabels: { role: "limit" } } }), denial("at most 0"));
  await check(bindParam({ name: "gone", parameterNotFoundAction: "Allow" }), "admitted");
  const refusal = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
  await check(bindParam({ name: "gone", parameterNotFoundAction: "Deny" }), denial(refusal));
  await check(
    bindParam({ selector: { matchLabels: { role: "x" } }, parameterNotFoundAction: "Deny" }),
    denial(refusal),
  );
  await check({ spec }, denial("failed expression: params != null && object.data.a <= params.data.most"));
  const unknown = { ...spec, paramKind: { apiVersion: "example.com/v1", kind: "Limit" } };
  await check(
    { spec: unknown },
    denial(
      "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Limit'",
      "Invalid 422",
      "'p'",
    ),
  );
  await check({ spec: { ...unknown, failurePolicy: "Ignore" } }, "admitted");
  const inCluster = { resource: { group: "", version: "v1", resource: "nodes" }, namespace: "" };
  await check(
    {
      ...bindParam({ name: "nine", parameterNotFoundAction: "Deny" }, { attributes: inCluster }),
      spec: { ...spec, matchConstraints: { resourceRules: [{ ...rules[0]!, resources: ["nodes"] }] } },
    },
    denial(
      "failed to configure binding: cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
    ).replace("configmaps", "nodes"),
  );
});

test("deletes have no object; the namespace and the user can be seen [EXPR-20]", async () => {
  const deletion: Partial<Given> = { attributes: { operation: "DELETE", object: undefined, oldObject: map() } };
  await check(
    { spec: { validations: [{ expression: "object == null && oldObject.data.a == '1'" }] }, ...deletion },
    "admitted",
  );
  await check(
    {
      spec: {
        validations: [{ expression: "namespaceObject.metadata.labels.team == 'x' && request.namespace == 'n'" }],
      },
    },
    "admitted",
  );
  const expression = "authorizer.requestResource.check('delete').allowed()";
  const slow: Authorizer = {
    authorize: ({ verb }) => Promise.resolve({ decision: verb === "delete" ? "allow" : "deny", reason: "" }),
  };
  await check({ spec: { validations: [{ expression }] }, authorizer: slow }, "admitted");
  await check({ spec: { validations: [{ expression }] } }, denial(`failed expression: ${expression}`));
});

test("a binding narrows what its policy applies to", async () => {
  const spec = { validations: [{ expression: "false", message: "m" }] };
  const matchResources = { objectSelector: { matchLabels: { a: "b" } } };
  await check({ spec, bindings: [{ matchResources }] }, "admitted");
  await check({ spec, bindings: [{ matchResources }], object: map({}, { a: "b" }) }, denial("m"));
  const updates = { resourceRules: [{ ...rules[0]!, operations: ["UPDATE"] }] };
  await check({ spec, bindings: [{ matchResources: updates }] }, "admitted");
});

test("policies see neither policies nor questions about users, whatever they match", async () => {
  const everything = [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*/*"] }];
  const spec = { matchConstraints: { resourceRules: everything }, validations: [{ expression: "false" }] };
  const of = (group: string, resource: string, kind: string): Partial<AdmissionAttributes> => ({
    resource: { group, version: "v1", resource },
    kind: { group, version: "v1", kind },
  });
  const registration = "admissionregistration.k8s.io";
  for (const attributes of [
    of(registration, "validatingadmissionpolicies", "ValidatingAdmissionPolicy"),
    of(registration, "validatingadmissionpolicybindings", "ValidatingAdmissionPolicyBinding"),
    of("authentication.k8s.io", "tokenreviews", "TokenReview"),
    of("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview"),
  ]) {
    await check({ spec, attributes }, "admitted");
  }
  await check({ spec }, denial("failed expression: false"));
});
