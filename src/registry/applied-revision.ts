/**
 * The revision up to which a server acts by the objects that decide about requests. Those who follow such objects say
 * when they have taken in a change, and up to which revision they have taken in all of them.
 */
import type { Revision } from "#storage/log-store.ts";

/** Follows the objects of a resource. */
interface ResourceFollower {
  /** The revision up to which it has taken in every change. */
  readonly position: Revision;
}

export class AppliedRevision {
  readonly #followers: ResourceFollower[] = [];
  readonly #listeners: (() => void)[] = [];
  #heard: Revision = 0;

  /** Adds a follower, which calls `reached` for its changes. */
  add(follower: ResourceFollower): void {
    this.#followers.push(follower);
  }

  /** Says that a follower has taken in every change of its resource up to a revision. */
  reached(revision: Revision): void {
    if (revision <= this.#heard) return;
    this.#heard = revision;
    for (const changed of this.#listeners) changed();
  }

  /** Adds a listener, which is called when some follower has taken in a newer change than all others. */
  onReached(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The revision of the newest change that some follower has taken in. */
  get heard(): Revision {
    return this.#heard;
  }

  /** The revision up to which all followers have taken in every change; `Infinity` without followers. */
  get revision(): Revision {
    return Math.min(...this.#followers.map(({ position }) => position));
  }
}
