/**
 * Links between processes that a test cuts, holds and slows. The bytes pass through a process of its own
 * (`relay-process.ts`), so that a busy test does not slow them by itself.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { endWithUs } from "./end-with-us.ts";

/** A way to a port. Without `from` it is one between members of etcd, which say themselves who they are. */
export interface Link {
  readonly from?: string;
  readonly to: string;
  readonly port: number;
}

/**
 * The way in which bytes go from one node to another. `hold` keeps them until the link passes again; `reset` ends connections, and
 * refuses new ones.
 */
export interface Rule {
  readonly mode: "pass" | "hold" | "reset";
  readonly delayMs: number;
}

export type RelayCommand =
  | { readonly do: "open"; readonly links: readonly Link[] }
  | { readonly do: "name"; readonly members: Readonly<Record<string, string>> }
  | { readonly do: "rule"; readonly from: string; readonly to: string; readonly rule: Rule }
  | { readonly do: "pass-all" };

export class Relay {
  readonly #child: ChildProcess;

  constructor() {
    this.#child = fork(fileURLToPath(new URL("relay-process.ts", import.meta.url)), {
      execArgv: ["--conditions=source"],
    });
    endWithUs(this.#child);
  }

  #send(command: RelayCommand): void {
    if (this.#child.connected) this.#child.send(command);
  }

  /** Opens links. Returns their ports in the same order. */
  async open(links: readonly Link[]): Promise<readonly number[]> {
    this.#send({ do: "open", links });
    const [{ ports }] = (await once(this.#child, "message")) as [{ readonly ports: readonly number[] }];
    return ports;
  }

  /** Tells which member of etcd has which id (hexadecimal). */
  name(members: Readonly<Record<string, string>>): void {
    this.#send({ do: "name", members });
  }

  set(from: string, to: string, mode: Rule["mode"], delayMs = 0): void {
    this.#send({ do: "rule", from, to, rule: { mode, delayMs } });
  }

  /** Lets everything pass again, at once. */
  passAll(): void {
    this.#send({ do: "pass-all" });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
