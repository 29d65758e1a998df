/**
 * `npm run conformance`: builds, starts a server for each API domain, and replays the recorded scenarios of
 * `../shared/conformance` against all of them. The usage is below.
 */
import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { styleText } from "node:util";
import { build } from "./build.ts";
import { readCommandLine } from "./command-line.ts";
import { type Program, startProgram } from "./program.ts";
import { writeAmendedRecordings } from "../test/scenarios/amendments.ts";
import { readSkips, reasonFor } from "../test/scenarios/skips.ts";
import { addTallies, emptyTally, printSkips, type Failure, type SkippedTest, type Tally } from "./run-tests.ts";
import { report, root } from "./steps.ts";

const shared = join(root, "../shared/conformance");

const usage = `Replays the recorded scenarios (../shared/conformance) against a server for each API domain.

Usage: npm run conformance -- [options]

  --only REGEXP   scenarios whose file and name match this
  --all           every scenario, those of the list of skipped ones (test/scenarios/skipped.yaml) too
  --servers N     replay them through a load balancer before so many servers on an etcd (npm run scale-out -- serve)
  --domain NAME   this domain alone; may be given several times (k8s.io, platform.io)
  -v, --verbose   name the scenarios that pass and those that are skipped as well
  -h, --help      print this`;

interface ConformanceOptions {
  /** The expression that the file and name of a scenario must match. */
  readonly only?: string;
  /** Whether skipped scenarios run too. */
  readonly all?: boolean;
  readonly domains?: readonly string[];
  /** The number of servers for each domain; 1 by default. */
  readonly servers?: number;
  /** Whether the names of passed scenarios are printed too. */
  readonly verbose?: boolean;
}

/** Returns the reason why scenarios cannot be replayed here; `undefined` if they can. */
export const missingReason = (): string | undefined =>
  existsSync(join(shared, "replay.mjs")) ? undefined : "the recorded scenarios (../shared/conformance) are not here";

/** The parts of a recorded scenario that are used here. */
interface Recorded {
  readonly file: string;
  readonly name: string;
}

async function readRecorded(): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  for (const path of globSync(join(shared, "cases/*.mjs")).sort()) {
    const { default: scenarios } = (await import(pathToFileURL(path).href)) as { default: readonly Recorded[] };
    for (const { name } of scenarios) recorded.push({ file: basename(path, ".mjs"), name });
  }
  return recorded;
}

interface Selection {
  /** The pattern that `replay.mjs` matches with file and name. */
  readonly only: string;
  readonly skips: readonly SkippedTest[];
  /** The number of servers. */
  readonly servers: number;
}

/** Scenarios that name the health check of a thread that servers on etcd do not have. */
const ofDataFolders = /^proto-http\.mjs: (?:single checks answer for themselves|verbose lists the checks)/;

/** Returns the scenarios to replay. Throws when the list of skipped scenarios names an unknown one. */
async function select({
  only = "",
  all = false,
  servers = 1,
}: ConformanceOptions): Promise<Omit<Selection, "servers">> {
  const recorded = await readRecorded();
  const list = readSkips();
  for (const { recorded: files = {} } of list) {
    for (const [file, names] of Object.entries(files)) {
      for (const wanted of names === "all" ? [undefined] : names) {
        const isThere = recorded.some(({ file: other, name }) => other === file && (wanted ?? name) === name);
        if (!isThere) throw new Error(`test/scenarios/skipped.yaml: no recorded scenario ${file}: ${wanted ?? "all"}`);
      }
    }
  }
  const skips: SkippedTest[] = [];
  const remaining: string[] = [];
  for (const { file, name } of recorded) {
    const title = `${file}.mjs: ${name}`;
    const listed = all ? undefined : reasonFor(list, "recorded", file, name);
    const reason = servers > 1 && ofDataFolders.test(title) ? "names the thread of a data folder" : listed;
    if (reason === undefined || !new RegExp(only).test(title)) continue;
    skips.push({ name: `recorded ${file}: ${name}`, reason });
    remaining.push(RegExp.escape(title));
  }
  return { only: remaining.length === 0 ? only : `^(?!(?:${remaining.join("|")})$).*(?:${only})`, skips };
}

/** Replays the scenarios against servers started from `dist/`. Returns the results. */
export async function conformance(options: ConformanceOptions = {}): Promise<Tally> {
  const domains = options.domains ?? ["k8s.io", "platform.io"];
  const selection = { ...(await select(options)), servers: options.servers ?? 1 };
  const results = await Promise.all(domains.map((domain) => replayDomain(domain, selection, options.verbose === true)));
  return results.reduce(addTallies, emptyTally);
}

async function replayDomain(domain: string, selection: Selection, verbose: boolean): Promise<Tally> {
  const start = performance.now();
  let tally = { ...emptyTally, ...countSkips(domain, selection) };
  for (const set of sets) tally = addTallies(tally, await replaySet(domain, set, selection, verbose));
  const detail = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
  const seconds = (performance.now() - start) / 1000;
  report(domain, tally.failed === 0, seconds, [detail, ...tally.failures.map(({ text }) => text)].join("\n"));
  return tally;
}

function countSkips(domain: string, { skips }: Selection): Pick<Tally, "skipped" | "skips"> {
  return {
    skipped: skips.length,
    skips: skips.map(({ name, reason }) => ({ name: `${domain}: ${name}`, reason })),
  };
}

/** The scenarios that are replayed against the same server. */
interface ScenarioSet {
  readonly files: RegExp;
  readonly controllers: string;
}

const controllers = "*,bootstrapsigner,tokencleaner";

/** Most recorded scenarios name owners that do not exist, and were recorded without the garbage collector. */
const sets: readonly ScenarioSet[] = [
  { files: /^(?!proto-)/, controllers: `${controllers},-garbage-collector-controller` },
  { files: /^proto-/, controllers },
];

