/** The resource usage of a process tree, from the kernel, on Linux only; elsewhere the figures are NaN. */
import { readdirSync, readFileSync } from "node:fs";

export interface Usage {
  /** User and system time of all threads and children in microseconds, including ended ones. */
  readonly cpuUs: number;
  readonly rssMb: number;
}

/** The number of ticks a second in `/proc`, which is 100 on every Linux that Node supports. */
const ticksPerSecond = 100;

/** Returns the usage of the process and its descendants; NaN for `undefined` and for an ended process. */
export function usageOf(pid: number | undefined): Usage {
  if (pid === undefined) return { cpuUs: Number.NaN, rssMb: Number.NaN };
  try {
    let cpuUs = 0;
    let rssMb = 0;
    for (const one of treeOf(pid)) {
      const stat = readFileSync(`/proc/${one}/stat`, "latin1");
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
      const status = readFileSync(`/proc/${one}/status`, "latin1");
      cpuUs += (ticks * 1e6) / ticksPerSecond;
      rssMb += Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
    }
    return { cpuUs, rssMb };
  } catch {
    return { cpuUs: Number.NaN, rssMb: Number.NaN };
  }
}

/** Returns the process and its descendants: its children in the order of their start, then theirs. */
export function treeOf(root: number | undefined): readonly number[] {
  const pids = root === undefined ? [] : [root];
  for (const pid of pids) {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      const children = childrenOf(pid, thread);
      if (children !== "") pids.push(...children.split(" ").map(Number));
    }
  }
  return pids;
}

/** Lists the children of one thread. A thread that has ended meanwhile, or a kernel without this file, has none. */
function childrenOf(pid: number, thread: string): string {
  try {
    return readFileSync(`/proc/${pid}/task/${thread}/children`, "latin1").trim();
  } catch {
    return "";
  }
}
