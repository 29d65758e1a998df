/** Random specs of validating and mutating admission policies. */
import type { Random } from "#std/random.ts";
import { chance, many, pick, some, upTo } from "./choices.ts";
import {
  annotations,
  conditions,
  type ExpressionScope,
  messages,
  statement,
  statements,
  variables,
  wrongAnnotations,
  wrongMessages,
} from "./policy-expressions.ts";
import { type Draft, matchResources } from "./policy-matching.ts";
import { anyConfigurations, anyPatches, wrongMutations } from "./policy-mutations.ts";
import { subjects } from "./policy-subjects.ts";
import type { Json } from "./servers.ts";

/** The spec of a policy, and whether its expressions may use parameters. */
interface PolicySpec {
  readonly spec: Json;
  readonly hasParams: boolean;
}

/** Kinds of parameters that are served. */
const paramKinds: readonly Json[] = [
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "differ.example.com/v1", kind: "Gadget" },
  { apiVersion: "differ.example.com/v1", kind: "Zone" },
];
/** Kinds of parameters that are not served. */
const oddParamKinds: readonly Json[] = [
  { apiVersion: "nope.example.com/v1", kind: "Nope" },
  { apiVersion: "v1", kind: "Nope" },
  { apiVersion: "v2", kind: "ConfigMap" },
];
/** Kinds of parameters that are refused. */
const wrongParamKinds: readonly Json[] = [
  {},
  { apiVersion: "a/b/c", kind: "X" },
  { apiVersion: "v1", kind: "a b" },
  { apiVersion: "UPPER/v1", kind: "ConfigMap" },
  { apiVersion: "v1" },
  { kind: "ConfigMap" },
  { apiVersion: "apps/", kind: "X" },
];

/** Variables that are refused. */
const wrongVariables: readonly Variable[] = [
  { name: "", expression: "1" },
  { name: "1a", expression: "1" },
  { name: "in", expression: "1" },
  { name: "a-b", expression: "1" },
  { name: "e", expression: " " },
  { name: "e", expression: "variables.self" },
  { name: "e", expression: "nope" },
  { name: "e", expression: "variables.e" },
];

interface Variable {
  readonly name: string;
  readonly expression: string;
}

/** Returns valid variables. The last one may use the first one. */
function someVariables(random: Random, isSound: boolean): readonly Variable[] {
  const chosen = some(random, 0.2, variables).map(([name, expression]) => ({ name, expression }));
  const [first] = chosen;
  if (first === undefined || !chance(random, 0.3)) return chosen;
  const derived = ["'x'", `string(dyn(variables.${first.name}))`, `variables.${first.name}`, "variables.later"];
  const expression = pick(random, derived);
  return isSound && expression === "variables.later" ? chosen : [...chosen, { name: "derived", expression }];
}

/** An incomplete spec, and the scope of the expressions that may be added to it. */
interface SpecStart {
  readonly spec: Json;
  readonly scope: ExpressionScope;
}

/** Returns the members that policies of both kinds have. */
function startSpec(random: Random, draft: Draft): SpecStart {
  const { isSound } = draft;
  const chosen = some(random, 0.45, subjects);
  if (chosen.length === 0) chosen.push(pick(random, subjects));
  const hasParams = chance(random, 0.35);
  const paramKind =
    !isSound && chance(random, 0.4)
      ? pick(random, wrongParamKinds)
      : pick(random, chance(random, 0.08) ? oddParamKinds : paramKinds);
  const valid = someVariables(random, isSound);
  const all = isSound || chance(random, 0.6) ? valid : [...valid, pick(random, wrongVariables)];
  const scope = { random, isSound, subjects: chosen, hasParams, variables: valid.map(({ name }) => name) };
  const spec = {
    ...(hasParams ? { paramKind } : {}),
    matchConstraints: matchResources(random, chosen, draft),
    ...(chance(random, 0.3) ? { matchConditions: conditions(scope) } : {}),
    ...(all.length > 0 ? { variables: all } : {}),
    ...(chance(random, 0.5)
      ? { failurePolicy: isSound ? pick(random, ["Fail", "Ignore"]) : pick(random, ["Fail", "", "Nope"]) }
      : {}),
    ...(!isSound && chance(random, 0.05) ? { matchConstraints: undefined } : {}),
  };
  return { spec, scope };
}

