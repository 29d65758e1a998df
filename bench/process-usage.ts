/** What a process has used so far, read from the kernel. Linux only; elsewhere the figures are NaN. */
import { readFileSync } from "node:fs";

export interface Usage {
  /** User and system time, microseconds. */
  readonly cpuUs: number;
  readonly rssMb: number;
}

/** Ticks a second of `/proc`; 100 on every Linux that Node runs on. */
const ticksPerSecond = 100;

export function usageOf(pid: number): Usage {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "latin1").split(") ")[1]!.split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    const status = readFileSync(`/proc/${pid}/status`, "latin1");
    const rssKb = Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]);
    return { cpuUs: (ticks * 1e6) / ticksPerSecond, rssMb: rssKb / 1024 };
  } catch {
    return { cpuUs: Number.NaN, rssMb: Number.NaN };
  }
}
