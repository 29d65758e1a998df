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

/** The name and the schema of a kind. The name is for types in messages. */
export interface NamedSchema {
  readonly kind: string;
  readonly schema: Schema;
}

/** Returns the environment in which `object`, `oldObject` and `params` have the types of these kinds. */
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

/** The total length of variables after which others have a turn; checking them takes a millisecond. */
const pieceLength = 1000;

/** Returns the environment with the `variables` of a policy. Each variable can use those before it. */
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

/** Returns the error of an expression in this environment; `undefined` if there is none. */
export function* typeFindings(source: string, environment: Environment): Steps<string | undefined> {
  const checked = yield* checkInPieces(source, environment);
  return "problem" in checked ? checked.problem.replace(prefix, "") : undefined;
}
