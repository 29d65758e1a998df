/**
 * `binnacle backup FILE` and `binnacle restore FILE`. A running server makes the copy itself, because only it may use
 * its store. Without a running server, the command opens the store.
 */
import { existsSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { systemClock } from "#std/clock.ts";
import { StoreInUse } from "#storage/log-store.ts";
import { restoreBackup } from "#storage/restore.ts";
import { openSqliteStore } from "#storage/sqlite.ts";
import { readMarker } from "#server/data-folder.ts";
import { backupPath } from "#server/endpoints.ts";
import { parseArguments, printHelp, text } from "#std/flags.ts";
import { findServer, post, Unreachable } from "#server/running-server.ts";
import { StartError } from "#std/start-error.ts";
import { asStartError } from "#server/store-error.ts";

/** A large store is copied in minutes. */
const timeoutMs = 60 * 60_000;

const flags = { dataDir: text(["data-dir", "Binnacle"], "./.binnacle", "folder", "The server's data folder.") };

/** Writes a consistent copy of the store. Rejects with `StartError`. */
export async function backup(args: readonly string[]): Promise<void> {
  const command = readCommand("backup", "Writes a consistent copy of all objects, also while the server runs.", args);
  if (command === undefined) return;
  const { file, dataDir } = command;
  if (existsSync(file)) throw new StartError(`${file} exists already`);
  process.umask(0o077);
  const asked = await askServer(dataDir, file);
  const revision = asked instanceof Unreachable ? await copyStore(dataDir, file, asked) : asked;
  process.stdout.write(`backup of revision ${revision} written to ${file} (${statSync(file).size} bytes)\n`);
}

/** Makes a data folder of a copy. Rejects with `StartError`. */
export async function restore(args: readonly string[]): Promise<void> {
  const command = readCommand("restore", "Fills an empty data folder with the objects of a backup.", args);
  if (command === undefined) return;
  process.umask(0o077);
  try {
    const { keys, revision } = await restoreBackup({ backupFile: command.file, dataDir: command.dataDir });
    process.stdout.write(`${keys} entries restored into ${command.dataDir}, which starts at revision ${revision}\n`);
  } catch (error) {
    throw asStartError(error);
  }
}

interface Command {
  readonly file: string;
  readonly dataDir: string;
}

function readCommand(name: string, purpose: string, args: readonly string[]): Command | undefined {
  const { settings, help, rest } = parseArguments(flags, args);
  if (help) {
    process.stdout.write(`${purpose}\n\nUsage: binnacle ${name} FILE [flags]\n\n${printHelp(flags, 100)}`);
    return undefined;
  }
  const [file, ...more] = rest;
  if (file === undefined || more.length > 0) throw new StartError(`${name} takes one file: binnacle ${name} FILE`);
  return { file: resolve(file), dataDir: resolve(settings.dataDir ?? flags.dataDir.default) };
}

/** The revision the running server wrote; why none answers, otherwise. */
async function askServer(dataDir: string, file: string): Promise<string | Unreachable> {
  // Without it no server has used the folder.
  if (!existsSync(join(dataDir, "admin.kubeconfig"))) return new Unreachable(`no admin.kubeconfig in ${dataDir}`);
  try {
    const { revision } = await post<{ revision: string }>(findServer({ dataDir }), backupPath, { file }, timeoutMs);
    return revision;
  } catch (error) {
    if (error instanceof Unreachable) return error;
    throw error;
  }
}

async function copyStore(dataDir: string, file: string, unreachable: Unreachable): Promise<number> {
  if (readMarker(dataDir) === undefined) throw new StartError(`${dataDir} is no data folder (--data-dir)`);
  try {
    const store = await openSqliteStore({ dataDir, clock: systemClock, compactionIntervalMs: 0 });
    try {
      return await store.log.backup(file);
    } finally {
      await store.cache.close();
    }
  } catch (error) {
    if (error instanceof StoreInUse)
      throw new StartError(`${error.message}, and ${unreachable.message}`, { cause: error });
    throw asStartError(error);
  }
}
