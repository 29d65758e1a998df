/**
 * `npm run bench [-- NAME…]`: measures our server against the committed baselines, or with `--peer` against another
 * server. The help is below.
 */
import { readCommandLine } from "../scripts/command-line.ts";
import { accessSuite } from "./access.bench.ts";
import { applySuite } from "./apply.bench.ts";
import { celSuite } from "./cel.bench.ts";
import { clientSuite } from "./client.bench.ts";
import { controllersSuite } from "./controllers.bench.ts";
import { crdsSuite } from "./crds.bench.ts";
import { comparePeers } from "./peer.ts";
import { defaultSeconds, runSuites } from "./report.ts";
import { joiningSuite } from "./joining.bench.ts";
import { processesSuite } from "./processes.bench.ts";
import { sharedPortSuite } from "./shared-port.bench.ts";
import { policiesSuite } from "./policies.bench.ts";
import { startServer } from "./server-process.ts";
import { planesSuite } from "./planes.bench.ts";
import { podsSuite } from "./pods.bench.ts";
import { serverSuite } from "./server.bench.ts";
import { etcdSuite } from "./etcd.bench.ts";
import { growthSuite } from "./growth.bench.ts";
import { fairnessSuite } from "./fairness.bench.ts";
import { hostileSuite } from "./hostile.bench.ts";
import { structuralSuite } from "./structural.bench.ts";
import { testingSuite } from "./testing.bench.ts";
import { defaultWarmupSeconds, type Suite } from "./suite.ts";
import { openPeer } from "./target.ts";
import { UsageError } from "./usage-error.ts";

const suites: readonly Suite[] = [
  serverSuite,
  sharedPortSuite,
  crdsSuite,
  applySuite,
  accessSuite,
  policiesSuite,
  podsSuite,
  etcdSuite,
  processesSuite,
  planesSuite,
  joiningSuite,
  growthSuite,
  fairnessSuite,
  structuralSuite,
  celSuite,
  hostileSuite,
  controllersSuite,
  testingSuite,
  clientSuite,
];

const help = (): string => `Measures the server and parts of it.

Usage: npm run bench -- [NAME...] [options]

  NAME                 a bench or one of its rows (below); without any, all of them
  --update             write what was measured as the new baselines, bench/baselines/<bench>.json
  --seconds N          length of a closed loop (${defaultSeconds})
  -o, --output FORMAT  text or json
  -h, --help           print this

  --peer NAME=URL,TOKEN,PID
                       run the rows marked * against ours and this server in turn. The URL is https://HOST:PORT on
                       this machine, its certificate is not checked; the token, or the file behind @FILE, is that of
                       a user who may do everything; PID is the root of its process tree, - when unknown. May be
                       given several times. What is made on the peer is removed again.
  --rounds N           rounds beside a peer (3)
  --warmup N           seconds before the first round beside a peer that do not count (${defaultWarmupSeconds})

A table shows operations a second, CPU time of the server per operation (of the code itself where there is no server),
memory, time of one operation (the median), the longest, the baseline and the ratio to it: of CPU time or, where there
is none, of time. A row that needs more than 1.1 times its baseline is marked. Servers run from dist/, which
\`npm run bench\` builds first; \`node --conditions=source bench/run.ts\` takes what is there. Client and server share the machine: the CPU
figures are the ones to compare. CPU time and memory are read from /proc, so they need Linux.

${suites.map(describe).join("\n")}`;

function describe({ name, about, rows, workloads }: Suite): string {
  const lines = Object.entries(rows).map(([row, text]) => {
    const mark = workloads.some((workload) => workload.name === row) ? "*" : " ";
    return `  ${mark} ${row.padEnd(28)} ${text}\n`;
  });
  return `${name}: ${about}\n${lines.join("")}`;
}

const options = {
  update: { type: "boolean", default: false },
  seconds: { type: "string", default: String(defaultSeconds) },
  output: { type: "string", short: "o", default: "text" },
  peer: { type: "string", multiple: true, default: [] as string[] },
  rounds: { type: "string", default: "3" },
  warmup: { type: "string", default: String(defaultWarmupSeconds) },
} as const;

function numberOf(flag: string, text: string, min: number): number {
  const value = Number(text);
  if (text === "" || !(value >= min && value <= 3600))
    throw new UsageError(`--${flag} ${text}: not a number from ${min}`);
  return value;
}

async function main(): Promise<void> {
  const { values, positionals: names } = readCommandLine(help(), options, true);
  if (values.output !== "text" && values.output !== "json") throw new UsageError(`unknown format ${values.output}`);
  const isJson = values.output === "json";
  const unknown = names.find((name) => !suites.some((suite) => suite.name === name || Object.hasOwn(suite.rows, name)));
  if (unknown !== undefined) throw new UsageError(`no bench and no row is called ${unknown}`);
  const seconds = numberOf("seconds", values.seconds, 0.1);
  const rounds = numberOf("rounds", values.rounds, 1);
  const warmupSeconds = numberOf("warmup", values.warmup, 0);
  if (values.peer.length === 0) {
    await runSuites(suites, { seconds, names, isJson, isUpdate: values.update });
    return;
  }
  if (values.update) throw new UsageError("--update writes baselines of ours alone: leave out --peer");
  const wanted = suites.flatMap((suite) =>
    suite.workloads
      .filter(({ name }) => names.length === 0 || names.includes(suite.name) || names.includes(name))
      .map((workload) => ({ workload, flags: suite.flags ?? [] })),
  );
  if (wanted.length === 0) throw new UsageError("none of these rows can run beside a peer");
  const workloads = wanted.map(({ workload }) => workload);
  const flags = [...new Set(wanted.flatMap((one) => one.flags))];
  const peers = await Promise.all(values.peer.map(openPeer));
  const ours = await startServer(undefined, [], flags);
  try {
    await comparePeers(workloads, [ours, ...peers], { rounds, seconds, warmupSeconds, isJson });
  } finally {
    await ours.stop();
  }
}

try {
  await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `bench: ${error.message}; see --help` : error);
  process.exit(isUsage ? 2 : 1); // a connection that is still open must not keep a failed run alive
}
