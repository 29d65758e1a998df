/**
 * Match conditions of authorization webhooks: expressions about `request`, the spec of a SubjectAccessReview. Loaded
 * only when there are conditions. Source: upstream's `apiserver/pkg/authorization/cel`.
 */
import type { ConditionCompiler } from "#authz/configuration.ts";
import type { SubjectAccessReviewSpec } from "#api/authorization/v1.ts";
import { compileExpression, environmentWith, objectOf } from "#cel/expression.ts";
import { bool, listOf, mapOf, string } from "#cel/types.ts";
import type { Value } from "#cel/values.ts";

/** The maximum cost of match conditions; upstream's bound, in units of cost. */
const costLimit = 2_500_000;

const requirements = listOf(
  objectOf("kubernetes.SelectorRequirement", { key: string, operator: string, values: listOf(string) }),
);
const selector = (name: string) => objectOf(`kubernetes.${name}`, { rawSelector: string, requirements });

/**
 * Returns an environment with the variable `request`. With the feature `AuthorizeWithSelectors` the variable has
 * selectors.
 */
function environmentOf(selectors: boolean) {
  const resourceAttributes = objectOf("kubernetes.ResourceAttributes", {
    namespace: string,
    verb: string,
    group: string,
    version: string,
    resource: string,
    subresource: string,
    name: string,
    ...(selectors
      ? { fieldSelector: selector("FieldSelectorAttributes"), labelSelector: selector("LabelSelectorAttributes") }
      : {}),
  });
  const request = objectOf("kubernetes.SubjectAccessReviewSpec", {
    resourceAttributes,
    nonResourceAttributes: objectOf("kubernetes.NonResourceAttributes", { path: string, verb: string }),
    user: string,
    groups: listOf(string),
    extra: mapOf(string, listOf(string)),
    uid: string,
  });
  return environmentWith({ variables: new Map([["request", request]]) });
}

/** Returns the compiler of conditions. A compiled condition throws when its expression has no value. */
export function conditionCompiler(selectors: boolean): ConditionCompiler {
  const environment = environmentOf(selectors);
  return (expression) => {
    const program = compileExpression(expression, environment, bool);
    if ("problem" in program) return program;
    return (spec) => {
      const result = program.evaluate({ request: requestOf(spec) }, { costLimit });
      if ("error" in result) throw new Error(result.error.message);
      if (typeof result.value !== "boolean") throw new Error("cel evaluation result is not a boolean");
      return result.value;
    };
  };
}

/** Returns the value of `request`. All texts and lists are present, also empty ones. */
function requestOf({ resourceAttributes, nonResourceAttributes, ...spec }: SubjectAccessReviewSpec): Value {
  const texts = { namespace: "", verb: "", group: "", version: "", resource: "", subresource: "", name: "" };
  const request = {
    user: "",
    groups: [],
    extra: {},
    uid: "",
    ...spec,
    ...(resourceAttributes === undefined ? {} : { resourceAttributes: { ...texts, ...resourceAttributes } }),
    ...(nonResourceAttributes === undefined
      ? {}
      : { nonResourceAttributes: { path: "", verb: "", ...nonResourceAttributes } }),
  };
  return request as Value; // plain JSON
}
