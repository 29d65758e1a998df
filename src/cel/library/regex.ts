/** Kubernetes' functions on regular expressions: `find` and `findAll`. */
import { matchCost } from "../evaluate/costs.ts";
import { sizeOf } from "../evaluate/kinds.ts";
import { compileCounted, countSearch } from "../evaluate/pattern.ts";
import type { CallCost, EvaluationContext, Library } from "../functions.ts";
import { int, listOf, string } from "../types.ts";
import { CelError, type Value } from "../values.ts";
import { member, memberFunction } from "./declare.ts";

/** Returns the parts of a text that match, at most `limit` unless it is negative. */
function matchesOf(
  [text, pattern]: readonly Value[],
  limit: number,
  context: EvaluationContext,
): string[] | CelError | undefined {
  if (typeof text !== "string" || typeof pattern !== "string") return undefined;
  const compiled = compileCounted(pattern, context);
  if (compiled instanceof CelError) return new CelError(`Illegal regex: ${compiled.message}`);
  const texts: string[] = [];
  countSearch(text.length, compiled, context);
  const matcher = compiled.program.program.matcher(text);
  while ((limit < 0 || texts.length < limit) && matcher.find()) texts.push(matcher.group() ?? "");
  return texts;
}

function find(args: readonly Value[], context: EvaluationContext): Value | CelError | undefined {
  const matches = matchesOf(args, 1, context);
  return Array.isArray(matches) ? (matches[0] ?? "") : matches;
}

function findAll(args: readonly Value[], context: EvaluationContext): Value | CelError | undefined {
  const limit = args[2] ?? -1;
  return typeof limit === "number" ? matchesOf(args, limit, context) : undefined;
}

const cost: CallCost = { actual: ([text, pattern]) => Math.max(1, matchCost(sizeOf(text!), sizeOf(pattern!))) };

export const regexLibrary: Library = {
  name: "k8s.regex",
  functions: [
    memberFunction("find", "string_find_string", [string, string], string, find, cost),
    {
      name: "findAll",
      overloads: [
        member("string_find_all_string", [string, string], listOf(string), findAll, cost),
        member("string_find_all_string_int", [string, string, int], listOf(string), findAll, cost),
      ],
    },
  ],
};
