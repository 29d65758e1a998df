/** Conflicts of an apply: the fields of other managers that it would change, and the error that lists them. */
import { goQuote } from "#meta/field-error.ts";
import { compareCodePoints } from "#std/code-points.ts";
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";
import { childrenOf, contentOf, type FieldSet, isMemberNode } from "./field-set.ts";
import { isArray } from "./json-value.ts";
import type { FieldManager } from "./field-managers.ts";

/** The fields of one other manager that an apply would change; never empty. */
export interface Conflict {
  readonly fieldManager: FieldManager;
  readonly fields: FieldSet;
}

interface ConflictCause {
  readonly message: string;
  /** The path of the field: `.spec.containers[name="main"].image`. */
  readonly field: string;
}

/** The message, and one cause for each field; the causes of a manager are together. */
export interface ConflictReport {
  readonly message: string;
  readonly causes: readonly ConflictCause[];
}

/** Words conflicts for clients. Source: upstream's `NewConflictError`; the managers are in the order of their names. */
export function reportConflicts(conflicts: readonly Conflict[]): ConflictReport {
  const sorted = conflicts.toSorted((a, b) => compareCodePoints(a.fieldManager.id, b.fieldManager.id));
  const causes: ConflictCause[] = [];
  const lines: string[] = [];
  for (const { fieldManager, fields } of sorted) {
    const who = nameOf(fieldManager);
    lines.push(`conflicts with ${who}:`);
    for (const field of membersFirst(fields, "")) {
      causes.push({ message: `conflict with ${who}`, field });
      lines.push(`- ${field}`);
    }
  }
  const [first] = causes;
  const message =
    causes.length === 1 && first !== undefined
      ? `Apply failed with 1 conflict: ${first.message}: ${first.field}`
      : `Apply failed with ${causes.length} conflicts: ${lines.join("\n")}`;
  return { message, causes };
}

function nameOf({ manager, subresource, isApplier, apiVersion }: FieldManager): string {
  const of = subresource === "" ? "" : ` with subresource ${goQuote(subresource)}`;
  return `${goQuote(manager)}${of}${isApplier ? "" : ` using ${apiVersion}`}`;
}

/**
 * Yields the paths of a set as texts: for every node its own members before those below them. `above` is the text so
 * far.
 */
function* membersFirst(node: FieldSet, above: string): Generator<string> {
  const children = childrenOf(node);
  if (children.length === 0) return;
  const texts = children.map((element) => above + elementText(element));
  for (let i = 0; i < texts.length; i++) if (isMemberNode(node[children[i]!]!)) yield texts[i]!;
  for (let i = 0; i < texts.length; i++) yield* membersFirst(node[children[i]!]!, texts[i]!);
}

/** Matches most keys: those of one field with a whole number, or a text without characters to escape. */
const plainKey = /^k:\{"([\w.-]+)":("[ !#-%'-;=?-[\]-~]*"|-?[1-9][0-9]{0,14}|0)\}$/;

/** Prints a path element in the words of errors: `.name`, `[name="x"]`, `[="x"]`, `[3]`. */
export function elementText(element: string): string {
  const kind = element[0];
  if (kind === "f") return `.${element.slice(2)}`;
  if (kind === "i") return `[${element.slice(2)}]`;
  const plain = plainKey.exec(element);
  if (plain !== null) return `[${plain[1]}=${plain[2]}]`;
  const content = contentOf(element);
  if (kind === "v") return `[=${valueText(content)}]`;
  const fields = Object.entries(content as object); // of keys it is an object
  return `[${fields.map(([name, value]) => `${name}=${valueText(value)}`).join(",")}]`;
}

function valueText(value: unknown): string {
  if (typeof value === "string") return goQuote(value);
  if (isRawNumber(value)) return value.rawJSON;
  if (isArray(value)) return `[${value.map(valueText).join(",")}]`;
  if (isObject(value)) {
    const fields = Object.entries(value);
    return fields.map(([name, inner]) => `${name}=${valueText(inner)}`).join("");
  }
  return String(value as number | boolean | null); // what else JSON has
}
