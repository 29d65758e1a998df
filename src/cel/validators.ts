/**
 * Kubernetes' additional checks of checked expressions: the elements of a literal have one type, constant arguments can
 * be converted, and format strings fit their arguments.
 */
import { childrenOf, type Expression, type ListLiteral, type MapLiteral } from "./ast.ts";
import { CheckFindings } from "./check/findings.ts";
import { isSame } from "./check/same-type.ts";
import { showType } from "./check/show-type.ts";
import type { Checked, Validator } from "./checked.ts";
import { formatProblem } from "./library/format.ts";
import { type CelType, dyn } from "./types.ts";
import type { Scalar } from "./values.ts";

/**
 * Returns a check that all elements of a list literal, and all keys and all values of a map literal, have the same
 * type; `dyn` does not mix with other types either. Arguments of the `exempt` functions are not checked.
 */
export function homogeneousLiterals(exempt: ReadonlySet<string>): Validator {
  return (checked) => {
    const findings = new CheckFindings();
    const visit = (node: Expression): void => {
      if (node.kind === "list") checkList(checked, node, findings);
      if (node.kind === "map") checkMap(checked, node, findings);
    };
    walk(checked.ast, visit, (node) => !(node.kind === "call" && exempt.has(node.name)));
    return findings.issues;
  };
}

/**
 * Returns a check that the first argument of every call of `name`, with or without a target, is valid if it is a
 * literal.
 */
export function validArgument(name: string, isValid: (literal: Scalar) => boolean): Validator {
  return (checked) => {
    const findings = new CheckFindings();
    walk(checked.ast, (node) => {
      const argument = node.kind === "call" && node.name === name ? node.args[0] : undefined;
      if (argument?.kind === "constant" && !isValid(argument.value)) {
        findings.add(argument, () => `invalid ${name} argument`);
      }
    });
    return findings.issues;
  };
}

/**
 * Checks calls of `format` on a literal with a list literal: finds values that a clause cannot print, clauses without
 * an argument, and arguments without a clause.
 */
export const validFormats: Validator = (checked) => {
  const findings = new CheckFindings();
  walk(checked.ast, (node) => {
    if (node.kind !== "call" || node.name !== "format" || node.target?.kind !== "constant") return;
    const [list] = node.args;
    if (typeof node.target.value !== "string" || list?.kind !== "list") return;
    const problem = formatProblem(
      node.target.value,
      list.elements.map(({ id }) => checked.types.get(id) ?? dyn),
    );
    if (problem === undefined) return;
    findings.add(problem.argument === undefined ? node : list.elements[problem.argument]!, () => problem.message);
  });
  return findings.issues;
};

function checkList(checked: Checked, node: ListLiteral, findings: CheckFindings): void {
  if (node.elements.length < 2) return;
  const optional = new Set(node.optional);
  const elements = node.elements.map((item, at) => withType(checked, item, optional.has(at)));
  reportOther(elements, findings, true);
}

function checkMap(checked: Checked, node: MapLiteral, findings: CheckFindings): void {
  if (node.entries.length < 2) return;
  const keys = node.entries.map((entry) => withType(checked, entry.key, false));
  const values = node.entries.map((entry) => withType(checked, entry.value, entry.isOptional));
  reportOther(keys, findings, false);
  reportOther(values, findings, false);
}

interface Typed {
  readonly node: Expression;
  readonly type: CelType;
}

function withType(checked: Checked, node: Expression, isOptional: boolean): Typed {
  const type = checked.types.get(node.id)!;
  return { node, type: isOptional && type.kind === "opaque" ? (type.parameters[0] ?? dyn) : type };
}

/** Reports the elements whose type differs from that of the first one; with `onlyOne`, only the first of them. */
function reportOther([first, ...others]: readonly Typed[], findings: CheckFindings, onlyOne: boolean): void {
  if (first === undefined) return;
  for (const { node, type } of others) {
    if (isSame(first.type, type)) continue;
    findings.add(node, () => `expected type '${showType(first.type)}' but found '${showType(type)}'`);
    if (onlyOne) return;
  }
}

/** Visits every node for which `enters` returns true, and its descendants. */
function walk(
  root: Expression,
  visit: (node: Expression) => void,
  enters: (node: Expression) => boolean = () => true,
): void {
  const waiting: Expression[] = [root];
  for (let node = waiting.pop(); node !== undefined; node = waiting.pop()) {
    if (!enters(node)) continue;
    visit(node);
    waiting.push(...childrenOf(node));
  }
}
