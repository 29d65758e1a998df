/**
 * Compiles the rules of one node of a schema, with message expressions, costs, and errors with upstream's texts.
 * Source: upstream's `apiextensions-apiserver/pkg/apiserver/schema/cel`.
 */
import type { JsonSchemaProps, ValidationRule } from "#schema/structural.ts";
import type { Checked } from "../checked.ts";
import { estimateCost } from "../cost.ts";
import type { Environment } from "../environment.ts";
import type { Program } from "../evaluate.ts";
import { ExpressionBudget } from "../expression-budget.ts";
import { checkInPieces, environmentWith, instantiate, type Problem } from "../expression.ts";
import { type KnownDeclarations, schemaVariable, type SchemaVariable } from "../schema-types.ts";
import { type CelType, dyn, optionalOf } from "../types.ts";
import type { Steps } from "#std/cooperative.ts";

/** Expressions that a stored definition has: they may use what new ones may not yet. */
export interface StoredExpressions {
  isRule(text: string): boolean;
  isMessage(text: string): boolean;
}

interface CompiledExpression {
  readonly program: Program;
  /** One evaluation may cost so much. */
  readonly costMax: number;
}

/** A rule as compiled; one without text has no more than `usesOldSelf`. */
export interface CompiledRule {
  readonly usesOldSelf: boolean;
  readonly rule?: CompiledExpression | Problem;
  readonly message?: CompiledExpression | Problem;
}

/** The compiled rules of a node of a schema, and the type of its values. */
export interface CompiledNode {
  readonly variable: SchemaVariable;
  readonly rules: readonly CompiledRule[];
}

/** Others have a turn after rules of this length, which take a millisecond. */
const pieceLength = 1000;

/** Compiles the rules of one schema, node by node. */
export class RuleCompiler {
  readonly #stored: StoredExpressions;
  readonly #declarations: KnownDeclarations = new Map();
  readonly #budget = new ExpressionBudget("all rules");
  #count = 0;

  constructor(stored: StoredExpressions) {
    this.#stored = stored;
  }

  /** `isWhole`: the values have metadata. `undefined`: the schema leaves their type open, so there can be no rules. */
  *compile(props: JsonSchemaProps, isWhole: boolean): Steps<CompiledNode | undefined> {
    const variable = schemaVariable(props, `selfType${++this.#count}`, isWhole, this.#declarations);
    if (variable === undefined) return undefined;
    const context = {
      variable,
      environments: new Environments(variable),
      stored: this.#stored,
      check: (text: string, environment: Environment) => this.#budget.check(text, environment),
    };
    const rules: CompiledRule[] = [];
    let length = 0;
    for (const rule of props["x-kubernetes-validations"] ?? []) {
      if (length > pieceLength) {
        length = 0;
        yield undefined;
      }
      rules.push(yield* compileRule(rule, context));
      length += (rule.rule?.length ?? 0) + (rule.messageExpression?.length ?? 0);
    }
    return { variable, rules };
  }
}

/** Rules of one kind may name these. */
interface RuleEnvironment {
  readonly declared: Environment;
  /** Values are read in this one: upstream does not read those inside of an optional `oldSelf` by the schema. */
  readonly evaluated: Environment;
}

/** The environments of a node, created when needed. */
class Environments {
  readonly #variable: SchemaVariable;
  readonly #made = new Map<string, RuleEnvironment>();

  constructor(variable: SchemaVariable) {
    this.#variable = variable;
  }

  get(isOptional: boolean, isNew: boolean): RuleEnvironment {
    const key = `${isOptional} ${isNew}`;
    let environment = this.#made.get(key);
    if (environment === undefined) {
      const { type } = this.#variable;
      const declared = this.#with(isOptional ? optionalOf(type) : type, isNew);
      environment = { declared, evaluated: isOptional ? this.#with(optionalOf(dyn), isNew) : declared };
      this.#made.set(key, environment);
    }
    return environment;
  }

  #with(oldSelf: CelType, isNew: boolean): Environment {
    const variables = new Map([
      ["self", this.#variable.type],
      ["oldSelf", oldSelf],
    ]);
    return environmentWith({ variables }, { isNew });
  }
}

const toProblem = (problem: string): Problem => ({ problem, isInternal: false });

interface Context {
  readonly variable: SchemaVariable;
  readonly environments: Environments;
  readonly stored: StoredExpressions;
  check(text: string, environment: Environment): Steps<Checked | Problem>;
}

function* compileRule(
  { rule: text = "", messageExpression = "", optionalOldSelf }: ValidationRule,
  context: Context,
): Steps<CompiledRule> {
  const { environments, stored, variable } = context;
  if (text.trim() === "") return { usesOldSelf: false };
  const isOptional = optionalOldSelf === true;
  const environment = environments.get(isOptional, !stored.isRule(text));
  const checked = yield* context.check(text, environment.declared);
  if ("problem" in checked) return { usesOldSelf: false, rule: checked };
  if (checked.type.kind !== "bool") {
    return { usesOldSelf: false, rule: toProblem("cel expression must evaluate to a bool") };
  }
  const usesOldSelf = usesVariable(checked, "oldSelf");
  const rule = yield* complete(text, checked, environment, variable);
  if ("problem" in rule || messageExpression === "") return { usesOldSelf, rule };
  const ofMessage = environments.get(isOptional, !stored.isMessage(messageExpression));
  return { usesOldSelf, rule, message: yield* compileMessage(messageExpression, ofMessage, context) };
}

function* compileMessage(
  text: string,
  environment: RuleEnvironment,
  { check, variable }: Context,
): Steps<CompiledExpression | Problem> {
  const checked = yield* check(text, environment.declared);
  if ("problem" in checked) return toProblem(`messageExpression ${checked.problem}`);
  if (checked.type.kind !== "string") return toProblem("messageExpression must evaluate to a string");
  const message = yield* complete(text, checked, environment, variable);
  if (!("problem" in message)) return message;
  return toProblem(message.problem.replace(/^program/, "messageExpression"));
}

function* complete(
  text: string,
  checked: Checked,
  { declared, evaluated }: RuleEnvironment,
  variable: SchemaVariable,
): Steps<CompiledExpression | Problem> {
  const read = evaluated === declared ? checked : yield* checkInPieces(text, evaluated);
  // An expression that is right by declared types is right without them.
  const program = instantiate("problem" in read ? checked : read);
  if ("problem" in program) return program;
  if (text.length > pieceLength) yield undefined;
  return { program, costMax: estimateCost(checked, variable.declaration) };
}

/** Loop variables count too, as they do upstream. */
function usesVariable({ references }: Checked, name: string): boolean {
  for (const reference of references.values())
    if (reference.kind === "variable" && reference.name === name) return true;
  return false;
}
