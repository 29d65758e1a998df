/** Names and comments of printed code. */

/** Names that printed code uses itself, and those that no declaration may have. */
const reserved = ["Kind", "StoredObject", "Readonly", "Record"];

/** Returns a text as an identifier that begins with a capital: `v1beta1` is `V1beta1`, `a.b-c` is `ABC`. */
export function identifierOf(text: string): string {
  const name = text
    .split(/[^A-Za-z0-9_$]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("")
    .slice(0, 200);
  return /^[A-Za-z_$]/.test(name) ? name : `Kind${name}`;
}

/** Gives each name once. */
export class Names {
  readonly #taken = new Set(reserved);

  /** Returns the first of the names that is free, or the last one with a number. */
  take(names: readonly string[]): string {
    const last = names.at(-1)!;
    let free = names.find((name) => !this.#taken.has(name));
    for (let number = 2; free === undefined; number++) {
      if (!this.#taken.has(`${last}${number}`)) free = `${last}${number}`;
    }
    this.#taken.add(free);
    return free;
  }
}

/** Returns the name of a field as it is written in a type. */
export const fieldName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

const lineLengthMax = 116;
const linesMax = 200;

/** Returns a text as a documentation comment with its line end; empty for an empty text. */
export function commentLines(text: string, indent: string): string {
  const lines = text
    .replaceAll("*/", "*\\/")
    .split(/[\r\n\u2028\u2029]+/)
    // Other characters that control a terminal or the direction of text mislead a reader.
    .map((line) => line.replaceAll(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, " ").trim())
    .filter((line) => line !== "")
    .flatMap((line) => wrap(line, lineLengthMax - indent.length))
    .slice(0, linesMax);
  const [first] = lines;
  if (first === undefined) return "";
  if (lines.length === 1) return `${indent}/** ${first} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}\n`).join("")}${indent} */\n`;
}

/** Divides a line at spaces. */
function wrap(line: string, length: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(" ")) {
    if (current !== "" && current.length + word.length >= length) {
      lines.push(current);
      current = word;
    } else current = current === "" ? word : `${current} ${word}`;
  }
  return [...lines, current];
}
