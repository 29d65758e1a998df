/** `binnacle serve`: starts a server, prints its addresses and files, and stops it on a signal. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { systemClock } from "#std/clock.ts";
import { endWithParent } from "./end-with-parent.ts";
import { keepNewObjectsYoung } from "#server/young-objects.ts";
import {
  flagNotes,
  parseServeArguments,
  readConfigFile,
  serveHelp,
  type ServerSettings,
  shortServeHelp,
} from "#server/options.ts";
import { readGiven } from "#server/given-files.ts";
import { refuseArguments } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { type RunningServer, startServer } from "#server/start-server.ts";

/**
 * Runs the server until a signal arrives. `defaults` are the settings that neither the command line nor a file sets.
 * Rejects with `StartError` when the server cannot start.
 */
export async function serve(args: readonly string[], defaults: ServerSettings = {}): Promise<void> {
  keepNewObjectsYoung();
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

  // All files are for their owner only, also those of the store.
  process.umask(0o077);
  const starting = startServer(settings, { log: "stderr" });
  const stop = stopOnSignal(starting);
  // npm does not pass each signal on, and a program that reads the JSON may be killed.
  if (output === "json" || process.env["npm_execpath"] !== undefined) endWithParent(stop);
  const server = await starting;
  process.stdout.write(output === "json" ? `${JSON.stringify(summary(server))}\n` : greeting(server));
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
  binnacle serve --config=server.yaml

binnacle serve --help=all prints all flags: those of kube-apiserver under their names, and others.
`;

/** Takes `-o json` from the arguments, since it belongs to the command and not to the server. */
function takeOutput(args: readonly string[]): { output: "text" | "json"; rest: readonly string[] } {
  const at = args.findIndex((arg) => /^(?:-o|--output)(?:=.*)?$/.test(arg));
  if (at < 0) return { output: "text", rest: args };
  const glued = args[at]!.includes("=");
  const value = glued ? args[at]!.split("=")[1] : args[at + 1];
  if (value !== "json" && value !== "text")
    throw new StartError(`invalid value ${JSON.stringify(value ?? "")} for -o: must be json or text`);
  return { output: value, rest: [...args.slice(0, at), ...args.slice(at + (glued ? 1 : 2))] };
}

function summary(server: RunningServer): Record<string, unknown> {
  const { options, url, port, kubeconfigFile } = server;
  return {
    url,
    port,
    apiDomain: options.apiDomain,
    storage: options.storage,
    dataDir: options.dataDir,
    kubeconfig: kubeconfigFile,
  };
}

/** Returns where the objects are, for people. */
function storageOf({ etcdServers, storage, dataDir }: RunningServer["options"]): string {
  if (etcdServers.length > 0) return `etcd at ${etcdServers.join(", ")}`;
  return storage === "disk" ? dataDir : "memory: objects are gone when the server ends";
}

function greeting(server: RunningServer): string {
  const { options, url, kubeconfigFile } = server;
  const dim = (text: string): string => styleText("dim", text);
  const pki = `${options.dataDir}/pki`;
  const rows: readonly [string, string][] = [
    ["server", url],
    ["API domain", options.apiDomain],
    ["storage", storageOf(options)],
    ["kubeconfig", kubeconfigFile ?? "none"],
  ];
  const lines = rows.map(([name, value]) => `  ${dim(name.padEnd(12))}${value}`);
  if (kubeconfigFile === undefined) return `${styleText("bold", "Binnacle is ready.")}\n\n${lines.join("\n")}\n`;
  const next =
    options.apiDomain === "k8s.io"
      ? `kubectl --kubeconfig ${options.dataDir}/admin.kubeconfig get namespaces`
      : `curl --cacert ${options.tlsCertFile ?? `${pki}/ca.crt`} --cert ${pki}/admin.crt --key ${pki}/admin.key ${url}/api/v1/namespaces`;
  return `${styleText("bold", "Binnacle is ready.")}\n\n${lines.join("\n")}\n\nTry next:\n  ${next}\n`;
}

/**
 * The time after the first signal in which signals count as the same one: npm passes the terminal's signal on a second
 * time.
 */
const sameSignalMs = 300;

/**
 * Makes the folder for the credentials of a server in memory, which nothing outlives. It is removed when the process
 * ends.
 */
function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/**
 * Closes the server at the first signal, and ends the process at the second one. Returns a function that closes it
 * without a signal.
 */
function stopOnSignal(starting: Promise<RunningServer>): () => void {
  let askedAt: number | undefined;
  const stop = async (): Promise<void> => {
    try {
      await (await starting).close();
      process.exit(0);
    } catch (error) {
      // `serve` reports a failed start itself.
      if (!(error instanceof StartError)) process.stderr.write(`binnacle: bad end: ${String(error)}\n`);
      process.exit(1);
    }
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    const now = systemClock.monotonic();
    if (askedAt !== undefined) {
      if (now - askedAt < sameSignalMs) return;
      process.stderr.write(`binnacle: ${signal} again: stopping at once\n`);
      process.exit(1);
    }
    askedAt = now;
    void stop();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  return () => void stop();
}
