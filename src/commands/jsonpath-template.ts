/**
 * Templates of `-o jsonpath=`: texts with paths in braces, and `{range PATH}…{end}`. A text without braces is a path.
 * Source of the dialect: upstream's documentation "JSONPath Support".
 */
import { parseJsonPath } from "#schema/jsonpath.ts";
import { StartError } from "#std/start-error.ts";

/** Returns the text that a template makes of a value. Throws `StartError` for a path that cannot be followed. */
export type Template = (value: unknown) => string;

type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "path"; readonly path: string }
  | { readonly kind: "range"; readonly path: string; readonly parts: readonly Part[] };

/** Parses a template. Throws `StartError`. */
export function parseTemplate(text: string): Template {
  const fail = (problem: string): StartError =>
    new StartError(`the template ${JSON.stringify(text)} is wrong: ${problem}`);
  if (text === "") throw fail("it is empty");
  const tokens = tokensOf(text.includes("{") ? text : `{${text}}`, fail);
  const parts = partsOf(tokens, false, fail);
  return (value) => render(parts, value, fail);
}

type Token = { readonly kind: "text" | "action"; readonly text: string };

function tokensOf(text: string, fail: (problem: string) => StartError): Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf("{", at);
    if (open !== at) tokens.push({ kind: "text", text: text.slice(at, open < 0 ? undefined : open) });
    if (open < 0) break;
    const end = endOfAction(text, open + 1);
    if (end < 0) throw fail("a brace is not closed");
    tokens.push({ kind: "action", text: text.slice(open + 1, end).trim() });
    at = end + 1;
  }
  return tokens;
}

/** Returns the place of the brace that closes an action; -1 without one. Braces in quotes do not count. */
function endOfAction(text: string, start: number): number {
  let quote = "";
  for (let i = start; i < text.length; i++) {
    const character = text[i]!;
    if (quote !== "") {
      if (character === "\\") i++;
      else if (character === quote) quote = "";
    } else if (character === '"' || character === "'") quote = character;
    else if (character === "}") return i;
  }
  return -1;
}

/** Takes tokens from the list up to its end, or to `{end}` in a range. */
function partsOf(tokens: Token[], isInRange: boolean, fail: (problem: string) => StartError): Part[] {
  const parts: Part[] = [];
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    if (token.kind === "text") parts.push({ kind: "text", text: token.text });
    else if (token.text === "end") {
      if (!isInRange) throw fail("{end} has no {range}");
      return parts;
    } else if (/^range\s/.test(token.text)) {
      const path = checkPath(token.text.slice(5).trim(), fail);
      parts.push({ kind: "range", path, parts: partsOf(tokens, true, fail) });
    } else parts.push({ kind: "path", path: checkPath(token.text, fail) });
  }
  if (isInRange) throw fail("{range} has no {end}");
  return parts;
}

function checkPath(path: string, fail: (problem: string) => StartError): string {
  if (parseJsonPath(path) === undefined) throw fail(`{${path}} is no path`);
  return path;
}

function render(parts: readonly Part[], value: unknown, fail: (problem: string) => StartError): string {
  const find = (path: string): readonly unknown[] => {
    const found = parseJsonPath(path)?.find(value);
    if (found === undefined) throw fail(`{${path}} cannot be followed in this object`);
    return found;
  };
  return parts
    .map((part) => {
      if (part.kind === "text") return part.text;
      if (part.kind === "path") return find(part.path).map(shown).join(" ");
      return find(part.path)
        .map((item) => render(part.parts, item, fail))
        .join("");
    })
    .join("");
}

/** Returns a text as it is, and other values as JSON. */
function shown(value: unknown): string {
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}
