/** `binnacle serve`: starts a server, prints its addresses and files, and stops it on a signal. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { keepNewObjectsYoung, optimizeSooner } from "#server/v8-settings.ts";
import {
  flagNotes,
  parseServeArguments,
  readConfigFile,
  serveHelp,
  serverFlags,
  type ServerSettings,
  shortServeHelp,
} from "#server/options.ts";
import { readGiven } from "#server/given-files.ts";
import { refuseArguments } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import type { Command } from "./command.ts";
import { endWithParent } from "./end-with-parent.ts";
import { announcement, factsOf, type OutputFormat } from "./serve/greeting.ts";
import { processVariable } from "./serve/messages.ts";
import { stopOnSignal } from "./serve/stop-on-signal.ts";

/**
 * Runs the server until a signal arrives. `defaults` are the settings that neither the command line nor a file sets.
 * Rejects with `StartError` when the server cannot start.
 */
export async function runServe(args: readonly string[], defaults: ServerSettings = {}): Promise<void> {
  keepNewObjectsYoung();
  // All files are for their owner only, also those of the store.
  process.umask(0o077);
  const index = process.env[processVariable];
  if (index !== undefined) {
    // Programs that a server starts are none of its processes.
    delete process.env[processVariable];
    await (await import("./serve/serving-process.ts")).serveAsProcess(Number(index));
    return;
  }
  const { output, rest: own } = takeOutput(args);
  const { settings: typed, help, rest } = parseServeArguments(own);
  if (help) {
    const width = process.stdout.columns ?? 100;
    const isWhole = own.some((arg) => /^--?help=all$/.test(arg));
    process.stdout.write(usage + (isWhole ? serveHelp(width) : shortServeHelp(width) + moreHelp));
    return;
  }
  refuseArguments(rest, "serve takes flags only");
  const file: ServerSettings =
    typed.config === undefined ? {} : await readConfigFile(typed.config, readGiven(typed.config));
  const given = { ...defaults, ...file, ...typed };
  const settings = {
    ...given,
    dataDir: given.dataDir ?? (given.storage === "memory" ? temporaryFolder() : "./.binnacle"),
  };
  for (const note of flagNotes(settings)) process.stderr.write(`binnacle: ${note}\n`);
  const run = (settings.processes ?? 1) > 1 ? runProcesses : runServer;
  await run(settings, output);
}

/** Serves in this process. */
async function runServer(settings: ServerSettings, output: OutputFormat): Promise<void> {
  // A supervisor needs nothing of this.
  const { startServer } = await import("#server/start-server.ts");
  const starting = startServer(settings, { log: "stderr" });
  const stop = stopOnSignal({ close: async () => (await starting).close(), kill: () => undefined });
  endWithStarter(stop, output);
  process.stdout.write(announcement(factsOf(await starting), output));
  optimizeSooner();
}

/** Lets several processes serve, which this one supervises. */
async function runProcesses(settings: ServerSettings, output: OutputFormat): Promise<void> {
  const { FirstEnd, Supervisor } = await import("./serve/supervisor.ts");
  const supervisor = new Supervisor(settings);
  endWithStarter(stopOnSignal(supervisor), output);
  try {
    process.stdout.write(announcement(await supervisor.start(), output));
  } catch (error) {
    await supervisor.abandon();
    if (error instanceof FirstEnd && error.isTold) process.exit(1);
    throw error;
  }
}

/** Ends the server with the program that started it, where that may end without a signal. */
function endWithStarter(stop: () => void, output: OutputFormat): void {
  // npm does not pass each signal on, and a program that reads the JSON may be killed.
  if (output === "json" || process.env["npm_execpath"] !== undefined) endWithParent(stop);
}

const usage = `Starts the API server.

Usage: binnacle serve [flags]

  -o json                         print the address, the data folder and the kubeconfig as one line of JSON
  -h, --help                      print this; --help=all: all flags

`;

const moreHelp = `
Examples:
  binnacle serve                                        a server for this folder, with its data in ./.binnacle
  binnacle serve --api-domain=k8s.io                    with the names of Kubernetes, for kubectl and Helm
  binnacle serve --storage=memory --secure-port=0       for a moment: nothing is kept, any free port
  binnacle serve --bind-address=0.0.0.0 --tls-san=api.example.com
  binnacle serve --processes=4                          four processes behind one port, for as many cores
  binnacle serve --config=server.yaml

binnacle serve --help=all prints all flags: those of kube-apiserver under their names, and others.
`;

/** `binnacle serve`. */
export const serve: Command = Object.assign((args: readonly string[]) => runServe(args), {
  flags: serverFlags,
  help: usage,
});

/** Takes `-o json` from the arguments, since it belongs to the command and not to the server. */
function takeOutput(args: readonly string[]): { output: OutputFormat; rest: readonly string[] } {
  const at = args.findIndex((arg) => /^(?:-o|--output)(?:=.*)?$/.test(arg));
  if (at < 0) return { output: "text", rest: args };
  const glued = args[at]!.includes("=");
  const value = glued ? args[at]!.split("=")[1] : args[at + 1];
  if (value !== "json" && value !== "text")
    throw new StartError(`invalid value ${JSON.stringify(value ?? "")} for -o: must be json or text`);
  return { output: value, rest: [...args.slice(0, at), ...args.slice(at + (glued ? 1 : 2))] };
}

/**
 * Makes the folder for the credentials of a server in memory, which nothing outlives. It is removed when the process
 * ends.
 */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
