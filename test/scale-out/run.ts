/**
 * `npm run scale-out -- NAME…`: runs the checks of several servers on etcd. They need Go, which builds etcd at the first
 * time. A check is a test file, or a program with options of its own.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { readCommandLine } from "../../scripts/command-line.ts";
import { programs, tests } from "./checks.ts";

const folder = fileURLToPath(new URL(".", import.meta.url));
const lines = (of: Readonly<Record<string, string>>): string =>
  Object.entries(of)
    .map(([name, sentence]) => `  ${name.padEnd(21)}${sentence}`)
    .join("\n");
const sentences = (of: typeof programs): Record<string, string> =>
  Object.fromEntries(Object.entries(of).map(([name, { sentence }]) => [name, sentence]));

const usage = `Checks servers that share an etcd.

Usage: npm run scale-out -- [TEST...]
       npm run scale-out -- PROGRAM [options]

Tests; without any, all of them run:
${lines(tests)}

Programs, which print figures (-o json prints them as JSON) and have a --help of their own:
${lines(sentences(programs))}

  -h, --help       print this

Examples:
  npm run scale-out -- takeover
  npm run scale-out -- rounds --seed 7 --runs 3
  npm run scale-out -- simulation --runs 500

Needs Go, which builds etcd from its module, and the built program for programs and rounds (npm run build). takeover needs
kube-apiserver 1.32.1 as well: the program bin/reference in the folder $REFERENCE_HOME (default: reference in the system's
temporary folder).`;

/** Runs Node. Returns the exit code. */
async function run(args: readonly string[]): Promise<number> {
  const own = ["--conditions=source", "--disable-warning=ExperimentalWarning", ...args];
  // The acceptance check is larger than the test.
  const env = { COPY_OBJECTS: "100000", ...process.env };
  const child = spawn(process.execPath, own, { stdio: "inherit", env });
  // A signal reaches the child by itself; this process waits for its end.
  for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => child.kill(name));
  const [code] = (await once(child, "exit")) as [number | null];
  return code ?? 1;
}

const [name = "", ...rest] = process.argv.slice(2);
const program = programs[name];
if (program !== undefined) process.exitCode = await run([`${folder}${program.file}`, ...rest]);
else {
  const { positionals } = readCommandLine(usage, {}, true);
  const unknown = positionals.find((one) => !Object.hasOwn(tests, one));
  if (unknown !== undefined) {
    process.stderr.write(`scale-out: there is no check ${unknown}; see --help\n`);
    process.exitCode = 1;
  } else {
    const names = positionals.length === 0 ? Object.keys(tests) : positionals;
    process.exitCode = await run(["--test", "--test-reporter=spec", ...names.map((one) => `${folder}${one}.test.ts`)]);
  }
}
