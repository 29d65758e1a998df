/**
 * `binnacle test-server`: a server for tests in any language. It prints one line of JSON, and ends when its standard
 * input closes or its parent is gone, so no test leaves one behind. `docs/testing.md` is its contract.
 */
import { parseServeArguments, serverFlags } from "#server/options.ts";
import { refuseArguments } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { controlPrefix } from "#testing/control-paths.ts";
import { startTestServer } from "#testing/start-test-server.ts";
import { commandOf } from "./command.ts";
import { endWithParent } from "./end-with-parent.ts";

const usage = `Starts a server for tests: in memory, silent, with Kubernetes' names, on a free port of this machine.
Prints one line of JSON when it is ready: url, token, ca, caFile, kubeconfig, kubeconfigFile, control.
Ends when its standard input closes, so start it with a pipe as its input.

Usage: binnacle test-server [flags]

The flags are those of binnacle serve, but for --storage and --data-dir.

Examples:
  sleep 600 | binnacle test-server --api-domain=k8s.io
`;

/** Runs the server until the input closes. Rejects with `StartError` when it cannot start. */
async function run(args: readonly string[]): Promise<void> {
  const { settings, help, rest } = parseServeArguments(args);
  if (help) {
    process.stdout.write(usage);
    return;
  }
  refuseArguments(rest, "test-server takes flags only");
  if (settings.storage !== undefined || settings.dataDir !== undefined) {
    throw new StartError("a test server is always in memory: leave out --storage and --data-dir");
  }
  let stop = (): void => process.exit(1);
  process.stdin.on("error", () => stop());
  process.stdin.on("close", () => stop());
  process.stdin.on("end", () => stop());
  process.stdin.resume();
  endWithParent(() => stop());
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => stop());
  stop = () => {
    process.stderr.write("binnacle: standard input closed before the test server was ready: start it with a pipe\n");
    process.exit(1);
  };
  const { apiDomain, ...others } = settings;
  const server = await startTestServer({ ...(apiDomain === undefined ? {} : { apiDomain }), settings: others });
  // Exit handlers remove the files, and nothing else outlives the process.
  stop = () => process.exit(0);
  const { url, token, ca, caFile, kubeconfig, kubeconfigFile } = server;
  const control = url + controlPrefix;
  process.stdout.write(`${JSON.stringify({ url, token, ca, caFile, kubeconfig, kubeconfigFile, control })}\n`);
}

/** `binnacle test-server`. */
export const testServer = commandOf(run, { flags: serverFlags, help: usage });
