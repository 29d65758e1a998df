/**
 * The values that one write allocates, such as addresses. They are reserved anew for each attempt, and until the write has
 * ended. Where another server has decided meanwhile, the write decides again after a pause. While writes of this
 * server have lost a turn, one after the other tries, so that servers compete and not all their writes.
 */
import type { Unstructured } from "#meta/object-meta.ts";
import { internalError } from "#meta/status-error.ts";
import type { Clock } from "#std/clock.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Random } from "#std/random.ts";
import type { Turn } from "#storage/log-store.ts";

import type { Allocated, ResourceDefinition, WriteAttributes } from "../resource-definition.ts";

/** Writes that wait for each other. */
export class TurnQueue {
  #last: Promise<void> = Promise.resolve();
  #length = 0;

  get isEmpty(): boolean {
    return this.#length === 0;
  }

  /** Resolves when all who entered before have left, with the function by which the caller leaves. */
  async enter(): Promise<() => void> {
    const before = this.#last;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = promise;
    this.#length++;
    await before;
    return () => {
      this.#length--;
      resolve();
    };
  }
}

interface AllocationOptions {
  readonly definition: ResourceDefinition;
  readonly clock: Clock;
  readonly random: Random;
  /** The writes of this server that have lost a turn. */
  readonly queue: TurnQueue;
}

/** The time in milliseconds, from its first lost turn on, after which a write to which other servers come first gives up. */
const attemptsMs = 30_000;
/**
 * The longest pause in milliseconds after the first lost attempt. It halves with each, so that a write that has lost often
 * comes before others.
 */
const firstPauseMsMax = 40;

/** Thrown when another server has written on the state on which the caller of a write has decided. */
export class LostTurn extends Error {
  constructor() {
    super("another server was faster");
    this.name = "LostTurn";
  }
}

export class Allocation {
  readonly #options: AllocationOptions;
  readonly #attributes: WriteAttributes;
  #allocated: Allocated | undefined;
  #lostTurns = 0;
  /** The time at which the write gives up, once it has lost a turn. */
  #endMs = 0;
  /** Leaves the queue, once the write has entered it. */
  #leave: (() => void) | undefined;

  constructor(options: AllocationOptions, attributes: WriteAttributes) {
    this.#options = options;
    this.#attributes = attributes;
  }

  /** Returns the object with the values that its kind allocates. Called once for every attempt of a write. */
  allocate(object: Unstructured, old: Unstructured | undefined): MaybePromise<Unstructured> {
    this.release();
    const { definition, queue } = this.#options;
    const { allocate } = definition.strategy;
    if (allocate === undefined) return object;
    // This write would lose its turn as others have, or take it from them.
    const waiting = queue.isEmpty || this.#leave !== undefined ? undefined : this.#enter();
    return andThen(
      andThen(waiting, () => allocate(object, old, this.#attributes)),
      (allocated) => {
        this.#allocated = allocated;
        return allocated.object;
      },
    );
  }

  /** Returns the turn of a write of the object, as an option of the write. */
  turnOf(object: Unstructured): { readonly turn?: Turn } {
    const turn = this.#attributes.turn ?? this.#allocated?.turn;
    return turn === undefined ? turnOf(this.#options.definition, object) : { turn };
  }

  /** Pauses after a lost turn, before the next attempt. Throws when it was the last one, or is the caller's. */
  async lostTurn(): Promise<void> {
    this.release();
    if (this.#attributes.turn !== undefined) throw new LostTurn();
    const { clock, random, definition } = this.#options;
    if (this.#leave === undefined) await this.#enter();
    if (++this.#lostTurns === 1) this.#endMs = clock.monotonic() + attemptsMs;
    if (clock.monotonic() >= this.#endMs) {
      throw internalError(`failed to allocate values of ${definition.resource}: other servers were faster each time`);
    }
    const longestMs = firstPauseMsMax / 2 ** (this.#lostTurns - 1);
    await new Promise<void>((resume) => void clock.after(1 + random.next() * longestMs, resume));
  }

  async #enter(): Promise<void> {
    this.#leave = await this.#options.queue.enter();
  }

  /** Gives the values back, and leaves the queue: the write has ended, or another one goes on in its place. */
  end(): void {
    this.release();
    this.#leave?.();
    this.#leave = undefined;
  }

  /** Ends the reservation of the values. */
  release(): void {
    this.#allocated?.release();
    this.#allocated = undefined;
  }
}

const noTurn = {};

/** Returns the turn of any write of an object, which allocates nothing, as an option of the write. */
export function turnOf({ strategy }: ResourceDefinition, object: Unstructured): { readonly turn?: Turn } {
  const turn = strategy.turn?.(object);
  return turn === undefined ? noTurn : { turn };
}
