/** `binnacle copy`: moves a whole store from a data folder, or a backup, into an etcd, or from an etcd into a folder. */
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { fillEtcd, fillFolder } from "#server/copy-store.ts";
import { binnacleFlag, boolean, type Flag, optional, refuseArguments } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import type { CopyProgress, CopyReport } from "#storage/copy.ts";
import { command, formFlag } from "./command.ts";
import { encryptionFile, encryptionFlag, etcdAccessFlags, etcdAddress, isEtcd, ProgressLine } from "./etcd-address.ts";
import { valueText } from "./print.ts";

const sideFlag = (name: string, help: string): Flag<string | undefined> =>
  optional(binnacleFlag(name), "folder|urls", help);

const flags = {
  from: sideFlag("from", "A data folder, a backup, or the members of an etcd, as in http://a:2379,http://b:2379."),
  to: sideFlag("to", "A data folder without a store, or the members of an etcd that is empty below its prefix."),
  burn: boolean(
    binnacleFlag("burn"),
    false,
    "Writes an empty key until the revision of an empty etcd is beyond that of the folder.",
  ),
  encryptionProviderConfig: encryptionFlag,
  ...etcdAccessFlags,
  output: formFlag(["text", "json"], "A sentence, or JSON."),
};

const help = `Copies all objects between a data folder and an etcd, while no server uses either.

Usage: binnacle copy --from SOURCE --to TARGET [flags]

  -h, --help                      print this

Objects keep their uids, times, owners and managed fields. Their versions go on: clients that know an earlier one begin
anew. Former versions (--history) are not copied. Nothing is written when a value cannot be read. In the end both sides
are compared. When the command is interrupted, run it again: a copy into etcd goes on where it ended, and one into a
folder begins anew; no server starts on a part of a copy. Credentials (pki/) are copied by hand.

Examples:
  binnacle copy --from=./.binnacle --to=https://10.0.0.1:2379 --etcd-cafile=ca.crt --etcd-certfile=client.crt --etcd-keyfile=client.key
  binnacle copy --from=http://127.0.0.1:2379 --to=./folder

`;

/** Copies a store, and prints what was copied. Rejects with `StartError`. */
export const copy = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "copy takes flags only");
  const { from, to, burn: burns = false, output } = settings;
  if (from === undefined || to === undefined)
    throw new StartError("copy needs --from and --to: see binnacle copy --help");
  if (isEtcd(from) === isEtcd(to))
    throw new StartError(
      isEtcd(from)
        ? "copy takes one etcd: use etcdctl snapshot, or etcdctl make-mirror, between two"
        : "copy takes one etcd: use binnacle backup and binnacle restore between folders",
    );
  process.umask(0o077);
  const line = new ProgressLine();
  const options = { encryption: encryptionFile(settings.encryptionProviderConfig), progress: progressOn(line) };
  const address = etcdAddress((isEtcd(from) ? from : to).split(","), settings);
  let report: CopyReport;
  try {
    report = isEtcd(from)
      ? await fillFolder(address, resolve(to), options)
      : await fillEtcd(storeAt(from), address, { ...options, burns });
  } finally {
    line.end();
  }
  const { keys, leftOut, revision } = report;
  if (output === "json") process.stdout.write(valueText("json", { ...report, revision: String(revision) }));
  else
    process.stdout.write(
      `${keys} entries copied from ${from} to ${to}, which is at revision ${revision}; both sides are equal${leftOut === 0 ? "" : ` (${leftOut} keys of the servers themselves were left out)`}\n`,
    );
});

function storeAt(from: string): { readonly dataDir: string } | { readonly backupFile: string } {
  if (!existsSync(from)) throw new StartError(`${from} does not exist`);
  return statSync(from).isDirectory() ? { dataDir: resolve(from) } : { backupFile: resolve(from) };
}

/** Returns what shows the progress of a copy. */
export const progressOn =
  (line: ProgressLine): CopyProgress =>
  (step, keys) =>
    line.show(step === "waiting" ? "waiting for the end of servers" : `${step}: ${keys}`);
