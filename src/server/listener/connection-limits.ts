/** The bounds of connections: what they are by default, and what is counted and logged of connections beyond them. */
import type { Clock } from "#std/clock.ts";
import { type Log, rateLimited } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import type { ConnectionBound, ConnectionLimits } from "#transport/acceptor.ts";
import { openFilesMax } from "../process-metrics.ts";
import type { ListenerFlags } from "./flags.ts";

type ConnectionOptions = Pick<ListenerFlags, "connectionsMax" | "connectionsPerAddressMax" | "connectionsPerUserMax">;

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
/** The usual maximum of connections: as many idle ones take about a gigabyte. */
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
    const say = rateLimited(clock, (of) => log.warn({ bound, of }, "connections beyond a bound are refused"));
    return (of: string): void => {
      counted.add();
      say(of);
    };
  };
  const bounds = { all: tell("all"), address: tell("address"), user: tell("user") };
  return (bound, of) => bounds[bound](of);
}
