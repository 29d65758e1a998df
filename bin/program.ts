/** The program: runs a command, and prints a failure in one line. Commands are loaded on demand. */
import { fileURLToPath } from "node:url";
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
  blame KIND NAME      print an object with the manager of each field
  tree KIND NAME       print what owns an object, what it owns, and what its deletion waits for
  doctor               look for what is wrong in a cluster
  console              look at a cluster in a browser (binnacle console --help)
  auth COMMAND         what you may do, who you are, and roles from a file (binnacle auth --help)
  export [KIND]...     write objects of a server, also of a Kubernetes cluster, as YAML or JSON
  import FILE          make the objects of such a file on a server
  kubeconfig           make access for a user or a service account (binnacle kubeconfig --help)
  join-info URL        print what a cluster tells everybody, verified by a bootstrap token
  test-server          start a server for tests in any language, which ends with them (docs/testing.md)
  envtest FOLDER       write the programs that suites of controller-runtime's envtest start
  types FILE...        print TypeScript for custom resources, from their definitions
  token create         ask a running server for a service account's token (binnacle token --help)
  version              print the version
`;

/** A command. `entry` is the URL of the file with which Node was started. */
type Command = (args: readonly string[], entry: string) => Promise<void>;

const commands: Readonly<Record<string, Command>> = {
  serve: async (args) => (await import("#commands/serve.ts")).serve(args),
  history: async (args) => (await import("#commands/history.ts")).history(args),
  changes: async (args) => (await import("#commands/changes.ts")).changes(args),
  undelete: async (args) => (await import("#commands/undelete.ts")).undelete(args),
  backup: async (args) => (await import("#commands/backup.ts")).backup(args),
  copy: async (args) => (await import("#commands/copy.ts")).copy(args),
  restore: async (args) => (await import("#commands/backup.ts")).restore(args),
  export: async (args) => (await import("#commands/export.ts")).exportObjects(args),
  import: async (args) => (await import("#commands/import.ts")).importObjects(args),
  verify: async (args) => (await import("#commands/verify.ts")).verify(args),
  compact: async (args) => (await import("#commands/compact.ts")).compact(args),
  kubeconfig: async (args) => (await import("#commands/kubeconfig.ts")).kubeconfig(args),
  get: async (args) => (await import("#commands/get.ts")).get(args),
  apply: async (args) => (await import("#commands/apply.ts")).apply(args),
  create: async (args) => (await import("#commands/create.ts")).create(args),
  certificate: async (args) => (await import("#commands/certificate.ts")).certificate(args),
  diff: async (args) => (await import("#commands/diff.ts")).diff(args),
  delete: async (args) => (await import("#commands/delete.ts")).deleteObjects(args),
  wait: async (args) => (await import("#commands/wait.ts")).wait(args),
  "api-resources": async (args) => (await import("#commands/api-resources.ts")).apiResources(args),
  auth: async (args) => (await import("#commands/auth.ts")).auth(args),
  why: async (args) => (await import("#commands/why.ts")).why(args),
  blame: async (args) => (await import("#commands/blame.ts")).blame(args),
  tree: async (args) => (await import("#commands/tree.ts")).tree(args),
  doctor: async (args) => (await import("#commands/doctor.ts")).doctor(args),
  console: async (args) => (await import("#commands/console.ts")).consoleCommand(args),
  who: async (args) => (await import("#commands/who.ts")).who(args),
  types: async (args) => (await import("#commands/types.ts")).types(args),
  token: async (args) => (await import("#commands/token.ts")).token(args),
  "join-info": async (args) => (await import("#commands/join-info.ts")).joinInfo(args),
  "test-server": async (args) => (await import("#commands/test-server.ts")).testServer(args),
  envtest: async (args, entry) => (await import("#commands/envtest.ts")).envtest(args, fileURLToPath(entry)),
  "kube-apiserver": async (args) => (await import("#commands/envtest.ts")).kubeApiserver(args),
  etcd: async (args) => (await import("#commands/envtest.ts")).etcd(args),
  version: async () => {
    const { programVersion } = await import("#server/program-version.ts");
    process.stdout.write(`binnacle ${programVersion()}\n`);
  },
};

async function main([name, ...args]: readonly string[], entry: string): Promise<void> {
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    process.stdout.write(help);
    return;
  }
  const word = name === "--version" ? "version" : name;
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined;
  if (command === undefined) throw new StartError(`unknown command ${JSON.stringify(name)}: see binnacle --help`);
  await command(args, entry);
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
