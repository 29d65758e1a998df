/** `npm run scale-out -- rounds`: runs rounds with faults, and prints a line for each. */
import { readCommandLine } from "../../../scripts/command-line.ts";
import { endBySignals } from "../end-with-us.ts";
import { missing } from "../etcd-for-tests.ts";
import { notBuilt } from "../server-processes.ts";
import { checkerMissing } from "./check.ts";
import { type RoundResult, runRound } from "./round.ts";

const usage = `Runs three servers on three members of etcd under faults, and checks all that clients were answered.

Usage: npm run scale-out -- rounds [options]

  --seed N       the seed of the first round (default 1); each further round has the next one
  --runs N       the number of rounds (default 1)
  --seconds N    the length of a round, 60 by default
  --writers N    the number of clients that write and read, 8 by default; most of them wait most of the time
  -o FORMAT      json prints each round as a line of JSON
  -v, --verbose  print each fault
  -h, --help     print this

Each round checks that one order of all calls explains their answers (porcupine), that no acknowledged write is missing,
that lists show one state, and that watches show each change once and in order. The history of a round with problems is
kept in a folder that is printed. Needs Go.`;

const { values } = readCommandLine(usage, {
  seed: { type: "string", default: "1" },
  runs: { type: "string", default: "1" },
  seconds: { type: "string", default: "60" },
  writers: { type: "string", default: "8" },
  output: { type: "string", short: "o" },
  verbose: { type: "boolean", short: "v", default: false },
});

const headings = ["seed", "calls", "writes", "open", "reads", "events", "streams", "relists", "faults", "problems"];

const row = (cells: readonly (string | number)[]): string =>
  cells.map((cell, at) => (at === 0 ? String(cell).padEnd(10) : String(cell).padStart(9))).join("");

const lineOf = (round: RoundResult): string =>
  row([
    round.seed,
    round.calls,
    round.acknowledged,
    round.open,
    round.reads,
    round.events,
    round.streams,
    round.relists,
    round.faults,
    round.problems.length,
  ]);

endBySignals();
const problem = missing() ?? checkerMissing() ?? notBuilt();
if (problem !== undefined) {
  process.stderr.write(`scale-out: ${problem}\n`);
  process.exit(1);
}
const isJson = values.output === "json";
const say = (text: string): void => void process.stdout.write(`${text}\n`);
if (!isJson) say(row(headings));
for (let at = 0; at < Number(values.runs); at++) {
  const round = await runRound({
    seed: Number(values.seed) + at,
    seconds: Number(values.seconds),
    writers: Number(values.writers),
    said: (text) => values.verbose && say(`  ${text}`),
  });
  say(isJson ? JSON.stringify(round) : lineOf(round));
  if (values.verbose && !isJson) say(`  ${JSON.stringify(round.statuses)}`);
  if (round.problems.length === 0) continue;
  process.exitCode = 1;
  if (!isJson) say(`${round.problems.slice(0, 5).join("\n")}\nthe history is in ${round.folder}`);
}
