/**
 * Parts that several servers of one process may share, if their caller gives all of them the same: the built-in kinds, and the
 * thread that writes to disk. Nothing of one server is seen in another.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Clock } from "#std/clock.ts";
import { SharedLogThread } from "#storage/sqlite.ts";
import { type KindsPlan, pickKindFlags, planKinds } from "./served-kinds.ts";
import type { KindFlags } from "./served-kinds/flags.ts";

export class SharedParts {
  /** The thread that owns the logs of all servers, from the first one on. */
  readonly logThread = new SharedLogThread();
  /** The kinds by clock, and then by domain and flags. */
  readonly #kinds = new WeakMap<Clock, Map<string, KindsPlan>>();

  /** Returns the kinds of a server; throws `StartError` for an invalid gate or version. */
  kinds(options: KindFlags, domain: ApiDomain, clock: Clock): KindsPlan {
    const known = this.#kinds.get(clock) ?? new Map<string, KindsPlan>();
    this.#kinds.set(clock, known);
    const key = JSON.stringify([domain.rename("k8s.io"), pickKindFlags(options)]);
    const kinds = known.get(key) ?? planKinds(options, domain, clock);
    known.set(key, kinds);
    return kinds;
  }

  /** Ends the thread. All servers are closed. */
  close(): Promise<void> {
    return this.logThread.close();
  }
}
