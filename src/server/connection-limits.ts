/** The bounds of connections: their flags, what they are by default, and what is told of connections beyond them. */
import { integer } from "#std/flags.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import type { ConnectionBound, ConnectionLimits } from "#transport/acceptor.ts";
import { openFilesMax } from "./process-metrics.ts";
import { seldom } from "./seldom.ts";

const own = (name: string) => [name, "Binnacle"] as const;
const count = { min: 0, max: 10_000_000 };

export const connectionFlags = {
  connectionsMax: integer(
    own("max-connections"),
    0,
    count,
    "Most connections at a time: for others the oldest of which no user is known is closed, or they are. 0 for 16384, or three quarters of the files that the process may open if these are fewer.",
  ),
  connectionsPerAddressMax: integer(
    own("max-connections-per-address"),
    0,
    count,
    "The same for those of one address, or one IPv6 network of 64 bits, where others are closed at once; 0 for half of --max-connections.",
  ),
  connectionsPerUserMax: integer(
    own("max-connections-per-user"),
    0,
    count,
    "The same for those of one user, who is answered 429 on others; 0 for half of --max-connections.",
  ),
};

interface ConnectionOptions {
  readonly connectionsMax: number;
  readonly connectionsPerAddressMax: number;
  readonly connectionsPerUserMax: number;
}

/** `files`: how many the process may open, connections included; `undefined` where nobody says. */
export function connectionLimits(options: ConnectionOptions, files = openFilesMax()): ConnectionLimits {
  const connections = options.connectionsMax || Math.min(usualMax, Math.floor(((files ?? filesMax) * 3) / 4));
  const half = Math.max(1, Math.floor(connections / 2));
  return {
    connections,
    connectionsPerAddress: options.connectionsPerAddressMax || half,
    connectionsPerUser: options.connectionsPerUserMax || half,
  };
}

const filesMax = 16_384;
/** So many idle connections take about a gigabyte. */
const usualMax = 16_384;

/** Counts connections beyond a bound, and says now and then of whom they were. */
export function connectionRefusals(
  metrics: Metrics,
  clock: Clock,
  log: Pick<Log, "warn">,
): (bound: ConnectionBound, of: string) => void {
  const refused = metrics.counter({
    name: "binnacle_connections_refused_total",
    help: "Connections beyond a bound: of all, of one address, of one user.",
    labels: ["bound"],
  });
  const tell = (bound: ConnectionBound) => {
    const counted = refused.with(bound);
    const say = seldom(clock, (of) => log.warn({ bound, of }, "connections beyond a bound are refused"));
    return (of: string): void => {
      counted.add();
      say(of);
    };
  };
  const bounds = { all: tell("all"), address: tell("address"), user: tell("user") };
  return (bound, of) => bounds[bound](of);
}
