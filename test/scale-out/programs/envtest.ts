/** `npm run scale-out -- envtest`: a suite of controller-runtime whose kube-apiserver is a load balancer before three servers. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../../../scripts/command-line.ts";
import { missing } from "../etcd-for-tests.ts";
import { builtProgram, notBuilt } from "../server-processes.ts";

const usage = `Runs a command with programs in KUBEBUILDER_ASSETS of which kube-apiserver starts three members of etcd, three servers,
and a load balancer at its port that hands connections to the servers in turn.

Usage: npm run scale-out -- envtest [-- COMMAND ARG...]

  -h, --help     print this

Without a command, the suite of test/envtest runs. That of controller-runtime itself runs in its folder:
  npm run scale-out -- envtest -- go -C ../controller-runtime test ./pkg/...`;

const ownSuite = ["go", "-C", fileURLToPath(new URL("../../envtest", import.meta.url)), "test", "-count=1", "./..."];

/** Writes the programs of `binnacle envtest`, with another kube-apiserver. */
function writePrograms(folder: string): void {
  const { status, stderr } = spawnSync(process.execPath, [builtProgram, "envtest", folder], { encoding: "utf8" });
  if (status !== 0) throw new Error(stderr);
  const file = join(folder, "kube-apiserver");
  const program = fileURLToPath(new URL("envtest-servers.ts", import.meta.url));
  const words = [process.execPath, "--conditions=source", "--disable-warning=ExperimentalWarning", program];
  writeFileSync(file, `#!/bin/sh\nexec ${words.map((word) => `'${word}'`).join(" ")} "$@"\n`);
  chmodSync(file, 0o755);
}

const { positionals } = readCommandLine(usage, {}, true);
const problem = missing() ?? notBuilt();
if (problem !== undefined) {
  process.stderr.write(`scale-out: ${problem}\n`);
  process.exitCode = 1;
} else {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-envtest-"));
  try {
    writePrograms(folder);
    const [command = "go", ...args] = positionals.length === 0 ? ownSuite : positionals;
    const env = { ...process.env, KUBEBUILDER_ASSETS: folder };
    const child = spawn(command, args, { stdio: "inherit", env });
    for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => child.kill(name));
    const [code] = (await once(child, "exit")) as [number | null];
    process.exitCode = code ?? 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
