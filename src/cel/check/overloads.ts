/** Finds the overloads that fit a call. */
import type { FunctionReference } from "../checked.ts";
import type { Candidate } from "../environment.ts";
import { type CelType, dyn, optionalOf, parameter, string } from "../types.ts";
import { type Inference, isDynamic, isLoose, withParts } from "./inference.ts";
import { isSame } from "./same-type.ts";

/** The meaning of a call: its overloads, and the type of its result. */
interface Resolution {
  readonly reference: FunctionReference;
  readonly result: CelType;
}

/**
 * Tries all candidates in order and collects those that the arguments fit. Bindings of type variables from one
 * candidate stay for the next. If several fit and their results differ, the result is `dyn`. Returns `undefined` if
 * none fits.
 */
export function resolveOverloads(
  inference: Inference,
  candidates: readonly Candidate[],
  args: readonly CelType[],
): Resolution | undefined {
  let resolution: Resolution | undefined;
  for (const candidate of candidates) {
    const { overload, parameters } = candidate;
    if (cannotFit(args, overload.args)) {
      inference.skipVariables(parameters.length);
      continue;
    }
    const fresh = new Map(parameters.map((name) => [name, inference.variable()]));
    const own = (type: CelType): CelType => instantiate(type, fresh);
    if (!inference.allFit(args, fresh.size === 0 ? overload.args : overload.args.map(own))) continue;
    const result = inference.resolve(own(overload.result));
    if (resolution === undefined) resolution = { reference: candidate.reference, result };
    else {
      const reference = { ...resolution.reference, overloads: [...resolution.reference.overloads, overload] };
      resolution = {
        reference,
        result: !isDynamic(resolution.result) && !isSame(resolution.result, result) ? dyn : resolution.result,
      };
    }
  }
  return resolution;
}

/**
 * Whether an overload certainly does not fit. A quick answer for most overloads, by the number of arguments and the
 * kinds of types.
 */
function cannotFit(args: readonly CelType[], declared: readonly CelType[]): boolean {
  if (args.length !== declared.length) return true;
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    const wanted = declared[at]!;
    if (arg.kind !== wanted.kind && isFirm(arg) && isFirm(wanted)) return true;
  }
  return false;
}

/** Whether a type fits its own kind only. */
const isFirm = (type: CelType): boolean => !isLoose(type) && type.kind !== "parameter" && type.kind !== "null_type";

function instantiate(type: CelType, fresh: ReadonlyMap<string, CelType>): CelType {
  if (type.kind === "parameter") return fresh.get(type.name) ?? type;
  return fresh.size === 0 ? type : withParts(type, (part) => instantiate(part, fresh));
}

/** The meaning of `a.?b` for any `a`. */
export const optionalSelection: FunctionReference = {
  kind: "function",
  name: "_?._",
  overloads: [
    { id: "select_optional_field", isMember: false, args: [dyn, string], result: optionalOf(parameter("V")) },
  ],
};
