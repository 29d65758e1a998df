/**
 * The turns of all processes (`log-store.ts`): who took each last, and the writes under way that may take one. A turn of
 * which nothing is known may have been taken by anybody until the owner of the log was started.
 */
import type { CommitResult, LogWrite, Revision } from "../log-store.ts";

/** A process, as an object of its own. */
type Taker = object;

/** A turn that was taken, or is about to be. */
interface TakenTurn {
  /** The process that took it last, and the revision at which it did. */
  taker: Taker | undefined;
  revision: Revision;
  /** The last revision at which any other process took it. */
  before: Revision;
  /** The writes under way, with the processes that make them. */
  readonly pending: Map<Promise<unknown>, Taker>;
}

interface TurnOptions {
  /** The last revision of the log before the first turn. */
  readonly began: Revision;
  /** The number of turns that are known; the oldest ones are forgotten. */
  readonly namesMax: number;
  /** Returns the revision that a refusal shows. */
  revision(): Revision;
  commit(write: LogWrite): Promise<CommitResult>;
}

export class TurnKeeper {
  readonly #options: TurnOptions;
  /** The turns by name; the one that was taken last is the last one. */
  readonly #turns = new Map<string, TakenTurn>();
  /** The revision up to which turns that are not known may have been taken. */
  #unknownUpTo: Revision;

  constructor(options: TurnOptions) {
    this.#options = options;
    this.#unknownUpTo = options.began;
  }

  /** Commits a write, unless its turn was taken by another process. */
  commit(write: LogWrite, taker: Taker): Promise<CommitResult> {
    return write.turn === undefined ? this.#options.commit(write) : this.#inTurn(write, taker);
  }

  async #inTurn(write: LogWrite, taker: Taker): Promise<CommitResult> {
    const { name, seen } = write.turn!;
    for (;;) {
      const turn = this.#turnOf(name);
      if (takenByOthers(turn, taker) > seen) {
        return { committed: false, revision: this.#options.revision(), failed: "turn" };
      }
      const other = [...turn.pending].find(([, who]) => who !== taker);
      if (other === undefined) return this.#take(turn, write, taker);
      await other[0];
    }
  }

  async #take(turn: TakenTurn, write: LogWrite, taker: Taker): Promise<CommitResult> {
    const committing = this.#options.commit(write);
    const settled = committing.then(
      ({ committed, revision }) => {
        if (committed) take(turn, taker, revision);
      },
      () => undefined,
    );
    turn.pending.set(settled, taker);
    try {
      return await committing;
    } finally {
      await settled;
      turn.pending.delete(settled);
      this.#touch(write.turn!.name, turn);
    }
  }

  #turnOf(name: string): TakenTurn {
    const known = this.#turns.get(name);
    if (known !== undefined) return known;
    const turn = { taker: undefined, revision: this.#unknownUpTo, before: this.#unknownUpTo, pending: new Map() };
    this.#touch(name, turn);
    return turn;
  }

  /** Makes a turn the youngest one, and forgets old ones. */
  #touch(name: string, turn: TakenTurn): void {
    this.#turns.delete(name);
    this.#turns.set(name, turn);
    for (const [oldName, old] of this.#turns) {
      if (this.#turns.size <= this.#options.namesMax) return;
      if (old.pending.size > 0) continue;
      this.#turns.delete(oldName);
      this.#unknownUpTo = Math.max(this.#unknownUpTo, old.revision);
    }
  }
}

/** Returns the last revision at which another process took a turn. */
const takenByOthers = ({ taker, revision, before }: TakenTurn, who: Taker): Revision =>
  taker === who ? before : revision;

/** Notes that a process took a turn. */
function take(turn: TakenTurn, taker: Taker, revision: Revision): void {
  if (turn.taker !== taker) turn.before = turn.revision;
  turn.taker = taker;
  turn.revision = revision;
}
