/**
 * The kinds of tokens, and sets of kinds as bits of a number. Operators with the same role in the grammar have one
 * kind. Error texts list expected tokens in this order.
 */
export const kinds = {
  end: 0,
  relation: 1,
  and: 2,
  or: 3,
  openBracket: 4,
  closeBracket: 5,
  openBrace: 6,
  closeBrace: 7,
  openParenthesis: 8,
  closeParenthesis: 9,
  dot: 10,
  comma: 11,
  minus: 12,
  not: 13,
  question: 14,
  colon: 15,
  plus: 16,
  multiply: 17,
  true: 18,
  false: 19,
  null: 20,
  double: 21,
  int: 22,
  uint: 23,
  string: 24,
  bytes: 25,
  identifier: 26,
} as const;

/** A kind of token. Its number is the bit that stands for it in `Kinds`. */
export type TokenKind = (typeof kinds)[keyof typeof kinds];

const shown = [
  "<EOF>",
  "relation",
  "'&&'",
  "'||'",
  "'['",
  "']'",
  "'{'",
  "'}'",
  "'('",
  "')'",
  "'.'",
  "','",
  "'-'",
  "'!'",
  "'?'",
  "':'",
  "'+'",
  "multiply",
  "'true'",
  "'false'",
  "'null'",
  "NUM_FLOAT",
  "NUM_INT",
  "NUM_UINT",
  "STRING",
  "BYTES",
  "IDENTIFIER",
];

/** A set of kinds, with one bit for each kind. */
export type Kinds = number;

/** Represents the end of the rule in a set of followers: any token that may follow the rule in its caller. */
export const endOfRule: Kinds = 1 << 30;

export const setOf = (...members: readonly TokenKind[]): Kinds =>
  members.reduce((set: number, kind) => set | (1 << kind), 0);

/** Returns a set as error texts show it: `':'`, `{<EOF>, ')'}`. */
export function showKinds(set: Kinds): string {
  const names = shown.filter((_, kind) => (set & (1 << kind)) !== 0);
  return names.length === 1 ? names[0]! : `{${names.join(", ")}}`;
}

/** The tokens with which an operand of a member expression may begin. */
export const memberStart = setOf(
  kinds.openBracket,
  kinds.openBrace,
  kinds.openParenthesis,
  kinds.dot,
  kinds.minus,
  kinds.true,
  kinds.false,
  kinds.null,
  kinds.double,
  kinds.int,
  kinds.uint,
  kinds.string,
  kinds.bytes,
  kinds.identifier,
);

/** The tokens with which an expression may begin. */
export const expressionStart = memberStart | setOf(kinds.not);
