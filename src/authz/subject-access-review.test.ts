/** Access reviews: attributes, authorizers, and invalid reviews. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { objectMaker } from "#api/objects-for-tests.ts";
import type { SelfSubjectRulesReview, SubjectAccessReview } from "#api/authorization/v1.ts";
import { testContext } from "#meta/context-for-tests.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { StatusError } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { type Attributes, type Authorizer, noOpinion, type Rules, type Verdict } from "./authorizer.ts";
import { accessReviews, rulesReview } from "./subject-access-review.ts";

const group = "authorization.k8s.io";
const asking: UserInfo = { name: "asks", uid: "u", groups: ["g"], extra: { k: ["v"] } };

interface Asked {
  /** The last question to the authorizer. */
  readonly about: Attributes | undefined;
  readonly status: unknown;
}

const make = objectMaker();
const kinds: Readonly<Record<string, string>> = {
  localsubjectaccessreviews: "LocalSubjectAccessReview",
  selfsubjectaccessreviews: "SelfSubjectAccessReview",
  subjectaccessreviews: "SubjectAccessReview",
};

/** Posts a review; `namespace` is that of the path. */
async function ask(
  resource: string,
  object: { readonly metadata?: ObjectMeta; readonly spec?: object },
  {
    verdict = noOpinion,
    namespace = "",
    hasSelectors = true,
  }: { readonly verdict?: Verdict; readonly namespace?: string; readonly hasSelectors?: boolean } = {},
): Promise<Asked> {
  let about: Attributes | undefined;
  const authorizer: Authorizer = {
    authorize(attributes) {
      about = attributes;
      return verdict;
    },
  };
  const action = accessReviews(authorizer, group, hasSelectors)[resource]!;
  const answer = await action({
    context: testContext({ user: asking }),
    namespace,
    name: "",
    object: { ...make("authorization.k8s.io/v1", kinds[resource]!, object), metadata: object.metadata ?? {} },
    dryRun: false,
    admit: () => undefined,
  });
  return { about, status: (answer as SubjectAccessReview).status };
}

const pods = { verb: "get", resource: "pods" };

test("a question reaches the authorizer as it was asked [AUTHRES-08] [AUTHRES-09] [AUTHRES-10] [AUTHRES-11] [AUTHRES-12]", async () => {
  const resourceAttributes = { ...pods, namespace: "n", group: "g", version: "v2", subresource: "log", name: "p" };
  const { about } = await ask("selfsubjectaccessreviews", { spec: { resourceAttributes } });
  assert.deepEqual(about, { user: asking, path: "", isResourceRequest: true, ...resourceAttributes });
  const { about: short } = await ask("selfsubjectaccessreviews", { spec: { resourceAttributes: pods } });
  assert.deepEqual([short?.version, short?.namespace, short?.group], ["*", "", ""]);
  const paths = await ask("selfsubjectaccessreviews", {
    spec: { nonResourceAttributes: { path: "/x", verb: "post" } },
  });
  assert.deepEqual(
    [paths.about?.isResourceRequest, paths.about?.path, paths.about?.verb, paths.about?.namespace],
    [false, "/x", "post", ""],
  );
});

test("a review is about the user it names, not about its author [AUTHRES-16]", async () => {
  const spec = { resourceAttributes: pods, user: "bob", groups: ["a"], uid: "1", extra: { k: ["x"] } };
  const { about } = await ask("subjectaccessreviews", { spec });
  assert.deepEqual(about?.user, { name: "bob", groups: ["a"], uid: "1", extra: { k: ["x"] } });
  const only = await ask("subjectaccessreviews", { spec: { resourceAttributes: pods, groups: ["a"] } });
  assert.deepEqual(only.about?.user, { name: "", groups: ["a"] });
});

test("the answer says what was decided and why [AUTHRES-13] [AUTHRES-14]", async () => {
  const spec = { resourceAttributes: pods };
  const status = async (verdict: Verdict): Promise<unknown> =>
    (await ask("selfsubjectaccessreviews", { spec }, { verdict })).status;
  assert.deepEqual(await status(noOpinion), { allowed: false });
  assert.deepEqual(await status({ decision: "allow", reason: "so" }), { allowed: true, reason: "so" });
  assert.deepEqual(await status({ decision: "deny", reason: "" }), { allowed: false, denied: true });
  assert.deepEqual(await status({ decision: "noOpinion", reason: "", error: "oops" }), {
    allowed: false,
    evaluationError: "oops",
  });
});

