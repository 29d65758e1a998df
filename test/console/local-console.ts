/** `binnacle console` as a child process, beside a server of this one. */
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { type Domain, file, openServer, temporaryFolder, type TestServer } from "../harness.ts";
import { program } from "../program/program.ts";

/** Starts the program beside a server. Returns its address and the code of its link. */
export async function openConsole(
  t: TestContext,
  domain: Domain,
): Promise<{ origin: string; code: string; server: TestServer }> {
  const server = await openServer(domain);
  t.after(() => server.close());
  const kubeconfig = file("kubeconfig", server.kubeconfig);
  const child = spawn(process.execPath, [...program, "console", "--kubeconfig", kubeconfig], {
    cwd: temporaryFolder(),
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill());
  for await (const line of createInterface({ input: child.stdout })) {
    const [, origin, code] = /(http:\/\/127\.0\.0\.1:\d+)\/console\/#code=([\w-]+)/.exec(line) ?? [];
    if (origin !== undefined && code !== undefined) return { origin, code, server };
  }
  throw new Error("the program has printed no link");
}
