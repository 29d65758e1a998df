/**
 * Runs a credential plugin as a child process. What it says on its standard error goes to the user; its standard output
 * is bounded. It ends when nobody waits for it any more.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import type { Clock } from "#std/clock.ts";
import { reasonOf } from "#std/system-error.ts";
import type { ExecConfig } from "./exec-config.ts";

type Environment = Readonly<Record<string, string | undefined>>;

interface PluginRun {
  readonly config: ExecConfig;
  /** The variables of the plugin. `PATH` is looked up in them as well. */
  readonly environment: Environment;
  /** Whether the plugin gets the standard input of this process. */
  readonly interactive: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const outputMaxBytes = 1024 * 1024;
/** The time from SIGTERM to SIGKILL. */
const graceMs = 5000;

/** Resolves with the output of the plugin. Rejects with an `Error` that says why there is none. */
export function runPlugin({ config, environment, interactive, clock, signal }: PluginRun): Promise<string> {
  return new Promise((resolve, reject) => {
    const program = findProgram(config.command, environment);
    if (program === undefined) {
      const hint = config.installHint.trim();
      reject(new Error(`it is not installed${hint === "" ? "" : `: ${hint}`}`));
      return;
    }
    if (signal.aborted) {
      reject(new Error("nobody waits for it any more"));
      return;
    }
    const child = spawn(program, config.args, {
      env: environment,
      stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
    });
    const pieces: Buffer[] = [];
    let size = 0;
    let cancelKill = (): void => undefined;
    const end = (): void => {
      // Nothing more is read, also from programs that the plugin has started and that go on.
      child.stdout!.destroy();
      child.kill();
      cancelKill = clock.after(graceMs, () => child.kill("SIGKILL"));
      signal.removeEventListener("abort", end);
    };
    signal.addEventListener("abort", end);
    child.stdout!.on("data", (piece: Buffer) => {
      size += piece.length;
      pieces.push(piece);
      if (size > outputMaxBytes) end();
    });
    child.once("error", (error) => reject(new Error(`it cannot be run: ${reasonOf(error)}`)));
    child.once("close", (code, killedBy) => {
      cancelKill();
      signal.removeEventListener("abort", end);
      if (size > outputMaxBytes) reject(new Error("it printed more than 1 MB"));
      else if (killedBy !== null) reject(new Error(`it was ended by ${killedBy}`));
      else if (code !== 0) reject(new Error(`it failed with exit code ${code}, and says above why`));
      else resolve(Buffer.concat(pieces).toString());
    });
  });
}

/** Returns the path of the program. Folders of `PATH` that are relative are not searched, as in Go's programs. */
function findProgram(command: string, environment: Environment): string | undefined {
  const names = process.platform === "win32" ? [command, `${command}.exe`] : [command];
  if (isAbsolute(command)) return names.find(isProgram);
  const path = environment["PATH"] ?? environment["Path"] ?? "";
  const folders = path.split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isProgram);
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
