/**
 * `binnacle backup FILE` and `binnacle restore FILE`. A running server makes the copy itself, since it alone may touch
 * its store; without one the store is opened here.
 */
import { existsSync, readFileSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { httpsTransport } from "#client/https-transport.ts";
import { RestClient } from "#client/rest-client.ts";
import { StatusError } from "#meta/status-error.ts";
import { systemClock } from "#std/clock.ts";
import { restoreBackup } from "#storage/restore.ts";
import { openSqliteBackend } from "#storage/sqlite.ts";
import { readMarker } from "./data-folder.ts";
import { backupPath } from "./endpoints.ts";
import { parseArguments, printHelp, text } from "./flags.ts";
import { StartError } from "./start-error.ts";
import { asStartError } from "./store-error.ts";

const flags = { dataDir: text(["data-dir", "Binnacle"], "./.binnacle", "folder", "The server's data folder.") };

/** Writes a consistent copy of the store. Rejects with `StartError`. */
export async function backup(args: readonly string[]): Promise<void> {
  const command = readCommand("backup", "Writes a consistent copy of all objects, also while the server runs.", args);
  if (command === undefined) return;
  const { file, dataDir } = command;
  if (existsSync(file)) throw new StartError(`${file} exists already`);
  process.umask(0o077);
  const revision = (await askServer(dataDir, file)) ?? (await copyStore(dataDir, file));
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

/** The revision the running server wrote; undefined when no server answers. */
async function askServer(dataDir: string, file: string): Promise<string | undefined> {
  const kubeconfig = join(dataDir, "admin.kubeconfig");
  if (!existsSync(kubeconfig)) return undefined;
  const [, url] = /^\s*server: (\S+)$/m.exec(readFileSync(kubeconfig, "utf8")) ?? [];
  if (url === undefined) return undefined;
  const pem = (name: string): string => readFileSync(join(dataDir, "pki", name), "utf8");
  const transport = httpsTransport({
    url,
    ca: pem("ca.crt"),
    certificate: pem("admin.crt"),
    key: pem("admin.key"),
    userAgent: "binnacle-backup",
  });
  try {
    const client = new RestClient(transport);
    const body = Buffer.from(JSON.stringify({ file }));
    const { revision } = await client.call<{ revision: string }>({ method: "POST", path: backupPath, body });
    return revision;
  } catch (error) {
    if (error instanceof StatusError) throw new StartError(`the server at ${url} refused: ${error.message}`);
    // Nobody there, or another server has taken the port since: its certificate is not ours.
    return undefined;
  } finally {
    transport.close();
  }
}

async function copyStore(dataDir: string, file: string): Promise<string> {
  if (readMarker(dataDir) === undefined) throw new StartError(`${dataDir} is no data folder (--data-dir)`);
  try {
    const store = await openSqliteBackend({ dataDir, clock: systemClock, compactionIntervalMs: 0 });
    try {
      await store.backup(file);
      return String(store.revision);
    } finally {
      await store.close();
    }
  } catch (error) {
    throw asStartError(error);
  }
}
