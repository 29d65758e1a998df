/** The messages between the supervisor and the serving processes. */
import type { ServerSettings } from "#server/options.ts";
import type { HeldAddress } from "#transport/held-port.ts";
import type { ServerFacts } from "./greeting.ts";

/** The variable of the environment by which a process knows that it is a serving one, and its number. */
export const processVariable = "BINNACLE_PROCESS";

export type FromProcess =
  /** The first message: the process asks what it should do. */
  | { readonly type: "hello" }
  | { readonly type: "ready"; readonly facts: ServerFacts }
  /** Asks for the port, and for connections. */
  | { readonly type: "listen"; readonly at: HeldAddress }
  /** Says that this process takes no more connections. */
  | { readonly type: "leave" }
  /** The answer to `connection`. */
  | { readonly type: "took"; readonly id: number; readonly isTaken: boolean }
  /** Asks for the metrics of all others. The own ones are kept, for the time when this process is late or has ended. */
  | { readonly type: "gather"; readonly id: number; readonly page: string }
  /** The metrics of this process, for the question `id` of the supervisor. */
  | { readonly type: "metrics"; readonly id: number; readonly page: string };

export type ToProcess =
  | ProcessStart
  /** The answers to `listen`: the address that is served, or the error of the system. */
  | { readonly type: "listening"; readonly address: string; readonly port: number }
  | { readonly type: "cannotListen"; readonly code: string | undefined; readonly message: string }
  /** A new connection, whose socket comes with the message. */
  | { readonly type: "connection"; readonly id: number }
  /** Asks for the metrics of this process. */
  | { readonly type: "metrics"; readonly id: number }
  /**
   * The metrics of the others, for the question `id` of this process: of those that run, of which `missing` have not
   * answered, and of those that have ended.
   */
  | {
      readonly type: "gathered";
      readonly id: number;
      readonly pages: readonly string[];
      readonly missing: number;
    }
  | { readonly type: "stop" }
  | { readonly type: "othersEnded" };

/** The answer to the first message. */
export interface ProcessStart {
  readonly type: "start";
  readonly settings: ServerSettings;
  readonly count: number;
  /** The port that other processes serve already. */
  readonly port: number | undefined;
  /** The private folder of the processes. */
  readonly folder: string;
}
