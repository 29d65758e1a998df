/** A port that another process holds, and whose connections it passes on. */
import type { Socket } from "node:net";

export interface HeldAddress {
  readonly host: string;
  /** The port; 0 picks a free one. */
  readonly port: number;
  /** The maximum number of connections that wait in the kernel. */
  readonly backlog: number;
}

export interface HeldPort {
  /** The number of the port, where it is held already. */
  readonly number: number | undefined;
  /**
   * Gives new connections to `take`, and holds the port first unless it is held. Resolves with the address that is
   * served. Rejects with the system's error.
   */
  listen(at: HeldAddress, take: (socket: Socket) => void): Promise<{ readonly address: string; readonly port: number }>;
  /** Takes no more connections. */
  stop(): void;
}
