/**
 * Rules of custom resources, `x-kubernetes-validations`: checked when a definition is written, evaluated when an object
 * is. The parts are in `rules/`. Source: KEP-2876, and upstream's `apiextensions-apiserver/pkg/apiserver/schema/cel`.
 */
import type { RuleChecks, StructuralSchema } from "#schema/structural.ts";
import { checkRules } from "./rules/check.ts";
import type { StoredExpressions } from "./rules/compile.ts";
import { type RuleOptions, CompiledRules, type RuleFindings, RuleRun } from "./rules/evaluate.ts";

export type { StoredExpressions } from "./rules/compile.ts";
export type { RuleFindings, RuleOptions } from "./rules/evaluate.ts";

/** The checks of a definition's rules. `stored` are the expressions that it had before. */
export const ruleChecks = (stored: StoredExpressions): RuleChecks => ({
  schema: (props, path, isRight) => checkRules(props, path, isRight, stored),
  defaults() {
    const rules = new CompiledRules();
    return (node, value, field, isWhole) => {
      const run = new RuleRun(rules);
      run.default(node, value, field, isWhole);
      return run.errors;
    };
  },
});

/** The rules of a stored schema. */
export class SchemaRules {
  readonly #schema: StructuralSchema;
  readonly #rules = new CompiledRules();

  constructor(schema: StructuralSchema) {
    this.#schema = schema;
  }

  /** What the rules say about a whole object, given the one before an update. Takes 0.5 s at most. */
  check(value: unknown, options: RuleOptions = {}): RuleFindings {
    const run = new RuleRun(this.#rules);
    run.object(this.#schema.node, value, options);
    return run;
  }
}