async function replaySet(domain: string, set: ScenarioSet, selection: Selection, verbose: boolean): Promise<Tally> {
  const files = globSync(join(shared, "cases/*.mjs"))
    .filter((path) => set.files.test(basename(path)))
    .sort();
  const { servers } = selection;
  let tally = await replayFresh(domain, set, { files, only: selection.only, verbose, servers });
  for (let time = 1; time <= repetitionsMax && differsByOrder(tally); time++) {
    const titles = tally.failures.map(({ text }) => /^FAIL (.*)$/m.exec(text)?.[1] ?? "");
    for (const title of titles) process.stdout.write(`${domain.padEnd(12)} once more ${title}\n`);
    const only = `^(?:${titles.map((title) => RegExp.escape(title)).join("|")})$`;
    const again = await replayFresh(domain, set, { files, only, verbose, servers });
    tally = { ...again, passed: tally.passed + again.passed };
  }
  return tally;
}

/** The number of times that scenarios are replayed again in which only the order of managers differs. */
const repetitionsMax = 5;

/** Whether scenarios failed, and each of them only by the order of managers. */
const differsByOrder = ({ failures }: Tally): boolean =>
  failures.length > 0 && failures.every(({ text }) => isOrderOfManagers(text));

/**
 * Whether only the order of managers differs. The first one is the one that wrote first if a second began in between,
 * and the first by name otherwise, as in the recorded scenario.
 */
const isOrderOfManagers = (failure: string): boolean => {
  const paths = failure.split("\n").filter((line) => /^ +\.\d/.test(line));
  return paths.length > 0 && paths.every((path) => path.includes(".metadata.managedFields."));
};

/** Replays scenarios against a new server. */
async function replayFresh(
  domain: string,
  set: ScenarioSet,
  replayed: Omit<Replayed, "golden"> & { readonly servers: number },
): Promise<Tally> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-conformance-"));
  const golden = join(folder, "golden");
  writeAmendedRecordings(join(shared, "golden"), golden);
  const server = await startFor(domain, folder, set.controllers, replayed.servers);
  try {
    return await replay(domain, server.url, { ...replayed, golden });
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Starts the built program with the flags for which the scenarios were written. */
function startFor(domain: string, folder: string, controllers: string, servers: number): Promise<Program> {
  const betas = ["storage", "resource"].map((group) => `${group}.${domain}/v1beta1=true`).join(",");
  return startProgram(
    [
      `--data-dir=${join(folder, "data")}`,
      `--api-domain=${domain}`,
      `--token-auth-file=${join(shared, "tokens.csv")}`,
      "--enable-bootstrap-token-auth",
      `--controllers=${controllers}`,
      "--feature-gates=VolumeAttributesClass=true,DynamicResourceAllocation=true,RecoverVolumeExpansionFailure=true",
      `--runtime-config=${betas}`,
      "--authorization-mode=RBAC",
    ],
    servers,
  );
}

interface Replayed {
  readonly files: readonly string[];
  /** The folder of the recorded answers. */
  readonly golden: string;
  readonly only: string;
  readonly verbose: boolean;
}

async function replay(domain: string, url: string, { files, golden, only, verbose }: Replayed): Promise<Tally> {
  const args = [
    join(shared, "replay.mjs"),
    "--server",
    url,
    ...(domain === "k8s.io" ? [] : ["--domain", domain]),
    "--golden",
    golden,
    "--only",
    only,
    "--max-diff",
    verbose ? "40" : "6",
    ...(verbose ? ["-v"] : []),
    ...files,
  ];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const asFailure = (text: string): Failure => ({ file: `recordings of ${domain}`, text });
  const blocks: string[] = [];
  let counts = "";
  for await (const line of createInterface({ input: child.stdout })) {
    if (/^\d+ passed, \d+ failed/.test(line)) counts = line;
    else if (/^\s/.test(line) && blocks.length > 0) blocks[blocks.length - 1] += `\n${line}`;
    else if (line.startsWith("ok ")) process.stdout.write(`${domain.padEnd(12)} ${line}\n`);
    else blocks.push(line);
  }
  const [passed, failed] = [...counts.matchAll(/\d+/g)].map(Number);
  if (passed === undefined || failed === undefined) {
    blocks.push("replay.mjs did not finish");
    return { ...emptyTally, failed: 1, failures: blocks.map(asFailure) };
  }
  return { ...emptyTally, passed, failed, failures: blocks.map(asFailure) };
}

if (import.meta.main) {
  const { values } = readCommandLine(usage, {
    only: { type: "string" },
    all: { type: "boolean" },
    domain: { type: "string", multiple: true },
    servers: { type: "string", default: "1" },
    verbose: { type: "boolean", short: "v" },
  });
  const missing = missingReason();
  const problems = missing === undefined ? await build() : "";
  if (missing !== undefined) process.stdout.write(`skipped: ${missing}\n`);
  else if (problems !== "") {
    process.stderr.write(`${problems}\nbuild failed\n`);
    process.exitCode = 1;
  } else {
    const tally = await conformance({
      ...(values.only === undefined ? {} : { only: values.only }),
      ...(values.domain === undefined ? {} : { domains: values.domain }),
      all: values.all === true,
      servers: Number(values.servers),
      verbose: values.verbose === true,
    });
    const line = `${tally.passed} passed, ${tally.failed} failed, ${tally.skipped} skipped`;
    printSkips(tally, values.verbose === true);
    process.stdout.write(`${styleText(tally.failed === 0 ? "green" : "red", line)}\n`);
    process.exitCode = tally.failed === 0 ? 0 : 1;
  }
}
