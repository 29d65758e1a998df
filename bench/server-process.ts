/** The measured server: one child process, and the time at which it is ready. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Connection, requestBytes } from "./connection.ts";
import type { Target } from "./target.ts";

export interface Server extends Target {
  readonly startMs: number;
  stop(): Promise<void>;
}

/** The token of a user who may do everything. */
export const benchToken = "bench-token";

const ownProgram = new URL("../dist/bin/binnacle.js", import.meta.url).pathname;

async function freePort(): Promise<number> {
  const probe = createServer();
  return new Promise((resolve) => {
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      const port = typeof address === "object" && address !== null ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

/**
 * Starts a server. The folder `given` stays; without it the server gets a new folder, which is deleted with it. `users`
 * are further lines of its token file. `program` may be that of another version; `nodeFlags` are Node's.
 */
export async function startServer(
  given?: string,
  users: readonly string[] = [],
  flags: readonly string[] = [],
  program = ownProgram,
  nodeFlags: readonly string[] = process.env["BENCH_NODE"]?.split(" ") ?? [],
): Promise<Server> {
  const folder = given ?? mkdtempSync(join(tmpdir(), "binnacle-bench-"));
  const tokens = join(folder, "tokens.csv");
  writeFileSync(tokens, `${[`${benchToken},bench,bench,system:masters`, ...users].join("\n")}\n`);
  const dataDir = join(folder, "data");
  const port = await freePort();
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      "--max-semi-space-size=16",
      ...nodeFlags,
      program,
      "serve",
      `--data-dir=${dataDir}`,
      `--secure-port=${port}`,
      `--token-auth-file=${tokens}`,
      ...flags,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  createInterface(child.stderr).on("line", (line) => {
    if (!line.includes('"level":"info"')) process.stderr.write(`${line}\n`);
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const ca = await ready(port, join(dataDir, "pki", "ca.crt"), child);
  return {
    name: "ours",
    host: "127.0.0.1",
    port,
    ca,
    token: benchToken,
    pid: child.pid,
    domain: "platform.io",
    startMs: performance.now() - began,
    async stop() {
      child.kill("SIGTERM");
      await ended;
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Waits until `/readyz` answers 200. Resolves with the CA. */
async function ready(port: number, caFile: string, child: ChildProcess): Promise<string> {
  const until = performance.now() + 20_000;
  while (performance.now() < until && child.exitCode === null) {
    try {
      const ca = readFileSync(caFile, "utf8");
      const connection = await Connection.open({ host: "127.0.0.1", port, ca });
      const { code } = await connection.request(requestBytes("GET", "/readyz", benchToken));
      connection.close();
      if (code === 200) return ca;
    } catch {
      // The file does not exist yet.
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  throw new Error("the server did not become ready; run `npm run build` first");
}
