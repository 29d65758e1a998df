/**
 * The field at which the cursor is in a text of YAML that is being written, and so is not complete: the way there, by
 * indentation, and what is being typed. Texts in blocks, braces and comments have no fields.
 */
import type { FieldStep } from "./field-schema.ts";

export interface YamlPosition {
  /** The way to the object or list item in which the cursor is; for a value, to the value. */
  readonly way: readonly FieldStep[];
  /** Whether the value of a field is typed, and not its name. */
  readonly isValue: boolean;
  /** The text before the cursor that belongs to the name or value. */
  readonly word: string;
  /** The column where names of this object begin. */
  readonly column: number;
  /** The other names of the same object. */
  readonly siblings: ReadonlySet<string>;
}

interface Lines {
  readonly count: number;
  /** Returns a line; the first one is 0. */
  line(at: number): string;
}

/** The maximum lines that are looked at in each direction, and characters of each. */
const linesMax = 5000;
const lengthMax = 1000;

interface Line {
  /** The column of the first dash; that of the content where there is none. */
  readonly start: number;
  /** The number of dashes, each of which begins an item. */
  readonly dashes: number;
  /** The column of what is behind the dashes. */
  readonly column: number;
  readonly content: string;
  /** The name of the field that the line begins; `undefined` if it begins none. */
  readonly name: string | undefined;
  /** The text behind the name. */
  readonly rest: string;
}

const lineForm = /^( *)((?:- +|-$)*)(.*)$/;
const fieldForm =
  /^(?:([^\s"'#{}[\],&*!|>%@`:-](?:[^:#]|:(?! |$))*|-[^\s:][^:]*)|"((?:[^"\\]|\\.)*)" *|'([^']*)' *):(?: +(.*))?$/;

function readLine(text: string): Line | undefined {
  const [, spaces = "", dashes = "", content = ""] = lineForm.exec(text.slice(0, lengthMax)) ?? [];
  if (content.startsWith("#") || (content === "" && dashes === "")) return undefined;
  const [, plain, double, single, rest = ""] = fieldForm.exec(content) ?? [];
  const start = spaces.length;
  const name = plain?.trimEnd() ?? double ?? single;
  return { start, dashes: dashes.split("-").length - 1, column: start + dashes.length, content, name, rest };
}

/** Returns the position of the cursor in a line and column; `undefined` where no field is. */
export function yamlPosition(lines: Lines, at: number, cursor: number): YamlPosition | undefined {
  const text = lines.line(at).slice(0, cursor);
  const [, spaces = "", dashes = "", content = ""] = lineForm.exec(text) ?? [];
  if (text.length > lengthMax || content.startsWith("#")) return undefined;
  const column = spaces.length + dashes.length;
  const typed = fieldForm.exec(content);
  const name = typed?.[1]?.trimEnd() ?? typed?.[2] ?? typed?.[3];
  const word = name === undefined ? content : (typed?.[4] ?? "");
  if (!/^[\w./$-]*$/.test(word) || (name !== undefined && content.endsWith(":"))) return undefined;
  const siblings = new Set<string>();
  const items = dashes.split("-").length - 1;
  const above = wayTo(lines, at, { start: spaces.length, items, column }, siblings);
  if (above === undefined) return undefined;
  addFollowing(lines, at, column, siblings);
  const way = name === undefined ? above : [...above, { member: name }];
  return { way, isValue: name !== undefined, word, column, siblings };
}

/** Goes up from a line to the root. Adds the names of the same object that stand above. */
function wayTo(
  lines: Lines,
  from: number,
  { start, items, column }: { readonly start: number; readonly items: number; readonly column: number },
  siblings: Set<string>,
): readonly FieldStep[] | undefined {
  const way: FieldStep[] = Array.from({ length: items }, () => "item" as const);
  // The object that is sought stands at a smaller column; a list may stand below its name at the same one.
  let limit = items > 0 ? start : column;
  let isList = items > 0;
  let isOwn = items === 0;
  for (let at = from - 1; at >= 0 && (limit > 0 || isList || isOwn); at--) {
    if (from - at > linesMax) return undefined;
    const text = lines.line(at);
    if (text.startsWith("---")) break;
    const line = readLine(text);
    if (line === undefined) continue;
    const { name, rest } = line;
    if (!isList && line.dashes > 0 && line.column === limit) {
      // The first field of the item in which the cursor is.
      if (isOwn && name !== undefined) siblings.add(name);
    } else if (line.column < limit || (isList && line.column === limit)) {
      const isDash = line.content === "";
      // Something that has no fields below it: a text of several lines, or a block of text.
      if (!isDash && (name === undefined || (rest !== "" && !/^(?:#.*|[&!]\S+)$/.test(rest)))) return undefined;
      if (name !== undefined) way.push({ member: name });
    } else {
      if (isOwn && line.column === limit && line.dashes === 0 && name !== undefined) siblings.add(name);
      continue;
    }
    way.push(...Array.from({ length: line.dashes }, () => "item" as const));
    isOwn = false;
    isList = line.dashes > 0;
    limit = isList ? line.start : line.column;
  }
  return limit > 0 || isList ? undefined : way.reverse();
}

/** Adds the names of the same object that stand below. */
function addFollowing(lines: Lines, from: number, column: number, siblings: Set<string>): void {
  for (let at = from + 1; at < Math.min(lines.count, from + linesMax); at++) {
    const line = readLine(lines.line(at));
    if (line === undefined) continue;
    if (line.start < column) return;
    if (line.column === column && line.dashes === 0 && line.name !== undefined) siblings.add(line.name);
  }
}
