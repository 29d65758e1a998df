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

/** The expressions of a stored definition, which may use functions that new expressions may not use yet. */
export interface StoredExpressions {
  isRule(text: string): boolean;
  isMessage(text: string): boolean;
}

interface CompiledExpression {
  readonly program: Program;
  /** The estimated maximum cost of one evaluation. */
  readonly costMax: number;
}

/** A compiled rule. A rule without text has `usesOldSelf` only. */
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

/** The length of rules after which others have a turn; compiling them takes a millisecond. */
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

  /**
   * Compiles the rules of a node. `isWhole`: whether the values have metadata. Returns `undefined` if the schema does
   * not determine the type of the values, so that there can be no rules.
   */
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

/** The environments of rules of one kind. */
interface RuleEnvironment {
  readonly declared: Environment;
  /**
   * The environment by which values are read. It differs for an optional `oldSelf`, which upstream does not read by the
   * schema.
   */
  readonly evaluated: Environment;
}

/** The environments of a node, made on first use. */
class Environments {
  readonly #variable: SchemaVariable;
  readonly #environments = new Map<string, RuleEnvironment>();

  constructor(variable: SchemaVariable) {
    this.#variable = variable;
  }

  get(isOptional: boolean, isNew: boolean): RuleEnvironment {
    const key = `${isOptional} ${isNew}`;
    let environment = this.#environments.get(key);
    if (environment === undefined) {
      const { type } = this.#variable;
      const declared = this.#with(isOptional ? optionalOf(type) : type, isNew);
      environment = { declared, evaluated: isOptional ? this.#with(optionalOf(dyn), isNew) : declared };
      this.#environments.set(key, environment);
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
  // An expression that is valid with the declared types, but not without them, is evaluated with them.
  const program = instantiate("problem" in read ? checked : read);
  if ("problem" in program) return program;
  if (text.length > pieceLength) yield undefined;
  return { program, costMax: estimateCost(checked, variable.declaration) };
}

/** Whether an expression uses a variable. A loop variable of the same name counts too, as it does upstream. */
function usesVariable({ references }: Checked, name: string): boolean {
  for (const reference of references.values())
    if (reference.kind === "variable" && reference.name === name) return true;
  return false;
}
