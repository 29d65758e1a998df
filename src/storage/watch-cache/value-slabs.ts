/**
 * Memory for the values of versions: slabs of up to 1 MiB that many values share. The garbage collector walks one object for
 * each slab instead of one for each value, which a million values of their own would turn into pauses of seconds.
 *
 *     slab   [ v1 | v2 (released) | v3 | v4 (released) | … | free ]      live: the bytes of v1 and v3
 *
 * A slab is never written again where a value was, since answers on their way may still read it. It goes when nothing
 * refers to it; one of which much is released is emptied by moving its values.
 *
 * Hot path: one addition for each value; one lookup of a slab when a value is released.
 */

/** The length of the first slab, twice that of each next one, up to the longest: a small store needs little memory. */
const slabBytesMin = 16 * 1024;
const slabBytesMax = 1024 * 1024;
/** Longer values have memory of their own, so that the end of a slab that stays free is short. */
const sharedBytesMax = slabBytesMax / 16;
/** A slab with a smaller part of live bytes is sparse: it is worth moving what is left. */
const sparsePart = 3 / 4;
/** The released bytes in sparse slabs that are not worth a pass over all values: at least, and as a part of the live ones. */
const wasteBytesMin = 8 * slabBytesMax;
const wastePart = 1 / 8;

/** A value in [start, start + valueLength) of `memory`, which `ValueSlabs` sets. */
export interface Placed {
  memory: Buffer;
  start: number;
  valueLength: number;
}

export class ValueSlabs {
  /** The slab that takes new values, the bytes that are taken of it, and those of them that are live. */
  #open: Buffer | undefined;
  #taken = 0;
  #openLive = 0;
  /** The live bytes of each slab that is full. */
  readonly #live = new Map<Buffer, number>();
  #liveBytes = 0;
  /** The released bytes in sparse slabs, and how many of them the last pass had to leave. */
  #waste = 0;
  #wasteLeft = 0;

  /** Gives memory to a value, in which its owner then writes it. */
  allocate(owner: Placed, length: number): void {
    owner.valueLength = length;
    if (length > sharedBytesMax) {
      owner.memory = Buffer.allocUnsafeSlow(length);
      owner.start = 0;
      return;
    }
    if (this.#open === undefined || this.#taken + length > this.#open.length) this.#open = this.#openNext(length);
    owner.memory = this.#open;
    owner.start = this.#taken;
    this.#taken += length;
    this.#openLive += length;
    this.#liveBytes += length;
  }

  /** Notes that a value with memory of `allocate` is needed no longer; called once for each. Its owner may still be read. */
  release({ memory, valueLength: length }: Placed): void {
    if (length > sharedBytesMax || length === 0) return;
    this.#liveBytes -= length;
    if (memory === this.#open) {
      this.#openLive -= length;
      return;
    }
    const before = this.#live.get(memory)!; // every slab but the open one is in the map
    this.#live.set(memory, before - length);
    this.#countWaste(memory, before, before - length);
    if (before === length) this.#drop(memory);
  }

  /** Whether a pass over all values, which moves those of sparse slabs, would free much. */
  get isWasteful(): boolean {
    return this.#waste - this.#wasteLeft > Math.max(wasteBytesMin, this.#liveBytes * wastePart);
  }

  /** Returns the sparse slabs, whose values `move` may move. */
  sparse(): ReadonlySet<Buffer> {
    return new Set([...this.#live].filter(([slab, live]) => live < slab.length * sparsePart).map(([slab]) => slab));
  }

  /** Moves a value to another slab. */
  move(owner: Placed): void {
    this.release(owner);
    this.adopt(owner);
  }

  /** Copies a value, which may be of other slabs, into memory of these. */
  adopt(owner: Placed): void {
    const { memory, start, valueLength } = owner;
    this.allocate(owner, valueLength);
    memory.copy(owner.memory, owner.start, start, start + valueLength);
  }

  /** Notes that a pass over all values has ended, which moved what it could of these slabs. */
  passed(sparse: ReadonlySet<Buffer>): void {
    this.#wasteLeft = 0;
    for (const slab of sparse) this.#wasteLeft += slab.length - (this.#live.get(slab) ?? slab.length);
  }

  /** Returns a new slab, in which a value of this length has room. */
  #openNext(length: number): Buffer {
    const full = this.#open;
    let bytes = slabBytesMin;
    if (full !== undefined) {
      bytes = Math.min(full.length * 2, slabBytesMax);
      this.#live.set(full, this.#openLive);
      this.#countWaste(full, full.length, this.#openLive);
      if (this.#openLive === 0) this.#drop(full);
    }
    this.#taken = this.#openLive = 0;
    return Buffer.allocUnsafeSlow(Math.max(bytes, length));
  }

  /** Counts what is released of a slab whose live bytes become fewer. */
  #countWaste({ length }: Buffer, before: number, after: number): void {
    const sparseBytes = length * sparsePart;
    if (after >= sparseBytes) return;
    this.#waste += before < sparseBytes ? before - after : length - after;
  }

  /** Forgets a slab without values. */
  #drop(slab: Buffer): void {
    this.#live.delete(slab);
    this.#waste -= slab.length;
    this.#wasteLeft = Math.min(this.#wasteLeft, this.#waste);
  }
}
