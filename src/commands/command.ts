/** Makes commands of the program: functions of their arguments. */
import {
  binnacleFlag,
  choice,
  type Flag,
  type FlagTable,
  optional,
  parseArguments,
  type Settings,
  withShort,
} from "#std/flags.ts";
import { printUsage } from "./print.ts";

/** A command: a function of its arguments, with what its help and the completion of lines say. It rejects with `StartError`. */
export interface Command {
  (args: readonly string[]): Promise<void>;
  readonly flags: FlagTable;
  readonly help: string;
  /** The commands below this one. */
  readonly commands?: Readonly<Record<string, Command>>;
}

/** Returns a command that reads its flags, and prints its help or does its work. */
export function command<Table extends FlagTable>(
  flags: Table,
  help: string,
  run: (settings: Settings<Table>, rest: readonly string[]) => Promise<void>,
): Command {
  const read = async (args: readonly string[]): Promise<void> => {
    const { settings, help: isHelp, rest } = parseArguments(flags, args);
    if (isHelp) printUsage(help, flags);
    else await run(settings, rest);
  };
  return commandOf(read, { flags, help });
}

/** Returns a command that reads its arguments itself. */
export const commandOf = (
  run: (args: readonly string[]) => Promise<void>,
  { flags = {}, help = "", ...more }: Partial<Pick<Command, "flags" | "help" | "commands">> = {},
): Command => Object.assign(run, { flags, help, ...more });

/** Returns the flag `--output`, which takes one of the forms; the first is the default. */
export const formFlag = <Form extends string>(forms: readonly [Form, ...Form[]], help: string): Flag<Form> =>
  withShort(choice<Form>(binnacleFlag("output"), forms[0], forms, help), "o");

export const namespaceFlag = (help: string): Flag<string | undefined> =>
  withShort(optional(binnacleFlag("namespace"), "name", help), "n");

export const selectorFlag = (help: string): Flag<string | undefined> =>
  withShort(optional(binnacleFlag("selector"), "labels", help), "l");
