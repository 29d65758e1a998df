/**
 * An object as lines of YAML, each with its path and the managers of what stands in it. Characters that are not seen
 * become escapes, so that the text is what it looks like. Every reader of YAML 1.1 or 1.2 gets the same values back.
 */
import type { FieldOwners } from "#meta/field-owners.ts";
import type { ManagedFieldsEntry } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";

export interface YamlLine {
  readonly text: string;
  /** The path of the field, as people write it: `spec.containers[0].image`. */
  readonly path: string;
  readonly managers: readonly ManagedFieldsEntry[];
}

/** Returns the lines of an object or list. */
export function yamlLines(value: unknown, owners: FieldOwners, path = "", indent = ""): YamlLine[] {
  if (!hasParts(value)) return [{ text: `${indent}${scalar(value, indent)}`, path, managers: owners.managers }];
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => itemLines(item, owners.item(item, at), `${path}[${at}]`, indent));
  }
  return Object.entries(value as object).flatMap(([name, one]) => {
    const inner = owners.member(name);
    const below = path === "" ? name : /^[\w-]+$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
    const head = `${indent}${textScalar(name)}:`;
    if (!hasParts(one)) return scalarLines(`${head} ${scalar(one, indent)}`, below, inner);
    const inList = Array.isArray(one) ? indent : `${indent}  `;
    return [{ text: head, path: below, managers: inner.managers }, ...yamlLines(one, inner, below, inList)];
  });
}

function itemLines(item: unknown, owners: FieldOwners, path: string, indent: string): YamlLine[] {
  if (!hasParts(item)) return scalarLines(`${indent}- ${scalar(item, indent)}`, path, owners);
  const [first, ...more] = yamlLines(item, owners, path, `${indent}  `);
  // The owner of an item stands beside its first line.
  const managers = first!.managers.length > 0 ? first!.managers : owners.managers;
  return [{ ...first!, managers, text: `${indent}- ${first!.text.slice(indent.length + 2)}` }, ...more];
}

const scalarLines = (text: string, path: string, { managers }: FieldOwners): YamlLine[] =>
  text.split("\n").map((line) => ({ text: line, path, managers }));

/** Whether a value has members or items, which get lines of their own. */
const hasParts = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 : isObject(value) && !isRawNumber(value) && Object.keys(value).length > 0;

function scalar(value: unknown, indent: string): string {
  if (typeof value === "string") return blockText(value, indent) ?? textScalar(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (Array.isArray(value)) return "[]";
  return isObject(value) ? "{}" : JSON.stringify(value ?? null);
}

/** Texts that need no quotes. Others could be read as numbers, times, or words of YAML 1.1. */
const plain = /^[A-Za-z][\w./:@-]*$/;
const word = /^(?:y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

export const textScalar = (text: string): string =>
  plain.test(text) && !word.test(text) && !text.endsWith(":") ? text : quoted(text);

/** Characters that are escaped in quotes, beside those that JSON escapes. */
const unseen =
  /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

const quoted = (text: string): string =>
  JSON.stringify(text).replace(unseen, (character) => {
    const code = character.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\U${code.padStart(8, "0")}` : `\\u${code.padStart(4, "0")}`;
  });

/** Characters that a block of lines cannot have. */
const notInBlock = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\ufffe\uffff]|[\ud800-\udfff]/;

/** Returns a text of several lines as a block; `undefined` where quotes are needed. */
function blockText(text: string, indent: string): string | undefined {
  if (!text.includes("\n") || /^[\s]/.test(text) || notInBlock.test(text) || text.search(unseen) >= 0) return undefined;
  const [, body = "", end = ""] = /^(.*?)(\n*)$/s.exec(text) ?? [];
  const sign = end === "" ? "-" : end === "\n" ? "" : "+";
  const lines = `${body}${end.slice(1)}`.split("\n").map((line) => (line === "" ? "" : `${indent}  ${line}`));
  return `|${sign}\n${lines.join("\n")}`;
}

/** Returns the lines as one text. */
export const yamlText = (lines: readonly YamlLine[]): string => `${lines.map(({ text }) => text).join("\n")}\n`;
