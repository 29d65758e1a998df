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

/** Returns the flag `--output`, which takes one of the forms; the first is the default. */
export const formFlag = <Form extends string>(forms: readonly [Form, ...Form[]], help: string): Flag<Form> =>
  withShort(choice<Form>(binnacleFlag("output"), forms[0], forms, help), "o");

export const namespaceFlag = (help: string): Flag<string | undefined> =>
  withShort(optional(binnacleFlag("namespace"), "name", help), "n");

export const selectorFlag = (help: string): Flag<string | undefined> =>
  withShort(optional(binnacleFlag("selector"), "labels", help), "l");
