/** The programs of `client-programs/` as processes of their own, on the built client library. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { UsageError } from "./usage-error.ts";

/** Returns the URL of an entry of the built package: `index`, `kinds`, `controllers`. */
export const entryUrl = (name: string): string => new URL(`../packages/client/dist/${name}.js`, import.meta.url).href;

/** A folder for programs and kubeconfigs, which is deleted at the end of the process. */
const folder = mkdtempSync(join(tmpdir(), "binnacle-bench-client-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Writes a file into the folder, and returns its path. */
export function writeTemporary(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

/** The path of a file in the folder. */
export const temporaryPath = (name: string): string => join(folder, name);

/**
 * Writes a program as JavaScript that imports the built library, as programs of users do: reading TypeScript would take
 * time and memory of its own. Returns its path.
 */
export function programFile(name: string): string {
  const text = readFileSync(new URL(`client-programs/${name}.ts`, import.meta.url), "utf8");
  const built = stripTypeScriptTypes(text)
    .replaceAll('"#client/exports.ts"', JSON.stringify(entryUrl("index")))
    .replaceAll(/"#client\/(.*?)\.ts"/g, (_match, entry: string) => JSON.stringify(entryUrl(entry)));
  return writeTemporary(`${name}.mjs`, built);
}

/** A process whose lines of output are read one by one. */
export class Program {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  constructor(command: string, args: readonly string[]) {
    this.#child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.once("exit", resolve));
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Returns the next line. Throws when the program has ended. */
  async line(): Promise<string> {
    const next = await this.#lines.next();
    if (next.done === true) throw new UsageError("a program of the bench has ended; run `npm run build` first");
    return next.value;
  }

  async end(): Promise<void> {
    this.#child.kill();
    await this.#ended;
  }
}

/** Runs a program of `client-programs/`, and returns the JSON that it prints. */
export async function runProgram(name: string, args: readonly string[]): Promise<unknown> {
  const program = new Program(process.execPath, [programFile(name), ...args]);
  try {
    return JSON.parse(await program.line());
  } finally {
    await program.end();
  }
}
