/** Expressions of an AuthenticationConfiguration. Loaded only when a configuration has expressions. */
import type { ExpressionCompiler } from "#authn/configuration.ts";
import { ClaimError, texts } from "#authn/oidc-claims.ts";
import { compileAuthentication, selectsClaim } from "#cel/claims.ts";
import type { Program } from "#cel/evaluate.ts";
import type { Value } from "#cel/values.ts";
import type { UserInfo } from "#meta/user-info.ts";

/** The maximum cost of one expression. */
const costLimit = 1_000_000;

export const claimExpressions: ExpressionCompiler = {
  text(expression) {
    const program = compileAuthentication(expression, "claims", false);
    if ("problem" in program) return program;
    return (claims) => {
      const value = valueOf(program, { claims: claims as Value }, expression); // JSON
      if (typeof value !== "string") throw new ClaimError(`the value of '${expression}' is no text`);
      return value;
    };
  },
  texts(expression) {
    const program = compileAuthentication(expression, "claims", false);
    if ("problem" in program) return program;
    return (claims) => {
      const value = valueOf(program, { claims: claims as Value }, expression); // JSON
      if (value === null) return [];
      return texts(value, `the value of '${expression}'`).filter((text) => text !== "");
    };
  },
  claimCheck: (expression, message) => {
    const program = compileAuthentication(expression, "claims", true);
    if ("problem" in program) return program;
    return (claims) => confirm(program, { claims: claims as Value }, expression, message); // JSON
  },
  userCheck: (expression, message) => {
    const program = compileAuthentication(expression, "user", true);
    if ("problem" in program) return program;
    return (user) => confirm(program, { user: shownUser(user) }, expression, message);
  },
  selects: (expression, claim) => selectsClaim(expression, claim),
};

type Variables = { readonly claims: Value } | { readonly user: Value };

function valueOf(program: Program, variables: Variables, expression: string): Value {
  const result = program.evaluate(variables, { costLimit });
  if ("error" in result) throw new ClaimError(`expression '${expression}' resulted in error: ${result.error.message}`);
  return result.value;
}

function confirm(program: Program, variables: Variables, expression: string, message: string): void {
  if (valueOf(program, variables, expression) === true) return;
  throw new ClaimError(message === "" ? `validation expression '${expression}' failed` : message);
}

/** Returns the user as expressions see it: every field is present, also an empty one. */
const shownUser = ({ name, uid = "", groups, extra = {} }: UserInfo): Value => ({
  username: name,
  uid,
  groups,
  extra: extra as Value, // plain lists of texts
});
