/**
 * `npm run control-plane`: builds kube-controller-manager, kube-scheduler, kubemark and kwok, then runs the tests of this folder
 * against a server with all of them beside it. It needs Go and kubectl, and at the first time a network.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../../scripts/command-line.ts";
import { step } from "../../scripts/steps.ts";
import { buildProgram, programs } from "./programs.ts";

const usage = `Runs the tests of a whole control plane: kube-controller-manager, kube-scheduler, kubemark and kwok beside a server.

Usage: npm run control-plane

  -h, --help       print this

Needs Go and kubectl, and at the first time a network.`;

readCommandLine(usage, {});
process.stdout.write("The first build takes some ten minutes on two cores, later ones seconds.\n");
for (const program of programs) {
  const built = await step(program.label, () => {
    const problem = buildProgram(program);
    return Promise.resolve({ ok: problem === undefined, output: problem ?? "" });
  });
  if (!built) process.exit(1);
}
const test = fileURLToPath(new URL("control-plane.test.ts", import.meta.url));
const args = ["--conditions=source", "--disable-warning=ExperimentalWarning", "--test", "--test-reporter=spec", test];
const [code] = (await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit")) as [number | null];
process.exitCode = code ?? 1;
