/** `binnacle version`: the version of the program. */
import { programVersion } from "#server/program-version.ts";
import { command } from "./command.ts";

const help = `Prints the version of the program.

Usage: binnacle version

`;

export const version = command({}, help, async () => {
  process.stdout.write(`binnacle ${programVersion()}\n`);
  await Promise.resolve();
});
