/** The kinds of tokens as error texts show them, in their order. Operators with the same role have one kind. */
const shown = {
  end: "<EOF>",
  relation: "relation",
  and: "'&&'",
  or: "'||'",
  openBracket: "'['",
  closeBracket: "']'",
  openBrace: "'{'",
  closeBrace: "'}'",
  openParenthesis: "'('",
  closeParenthesis: "')'",
  dot: "'.'",
  comma: "','",
  minus: "'-'",
  not: "'!'",
  question: "'?'",
  colon: "':'",
  plus: "'+'",
  multiply: "multiply",
  true: "'true'",
  false: "'false'",
  null: "'null'",
  double: "NUM_FLOAT",
  int: "NUM_INT",
  uint: "NUM_UINT",
  string: "STRING",
  bytes: "BYTES",
  identifier: "IDENTIFIER",
};

/** A kind of token. Its number is the bit that stands for it in `Kinds`. */
export type TokenKind = number;

export const kinds = Object.fromEntries(Object.keys(shown).map((name, bit) => [name, bit])) as Readonly<
  Record<keyof typeof shown, TokenKind>
>;

/** A set of kinds, with one bit for each kind. */
export type Kinds = number;

/** Represents the end of the rule in a set of followers: any token that may follow the rule in its caller. */
export const endOfRule: Kinds = 1 << 30;

export const setOf = (...members: readonly TokenKind[]): Kinds => members.reduce((set, kind) => set | (1 << kind), 0);

/** Returns a set as error texts show it: `':'`, `{<EOF>, ')'}`. */
export function showKinds(set: Kinds): string {
  const names = Object.values(shown).filter((_, kind) => (set & (1 << kind)) !== 0);
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
