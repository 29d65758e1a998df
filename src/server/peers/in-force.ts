/**
 * Waits until changes are in force on the other servers of the store: each says in its record up to which revision it acts
 * by the objects that decide about requests. One that does not say so in time is not waited for again until it says more.
 */
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Revision } from "#storage/log-store.ts";
import type { PeerRecord } from "./record.ts";

interface InForceOptions {
  readonly clock: Clock;
  /** Returns the records of the others as reads see them now. */
  others(): readonly PeerRecord[];
  /** Asks the others what they have taken in. */
  ask(revision: Revision): void;
}

/** The time after which a server is not waited for, and the time after which it is asked. */
const patienceMs = 2000;
const askMs = 200;

export class InForce {
  readonly #options: InForceOptions;
  /** The revisions that silent servers last said, by id. */
  readonly #silent = new Map<string, Revision>();
  readonly #waiting = new Set<() => void>();

  constructor(options: InForceOptions) {
    this.#options = options;
  }

  /** Resolves with the servers that do not say that they have taken in a revision. Those that are gone do not count. */
  wait(revision: Revision): MaybePromise<readonly PeerRecord[]> {
    const late = this.#late(revision);
    if (late.every((one) => this.#isSilent(one))) return late;
    return this.#until(
      revision,
      patienceMs,
      (one) => this.#isSilent(one),
      () => {
        for (const { id, applied } of this.#late(revision)) this.#silent.set(id, applied);
        this.changed();
      },
    );
  }

  /** Resolves when all others that live have taken in a revision, or the time is over. Silent ones are waited for. */
  async waitForAll(revision: Revision, timeoutMs: number): Promise<void> {
    if (this.#late(revision).length > 0)
      await this.#until(
        revision,
        timeoutMs,
        () => false,
        () => undefined,
      );
  }

  /** Looks at the records after some have changed. */
  changed(): void {
    if (this.#silent.size > 0) {
      const present = new Set(this.#options.others().map(({ id }) => id));
      for (const id of this.#silent.keys()) if (!present.has(id)) this.#silent.delete(id);
    }
    for (const look of this.#waiting) look();
  }

  #until(
    revision: Revision,
    timeoutMs: number,
    isLeftOut: (one: PeerRecord) => boolean,
    givenUp: () => void,
  ): Promise<readonly PeerRecord[]> {
    const { clock, ask } = this.#options;
    return new Promise((resolve) => {
      const end = (): void => {
        cancels.forEach((cancel) => cancel());
        this.#waiting.delete(look);
        resolve(this.#late(revision));
      };
      const look = (): void => {
        if (this.#late(revision).every(isLeftOut)) end();
      };
      const cancels = [
        clock.after(Math.min(askMs, timeoutMs / 2), () => ask(revision)),
        clock.after(timeoutMs, () => {
          givenUp();
          end();
        }),
      ];
      this.#waiting.add(look);
    });
  }

  /** Returns the servers that answer requests and do not act by a revision yet. */
  #late(revision: Revision): readonly PeerRecord[] {
    return this.#options.others().filter(({ applied }) => applied > 0 && applied < revision);
  }

  #isSilent({ id, applied }: PeerRecord): boolean {
    return this.#silent.get(id) === applied;
  }
}
