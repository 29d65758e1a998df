/** The output of commands: aligned tables, JSON and YAML, help, and colours on terminals. */
import { encodePrettyJson } from "#codec/json.ts";
import { encodeYaml } from "#codec/yaml.ts";
import { type FlagTable, printHelp } from "#std/flags.ts";
import { printable } from "#std/printable.ts";

const colours = { green: 32, yellow: 33, red: 31, dim: 2 } as const;

export type Colour = keyof typeof colours;

/** A cell of a table. It has its colour on terminals only. */
export type Cell = string | { readonly text: string; readonly colour: Colour | undefined };

/** Returns lines with columns of equal width, three spaces apart. The first row is the head. */
export function tableText(rows: readonly (readonly Cell[])[], isColoured: boolean): string {
  const textOf = (cell: Cell): string => printable(typeof cell === "string" ? cell : cell.text);
  const widths: number[] = [];
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, textOf(cell).length);
  }
  const lines = rows.map((row) =>
    row
      .map((cell, i) => {
        const text = i === row.length - 1 ? textOf(cell) : textOf(cell).padEnd(widths[i]! + 3);
        const colour = typeof cell === "string" ? undefined : cell.colour;
        return isColoured && colour !== undefined ? painted(text, colour) : text;
      })
      .join("")
      .trimEnd(),
  );
  return lines.map((line) => `${line}\n`).join("");
}

/** Returns a text in a colour of terminals. */
export function painted(text: string, colour: Colour): string {
  return `\u001b[${colours[colour]}m${text}\u001b[0m`;
}

/** Whether output has colours: the stream is a terminal, and `NO_COLOR` is not set. */
export const isColoured = (stream: { readonly isTTY?: boolean }): boolean =>
  stream.isTTY === true && (process.env["NO_COLOR"] ?? "") === "";

/** Returns a value as JSON or YAML. */
export function valueText(form: "json" | "yaml", value: unknown): string {
  return form === "json" ? `${encodePrettyJson(value).toString().trimEnd()}\n` : encodeYaml(value).toString();
}

/** Prints warnings of the server. */
export function printWarnings(warnings: readonly string[]): void {
  for (const warning of warnings) process.stderr.write(`warning: ${printable(warning)}\n`);
}

/** Prints the help of a command: its text and its flags. */
export function printUsage(text: string, flags: FlagTable): void {
  process.stdout.write(text + printHelp(flags, process.stdout.columns ?? 100));
}
