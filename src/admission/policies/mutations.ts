/** The mutations of a policy: compiled, and applied in order. */
import type { MutatingAdmissionPolicySpec, Mutation } from "#api/admissionregistration/v1alpha1.ts";
import { applyJsonPatch } from "#apply/json-patch.ts";
import { PatchError } from "#apply/patch-error.ts";
import { jsonOf, misplacedPart, mutationEnvironment, NoJson, type Unfolding } from "#cel/mutation.ts";
import type { Value } from "#cel/values.ts";
import type { JsonObject } from "#apply/json-value.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import type { Schema } from "#schema/schema.ts";
import { ByteBudget, withBigInts } from "#schema/json-values.ts";
import type { LazyExpression } from "../expressions/evaluation.ts";
import { applyConfiguration, ConfigurationProblem } from "./apply-configuration.ts";
import { type CompiledCommon, compileCommon, compileOne } from "./compiled-policy.ts";

export interface CompiledMutation {
  readonly expression: LazyExpression;
  readonly patchType: "ApplyConfiguration" | "JSONPatch";
  /** An error in the expression itself, found without evaluating it. */
  readonly problem?: string | undefined;
}

export interface CompiledMutatingPolicy extends CompiledCommon {
  readonly mutations: readonly CompiledMutation[];
}

export function compileMutatingPolicy(
  spec: MutatingAdmissionPolicySpec,
  hasSelectors: boolean,
): CompiledMutatingPolicy {
  const { common, environment, budget } = compileCommon(spec, hasSelectors);
  const mutationScope = mutationEnvironment(environment);
  const compile = ({ patchType, applyConfiguration: apply, jsonPatch }: Mutation): CompiledMutation =>
    patchType === "JSONPatch"
      ? { patchType, expression: compileOne(jsonPatch?.expression ?? "", "jsonPatch", mutationScope, budget) }
      : {
          patchType: "ApplyConfiguration",
          expression: compileOne(apply?.expression ?? "", "applyConfiguration", mutationScope, budget),
          problem: misplacedPart(apply?.expression ?? ""),
        };
  return { ...common, mutations: (spec.mutations ?? []).map(compile) };
}

/** The reason why a mutation cannot be made. */
export class MutationProblem extends Error {}

/** The longest value of an expression, in bytes of JSON: as long as a request. */
const valueBytesMax = 3 * 1024 * 1024;

const valueBudget = (): ByteBudget =>
  new ByteBudget(
    valueBytesMax,
    () => new MutationProblem(`the value of the expression has more than ${valueBytesMax} bytes in JSON`),
  );

const members = new Set(["op", "path", "from", "value"]);

/**
 * Reads the operations of a JSON Patch. Upstream: `op` and `path` that are left out are empty texts. A value that is no
 * operation stays as it is.
 */
function operationsOf(patch: unknown, source: string): unknown {
  if (!Array.isArray(patch)) return patch;
  return patch.map((operation: unknown) => {
    if (!isObject(operation)) return operation;
    const other = Object.keys(operation).find((key) => !members.has(key));
    if (other === undefined) return { op: "", path: "", ...operation };
    throw new MutationProblem(`expression '${source}' resulted in error: unexpected JSONPatchType field: ${other}`);
  });
}

function noTypeProblem({ apiVersion, kind }: ApiObject): MutationProblem {
  const why = `no corresponding type for ${apiVersion}, Kind=${kind}`;
  return new MutationProblem(`error applying patch: failed to convert patch object to typed object: ${why}`);
}

/**
 * Applies the value of a mutation's expression to an object. The result still has to be read by its schema; it is
 * `undefined` for a patch whose test does not hold. An ApplyConfiguration without a schema is refused. `work` counts
 * the steps from the value to JSON. Throws `MutationProblem`, and the errors of `work`.
 */
export function applyMutation(
  { patchType, problem, expression }: CompiledMutation,
  value: Value,
  object: ApiObject,
  schema: Schema | undefined,
  work: Unfolding["work"],
): unknown {
  if (problem !== undefined) throw new MutationProblem(problem);
  try {
    const change = jsonOf(value, { work, room: valueBudget() });
    if (patchType === "JSONPatch") {
      return applyJsonPatch(withBigInts(object), operationsOf(change, expression.source));
    }
    if (schema === undefined) throw noTypeProblem(object);
    return applyConfiguration(schema, object, change as JsonObject); // the type of the expression says so
  } catch (error) {
    if (error instanceof PatchError) {
      if (error.isFailedTest) return undefined;
      throw new MutationProblem(`JSON Patch: ${error.message}`);
    }
    if (error instanceof ConfigurationProblem) throw new MutationProblem(error.message);
    if (error instanceof NoJson) {
      const what = "valueExpression evaluated to a type that could not marshal to JSON";
      throw new MutationProblem(`JSONPath ${what}: ${error.message}`);
    }
    throw error;
  }
}
