/**
 * Compiles expressions of authentication, about the `claims` of a token or the resulting `user`. Source: upstream's
 * `apiserver/pkg/authentication/cel`, and the answers of kube-apiserver.
 */
import { type Expression, operators } from "./ast.ts";
import type { Program } from "./evaluate.ts";
import { checkExpression, environmentWith, instantiate, objectOf, type Problem } from "./expression.ts";
import { parse } from "./parse.ts";
import { any, listOf, mapOf, string, typeName } from "./types.ts";

const environments = {
  claims: environmentWith({ variables: new Map([["claims", mapOf(string, any)]]) }),
  user: environmentWith({
    variables: new Map([
      [
        "user",
        objectOf("kubernetes.UserInfo", {
          username: string,
          uid: string,
          groups: listOf(string),
          extra: mapOf(string, listOf(string)),
        }),
      ],
    ]),
  }),
};

/** Compiles an expression about the claims or the user. `isCheck`: whether its value must be a boolean. */
export function compileAuthentication(source: string, about: "claims" | "user", isCheck: boolean): Program | Problem {
  const checked = checkExpression(source, environments[about]);
  if ("problem" in checked) return checked;
  if (isCheck && typeName(checked.type) !== "bool") return { problem: "must evaluate to bool", isInternal: false };
  return instantiate(checked);
}

/** Whether an expression selects this claim: `claims.email`, `has(claims.email)`, `claims.?email`. */
export function selectsClaim(source: string, claim: string): boolean {
  const parsed = parse(source, { hasTwoVariables: true });
  return "ast" in parsed && isSelectedIn(parsed.ast, claim);
}

const isClaims = (node: Expression | undefined): boolean => node?.kind === "identifier" && node.name === "claims";

function isSelectedIn(node: Expression, claim: string): boolean {
  const any = (nodes: readonly Expression[]): boolean => nodes.some((one) => isSelectedIn(one, claim));
  switch (node.kind) {
    case "select":
      return (node.field === claim && isClaims(node.operand)) || isSelectedIn(node.operand, claim);
    case "call": {
      const [first, second] = node.args;
      const isOptional =
        node.name === operators.optionalSelect && second?.kind === "constant" && second.value === claim;
      if (isOptional && isClaims(first)) return true;
      return any(node.args) || (node.target !== undefined && isSelectedIn(node.target, claim));
    }
    case "list":
      return any(node.elements);
    case "map":
      return any(node.entries.flatMap(({ key, value }) => [key, value]));
    case "object":
      return any(node.fields.map(({ value }) => value));
    case "comprehension":
      return any([node.range, node.initial, node.condition, node.step, node.result]);
    default:
      return false;
  }
}
