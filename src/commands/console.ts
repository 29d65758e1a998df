/** `binnacle console`: the console for any cluster, on a port of this machine, signed in by the kubeconfig. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { waitingClock } from "#client/clock.ts";
import { openConnection } from "#client/connection.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import { programVersion } from "#server/program-version.ts";
import { connectionFlags, findServer, urlOf } from "#server/running-server.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, boolean, integer, refuseArguments } from "#std/flags.ts";
import { systemRandom } from "#std/random.ts";
import { openLocalHttp } from "#transport/local-http.ts";
import { command } from "./command.ts";
import { Gateway } from "./console/gateway.ts";
import { SignIn } from "./console/sign-in.ts";
import { stopOnSignal } from "./serve/stop-on-signal.ts";

const flags = {
  ...connectionFlags,
  port: integer(binnacleFlag("port"), 0, { min: 0, max: 65_535 }, "The port on 127.0.0.1; 0 takes a free one."),
  noOpen: boolean(binnacleFlag("no-open"), false, "Prints the link, and opens no browser."),
};

const help = `Serves the console for a cluster on this machine, and signs a browser in by the kubeconfig.

Usage: binnacle console [flags]

  -h, --help                      print this

It prints a link with a code that is good once, for a minute; Enter prints another. The browser never gets the
credentials of the kubeconfig: this program asks the cluster for it, until it ends.

Examples:
  binnacle console
  binnacle console --kubeconfig ~/.kube/config --context staging
  binnacle console --port 8001 --no-open

`;

/** Runs `binnacle console` until a signal arrives. Rejects with `StartError`. */
export const consoleCommand = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "console takes flags only");
  const { port: wanted = 0, noOpen = false } = settings;
  const server = await findServer(settings);
  const signIn = new SignIn(systemClock, systemRandom);
  const gateway = new Gateway({
    signIn,
    cluster: urlOf(server),
    namespace: server.namespace,
    connect: (as) => connect(as === undefined ? server : { ...server, impersonate: as }),
  });
  const http = await openLocalHttp({ port: wanted, handle: (exchange) => gateway.handle(exchange) });
  gateway.serveOn(http.port);
  const link = (): string => `http://127.0.0.1:${http.port}/console/#code=${signIn.newCode()}`;
  const first = link();
  process.stdout.write(`Console of ${urlOf(server)}, good for one sign-in within a minute:\n\n  ${first}\n\n`);
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  if (isTerminal) {
    process.stdout.write("Enter prints another link, Ctrl-C ends.\n");
    createInterface({ input: process.stdin }).on("line", () => process.stdout.write(`\n  ${link()}\n\n`));
  }
  if (isTerminal && !noOpen) openBrowser(first);
  stopOnSignal({
    async close() {
      await http.close();
      await gateway.close();
    },
    kill: () => undefined,
  });
});

const connect = (settings: ConnectionSettings) =>
  openConnection(settings, {
    clock: waitingClock,
    random: systemRandom,
    userAgent: `binnacle-console/${programVersion()}`,
    bodyBytesMax: answerBytesMax,
  });

/** The maximum bytes of an answer for a browser. */
const answerBytesMax = 256 * 1024 * 1024;

/** The programs that open a page in the user's browser. */
const openers: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["cmd", "/c", "start", ""],
  linux: ["xdg-open"],
};

/** The time after which the file that leads a browser to the link is deleted; the code is no longer good then. */
const pageMs = 60_000;

/** Opens the link in the user's browser, by a file: everybody on the machine can read the arguments of programs. */
function openBrowser(link: string): void {
  const [program, ...args] = openers[process.platform] ?? [];
  if (program === undefined) return;
  const folder = mkdtempSync(join(tmpdir(), "binnacle-console-"));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const page = join(folder, "index.html");
  writeFileSync(page, `<!doctype html><meta http-equiv="refresh" content="0;url=${link}">`, { mode: 0o600 });
  process.once("exit", remove);
  systemClock.after(pageMs, remove);
  const child = spawn(program, [...args, pathToFileURL(page).href], { stdio: "ignore", detached: true });
  // There is no such program: the link is printed.
  child.on("error", () => undefined);
  child.unref();
}
