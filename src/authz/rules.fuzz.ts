/** Coverage compared with its definition: some rule that the user has covers every single right. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PolicyRule } from "#api/rbac/v1.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { allows, compileRule, ruleResource } from "./rules.ts";
import { covers } from "./rules-cover.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 1_000_000);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3000);

const pick = (random: Random, from: readonly string[], min: number): string[] => {
  const count = min + Math.floor(random.next() * 3);
  return Array.from({ length: count }, () => from[Math.floor(random.next() * from.length)]!);
};

function someRule(random: Random): PolicyRule {
  if (random.next() < 0.2) {
    return {
      verbs: pick(random, ["get", "post", "*"], 1),
      nonResourceURLs: pick(random, ["/a", "/a/*", "/a/b", "*"], 1),
    };
  }
  const names = random.next() < 0.3 ? { resourceNames: pick(random, ["x", "y"], 1) } : {};
  return {
    verbs: pick(random, ["get", "list", "*"], 1),
    apiGroups: pick(random, ["", "apps", "*"], 1),
    resources: pick(random, ["pods", "pods/log", "*/log", "*"], 1),
    ...names,
  };
}

test(`rules that are covered allow nothing that the others do not (seed ${seed})`, () => {
  const random = seededRandom(seed);
  for (let run = 0; run < runs; run++) {
    const held = Array.from({ length: Math.floor(random.next() * 4) }, () => someRule(random));
    const wanted = Array.from({ length: 1 + Math.floor(random.next() * 2) }, () => someRule(random));
    const isCovered = covers(held, wanted).covered;
    const can = (rules: readonly PolicyRule[], action: Parameters<typeof allows>[1]): boolean =>
      rules.some((rule) => allows(compileRule(rule), action, ruleResource(action)));
    let gained: unknown;
    for (const action of actions()) if (can(wanted, action) && !can(held, action)) gained ??= action;
    const text = JSON.stringify({ held, wanted, gained, run });
    if (isCovered) assert.equal(gained, undefined, text);
    // The words above are all that exist, except for a star, which means more than all of them.
    else if (!JSON.stringify(wanted).includes("*")) assert.notEqual(gained, undefined, text);
  }
});

function* actions(): Iterable<Parameters<typeof allows>[1]> {
  const user = { name: "", groups: [] };
  const base = { user, version: "", namespace: "", path: "", isResourceRequest: true };
  for (const verb of ["get", "list", "post"]) {
    for (const path of ["/a", "/a/", "/a/b", "/a/b/c", "/z"]) {
      yield { ...base, verb, path, isResourceRequest: false, group: "", resource: "", subresource: "", name: "" };
    }
    for (const group of ["", "apps", "other"]) {
      for (const resource of ["pods", "nodes"]) {
        for (const subresource of ["", "log"]) {
          for (const name of ["", "x", "y", "z"]) yield { ...base, verb, group, resource, subresource, name };
        }
      }
    }
  }
}
