/**
 * Tables of the grammar: keywords, precedences, and the expected tokens at each position of a rule. Source: the
 * language definition's grammar.
 */
import { operators } from "../ast.ts";
import type { Place } from "./token-reader.ts";
import { endOfRule, expressionStart, type Kinds, kinds, memberStart, setOf } from "./tokens.ts";

/** Words that are no names. */
export const reserved: ReadonlySet<string> = new Set(
  "as break const continue else for function if import let loop package namespace return var void while".split(" "),
);

/** Functions of binary operators. */
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

/** The precedence of binary operators by kind of token; 0: the token is no operator. */
export const precedences: readonly number[] = Array.from({ length: 32 }, (_, kind) => {
  if (kind === kinds.or) return 1;
  if (kind === kinds.and) return 2;
  if (kind === kinds.relation) return 3;
  if (kind === kinds.plus || kind === kinds.minus) return 4;
  return kind === kinds.multiply ? 5 : 0;
});

const { identifier, question, comma, colon, dot } = kinds;
/** Sets of what begins something, or follows it in its rule. */
export const questionMark = setOf(question);
export const elementStart = expressionStart | questionMark;
export const fieldStart = setOf(question, identifier);
export const afterMember = setOf(dot, kinds.openBracket) | endOfRule;
export const afterOperand =
  setOf(kinds.relation, kinds.and, kinds.or, kinds.minus, kinds.plus, kinds.multiply) | endOfRule;
export const commaOrEnd = setOf(comma) | endOfRule;

const place = (expected: Kinds, after: Kinds = 0): Place => ({ expected, after });
/** The places of the grammar at which a rule may fail. */
export const places = {
  end: place(setOf(kinds.end), endOfRule),
  conditionalColon: place(setOf(colon), expressionStart),
  operand: place(expressionStart),
  nots: place(memberStart | setOf(kinds.not)),
  member: place(afterMember),
  selectName: place(setOf(identifier), afterMember),
  arguments: place(expressionStart | setOf(kinds.closeParenthesis)),
  argumentsEnd: place(setOf(kinds.closeParenthesis), afterMember),
  index: place(elementStart),
  indexEnd: place(setOf(kinds.closeBracket), afterMember),
  primary: place(memberStart),
  callEnd: place(setOf(kinds.closeParenthesis), endOfRule),
  nestedEnd: place(setOf(kinds.closeParenthesis), endOfRule),
  list: place(elementStart | setOf(comma, kinds.closeBracket)),
  listComma: place(setOf(comma, kinds.closeBracket)),
  listEnd: place(setOf(kinds.closeBracket), endOfRule),
  map: place(elementStart | setOf(comma, kinds.closeBrace)),
  mapComma: place(setOf(comma, kinds.closeBrace)),
  mapEnd: place(setOf(kinds.closeBrace), endOfRule),
  mapColon: place(setOf(colon), expressionStart),
  object: place(setOf(question, identifier, comma, kinds.closeBrace)),
  fieldColon: place(setOf(colon), expressionStart),
  field: place(setOf(question, identifier)),
  fieldName: place(setOf(identifier), endOfRule),
  element: place(elementStart),
} as const;