/** Returns a validation of a validating policy. */
function validation(scope: ExpressionScope): Json {
  const { random, isSound } = scope;
  const wrong = !isSound && chance(random, 0.5);
  return {
    expression: statement(scope),
    ...(chance(random, 0.3)
      ? { message: wrong ? pick(random, ["", " ", "a\nb", "ok"]) : pick(random, ["does not hold", " spaced ", "two"]) }
      : {}),
    ...(chance(random, 0.35)
      ? { messageExpression: wrong ? pick(random, wrongMessages) : pick(random, messages) }
      : {}),
    ...(chance(random, 0.3)
      ? {
          reason: wrong
            ? pick(random, ["Nope", "", "Unauthorized"])
            : pick(random, ["Forbidden", "Invalid", "RequestEntityTooLarge"]),
        }
      : {}),
  };
}

/** Returns the spec of a validating policy. */
export function validatingSpec(random: Random, isSound: boolean): PolicySpec {
  const { spec, scope } = startSpec(random, { isSound, isMutating: false });
  const isHeavy = chance(random, 0.04);
  const heavy = statements.at(-1)!;
  const validations = isHeavy
    ? Array.from({ length: 14 }, (_, at) => ({ expression: `${heavy} && ${at} < 99` }))
    : Array.from({ length: isSound ? 1 + upTo(random, 2) : upTo(random, 2) }, () => validation(scope));
  const audit = many(random, chance(random, 0.4) ? 2 : 0, (at) => ({
    key: isSound ? `k${at}` : pick(random, ["k", "", "a b", "a/b"]),
    valueExpression: isSound || chance(random, 0.5) ? pick(random, annotations) : pick(random, wrongAnnotations),
  }));
  return {
    spec: {
      ...spec,
      ...(validations.length > 0 ? { validations } : {}),
      ...(audit.length > 0 ? { auditAnnotations: audit } : {}),
    },
    hasParams: scope.hasParams,
  };
}

/** Returns a mutation of a mutating policy. */
function mutation({ random, isSound, subjects: chosen }: ExpressionScope): Json {
  const subject = pick(random, chosen);
  const own = chance(random, 0.5);
  const isPatch = chance(random, 0.5);
  const right = isPatch
    ? pick(random, own ? subject.patches : anyPatches)
    : pick(random, own ? subject.configurations : anyConfigurations);
  const expression =
    isSound || chance(random, 0.4) ? right : pick(random, [...wrongMutations, ...anyPatches, ...anyConfigurations]);
  const valid: Json = isPatch
    ? { patchType: "JSONPatch", jsonPatch: { expression } }
    : { patchType: "ApplyConfiguration", applyConfiguration: { expression } };
  if (isSound || chance(random, 0.6)) return valid;
  return {
    ...valid,
    ...pick<Json>(random, [
      { patchType: "" },
      { patchType: "Nope" },
      { patchType: "JSONPatch" },
      { jsonPatch: { expression } },
      { jsonPatch: undefined },
    ]),
  };
}

/** Returns the spec of a mutating policy. */
export function mutatingSpec(random: Random, isSound: boolean): PolicySpec {
  const { spec, scope } = startSpec(random, { isSound, isMutating: true });
  const mutations = Array.from({ length: isSound ? 1 + upTo(random, 1) : upTo(random, 2) }, () => mutation(scope));
  const reinvocationPolicy =
    isSound || chance(random, 0.7) ? pick(random, ["Never", "IfNeeded"]) : pick(random, ["", "Nope", undefined]);
  return { spec: { ...spec, mutations, reinvocationPolicy }, hasParams: scope.hasParams };
}
