/**
 * Runs tools as named steps with one line of output each, followed by the output of a failed tool. Build, check and
 * test use it.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";

/** The repository's folder, with a slash at the end. */
export const root = fileURLToPath(new URL("..", import.meta.url));

export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs a tool that npm installed, with this Node, without a shell or PATH. `entry` is a path below `node_modules`. */
export function tool(entry: string, args: readonly string[], env?: Record<string, string>): Promise<Outcome> {
  const file = `${root}node_modules/${entry}`;
  if (!existsSync(file)) return Promise.resolve({ ok: false, output: `${file} is missing: run npm ci` });
  return run(process.execPath, [file, ...args], env);
}

/** Runs a program in the repository and collects its output. */
export function run(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Outcome> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.stderr.on("data", (piece: Buffer) => pieces.push(piece));
    child.on("error", (error) => resolve({ ok: false, output: `${program}: ${error.message}` }));
    child.on("close", (code) => resolve({ ok: code === 0, output: Buffer.concat(pieces).toString().trimEnd() }));
  });
}

/** Prints one line for a finished step, with its output if it failed, or with `detail`. */
export function report(name: string, ok: boolean, seconds: number, detail = ""): void {
  const mark = ok ? styleText("green", "ok    ") : styleText("red", "failed");
  process.stdout.write(
    `${name.padEnd(12)} ${mark} ${seconds.toFixed(1).padStart(6)} s${ok && detail !== "" ? `   ${detail}` : ""}\n`,
  );
  if (!ok && detail !== "") process.stdout.write(`${detail.replace(/^/gm, "  ")}\n`);
}

/** Runs one step and reports it. */
export async function step(name: string, work: () => Promise<Outcome>): Promise<boolean> {
  const start = performance.now();
  const { ok, output } = await work();
  report(name, ok, (performance.now() - start) / 1000, ok ? "" : output);
  return ok;
}