/** Returns field and message of each cause. */
async function refuse(resource: string, object: Parameters<typeof ask>[1], namespace = ""): Promise<unknown> {
  const error: unknown = await ask(resource, object, { namespace }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof StatusError, "it was not refused");
  assert.equal(error.status.code, 422);
  return error.status.details?.causes?.map(({ field, message }) => `${field}: ${message}`);
}

test("reviews that ask no valid question are refused [AUTHRES-15] [AUTHRES-16] [AUTHRES-17]", async () => {
  const self = "selfsubjectaccessreviews";
  assert.deepEqual(await refuse(self, { spec: {} }), [
    'spec.resourceAttributes: Invalid value: "null": exactly one of nonResourceAttributes or resourceAttributes must be specified',
  ]);
  assert.deepEqual(await refuse(self, {}), await refuse(self, { spec: {} }));
  assert.deepEqual(await refuse(self, { spec: { resourceAttributes: pods, nonResourceAttributes: { path: "/" } } }), [
    'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/", Verb:""}: cannot be specified in combination with resourceAttributes',
  ]);
  assert.deepEqual(await refuse(self, { spec: { resourceAttributes: pods }, metadata: { name: "x" } }), [
    'metadata: Invalid value: {"name":"x"}: must be empty',
  ]);
  assert.deepEqual(await refuse("subjectaccessreviews", { spec: { resourceAttributes: pods } }), [
    'spec.user: Invalid value: "": at least one of user or group must be specified',
  ]);
  const local = "localsubjectaccessreviews";
  const spec = { user: "x", resourceAttributes: { ...pods, namespace: "a" } };
  assert.deepEqual(await refuse(local, { spec, metadata: { namespace: "b" } }, "b"), [
    'spec.resourceAttributes.namespace: Invalid value: "a": must match metadata.namespace',
  ]);
  assert.deepEqual(await refuse(local, { spec: { user: "x", nonResourceAttributes: { path: "/" } } }, "b"), [
    'spec.nonResourceAttributes: Invalid value: authorization.NonResourceAttributes{Path:"/", Verb:""}: disallowed on this kind of request',
  ]);
  assert.deepEqual(await refuse(local, { spec, metadata: { namespace: "a", labels: { a: "b" } } }, "a"), [
    'metadata: Invalid value: {"labels":{"a":"b"}}: must be empty except for namespace',
  ]);
});

test("selectors are checked, and unknown operators are let through [AUTHRES-12]", async () => {
  const check = (selector: unknown): Promise<unknown> =>
    refuse("selfsubjectaccessreviews", { spec: { resourceAttributes: { ...pods, fieldSelector: selector } } });
  const field = "spec.resourceAttributes.fieldSelector";
  assert.deepEqual(await check({}), [
    `${field}.requirements: Required value: when ${field} is specified, requirements or rawSelector is required`,
  ]);
  assert.deepEqual(await check({ rawSelector: "a=b", requirements: [{ key: "a", operator: "Exists" }] }), [
    `${field}.rawSelector: Invalid value: "a=b": may not specified at the same time as requirements`,
  ]);
  assert.deepEqual(
    await check({ requirements: [{ operator: "In" }, { key: "a", operator: "Exists", values: ["x"] }] }),
    [
      `${field}.requirements[0].key: Required value: must be specified`,
      `${field}.requirements[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
      `${field}.requirements[1].values: Forbidden: may not be specified when \`operator\` is 'Exists' or 'DoesNotExist'`,
    ],
  );
  const requirements = [{ key: "a", operator: "Like", values: ["x"] }];
  const spec = { resourceAttributes: { ...pods, labelSelector: { requirements } } };
  assert.deepEqual((await ask("selfsubjectaccessreviews", { spec })).status, {
    allowed: false,
    evaluationError: "spec.resourceAttributes.labelSelector ignored due to parse error",
  });
  const both = { fieldSelector: { rawSelector: "!!" }, labelSelector: { rawSelector: "(" } };
  assert.deepEqual(
    (await ask("selfsubjectaccessreviews", { spec: { resourceAttributes: { ...pods, ...both } } })).status,
    {
      allowed: false,
      evaluationError:
        "spec.resourceAttributes.fieldSelector ignored due to parse error; " +
        "spec.resourceAttributes.labelSelector ignored due to parse error",
    },
  );
});

