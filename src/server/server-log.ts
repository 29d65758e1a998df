/** The log of the program, in the format of its options. */
import { type Log, openLog } from "#std/log.ts";
import type { GeneralFlags } from "./general-flags.ts";

/** Opens the log on standard error. */
export function openServerLog({ loggingFormat, verbosity }: Pick<GeneralFlags, "loggingFormat" | "verbosity">): Log {
  const usual = process.stderr.isTTY ? "text" : "json";
  return openLog({ format: loggingFormat === "auto" ? usual : loggingFormat, verbosity });
}
