/**
 * `binnacle backup FILE` and `binnacle restore FILE`. A running server makes the copy itself, because only it may use
 * its store. Without a running server, the command opens the store. An etcd is read beside its servers.
 */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { restoreBackup } from "#storage/restore.ts";
import { backUpEtcd } from "#server/copy-store.ts";
import { backupPath } from "#server/endpoints.ts";
import { binnacleFlag, type Settings, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { asStartError } from "#server/store.ts";
import { command } from "./command.ts";
import { progressOn } from "./copy.ts";
import {
  encryptionFile,
  encryptionFlag,
  etcdAddress,
  etcdAddressFlags,
  ProgressLine,
  refuseEtcdFlags,
} from "./etcd-address.ts";
import { withStore } from "./server-or-store.ts";

const dataDirFlag = text(binnacleFlag("data-dir"), "./.binnacle", "folder", "The server's data folder.");
const flags = { dataDir: dataDirFlag };
const backupFlags = { ...flags, ...etcdAddressFlags, encryptionProviderConfig: encryptionFlag };

const helpOf = (name: string, purpose: string, example: string): string =>
  `${purpose}\n\nUsage: binnacle ${name} FILE [flags]\n\nExamples:\n  binnacle ${name} state.backup --data-dir=elsewhere\n${example}\n`;

const backupHelp = helpOf(
  "backup",
  "Writes a consistent copy of all objects, also while the server runs. Encrypted values of an etcd are encrypted anew, for\nwhich its servers' --encryption-provider-config is needed.",
  "  binnacle backup state.backup --etcd-servers=http://127.0.0.1:2379\n",
);
const restoreHelp = helpOf(
  "restore",
  "Fills an empty data folder with the objects of a backup. binnacle copy fills an etcd with one.",
  "",
);

/** Runs `binnacle backup`: writes a consistent copy of the store. Rejects with `StartError`. */
export const backup = command(backupFlags, backupHelp, async (settings, rest) => {
  const { file, dataDir } = placesOf("backup", settings, rest);
  if (existsSync(file)) throw new StartError(`${file} exists already`);
  process.umask(0o077);
  const { etcdServers = [], encryptionProviderConfig } = settings;
  if (etcdServers.length > 0) {
    if (settings.dataDir !== undefined) throw new StartError("backup takes --data-dir or --etcd-servers");
    const line = new ProgressLine();
    const options = { encryption: encryptionFile(encryptionProviderConfig), progress: progressOn(line) };
    const { revision } = await backUpEtcd(etcdAddress(etcdServers, settings), file, options).finally(() => line.end());
    return report(revision, file);
  }
  refuseEtcdFlags(settings);
  if (encryptionProviderConfig !== undefined)
    throw new StartError(
      "--encryption-provider-config is for backups of an etcd: others keep encrypted values as they are",
    );
  const { revision } = await withStore<{ readonly revision: string | number }>(dataDir, {
    path: backupPath,
    body: { file },
    offline: async (log) => ({ revision: await log.backup(file) }),
  });
  report(revision, file);
});

function report(revision: string | number, file: string): void {
  process.stdout.write(`backup of revision ${revision} written to ${file} (${statSync(file).size} bytes)\n`);
}

/** Runs `binnacle restore`: creates a data folder from a copy. Rejects with `StartError`. */
export const restore = command(flags, restoreHelp, async (settings, rest) => {
  const { file: backupFile, dataDir } = placesOf("restore", settings, rest);
  process.umask(0o077);
  try {
    const { keys, revision } = await restoreBackup({ backupFile, dataDir });
    process.stdout.write(`${keys} entries restored into ${dataDir}, which starts at revision ${revision}\n`);
  } catch (error) {
    throw asStartError(error);
  }
});

interface Places {
  readonly file: string;
  readonly dataDir: string;
}

function placesOf(name: string, settings: Settings<typeof flags>, rest: readonly string[]): Places {
  const [file, ...more] = rest;
  if (file === undefined || more.length > 0) throw new StartError(`${name} takes one file: binnacle ${name} FILE`);
  return { file: resolve(file), dataDir: resolve(settings.dataDir ?? flags.dataDir.default) };
}