test("keys and values of label selectors are those of labels [AUTHRES-12]", async () => {
  const check = (requirement: unknown): Promise<unknown> =>
    refuse("selfsubjectaccessreviews", {
      spec: { resourceAttributes: { ...pods, labelSelector: { requirements: [requirement] } } },
    });
  const path = "spec.resourceAttributes.labelSelector.requirements[0]";
  assert.deepEqual(await check({ key: "/b", operator: "In" }), [
    `${path}.values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`,
    `${path}.key: Invalid value: "/b": prefix part must be non-empty`,
  ]);
  assert.deepEqual(await check({ key: "a", operator: "In", values: ["b", "x".repeat(64)] }), [
    `${path}.values[1]: Invalid value: "${"x".repeat(64)}": must be no more than 63 characters`,
  ]);
});

test("selectors reach the authorizer, as far as they can be read [AUTHRES-12]", async () => {
  const selectors = async (fieldSelector: unknown, labelSelector?: unknown): Promise<unknown> => {
    const spec = {
      resourceAttributes: {
        ...pods,
        ...(fieldSelector ? { fieldSelector } : {}),
        ...(labelSelector ? { labelSelector } : {}),
      },
    };
    const { about, status } = await ask("selfsubjectaccessreviews", { spec });
    const { evaluationError } = status as { readonly evaluationError?: string };
    return [about?.fieldSelector, about?.labelSelector, evaluationError];
  };
  const nodeName = { field: "spec.nodeName", operator: "=", value: "n" };
  assert.deepEqual(await selectors({ rawSelector: "spec.nodeName=n" }), [[nodeName], undefined, undefined]);
  const requirements = [
    { key: "spec.nodeName", operator: "In", values: ["n"] },
    { key: "a", operator: "In", values: ["x", "y"] },
    { key: "b", operator: "Exists" },
  ];
  const ignored = (part: string): string => `spec.resourceAttributes.fieldSelector ${part}ignored due to parse error`;
  assert.deepEqual(await selectors({ requirements }), [[nodeName], undefined, ignored("partially ")]);
  assert.deepEqual(await selectors({ rawSelector: "a in (b" }), [undefined, undefined, ignored("")]);
  const app = { key: "app", operator: "in", values: ["a", "b"] };
  assert.deepEqual(await selectors(undefined, { rawSelector: "app in (b,a)" }), [undefined, [app], undefined]);
  const expressions = { requirements: [{ key: "app", operator: "In", values: ["b", "a"] }] };
  assert.deepEqual(await selectors(undefined, expressions), [undefined, [app], undefined]);
});

test("the rules of the user are listed, with what could not be determined [AUTHRES-18]", async () => {
  const rules: Rules = {
    resourceRules: [
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["a"] },
      { verbs: null, resources: ["x"] },
    ],
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }],
    incomplete: true,
    errors: ["one", "two"],
  };
  const questions: unknown[] = [];
  const action = rulesReview({
    authorize: () => noOpinion,
    explain: () => "",
    rulesFor(...about) {
      questions.push(about);
      return rules;
    },
  });
  const review = async (spec: unknown): Promise<SelfSubjectRulesReview> => {
    const answer = await action({
      context: testContext({ user: asking }),
      namespace: "",
      name: "",
      object: { metadata: {}, spec } as ApiObject,
      dryRun: false,
      admit: () => undefined,
    });
    return answer as SelfSubjectRulesReview; // a review answers with the review
  };
  const { metadata, spec, status } = await review({ namespace: "n" });
  assert.deepEqual(questions, [[asking, "n"]]);
  assert.deepEqual([metadata, spec], [{ creationTimestamp: null }, {}]);
  assert.deepEqual(status, {
    resourceRules: [rules.resourceRules[0], { verbs: [], resources: ["x"] }],
    nonResourceRules: rules.nonResourceRules,
    incomplete: true,
    evaluationError: "[one, two]",
  });
  await assert.rejects(review({}), /^StatusError: no namespace on request$/);
});

test("without their gate selectors are not asked about, whatever they are [AUTHRES-12]", async () => {
  const resourceAttributes = { ...pods, fieldSelector: { rawSelector: "a=b", requirements: [{ key: "" }] } };
  const { about } = await ask("selfsubjectaccessreviews", { spec: { resourceAttributes } }, { hasSelectors: false });
  assert.equal(about?.fieldSelector, undefined);
  assert.equal(about?.verb, "get");
});
