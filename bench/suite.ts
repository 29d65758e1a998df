/** The interface of a benchmark: rows measured alone, and workloads that also run against a peer. */
import type { Target } from "./target.ts";

export interface Measurement {
  readonly name: string;
  /** Operations a second; absent where a row has no rate. */
  readonly rate?: number;
  /** CPU time of the server, or of the code itself where there is no server. */
  readonly cpuUsPerOp?: number;
  /** CPU time of the client; with one thread, the rate times this must stay well below a second a second. */
  readonly clientUsPerOp?: number;
  readonly rssMb?: number;
  /** Time of one operation: the median where there were several. */
  readonly ms?: number;
  readonly longestMs?: number;
}

/** One measuring of one suite. */
export interface Run {
  /** Length of a closed loop. */
  readonly seconds: number;
  wanted(name: string): boolean;
  /** Measures and reports a row, if it is wanted. */
  row(name: string, measure: () => Measurement | Promise<Measurement>): Promise<void>;
}

/** A workload that can run against any server of the API. */
export interface Workload {
  readonly name: string;
  /** Makes what the workload needs, and checks that the server does with it what it should. */
  prepare(target: Target): Promise<PreparedWorkload>;
}

export interface PreparedWorkload {
  /** Can be called again and again; each time starts with as few objects as the first. */
  measure(seconds: number): Promise<Measurement>;
  /** Removes what `prepare` made. */
  clean(): Promise<void>;
}

export interface Suite {
  readonly name: string;
  readonly about: string;
  /** Names and descriptions of the rows, in the order of measurement. */
  readonly rows: Readonly<Record<string, string>>;
  /** These rows can be compared with a peer. */
  readonly workloads: readonly Workload[];
  measure(run: Run): Promise<void>;
}

/** Seconds before a workload's figures count: the first hundred objects cost several times as much as later ones. */
export const defaultWarmupSeconds = 2;

/** Runs workloads one after the other against one target, those that are wanted. */
export async function measureWorkloads(run: Run, target: Target, workloads: readonly Workload[]): Promise<void> {
  for (const workload of workloads) {
    await run.row(workload.name, async () => {
      const prepared = await workload.prepare(target);
      await prepared.measure(defaultWarmupSeconds);
      const measured = await prepared.measure(run.seconds);
      await prepared.clean();
      return measured;
    });
  }
}

export const median = (list: readonly number[]): number =>
  list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;
