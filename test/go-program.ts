/** Programs written in Go for tests: built from the module cache, without a network, and run beside the server. */
import { type ChildProcess, spawnSync } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";

/** A folder of `test/` that is a Go module. */
export class GoModule {
  readonly #folder: string;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
    this.#folder = fileURLToPath(new URL(`${name}/`, import.meta.url));
  }

  /** Returns the reason why a package cannot be built here; `undefined` if it can. */
  missingModule(packageName: string): string | undefined {
    if (process.env["TEST_SERVER"] !== undefined || process.env["TEST_KUBECONFIG"] !== undefined)
      return "starts a server of its own";
    if ("problem" in this.run(["version"])) return "Go is not here";
    if ("problem" in this.run(["list", "-deps", packageName])) {
      return `the Go modules of test/${this.#name} are not here`;
    }
    return undefined;
  }

  /** Builds a program. Throws with Go's output. */
  build(packageName: string, program: string): void {
    const built = this.run(["build", "-o", program, packageName]);
    if ("problem" in built) throw new Error(built.problem);
  }

  /** Runs Go. `mayDownload`: whether modules that are not here are downloaded, from where Go is set to. */
  run(args: readonly string[], mayDownload = false): { readonly output: string } | { readonly problem: string } {
    const offline = mayDownload ? {} : { GOPROXY: "off" };
    const env = { ...process.env, ...offline, GOFLAGS: "-mod=readonly", GOTOOLCHAIN: "local" };
    const { status, error, stdout, stderr } = spawnSync("go", args, { cwd: this.#folder, env, encoding: "utf8" });
    return status === 0 ? { output: stdout } : { problem: error?.message ?? `${stdout}${stderr}` };
  }
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server has a port
  server.close();
  return port;
}

/**
 * Returns a free port that stays free while its process is restarted: the system gives none below 32768 to connections
 * that go out.
 */
export async function lastingPort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 32_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false)).listen(port, "127.0.0.1", () => resolve(true));
    });
    server.close();
    if (isFree) return port;
  }
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill();
  await exited;
}
