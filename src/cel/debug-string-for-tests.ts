/** Writes syntax trees in the notation of the reference trees that come with the conformance data. */
import { isUtf8 } from "node:buffer";
import type { EntryNode, Expression } from "./ast.ts";
import { Double, type Scalar, Uint } from "./values.ts";

/** Returns the text after a node: its kind, or its type and overload. Entries of literals have a kind too. */
type Adorn = (node: Expression | "entry") => string;

const kindNames = {
  identifier: "*expr.Expr_IdentExpr",
  select: "*expr.Expr_SelectExpr",
  call: "*expr.Expr_CallExpr",
  list: "*expr.Expr_ListExpr",
  map: "*expr.Expr_StructExpr",
  object: "*expr.Expr_StructExpr",
  comprehension: "*expr.Expr_ComprehensionExpr",
} as const;

/** Returns texts such as `^#*expr.Expr_CallExpr#`, as in the parser's data. */
export const adornWithKind: Adorn = (node) => {
  if (node === "entry") return "^#*expr.Expr_CreateStruct_Entry#";
  return `^#${node.kind === "constant" ? `*expr.Constant_${constantKind(node.value)}Value` : kindNames[node.kind]}#`;
};

function constantKind(value: Scalar): string {
  if (value === null) return "Null";
  if (typeof value === "number" || typeof value === "bigint") return "Int64";
  if (value instanceof Uint) return "Uint64";
  if (value instanceof Double) return "Double";
  if (value instanceof Uint8Array) return "Bytes";
  return typeof value === "string" ? "String" : "Bool";
}

/** Returns the tree in lines, indented by two spaces a level. */
export function debugString(node: Expression, adorn: Adorn): string {
  return `${shape(node, adorn)}${adorn(node)}`;
}

function shape(node: Expression, adorn: Adorn): string {
  const show = (one: Expression): string => debugString(one, adorn);
  switch (node.kind) {
    case "constant":
      return scalar(node.value);
    case "identifier":
      return node.name;
    case "select":
      return `${show(node.operand)}.${node.field}${node.isTest ? "~test-only~" : ""}`;
    case "call":
      return `${node.target === undefined ? "" : `${show(node.target)}.`}${node.name}(${block(node.args.map(show))})`;
    case "list":
      return `[${block(node.elements.map(show))}]`;
    case "map":
      return `{${block(node.entries.map((entry) => entryText(entry, show(entry.key), adorn)))}}`;
    case "object":
      return `${node.name}{${block(node.fields.map((field) => entryText(field, field.key, adorn)))}}`;
    case "comprehension":
      return comprehension(node, show);
  }
}

function comprehension(node: Extract<Expression, { kind: "comprehension" }>, show: (of: Expression) => string): string {
  const parts = [
    ["Variable", node.variable],
    ["Target", show(node.range)],
    ["Accumulator", node.accumulator],
    ["Init", show(node.initial)],
    ["LoopCondition", show(node.condition)],
    ["LoopStep", show(node.step)],
    ["Result", show(node.result)],
  ];
  return `__comprehension__(\n${indent(parts.map(([title, text]) => `// ${title}\n${text}`).join(",\n"))})`;
}

const entryText = (entry: EntryNode<unknown>, key: string, adorn: Adorn): string =>
  `${entry.isOptional ? "?" : ""}${key}:${debugString(entry.value, adorn)}${adorn("entry")}`;

const block = (parts: readonly string[]): string => (parts.length === 0 ? "" : `\n${indent(parts.join(",\n"))}\n`);
const indent = (text: string): string => text.replaceAll(/^/gm, "  ");

function scalar(value: Scalar): string {
  if (value instanceof Uint) return `${value.value}u`;
  if (value instanceof Double) return double(value.value);
  if (value instanceof Uint8Array) return quoteBytes(value);
  return typeof value === "string" ? quote(value) : String(value);
}

function double(value: number): string {
  if (Math.abs(value) < 1e6) return Object.is(value, -0) ? "-0" : String(value);
  return value.toExponential().replace(/e\+(\d)$/, "e+0$1");
}

const escapes: ReadonlyMap<string, string> = new Map([
  ["\x07", "\\a"],
  ["\b", "\\b"],
  ["\t", "\\t"],
  ["\n", "\\n"],
  ["\v", "\\v"],
  ["\f", "\\f"],
  ["\r", "\\r"],
  ['"', '\\"'],
  ["\\", "\\\\"],
]);

const quote = (text: string): string =>
  `"${text.replaceAll(/["\\]|[^\p{L}\p{N}\p{S}\p{P}\p{M} ]/gu, (character) => escapes.get(character) ?? codeEscape(character))}"`;

/** Quotes bytes; each byte that is not part of valid UTF-8 is shown alone. */
function quoteBytes(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = [1, 2, 3, 4].find((size) => isUtf8(bytes.subarray(at, at + size)));
    const piece = bytes.subarray(at, at + (length ?? 1));
    pieces.push(
      length === undefined ? `\\x${piece[0]!.toString(16)}` : quote(new TextDecoder().decode(piece)).slice(1, -1),
    );
    at += piece.length;
  }
  return `b"${pieces.join("")}"`;
}

function codeEscape(character: string): string {
  const code = character.codePointAt(0)!;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
}
