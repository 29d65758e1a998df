/** Starts the built program (`dist/`) as a child process, for scripts. */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { root } from "./steps.ts";

export interface Program {
  readonly url: string;
  /** The path of the administrator's kubeconfig. */
  readonly kubeconfig: string;
  /** Stops the program, and waits until it has ended. */
  stop(): Promise<void>;
}

/**
 * Starts the program with these flags, on a free port, and waits until it is ready. Throws with its output when it ends
 * before. With several servers, they share three members of etcd, and a load balancer stands before them.
 */
export async function startProgram(flags: readonly string[], servers = 1): Promise<Program> {
  const single = [join(root, "dist/bin/binnacle.js"), "serve", "-o=json", "--secure-port=0", ...flags];
  const ofSeveral = flags.filter((flag) => !flag.startsWith("--data-dir=")).map((flag) => `--flag=${flag}`);
  const several = [
    "--conditions=source",
    "--disable-warning=ExperimentalWarning",
    join(root, "test/scale-out/programs/serve.ts"),
    "--output=json",
    `--servers=${servers}`,
    ...ofSeveral,
  ];
  const args = servers === 1 ? single : several;
  // The program has its own process group: Ctrl-C stops the script, which stops the server at its end.
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], detached: true });
  let output = "";
  child.stderr.on("data", (piece: Buffer) => {
    output = (output + piece.toString()).slice(-4000);
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const started = JSON.parse(await firstLine(child, () => output)) as { url: string; kubeconfig: string }; // `serve -o json`
  return {
    ...started,
    async stop() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}

function firstLine(child: ChildProcess, readOutput: () => string): Promise<string> {
  return new Promise((resolve, reject) => {
    createInterface({ input: child.stdout! }).once("line", resolve);
    child.once("exit", (code) => reject(new Error(`the server ended with code ${code}: ${readOutput()}`)));
    child.once("error", reject);
  });
}
