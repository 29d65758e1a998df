/** Makes commands of the program: functions of their arguments. */
import { type FlagTable, parseArguments, type Settings } from "#std/flags.ts";
import { printUsage } from "./print.ts";

/** Returns a command that reads its flags, and prints its help or does its work. It rejects with `StartError`. */
export const command =
  <Table extends FlagTable>(
    flags: Table,
    help: string,
    run: (settings: Settings<Table>, rest: readonly string[]) => Promise<void>,
  ) =>
  async (args: readonly string[]): Promise<void> => {
    const { settings, help: isHelp, rest } = parseArguments(flags, args);
    if (isHelp) printUsage(help, flags);
    else await run(settings, rest);
  };
