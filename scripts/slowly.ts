/**
 * `node scripts/slowly.ts`: shows that tests do not depend on the speed of the machine. Runs `npm test` and `npm run
 * test:more`, or the named test files, beside two endless loops; with `--half` on one core that they share with another
 * endless loop (on Linux, with `taskset`). The tests run several times, since rare failures do not occur at once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readCommandLine } from "./command-line.ts";
import { root } from "./steps.ts";

const usage = `Runs tests on a machine made slow.

Usage: node scripts/slowly.ts [FILE...] [options]

      --half      on one core, shared with an endless loop; else beside two loops
      --times N   how often (3)
  -h, --help      print this`;

const { values, positionals } = readCommandLine(usage, { half: { type: "boolean" }, times: { type: "string" } }, true);
const isHalf = values.half === true;
const times = Number(values.times ?? 3);

/** Starts Node; with `--half` on the first core only. */
function start(args: readonly string[], stdio: "ignore" | "inherit"): ChildProcess {
  const command = [process.execPath, ...args];
  const [program, ...rest] = isHalf ? ["taskset", "-c", "0", ...command] : command;
  return spawn(program!, rest, { cwd: root, stdio });
}

const loops = Array.from({ length: isHalf ? 1 : 2 }, () => start(["-e", "for (;;);"], "ignore"));
process.once("exit", () => loops.forEach((loop) => loop.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

const commands =
  positionals.length > 0
    ? [["--conditions=source", "--test", ...positionals]]
    : [["scripts/test.ts"], ["scripts/test.ts", "--more"]];
let failed = 0;
for (let round = 1; round <= times; round++) {
  for (const command of commands) {
    const [code] = (await once(start(command, "inherit"), "exit")) as [number | null];
    if (code !== 0) failed++;
  }
  process.stdout.write(
    `round ${round} of ${times}: ${failed === 0 ? "nothing failed" : `${failed} commands failed`}\n`,
  );
}
process.exit(failed === 0 ? 0 : 1);
