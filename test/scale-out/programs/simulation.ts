/** `npm run scale-out -- simulation`: servers on an etcd in memory, under one seed after the other. */
import { simulateSeeds } from "#storage/etcd/simulated-seeds-for-tests.ts";
import { readCommandLine } from "../../../scripts/command-line.ts";

const usage = `Simulates three servers on an etcd in memory whose members, links and answers fail, and checks all that they say.

Usage: npm run scale-out -- simulation [options]

  --seed N    the first seed (a random number); each further run has the next one
  --runs N    the number of seeds (default 2000); each is run twice, the second time with an etcd that is put back to an
              older state once
  -o FORMAT   json prints the result as JSON
  -h, --help  print this

A finding names its seed; --seed N --runs 1 repeats it. Needs no Go.`;

/** The number of seeds after which progress is shown. */
const stepSeeds = 250;

const { values } = readCommandLine(usage, {
  seed: { type: "string", default: String(Date.now() % 1_000_000) },
  runs: { type: "string", default: "2000" },
  output: { type: "string", short: "o" },
});
const [first, runs] = [Number(values.seed), Number(values.runs)];
const findings = [];
for (let at = 0; at < runs; at += stepSeeds) {
  const seeds = { firstSeed: first + at, runs: Math.min(stepSeeds, runs - at) };
  for (const isRestored of [false, true]) findings.push(...(await simulateSeeds({ ...seeds, isRestored })));
  process.stderr.write(`simulation: ${at + seeds.runs} of ${runs} seeds from ${first}, ${findings.length} findings\n`);
}
const lines = findings.map(({ seed, isRestored, text }) => {
  return `seed ${seed}, ${isRestored ? "with" : "without"} a restoration: ${text}\n`;
});
process.stdout.write(
  values.output === "json"
    ? `${JSON.stringify({ seed: first, runs, findings })}\n`
    : `${lines.join("")}${runs} seeds from ${first}: ${findings.length} findings\n`,
);
if (findings.length > 0) process.exitCode = 1;
