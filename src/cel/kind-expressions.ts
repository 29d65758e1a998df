/**
 * Checks expressions of admission policies against the types of the matched kinds. The result is a warning for the
 * author of the policy: at run time, expressions see objects of any type.
 */
import type { Schema } from "#schema/schema.ts";
import type { Steps } from "#std/cooperative.ts";
import { admissionEnvironment, type AdmissionVariables, withVariables } from "./admission.ts";
import type { Environment } from "./environment.ts";
import { checkInPieces } from "./expression.ts";
import { typeOfSchema } from "./schema/kind-types.ts";
import { type CelType, dyn } from "./types.ts";

/** A kind, by name for types and by its schema. */
export interface NamedSchema {
  readonly kind: string;
  readonly schema: Schema;
}

/** The environment in which `object`, `oldObject` and `params` have the types of these kinds. */
export function kindEnvironment(
  about: Omit<AdmissionVariables, "hasParams">,
  object: NamedSchema,
  params: NamedSchema | undefined,
): Environment {
  const type = typeOf(object);
  const variables = new Map<string, CelType>([
    ["object", type],
    ["oldObject", type],
  ]);
  if (params !== undefined) variables.set("params", typeOf(params));
  return admissionEnvironment({ ...about, hasParams: params !== undefined }).extend({ variables });
}

/** Others have a turn after variables of this length, which take a millisecond. */
const pieceLength = 1000;

/** The environment with the `variables` of a policy: each sees those before it. */
export function* withTypedVariables(
  environment: Environment,
  variables: readonly { readonly name: string; readonly expression: string }[],
): Steps<Environment> {
  if (variables.length === 0) return environment;
  const types = new Map<string, CelType>();
  const extended = withVariables(environment, types);
  let length = 0;
  for (const { name, expression } of variables) {
    if (length > pieceLength) {
      length = 0;
      yield undefined;
    }
    length += expression.length;
    const checked = yield* checkInPieces(expression, extended);
    types.set(name, "problem" in checked ? dyn : checked.type);
  }
  return extended;
}

const typeOf = ({ kind, schema }: NamedSchema): CelType => typeOfSchema(schema, kind) ?? dyn;

const prefix = "compilation failed: ";

/** Returns what is wrong with the expression there; `undefined` for nothing. */
export function* typeFindings(source: string, environment: Environment): Steps<string | undefined> {
  const checked = yield* checkInPieces(source, environment);
  return "problem" in checked ? checked.problem.replace(prefix, "") : undefined;
}
