/**
 * Runs a workload against our server and peers in turn, round by round, so that noise of the machine affects all of
 * them. Figures are medians of the rounds; ratios are medians of the ratios within a round.
 */
import { column, figure, nameWidth, progress } from "./report.ts";
import { type Measurement, median, type PreparedWorkload, type Workload } from "./suite.ts";
import type { Target } from "./target.ts";

interface PeerOptions {
  readonly rounds: number;
  readonly seconds: number;
  /** The length in seconds of a pass before the first round, which does not count. */
  readonly warmupSeconds: number;
  readonly isJson: boolean;
}

interface TargetFigures {
  readonly target: string;
  readonly rate: number;
  readonly cpuUsPerOp: number;
  readonly clientUsPerOp: number;
  readonly ms?: number;
  /** The ratio of ours to this one; 1 for ours. */
  readonly rateRatio: number;
  readonly cpuRatio: number;
  readonly rounds: readonly Measurement[];
}

interface ComparedWorkload {
  readonly name: string;
  readonly targets: readonly TargetFigures[];
}

/** The share of a second above which the client's single thread was a limit of the rate. */
const clientShareMax = 0.85;

/** Measures the workloads and prints the results. The first target is ours. */
export async function comparePeers(
  workloads: readonly Workload[],
  targets: readonly Target[],
  options: PeerOptions,
): Promise<void> {
  const rows: ComparedWorkload[] = [];
  if (!options.isJson) console.log(head(targets));
  for (const workload of workloads) {
    const row = await compare(workload, targets, options);
    progress("");
    rows.push(row);
    if (!options.isJson) console.log(tableRow(row));
  }
  if (options.isJson) console.log(JSON.stringify(rows, undefined, 2));
  else printNotes(rows);
}

async function compare(
  workload: Workload,
  targets: readonly Target[],
  { rounds, seconds, warmupSeconds }: PeerOptions,
): Promise<ComparedWorkload> {
  const prepared: { readonly target: Target; readonly workload: PreparedWorkload; readonly rounds: Measurement[] }[] =
    [];
  try {
    for (const target of targets) {
      progress(`${workload.name}: warming up ${target.name} ...`);
      const one = { target, workload: await workload.prepare(target), rounds: [] };
      prepared.push(one);
      if (warmupSeconds > 0) await one.workload.measure(warmupSeconds);
    }
    for (let round = 0; round < rounds; round++) {
      for (const one of round % 2 === 0 ? prepared : prepared.toReversed()) {
        progress(`${workload.name}: round ${round + 1} of ${rounds}, ${one.target.name} ...`);
        const measured = await one.workload.measure(seconds);
        one.rounds.push(measured);
        progress(
          `${workload.name}: round ${round + 1} of ${rounds}, ${one.target.name}: ${figure(measured.rate, "/s")}, ${figure(measured.cpuUsPerOp, " us")} of CPU`,
          true,
        );
      }
    }
  } finally {
    for (const one of prepared) await one.workload.clean();
  }
  const [ours] = prepared;
  const figures = prepared.map((one): TargetFigures => {
    const ratio = (of: (row: Measurement) => number | undefined): number =>
      median(one.rounds.map((row, at) => (of(ours!.rounds[at]!) ?? Number.NaN) / (of(row) ?? Number.NaN)));
    const middle = (of: (row: Measurement) => number | undefined): number =>
      median(one.rounds.map((row) => of(row) ?? Number.NaN));
    const ms = middle((row) => row.ms);
    return {
      target: one.target.name,
      rate: middle((row) => row.rate),
      cpuUsPerOp: middle((row) => row.cpuUsPerOp),
      clientUsPerOp: middle((row) => row.clientUsPerOp),
      ...(Number.isNaN(ms) ? {} : { ms }),
      rateRatio: ratio((row) => row.rate),
      cpuRatio: ratio((row) => row.cpuUsPerOp),
      rounds: one.rounds,
    };
  });
  return { name: workload.name, targets: figures };
}

const perTarget = ["ops/s", "CPU/op", "time", "client/op"];

function head(targets: readonly Target[]): string {
  const names = targets.map(({ name }) =>
    ` ${name} `.padStart(name.length + 4, "-").padEnd(perTarget.length * 12 - 2, "-"),
  );
  const ratios = targets.slice(1).map(({ name }) => column(`ours : ${name}`, 26));
  const titles = targets.map(() => perTarget.map((title) => column(title, 12)).join(""));
  const ratioTitles = targets.slice(1).map(() => column("ops/s", 13) + column("CPU", 13));
  return [
    "".padEnd(nameWidth) + names.map((name) => `  ${name}`).join("") + ratios.join(""),
    "workload".padEnd(nameWidth) + titles.join("") + ratioTitles.join(""),
  ].join("\n");
}

function tableRow({ name, targets }: ComparedWorkload): string {
  const cells = targets.flatMap((one) => [
    figure(one.rate, ""),
    figure(one.cpuUsPerOp, " us"),
    figure(one.ms, " ms"),
    figure(one.clientUsPerOp, " us"),
  ]);
  const ratios = targets.slice(1).flatMap((one) => [figure(one.rateRatio, ""), figure(one.cpuRatio, "")]);
  return (
    name.padEnd(nameWidth) +
    cells.map((cell) => column(cell, 12)).join("") +
    ratios.map((cell) => column(cell)).join("")
  );
}

function printNotes(rows: readonly ComparedWorkload[]): void {
  for (const { name, targets } of rows) {
    for (const one of targets) {
      const share = (one.rate * one.clientUsPerOp) / 1e6;
      if (share > clientShareMax)
        console.log(`${name}, ${one.target}: the client was busy ${Math.round(share * 100)} % of the time.`);
    }
  }
}
