/** `binnacle verify`: checks every object of a data folder, a backup or an etcd, and changes nothing. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { verifyEtcd } from "#server/copy-store.ts";
import { asStartError } from "#server/store.ts";
import { type StoreReport, verifyStore } from "#server/verify-store.ts";
import { binnacleFlag, type Settings, text } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { StoreInUse } from "#storage/log-store.ts";
import { openVerification, type Verification } from "#storage/verify.ts";
import { command, formFlag } from "./command.ts";
import {
  encryptionFile,
  encryptionFlag,
  etcdAddress,
  etcdAddressFlags,
  ProgressLine,
  refuseEtcdFlags,
} from "./etcd-address.ts";
import { tableText, valueText } from "./print.ts";

const flags = {
  dataDir: text(
    binnacleFlag("data-dir"),
    "./.binnacle",
    "folder",
    "The data folder to check; its server must be stopped.",
  ),
  ...etcdAddressFlags,
  encryptionProviderConfig: encryptionFlag,
  output: formFlag(["text", "json", "yaml"], "What people read, or programs."),
};

const help = `Checks every stored object: that it can be read, is of a known kind and version, and is what its key says.

Usage: binnacle verify [FILE] [flags]

  FILE                            a backup to check in place of a data folder
  -h, --help                      print this

Changes nothing. Ends with 1 when something is wrong; objects that cannot be decrypted are named by key. A running server
has its folder to itself: check a backup of it. An etcd (--etcd-servers) is checked while its servers run.

Examples:
  binnacle verify
  binnacle verify state.backup -o json
  binnacle verify --etcd-servers=http://127.0.0.1:2379

`;

/**
 * Prints the content and the problems of a store; ends the process with 1 if there are problems. Rejects with
 * `StartError`.
 */
export const verify = command(flags, help, async (settings, rest) => {
  const encryption = encryptionFile(settings.encryptionProviderConfig);
  const line = new ProgressLine();
  let report: StoreReport;
  try {
    const verification = await open(settings, rest);
    report = await verifyStore({ verification, encryption, progress: (objects) => line.show(`${objects} objects`) });
  } catch (error) {
    throw asStartError(error);
  } finally {
    line.end();
  }
  const { output } = settings;
  if (output === "json" || output === "yaml") process.stdout.write(valueText(output, report));
  else process.stdout.write(reportText(report, encryption !== undefined));
  if (report.problems.length > 0) process.exitCode = 1;
});

/** Opens what the arguments name. */
async function open(settings: Settings<typeof flags>, [backup, ...more]: readonly string[]): Promise<Verification> {
  const { dataDir, etcdServers = [] } = settings;
  const given = [backup, dataDir, etcdServers[0]].filter((one) => one !== undefined);
  if (more.length > 0 || given.length > 1)
    throw new StartError("verify takes one backup, --data-dir or --etcd-servers: binnacle verify [FILE]");
  if (etcdServers.length > 0) return verifyEtcd(etcdAddress(etcdServers, settings));
  refuseEtcdFlags(settings);
  if (backup === undefined) return openFolder(dataDir ?? flags.dataDir.default);
  if (statSync(backup, { throwIfNoEntry: false })?.isDirectory() === true)
    throw new StartError(`${backup} is a folder: name it with --data-dir`);
  return openVerification({ backupFile: resolve(backup) });
}

function openFolder(dataDir: string): Verification {
  if (!existsSync(dataDir)) throw new StartError(`${dataDir} is no data folder (--data-dir)`);
  try {
    return openVerification({ dataDir: resolve(dataDir) });
  } catch (error) {
    if (!(error instanceof StoreInUse)) throw error;
    throw new StartError(`${error.message}: stop the server, or verify a backup of it`, { cause: error });
  }
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
