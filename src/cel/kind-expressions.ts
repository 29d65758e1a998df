/**
 * Checks expressions of admission policies against the types of the kinds that they are about: findings that their authors
 * are told of, since the expressions themselves see objects of any type.
 */
import type { Schema } from "#schema/schema.ts";
import { admissionEnvironment, type AdmissionVariables } from "./admission.ts";
import type { Environment } from "./environment.ts";
import { checkExpression } from "./expression.ts";
import { typeOfSchema } from "./schema/kind-types.ts";
import { type CelType, dyn } from "./types.ts";

/** A kind, by name for types and by its schema. */
export interface NamedSchema {
  readonly kind: string;
  readonly schema: Schema;
}

/** The environment in which `object`, `oldObject` and `params` have the types of these kinds. */
export function kindEnvironment(
  about: Omit<AdmissionVariables, "hasParams"> & { readonly hasVariables: boolean },
  object: NamedSchema,
  params: NamedSchema | undefined,
): Environment {
  const type = typeOf(object);
  const variables = new Map<string, CelType>([
    ["object", type],
    ["oldObject", type],
  ]);
  if (params !== undefined) variables.set("params", typeOf(params));
  // Upstream: variables of a policy are not looked into.
  if (about.hasVariables) variables.set("variables", dyn);
  return admissionEnvironment({ ...about, hasParams: params !== undefined }).extend({ variables });
}

const typeOf = ({ kind, schema }: NamedSchema): CelType => typeOfSchema(schema, kind) ?? dyn;

const prefix = "compilation failed: ";

/** What is wrong with the expression there; `undefined` for nothing. */
export function typeFindings(source: string, environment: Environment): string | undefined {
  const checked = checkExpression(source, environment);
  return "problem" in checked ? checked.problem.replace(prefix, "") : undefined;
}
