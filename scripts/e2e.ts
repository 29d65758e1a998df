/**
 * `npm run e2e -- GROUP`: builds, starts a server in the domain k8s.io and runs a group of Kubernetes' own end-to-end
 * tests (`../shared/reference/e2e.sh`) against it. The usage is below.
 */
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.ts";
import { readCommandLine } from "./command-line.ts";
import { startProgram } from "./program.ts";
import { root, run } from "./steps.ts";

const script = join(root, "../shared/reference/e2e.sh");

const usage = `Runs Kubernetes' own end-to-end tests (../shared/reference/e2e.sh) against a server started for them.

Usage: npm run e2e -- GROUP [options]

  GROUP           api, kinds, collector or rules: a line of ../shared/reference/e2e-sets.txt
  --servers N     run them through a load balancer before so many servers on an etcd (npm run scale-out -- serve)
  --keep          keep the server's data folder, and say where it is
  -h, --help      print this
  --ginkgo.skip=REGEXP, and every other option
                  handed to the tests; values are written with "=" (a --ginkgo.focus adds tests to the group's)

Needs Go, bash and kubectl. The first run builds the tests: ten minutes. Closing lines are printed; the tests' whole output
is in e2e-GROUP.log in the folder $REFERENCE_HOME (default: reference in the system's temporary folder).`;

/** Returns the reason why the tests cannot run here; `undefined` if they can. */
async function missingReason(): Promise<string | undefined> {
  if (!existsSync(script)) return "the end-to-end tests (../shared/reference) are not here";
  if (!(await run("kubectl", ["version", "--client"])).ok) return "there is no kubectl on the PATH";
  return undefined;
}

/** Runs the tests. Returns their exit code. */
async function e2e(group: string, flags: readonly string[], keep: boolean, servers: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-e2e-"));
  const server = await startProgram([`--data-dir=${join(folder, "data")}`, "--api-domain=k8s.io"], servers);
  try {
    return await runTests(server.kubeconfig, group, flags);
  } finally {
    await server.stop();
    if (keep) process.stdout.write(`kept: ${folder}\n`);
    else rmSync(folder, { recursive: true, force: true });
  }
}

async function runTests(kubeconfig: string, group: string, flags: readonly string[]): Promise<number> {
  // The tests have their own process group, so that a signal reaches all of them and not only the script.
  const child = spawn(script, [kubeconfig, group, ...flags], { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const interrupt = (): void => void (child.pid !== undefined && process.kill(-child.pid, "SIGINT"));
  process.on("SIGINT", interrupt).on("SIGTERM", interrupt);
  let output = "";
  child.stdout.on("data", (piece: Buffer) => {
    output += piece.toString();
    process.stdout.write(piece);
  });
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (status) => resolve(status ?? 1));
  });
  if (code !== 0 && !/^Ran /m.test(output)) process.stderr.write(lastWords(group));
  return code;
}

/** Returns the last ten lines of the log of tests that did not run; empty if there is no log. */
function lastWords(group: string): string {
  const log = join(process.env["REFERENCE_HOME"] ?? join(tmpdir(), "reference"), `e2e-${group}.log`);
  return existsSync(log) ? `${readFileSync(log, "utf8").trimEnd().split("\n").slice(-10).join("\n")}\n` : "";
}

const ownFlags = new Set(["--keep", "--servers", "-h", "--help"]);
const isOwn = (arg: string): boolean => ownFlags.has(arg) || arg.startsWith("--servers=");
const args = process.argv.slice(2);
const { values, positionals } = readCommandLine(
  usage,
  { keep: { type: "boolean" }, servers: { type: "string", default: "1" } },
  true,
  args.filter((arg) => isOwn(arg) || !arg.startsWith("-")),
);
const [group, extra] = positionals;
const missing = await missingReason();
if (group === undefined || extra !== undefined) {
  process.stderr.write("name one group, such as api; --help prints what there is\n");
  process.exitCode = 2;
} else if (missing !== undefined) process.stdout.write(`skipped: ${missing}\n`);
else {
  const problems = await build();
  if (problems !== "") process.stderr.write(`${problems}\nbuild failed\n`);
  const flags = args.filter((arg) => !isOwn(arg) && arg.startsWith("-"));
  process.exitCode = problems === "" ? await e2e(group, flags, values.keep === true, Number(values.servers)) : 1;
}
