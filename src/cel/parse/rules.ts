/**
 * Tables of the grammar: keywords, precedences, and the expected tokens at each position of a rule. Source: the
 * language definition's grammar.
 */
import { operators } from "../ast.ts";
import type { Expectation } from "./token-reader.ts";
import { endOfRule, expressionStart, type Kinds, kinds, memberStart, setOf } from "./tokens.ts";

/** The words that are not allowed as names. */
export const reserved: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

/** The names of the functions of binary operators. */
export const binaryOperators: ReadonlyMap<string, string> = new Map([
  ["==", operators.equals],
  ["!=", operators.notEquals],
  ["<", operators.less],
  ["<=", operators.lessEquals],
  [">", operators.greater],
  [">=", operators.greaterEquals],
  ["in", operators.in],
  ["+", operators.add],
  ["-", operators.subtract],
  ["*", operators.multiply],
  ["/", operators.divide],
  ["%", operators.modulo],
]);

/** The precedence of binary operators by kind of token; 0 if the token is not a binary operator. */
export const precedences: readonly number[] = Array.from({ length: 32 }, (_, kind) => {
  if (kind === kinds.or) return 1;
  if (kind === kinds.and) return 2;
  if (kind === kinds.relation) return 3;
  if (kind === kinds.plus || kind === kinds.minus) return 4;
  return kind === kinds.multiply ? 5 : 0;
});

const { identifier, question, comma, colon, dot } = kinds;
/** The sets of tokens that begin a part of a rule, or follow it. */
export const questionMark = setOf(question);
export const elementStart = expressionStart | questionMark;
export const fieldStart = setOf(question, identifier);
export const afterMember = setOf(dot, kinds.openBracket) | endOfRule;
export const afterOperand =
  setOf(kinds.relation, kinds.and, kinds.or, kinds.minus, kinds.plus, kinds.multiply) | endOfRule;
export const commaOrEnd = setOf(comma) | endOfRule;

const expectation = (expected: Kinds, after: Kinds = 0): Expectation => ({ expected, after });
/** The points of the grammar at which a rule may fail, with the tokens that the parser expects there. */
export const expectations = {
  end: expectation(setOf(kinds.end), endOfRule),
  conditionalColon: expectation(setOf(colon), expressionStart),
  operand: expectation(expressionStart),
  nots: expectation(memberStart | setOf(kinds.not)),
  member: expectation(afterMember),
  selectName: expectation(setOf(identifier), afterMember),
  arguments: expectation(expressionStart | setOf(kinds.closeParenthesis)),
  argumentsEnd: expectation(setOf(kinds.closeParenthesis), afterMember),
  index: expectation(elementStart),
  indexEnd: expectation(setOf(kinds.closeBracket), afterMember),
  primary: expectation(memberStart),
  callEnd: expectation(setOf(kinds.closeParenthesis), endOfRule),
  nestedEnd: expectation(setOf(kinds.closeParenthesis), endOfRule),
  list: expectation(elementStart | setOf(comma, kinds.closeBracket)),
  listComma: expectation(setOf(comma, kinds.closeBracket)),
  listEnd: expectation(setOf(kinds.closeBracket), endOfRule),
  map: expectation(elementStart | setOf(comma, kinds.closeBrace)),
  mapComma: expectation(setOf(comma, kinds.closeBrace)),
  mapEnd: expectation(setOf(kinds.closeBrace), endOfRule),
  mapColon: expectation(setOf(colon), expressionStart),
  object: expectation(setOf(question, identifier, comma, kinds.closeBrace)),
  fieldColon: expectation(setOf(colon), expressionStart),
  field: expectation(setOf(question, identifier)),
  fieldName: expectation(setOf(identifier), endOfRule),
  element: expectation(elementStart),
} as const;
