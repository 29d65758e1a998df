/**
 * Fills the folder `KUBEBUILDER_ASSETS` for controller-runtime's envtest: `kube-apiserver` is this server in memory
 * without controllers; `etcd` only answers health checks; `kubectl` is the user's own.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { isSea } from "node:sea";
import { openHealthOnly } from "#transport/health-only.ts";
import { shellWord } from "#meta/printed-command.ts";
import { reasonOf } from "#std/system-error.ts";
import { boolean, type Flag, list, optional, parseArguments, printHelp } from "#std/flags.ts";
import { linkKubectl } from "./link-kubectl.ts";
import type { ServerSettings } from "#server/options.ts";
import { type Command, commandOf } from "./command.ts";
import { runServe } from "./serve.ts";
import { StartError } from "#std/start-error.ts";

const envtestUsage = `Usage: binnacle envtest FOLDER

Examples:
  KUBEBUILDER_ASSETS=$(binnacle envtest bin/envtest) go test ./...`;

/**
 * Makes `binnacle envtest FOLDER`, which writes both programs, links kubectl, and prints the folder. `program` is the
 * file of this program.
 */
export const envtest = (program: string): Command =>
  // A refusal of the arguments rejects.
  commandOf(async (args) => Promise.resolve(writePrograms(args, program)), { help: envtestUsage });

function writePrograms(args: readonly string[], program: string): void {
  const [folder] = args;
  if (folder === "--help" || folder === "-h") {
    process.stdout.write(`Writes the programs that suites of controller-runtime's envtest start.\n\n${envtestUsage}\n`);
    return;
  }
  if (args.length !== 1 || folder === undefined || folder.startsWith("-"))
    throw new StartError("envtest takes one folder: binnacle envtest FOLDER");
  const assets = resolve(folder);
  mkdirSync(assets, { recursive: true });
  for (const name of ["kube-apiserver", "etcd"]) {
    const file = join(assets, name);
    // The executable is its own program, with its flags of Node.
    const started = isSea() ? [process.execPath] : [process.execPath, ...process.execArgv, program];
    const command = started.map(shellWord).join(" ");
    writeFileSync(file, `#!/bin/sh\nexec ${command} ${name} "$@"\n`);
    chmodSync(file, 0o755);
  }
  const problem = linkKubectl(assets, process.env["PATH"]);
  if (problem !== undefined) process.stderr.write(`binnacle: ${problem}\n`);
  process.stdout.write(`${assets}\n`);
}

/**
 * The settings of a kube-apiserver without flags: Kubernetes' names and etcd's timing. Everything is in memory and lost
 * at the end.
 */
export const kubeApiserverDefaults: ServerSettings = {
  apiDomain: "k8s.io",
  storage: "memory",
  controllers: ["-*"],
  upstreamTiming: true,
};

/** Runs `binnacle kube-apiserver`: a server for a test suite. The etcd that suites start keeps nothing. */
export const kubeApiserver = commandOf((args) =>
  runServe(
    args.filter((arg, at) => !isEtcdServers(arg) && (isFlagWithValue(arg) || args[at - 1] !== "--etcd-servers")),
    kubeApiserverDefaults,
  ),
);

const isEtcdServers = (arg: string): boolean => arg === "--etcd-servers" || arg.startsWith("--etcd-servers=");
const isFlagWithValue = (arg: string): boolean => arg.startsWith("-");

/**
 * Flags of etcd 3.5 about how it stores, compacts, replicates and logs. Suites tune these, and they mean nothing to a
 * program that stores nothing. Flags about TLS and users are not among them, since clients would connect otherwise.
 */
const etcdValues = `
  advertise-client-urls data-dir initial-advertise-peer-urls initial-cluster initial-cluster-state initial-cluster-token
  listen-metrics-urls listen-peer-urls name wal-dir auto-compaction-mode auto-compaction-retention backend-batch-interval
  backend-batch-limit backend-bbolt-freelist-type election-timeout experimental-compaction-batch-limit
  experimental-watch-progress-notify-interval heartbeat-interval max-concurrent-streams max-request-bytes max-snapshots
  max-txn-ops max-wals quota-backend-bytes snapshot-count log-level log-outputs logger metrics
`;
const etcdSwitches = ["enable-pprof", "force-new-cluster", "pre-vote", "strict-reconfig-check", "unsafe-no-fsync"];

const ignored = "Accepted, and not looked at.";

const etcdFlags = {
  ...Object.fromEntries<Flag<unknown>>([
    ...etcdValues
      .trim()
      .split(/\s+/)
      .map((name) => [name, optional([name, "Etcd"], "value", ignored)] as const),
    ...etcdSwitches.map((name) => [name, boolean([name, "Etcd"], false, ignored)] as const),
  ]),
  listenClientUrls: list(["listen-client-urls", "Etcd"], "urls", "Where it answers /health."),
};

/** Runs `binnacle etcd`: answers health checks until a signal arrives. */
export const etcd = commandOf(async (args) => {
  const { settings, help } = parseArguments(etcdFlags, args);
  if (help) {
    process.stdout.write(`Stands where suites expect etcd. Keeps nothing.\n\n${printHelp(etcdFlags, 100)}`);
    return;
  }
  const [url] = settings.listenClientUrls ?? ["http://127.0.0.1:2379"];
  if (url === undefined || !URL.canParse(url)) throw new StartError("--listen-client-urls must be a URL");
  const { hostname, port } = new URL(url);
  try {
    await openHealthOnly(hostname, Number(port));
  } catch (error) {
    throw new StartError(`cannot listen on ${url}: ${reasonOf(error)}`);
  }
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.once(signal, () => process.exit(0));
});
