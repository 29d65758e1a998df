/** `binnacle verify`: checks every object of a data folder or of a backup, and changes nothing. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { readGiven } from "#server/given-files.ts";
import { asStartError } from "#server/store.ts";
import { type EncryptionFile, type StoreReport, verifyStore } from "#server/verify-store.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, optional, text } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { StoreInUse } from "#storage/log-store.ts";
import { command, formFlag } from "./command.ts";
import { tableText, valueText } from "./print.ts";

const flags = {
  dataDir: text(
    binnacleFlag("data-dir"),
    "./.binnacle",
    "folder",
    "The data folder to check; its server must be stopped.",
  ),
  encryptionProviderConfig: optional(
    binnacleFlag("encryption-provider-config"),
    "file",
    "The server's file of that name: encrypted objects are decrypted and checked, too.",
  ),
  output: formFlag(["text", "json", "yaml"], "What people read, or programs."),
};

const help = `Checks every stored object: that it can be read, is of a known kind and version, and is what its key says.

Usage: binnacle verify [FILE] [flags]

  FILE                            a backup to check in place of a data folder
  -h, --help                      print this

Changes nothing. Ends with 1 when something is wrong; objects that cannot be decrypted are named by key. A running server has its folder to itself: check a backup of it.

Examples:
  binnacle verify
  binnacle verify state.backup -o json

`;

const progressMs = 200;

/**
 * Prints the content and the problems of a store; ends the process with 1 if there are problems. Rejects with
 * `StartError`.
 */
export const verify = command(flags, help, async (settings, rest) => {
  const [backup, ...more] = rest;
  if (more.length > 0 || (backup !== undefined && settings.dataDir !== undefined)) {
    throw new StartError("verify takes one backup, or --data-dir: binnacle verify [FILE]");
  }
  const file = settings.encryptionProviderConfig;
  const encryption = file === undefined ? undefined : { file, text: readGiven(file) };
  const report = await read(backup, settings.dataDir ?? flags.dataDir.default, encryption);
  const { output } = settings;
  if (output === "json" || output === "yaml") process.stdout.write(valueText(output, report));
  else process.stdout.write(reportText(report, encryption !== undefined));
  if (report.problems.length > 0) process.exitCode = 1;
});

async function read(
  backup: string | undefined,
  dataDir: string,
  encryption: EncryptionFile | undefined,
): Promise<StoreReport> {
  if (backup !== undefined && statSync(backup, { throwIfNoEntry: false })?.isDirectory() === true) {
    throw new StartError(`${backup} is a folder: name it with --data-dir`);
  }
  if (backup === undefined && !existsSync(dataDir)) throw new StartError(`${dataDir} is no data folder (--data-dir)`);
  const store = backup === undefined ? { dataDir: resolve(dataDir) } : { backupFile: resolve(backup) };
  try {
    return await verifyStore({ store, encryption, progress: progressOf() });
  } catch (error) {
    if (error instanceof StoreInUse) {
      throw new StartError(`${error.message}: stop the server, or verify a backup of it`, { cause: error });
    }
    throw asStartError(error);
  } finally {
    if (process.stderr.isTTY) process.stderr.write("\r\u001b[K");
  }
}

function progressOf(): (objects: number) => void {
  if (!process.stderr.isTTY) return () => undefined;
  let shownAt = systemClock.monotonic();
  return (objects) => {
    const now = systemClock.monotonic();
    if (now - shownAt < progressMs) return;
    shownAt = now;
    process.stderr.write(`\r${objects} objects`);
  };
}

function reportText(report: StoreReport, isDecrypted: boolean): string {
  const { apiDomain, revision, keys, rows, resources, encrypted, decrypted, problems, moreProblems } = report;
  const counts = tableText(
    [["RESOURCE", "OBJECTS"], ...Object.entries(resources).map(([name, count]) => [name, String(count)])],
    false,
  );
  const size = `revision ${revision}, ${keys} keys, ${rows} rows with history, API domain ${apiDomain}\n`;
  const hidden =
    encrypted === 0
      ? ""
      : isDecrypted
        ? `${encrypted} objects are encrypted, ${decrypted} of them could be read\n`
        : `${encrypted} objects are encrypted, and were not looked into (--encryption-provider-config)\n`;
  if (problems.length === 0) return `${counts}\n${size}${hidden}nothing is wrong\n`;
  const wrong = problems.map(({ key, revision: at, problem }) =>
    key === "" ? problem : `${printable(key)} (revision ${at}): ${printable(problem)}`,
  );
  const rest = moreProblems === 0 ? "" : `and ${moreProblems} more\n`;
  return `${counts}\n${size}${hidden}${problems.length + moreProblems} problems:\n${wrong.map((line) => `  ${line}\n`).join("")}${rest}`;
}
