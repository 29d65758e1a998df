/** Cases of `npm run differ -- --policies`: the same seed gives the same cases, and most policies are valid. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { kindUnderTest } from "#kinds/kind-for-tests.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { policyCase } from "./policies.ts";
import type { PolicyRequest } from "./policy-writes.ts";

const group = "admissionregistration.k8s.io";
const policies = kindUnderTest(
  { group, version: "v1", kind: "ValidatingAdmissionPolicy" },
  { gates: ["AuthorizeWithSelectors"] },
);

void test("a seed gives the same case each time", () => {
  assert.deepEqual(policyCase(7), policyCase(7));
  assert.notDeepEqual(policyCase(7), policyCase(8));
});

void test("most policies to be enforced are accepted, most of the others are not", async () => {
  await policies.loadRules(policies.defaults({ metadata: { name: "p" } }));
  const acceptsEach = (requests: readonly PolicyRequest[]): readonly boolean[] =>
    requests
      .filter(({ body }) => body?.["kind"] === "ValidatingAdmissionPolicy")
      .map(({ body }) => policies.refuseCreate(policies.defaults(body as Unstructured)).length === 0); // such policies
  const seeds = Array.from({ length: 40 }, (_, seed) => policyCase(seed));
  const share = (all: readonly boolean[]): number => all.filter(Boolean).length / all.length;
  assert.ok(share(acceptsEach(seeds.flatMap(({ enforced }) => enforced))) > 0.8);
  assert.ok(share(acceptsEach(seeds.flatMap(({ wrong }) => wrong))) < 0.5);
});
