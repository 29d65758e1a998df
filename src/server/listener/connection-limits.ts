/** The limits of connections: their defaults, and the metrics and log lines of refused connections. */
import type { Clock } from "#std/clock.ts";
import { type Log, rateLimited } from "#std/log.ts";
import type { Metrics } from "#std/metrics.ts";
import type { ConnectionBound, ConnectionLimits } from "#transport/acceptor.ts";
import { openFilesMax } from "../process-metrics.ts";
import type { ListenerFlags } from "./flags.ts";

type ConnectionOptions = Pick<
  ListenerFlags,
  "connectionsMax" | "connectionsPerAddressMax" | "connectionsPerUserMax" | "connectionsPerPlaneMax"
>;

/**
 * Returns the limits. `files` is the maximum number of open files of the process, connections included; `undefined`
 * when it is not known.
 */
export function connectionLimits(options: ConnectionOptions, files = openFilesMax()): ConnectionLimits {
  const connections = options.connectionsMax || Math.min(usualMax, Math.floor(((files ?? filesMax) * 3) / 4));
  const half = Math.max(1, Math.floor(connections / 2));
  return {
    connections,
    connectionsPerAddress: options.connectionsPerAddressMax || half,
    connectionsPerUser: options.connectionsPerUserMax || half,
    connectionsPerPlane: options.connectionsPerPlaneMax || half,
  };
}

const filesMax = 16_384;
/** The usual maximum number of connections: that many idle connections take about a gigabyte. */
const usualMax = 16_384;

/** Counts refused connections, and logs at a limited rate whose connections they were. */
export function connectionRefusals(
  metrics: Metrics,
  clock: Clock,
  log: Pick<Log, "warn">,
): (bound: ConnectionBound, of: string) => void {
  const refusals = metrics.counter({
    name: "binnacle_connections_refused_total",
    help: "Connections beyond a bound: of all, of one address, of one user, of one plane.",
    labels: ["bound"],
  });
  const tell = (bound: ConnectionBound) => {
    const counted = refusals.with(bound);
    const say = rateLimited(clock, (of) => log.warn({ bound, of }, "connections beyond a bound are refused"));
    return (of: string): void => {
      counted.add();
      say(of);
    };
  };
  const bounds = { all: tell("all"), address: tell("address"), user: tell("user"), plane: tell("plane") };
  return (bound, of) => bounds[bound](of);
}
