/**
 * One of several serving processes of one program (`binnacle serve --processes=N`), as its server knows it. The processes
 * share a port, a data folder and a store. Process 0 keeps the folder: it alone writes the files in it.
 */
import { StartError } from "#std/start-error.ts";
import type { ConnectionLimits } from "#transport/acceptor.ts";
import type { HeldPort } from "#transport/held-port.ts";
import type { GeneralFlags } from "./general-flags.ts";
import { connectionLimits } from "./listener/connection-limits.ts";
import type { ListenerFlags } from "./listener/flags.ts";
import type { StoreFlags } from "./store/flags.ts";

export interface ServingProcess {
  /** The number of this process: 0 keeps the data folder, and its log. */
  readonly index: number;
  /** The number of processes. */
  readonly count: number;
  /** The port that the processes share. Where it is served already, this one takes connections when it is ready. */
  readonly port: HeldPort | undefined;
  /** The private folder of the processes, for what exists while they run: the socket of the log. */
  readonly folder: string;
  /** Takes the function that prints the metrics of this process, for the pages of the others. */
  offerMetrics(print: () => string): void;
  /** Returns the page that adds up what all processes have counted; `own` are the metrics of this one. */
  gatherMetrics(own: string): Promise<string>;
  /** Ends this process at once, since what it has shown is not the state any more. It is started again. */
  end(): void;
  /** Resolves when the processes that need the store of this one have ended. */
  othersEnded(): Promise<void>;
}

/** Whether a process writes the files of the data folder. */
export const keepsFolder = (process: ServingProcess | undefined): boolean => (process?.index ?? 0) === 0;

type ProcessOptions = Pick<GeneralFlags, "processes"> &
  Pick<ListenerFlags, "permitPortSharing"> &
  Pick<StoreFlags, "storage"> & { readonly etcdServers: readonly string[] };

/** Throws `StartError` for settings that several processes cannot have. */
export function checkProcesses({ processes, storage, etcdServers, permitPortSharing }: ProcessOptions): void {
  if (processes === 1) return;
  if (storage === "memory" && etcdServers.length === 0) {
    throw new StartError(
      "--processes needs a store that processes can share, a data folder or etcd: --storage=memory is that of one process, and would end with it",
    );
  }
  if (permitPortSharing) {
    throw new StartError("--processes shares the port by itself: leave out --permit-port-sharing");
  }
}

/** The maximum number of connections that wait for a process. */
const waitingMax = 2048;
/** The time in which a connection must be taken: that in which a client must finish the handshake of TLS. */
const waitMs = 32_000;

/** The limits of connections that wait for a process. */
export interface WaitingLimits extends Pick<ConnectionLimits, "connections" | "connectionsPerAddress"> {
  /** A connection that was not taken for this many milliseconds is closed. */
  readonly waitMs: number;
}

/** Returns how many connections wait for one of the processes, and for how long. */
export function waitingLimits(options: ListenerFlags): WaitingLimits {
  const { connections, connectionsPerAddress } = connectionLimits(options);
  return {
    connections: Math.min(connections, waitingMax),
    connectionsPerAddress: Math.min(connectionsPerAddress, waitingMax / 2),
    waitMs,
  };
}
