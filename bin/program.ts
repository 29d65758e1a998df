/** The program: runs a command, and prints a failure in one line. Commands are loaded on demand. */
import { fileURLToPath } from "node:url";
import type { Command } from "#commands/command.ts";
import { StartError } from "#std/start-error.ts";

const help = `Binnacle, a Kubernetes-compatible API server in one process.

Usage: binnacle <command> [flags]

  serve                start the server (binnacle serve --help)
  backup FILE          write a consistent copy of the objects, also while the server runs
  restore FILE         fill an empty data folder from such a copy
  copy                 move all objects from a data folder to an etcd, or back (binnacle copy --help)
  verify [FILE]        check every stored object of a data folder, a backup or an etcd
  compact              drop history and give its room back (binnacle compact --help)
  changes [KIND]       show who changed what in the last minutes (binnacle changes --help)
  history KIND NAME    show the versions of an object that the server keeps; --diff shows the lines that differ
  undelete KIND NAME   bring deleted objects, or an older version, back
  get KIND [NAME]      print objects as tables, JSON, YAML or parts of them; -w watches, --at shows the past
  apply -f FILE        make objects have what files say; diff -f FILE shows what that would change
  delete KIND NAME     delete objects, and wait until they are gone
  wait KIND NAME       wait until an object is as it is wanted (binnacle wait --help)
  api-resources        list the kinds of a server
  create role NAME     make roles and bindings (binnacle create --help)
  certificate approve  approve or deny requests for certificates
  why VERB KIND        say which rule allows something, or what would allow it
  who can VERB KIND    list who can do something, and through which role
  blame KIND NAME      print an object with the manager of each field, and the fields that managers fight over
  tree KIND NAME       print what owns an object, what it owns, and what its deletion waits for
  doctor               look for what is wrong in a cluster, and say what can be done
  console              look at a cluster in a browser (binnacle console --help)
  health               say whether a server is ready; --wait waits for it
  auth COMMAND         what you may do, who you are, and roles from a file (binnacle auth --help)
  export [KIND]...     write objects of a server, also of a Kubernetes cluster, as YAML or JSON
  import FILE          make the objects of such a file on a server
  kubeconfig           make access for a user or a service account (binnacle kubeconfig --help)
  join-info URL        print what a cluster tells everybody, verified by a bootstrap token
  test-server          start a server for tests in any language, which ends with them (docs/testing.md)
  envtest FOLDER       write the programs that suites of controller-runtime's envtest start
  types FILE...        print TypeScript for custom resources, from their definitions
  token create         ask a running server for a service account's token (binnacle token --help)
  dashboard            print a dashboard for Grafana, or rules for alerts
  completion SHELL     print the script by which bash, zsh or fish completes lines
  manual               print the manual page, for man
  version              print the version
`;

/** Commands by name; a command is loaded when it is needed. `entry` is the URL of the file with which Node was started. */
const commands: Readonly<Record<string, (entry: string) => Promise<Command>>> = {
  serve: async () => (await import("#commands/serve.ts")).serve,
  history: async () => (await import("#commands/history.ts")).history,
  changes: async () => (await import("#commands/changes.ts")).changes,
  undelete: async () => (await import("#commands/undelete.ts")).undelete,
  backup: async () => (await import("#commands/backup.ts")).backup,
  copy: async () => (await import("#commands/copy.ts")).copy,
  restore: async () => (await import("#commands/backup.ts")).restore,
  export: async () => (await import("#commands/export.ts")).exportObjects,
  import: async () => (await import("#commands/import.ts")).importObjects,
  verify: async () => (await import("#commands/verify.ts")).verify,
  compact: async () => (await import("#commands/compact.ts")).compact,
  kubeconfig: async () => (await import("#commands/kubeconfig.ts")).kubeconfig,
  get: async () => (await import("#commands/get.ts")).get,
  apply: async () => (await import("#commands/apply.ts")).apply,
  create: async () => (await import("#commands/create.ts")).create,
  certificate: async () => (await import("#commands/certificate.ts")).certificate,
  diff: async () => (await import("#commands/diff.ts")).diff,
  delete: async () => (await import("#commands/delete.ts")).deleteObjects,
  wait: async () => (await import("#commands/wait.ts")).wait,
  "api-resources": async () => (await import("#commands/api-resources.ts")).apiResources,
  auth: async () => (await import("#commands/auth.ts")).auth,
  why: async () => (await import("#commands/why.ts")).why,
  blame: async () => (await import("#commands/blame.ts")).blame,
  tree: async () => (await import("#commands/tree.ts")).tree,
  doctor: async () => (await import("#commands/doctor.ts")).doctor,
  console: async () => (await import("#commands/console.ts")).consoleCommand,
  health: async () => (await import("#commands/health.ts")).health,
  who: async () => (await import("#commands/who.ts")).who,
  types: async () => (await import("#commands/types.ts")).types,
  token: async () => (await import("#commands/token.ts")).token,
  "join-info": async () => (await import("#commands/join-info.ts")).joinInfo,
  "test-server": async () => (await import("#commands/test-server.ts")).testServer,
  envtest: async (entry) => (await import("#commands/envtest.ts")).envtest(fileURLToPath(entry)),
  "kube-apiserver": async () => (await import("#commands/envtest.ts")).kubeApiserver,
  etcd: async () => (await import("#commands/envtest.ts")).etcd,
  dashboard: async () => (await import("#commands/dashboard.ts")).dashboard,
  completion: async () => (await import("#commands/completion.ts")).completion,
  "complete-line": async (entry) =>
    (await import("#commands/completion.ts")).lineCompletion(shownCommands(entry), about),
  manual: async (entry) => (await import("#commands/manual.ts")).manual(shownCommands(entry), about),
  version: async () => (await import("#commands/version.ts")).version,
};

/** Returns the loaders of the commands that the help shows. */
const shownCommands = (entry: string): Readonly<Record<string, () => Promise<Command>>> =>
  Object.fromEntries(
    Object.entries(commands).flatMap(([name, load]) => (about(name) === "" ? [] : [[name, () => load(entry)]])),
  );

/** Returns what the help says about a command; empty for one that it does not show. */
const about = (command: string): string => new RegExp(`^  ${command}(?: .*?)? {2,}(.+)$`, "m").exec(help)?.[1] ?? "";

async function main([name, ...args]: readonly string[], entry: string): Promise<void> {
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(help);
    return;
  }
  const word = name === "--version" ? "version" : name;
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (command === undefined) throw new StartError(`unknown command ${JSON.stringify(name)}: see binnacle --help`);
  await (await command(entry))(args);
}

/**
 * Runs the command that the arguments name; ends the process with 1 when it fails. `entry` is the URL of the file with
 * which Node was started.
 */
export async function program(args: readonly string[], entry: string): Promise<void> {
  // The reader of a pipe may end first, such as `head`.
  process.stdout.once("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 0 : 1));
  try {
    await main(args, entry);
  } catch (error) {
    const isExpected = error instanceof StartError;
    process.stderr.write(`binnacle: ${isExpected ? error.message : ((error as Error).stack ?? String(error))}\n`);
    // Commands with several exit codes have set theirs.
    process.exit(typeof process.exitCode === "number" && process.exitCode > 0 ? process.exitCode : 1);
  }
}
