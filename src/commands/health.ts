/** `binnacle health`: whether a server is ready, for people, containers and service managers. */
import { setTimeout as sleep } from "node:timers/promises";
import { ApiError } from "#client/api-error.ts";
import { connectionFlags, findServer, withServer } from "#server/running-server.ts";
import { binnacleFlag, duration, refuseArguments, type Settings } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { valueText } from "./print.ts";

const flags = {
  ...connectionFlags,
  wait: duration(binnacleFlag("wait"), 0, "Waits as long as this for the server to be ready."),
  output: formFlag(["text", "json", "yaml"], "A line for each check that fails, or all checks as data."),
};

const help = `Says whether a server is ready, by its /readyz. The exit code is 0 for ready and 1 for not ready.

Usage: binnacle health [flags]

  -h, --help                      print this

Examples:
  binnacle health
  binnacle health --wait=30s --data-dir=/var/lib/binnacle
  binnacle health -o json

`;

/** The pause between two looks, in milliseconds. */
const pauseMs = 200;
/** The time limit of one look, in milliseconds. */
const lookMs = 10_000;

interface Check {
  readonly name: string;
  readonly ok: boolean;
}

interface Health {
  readonly ready: boolean;
  /** The checks of the server; empty if it does not say them. */
  readonly checks: readonly Check[];
  /** The reason why there are no checks. */
  readonly reason?: string;
}

/** Runs `binnacle health`; ends the process with 1 if the server is not ready. Rejects with `StartError`. */
export const health = command(flags, help, async (settings, rest) => {
  refuseArguments(rest, "health takes flags only");
  const { wait: waitMs = 0, output = "text", ...connection } = settings;
  const end = performance.now() + waitMs;
  let found = await look(connection);
  while (!found.ready && performance.now() < end) {
    await sleep(pauseMs);
    found = await look(connection);
  }
  process.stdout.write(output === "text" ? textOf(found) : valueText(output, found));
  if (!found.ready) process.exitCode = 1;
});

/** Asks once. The folder of a server that starts has no kubeconfig yet, so that it is looked for each time. */
async function look(connection: Settings<typeof connectionFlags>): Promise<Health> {
  const request = { method: "GET", path: "/readyz?verbose", accept: "text/plain" } as const;
  try {
    const server = await findServer(connection);
    return await withServer(server, async ({ rest }) => healthOf(true, (await rest.bytes(request)).toString()), {
      timeoutMs: lookMs,
    });
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return error.cause instanceof ApiError
      ? healthOf(false, error.cause.said)
      : { ready: false, checks: [], reason: error.message };
  }
}

/** Returns what the server says of its checks: a line `[+]NAME ok` or `[-]NAME failed` for each. */
function healthOf(ready: boolean, text: string): Health {
  const checks = text.split("\n").flatMap((line): Check[] => {
    const [, sign, name] = /^\[([-+])\](\S+) /.exec(line) ?? [];
    return name === undefined ? [] : [{ name, ok: sign === "+" }];
  });
  return { ready, checks, ...(ready || checks.length > 0 ? {} : { reason: text }) };
}

function textOf({ ready, checks, reason }: Health): string {
  if (ready) return "ready\n";
  const failed = checks.filter(({ ok }) => !ok).map(({ name }) => `failed: ${printable(name)}\n`);
  return `not ready${reason === undefined ? "" : `: ${printable(reason)}`}\n${failed.join("")}`;
}
