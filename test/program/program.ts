/** The program as a child process, run from source. */
import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { createInterface } from "node:readline";
import { join } from "node:path";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** The arguments of Node that run the program. */
export const program = ["--conditions=source", join(root, "bin/binnacle.ts")];

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Starts `binnacle` with these arguments in `folder`, with `variables` added to the environment. */
function spawnProgram(args: readonly string[], folder: string, variables: NodeJS.ProcessEnv = {}): ChildProcess {
  const env = { ...process.env, KUBECONFIG: "", ...variables };
  return spawn(process.execPath, [...program, ...args], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
}

/** Runs `binnacle` to its end. */
export function runProgram(args: readonly string[], folder: string, variables?: NodeJS.ProcessEnv): Promise<Ended> {
  const child = spawnProgram(args, folder, variables);
  return waitForExit(child);
}

function waitForExit(child: ChildProcess): Promise<Ended> {
  let stdout = "";
  let stderr = "";
  child.stdout!.on("data", (piece: Buffer) => {
    stdout += piece.toString();
  });
  child.stderr!.on("data", (piece: Buffer) => {
    stderr += piece.toString();
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, stdout, stderr }));
  });
}

interface Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Starts `binnacle`; the caller ends it. */
export function startProgram(args: readonly string[], folder: string): Running {
  const child = spawnProgram(args, folder);
  return { child, ended: waitForExit(child) };
}

export interface Serving extends Running {
  readonly url: string;
  readonly port: number;
  readonly kubeconfig: string;
}

/** Starts a server on a free port and waits until it prints its address. */
export async function serveProgram(folder: string, ...args: readonly string[]): Promise<Serving> {
  const { child, ended } = startProgram(["serve", "-o", "json", "--secure-port=0", ...args], folder);
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout! }).once("line", resolve);
    void ended.then(({ code, stderr }) => reject(new Error(`ended with ${code}: ${stderr}`)));
  });
  return { child, ended, ...(JSON.parse(line) as { url: string; port: number; kubeconfig: string }) };
}
