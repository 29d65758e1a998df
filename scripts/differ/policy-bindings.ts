/** Random specs of bindings of admission policies. */
import type { Random } from "#std/random.ts";
import { chance, pick } from "./choices.ts";
import { type Draft, matchResources, selector } from "./policy-matching.ts";
import { subjects } from "./policy-subjects.ts";
import type { Json } from "./servers.ts";

/** Returns a random `paramRef` of a binding. It is valid if `isSound` is set. */
function paramRef(random: Random, isSound: boolean): Json {
  const right: Json = {
    ...(chance(random, 0.6)
      ? { name: pick(random, ["first", "second", "absent"]) }
      : { selector: pick(random, [{}, { matchLabels: { set: "one" } }, { matchLabels: { set: "none" } }]) }),
    ...(chance(random, 0.4) ? { namespace: pick(random, ["default", "differ-params"]) } : {}),
    parameterNotFoundAction: pick(random, ["Allow", "Deny"]),
  };
  if (isSound || chance(random, 0.3)) return right;
  return {
    ...right,
    ...pick<Json>(random, [
      { parameterNotFoundAction: "" },
      { parameterNotFoundAction: "Nope" },
      { name: "x", selector: {} },
      { name: "a/b" },
      { name: undefined, selector: undefined },
      { selector: { matchLabels: { "a b": "" } } },
      { parameterNotFoundAction: undefined },
    ]),
  };
}

/** Returns a random spec of a binding. */
export function bindingSpec(random: Random, policyName: string, hasParams: boolean, draft: Draft): Json {
  const { isSound, isMutating } = draft;
  const actions = pick(random, [["Deny"], ["Deny"], ["Deny", "Audit"], ["Warn"], ["Warn", "Audit"], ["Audit"]]);
  const wrongActions = pick<readonly string[] | undefined>(random, [
    [],
    ["Deny", "Warn"],
    ["Nope"],
    ["Deny", "Deny"],
    undefined,
  ]);
  return {
    policyName: isSound || chance(random, 0.6) ? policyName : pick(random, ["", "A B", "x_y"]),
    ...(isMutating ? {} : { validationActions: isSound || chance(random, 0.5) ? actions : wrongActions }),
    ...((hasParams ? chance(random, 0.92) : chance(random, 0.05)) ? { paramRef: paramRef(random, isSound) } : {}),
    ...(chance(random, 0.25) ? { matchResources: bindingMatch(random, draft) } : {}),
  };
}

/** Returns random match resources of a binding, which may match less than its policy. */
function bindingMatch(random: Random, draft: Draft): Json {
  const resources = matchResources(random, [pick(random, subjects)], draft);
  if (chance(random, 0.5)) return resources;
  const { resourceRules: _rules, ...rest } = resources;
  return { ...rest, ...(chance(random, 0.6) ? { namespaceSelector: selector(random, draft.isSound) } : {}) };
}
