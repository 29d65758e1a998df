/** `binnacle version`: the version of the program. */
import { programVersion } from "#server/program-version.ts";
import { refuseArguments } from "#std/flags.ts";
import { command, formFlag } from "./command.ts";
import { valueText } from "./print.ts";

const flags = { output: formFlag(["text", "json", "yaml"], "A line, or the version as data.") };

const help = `Prints the version of the program.

Usage: binnacle version [flags]

  -h, --help                      print this

Examples:
  binnacle version
  binnacle version -o json

`;

/** Runs `binnacle version`. Rejects with `StartError`. */
export const version = command(flags, help, async ({ output = "text" }, rest) => {
  refuseArguments(rest, "version takes flags only");
  const found = programVersion();
  process.stdout.write(output === "text" ? `binnacle ${found}\n` : valueText(output, { version: found }));
  await Promise.resolve();
});
