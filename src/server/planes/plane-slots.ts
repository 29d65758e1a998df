/** The planes that there are in this process, by name, and those whose objects have ended, until nothing is left of them. */
import type { AskedPlane } from "#controllers/planes.ts";
import { StartError } from "#std/start-error.ts";
import { PlaneSlot, type SlotParts } from "./plane-slot.ts";

/** The number of planes that are closed at the same time. */
const closingMax = 16;
/** The name of a plane is one label of a host name. */
const nameForm = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** Whether a plane may have this name. */
export const isPlaneName = (name: string): boolean => nameForm.test(name);

export class PlaneSlots {
  readonly #parts: SlotParts;
  readonly #slots = new Map<string, PlaneSlot>();
  /** The planes that have ended, by name and identity, each with its closing. */
  readonly #ended = new Map<string, Map<string, Promise<void>>>();

  constructor(parts: SlotParts) {
    this.#parts = parts;
  }

  get(name: string): PlaneSlot | undefined {
    return this.#slots.get(name);
  }

  all(): MapIterator<PlaneSlot> {
    return this.#slots.values();
  }

  /** Serves a plane from now on, or as its object asks now. Another one of its name ends. */
  take(asked: AskedPlane): PlaneSlot {
    this.endOther(asked);
    const { name, quotaBytes, isMade } = asked;
    const slot = this.#slots.get(name) ?? new PlaneSlot(this.#parts, asked);
    slot.quotaBytes = quotaBytes;
    slot.isMade ||= isMade;
    slot.isCounted ||= isMade;
    this.#slots.set(name, slot);
    return slot;
  }

  /** Ends the service of a plane whose object is gone, since another has its name. */
  endOther({ name, uid }: Pick<AskedPlane, "name" | "uid">): void {
    const present = this.#slots.get(name);
    if (present !== undefined && present.id.uid !== uid) this.end(present);
  }

  /** Ends the service of a plane; what it has stored is left. */
  end(slot: PlaneSlot): void {
    const { name, uid } = slot.id;
    this.#slots.delete(name);
    const ended = this.#ended.get(name) ?? new Map<string, Promise<void>>();
    this.#ended.set(name, ended.set(uid, slot.end("deletion")));
  }

  /** Counts a plane among those whose number is bounded. Throws `StartError` for a new one that is one too many. */
  count(slot: PlaneSlot, planesMax: number): void {
    if (slot.isCounted) return;
    const counted = this.#slots.values().filter(({ isCounted }) => isCounted);
    if (counted.toArray().length >= planesMax) throw new StartError(`there are ${planesMax} planes`);
    slot.isCounted = true;
  }

  /** Removes what ended planes of a name have stored. */
  async removeEnded(name: string): Promise<void> {
    for (const [uid, ended] of this.#ended.get(name) ?? []) {
      await ended;
      await this.removeStored(name, uid);
    }
  }

  /** Removes what a plane has stored, unless it belongs to another object. */
  async removeStored(name: string, uid: string): Promise<void> {
    if (isPlaneName(name)) await this.#parts.storage.remove({ name, uid });
    this.forget(name, uid);
  }

  /** Forgets a plane that has ended: nothing is left of it, or another server removes it. */
  forget(name: string, uid: string): void {
    const ended = this.#ended.get(name);
    ended?.delete(uid);
    if (ended?.size === 0) this.#ended.delete(name);
  }

  /** Closes all planes, a few at a time. */
  async close(): Promise<void> {
    const slots = [...this.#slots.values()];
    const closeNext = async (): Promise<void> => {
      for (let slot = slots.pop(); slot !== undefined; slot = slots.pop()) await slot.end("shutdown");
    };
    await Promise.all(Array.from({ length: closingMax }, closeNext));
    await Promise.all(this.#ended.values().flatMap((ended) => ended.values()));
  }
}
