/** The interface of a benchmark: rows measured alone, and workloads that also run against a peer. */
import type { Target } from "./target.ts";

export interface Measurement {
  readonly name: string;
  /** The number of operations a second; absent if the row has no rate. */
  readonly rate?: number;
  /** The CPU time of the server in microseconds, or of the code itself if there is no server. */
  readonly cpuUsPerOp?: number;
  /**
   * The CPU time of the client's single thread in microseconds. Multiplied by the rate, it must stay well below a
   * second.
   */
  readonly clientUsPerOp?: number;
  readonly rssMb?: number;
  /** The time of one operation in milliseconds; the median of several operations. */
  readonly ms?: number;
  readonly longestMs?: number;
}

/** A run of a suite. */
export interface Run {
  /** The length of a closed loop. */
  readonly seconds: number;
  isWanted(name: string): boolean;
  /** Measures and reports a row, if it is wanted. */
  row(name: string, measure: () => Measurement | Promise<Measurement>): Promise<void>;
}

/** A workload that can run against any server of the API. */
export interface Workload {
  readonly name: string;
  /** Creates the objects that the workload needs, and checks that the server handles them correctly. */
  prepare(target: Target): Promise<PreparedWorkload>;
}

export interface PreparedWorkload {
  /** Measures the workload. Each call starts with as few objects as the first one. */
  measure(seconds: number): Promise<Measurement>;
  /** Removes the objects that `prepare` created. */
  clean(): Promise<void>;
}

export interface Suite {
  readonly name: string;
  readonly about: string;
  /** The names and descriptions of the rows, in the order of measurement. */
  readonly rows: Readonly<Record<string, string>>;
  /** The rows that can be compared with a peer. */
  readonly workloads: readonly Workload[];
  /** The flags with which our server is started for the workloads; default: none. */
  readonly flags?: readonly string[];
  measure(run: Run): Promise<void>;
}

/** The time in seconds before figures count: the first hundred objects cost several times as much as later ones. */
export const defaultWarmupSeconds = 2;

/** Runs the wanted workloads one after the other against one target. */
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
