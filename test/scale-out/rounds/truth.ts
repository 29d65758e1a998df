/** The changes that etcd committed in a round, told by a program of etcd's own client that no fault of the relay touches. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { endWithUs } from "../end-with-us.ts";
import { buildTruth } from "../etcd-for-tests.ts";
import type { Change } from "./history.ts";

interface Line {
  readonly member: string;
  readonly upto?: number;
  readonly revision?: number;
  readonly key?: string;
  readonly value?: string;
  readonly lost?: string;
}

export class Truth {
  readonly #changes = new Map<number, Omit<Change, "before">>();
  readonly #upto = new Map<string, number>();
  readonly #lost = new Set<string>();
  readonly #child: ChildProcess;

  /** Follows all keys that begin with `prefix`, which ends with a slash, from a revision on. */
  constructor(prefix: string, revision: number, endpoints: readonly string[]) {
    this.#child = spawn(buildTruth(), [prefix, String(revision), ...endpoints], { stdio: ["pipe", "pipe", "ignore"] });
    endWithUs(this.#child);
    createInterface({ input: this.#child.stdout! }).on("line", (text) => this.#add(JSON.parse(text) as Line, prefix));
  }

  #add({ member, upto, revision, key = "", value, lost }: Line, prefix: string): void {
    if (lost !== undefined) this.#lost.add(member);
    const known = revision ?? upto;
    if (known !== undefined) this.#upto.set(member, known);
    if (revision === undefined) return;
    const object = value === undefined ? undefined : (JSON.parse(value) as { data?: { value?: string } });
    const isDeletion = object === undefined;
    this.#changes.set(revision, { revision, key: key.slice(prefix.length), isDeletion, value: object?.data?.value });
  }

  /** Whether a member told everything up to a revision without a gap. */
  reaches(revision: number): boolean {
    return [...this.#upto].some(([member, upto]) => upto >= revision && !this.#lost.has(member));
  }

  /** All changes in their order. An object that was there before is counted as new. */
  get changes(): readonly Change[] {
    const present = new Map<string, number>();
    return [...this.#changes.values()]
      .sort((a, b) => a.revision - b.revision)
      .map((change) => {
        const before = present.get(change.key) ?? 0;
        present.set(change.key, change.isDeletion ? 0 : change.revision);
        return { ...change, before };
      });
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
