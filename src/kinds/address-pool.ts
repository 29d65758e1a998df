/**
 * The cluster addresses of services: ranges, and the count of reservations of each address. A stored object and its pending
 * write may share a reservation, and ranges may overlap.
 */
import type { IpFamily, IpRange } from "#meta/ip-range.ts";
import { plainBytes } from "#meta/ip-range.ts";
import { printIp } from "#meta/ip-address.ts";
import type { Random } from "#std/random.ts";

/** A range, without its network address and, for IPv4, without its broadcast address. */
interface UsableRange {
  readonly range: IpRange;
  /** The number of usable addresses; at most 2^48 are counted. */
  readonly size: number;
  /** The count of the first addresses, which are given only when no other address is free. */
  readonly lowest: number;
  /** The number of usable addresses that are reserved. */
  used: number;
  /** One byte for each usable address, 1 for a reserved one; made once free addresses are hard to find. */
  taken: Uint8Array | undefined;
}

const countedMax = 2 ** 48;
/** The number of addresses that are tried one by one, before `taken` is made. */
const triesMax = 64;
/** The maximum size of a range that has `taken`. Larger ranges always have free addresses nearly everywhere. */
const takenMax = 2 ** 24;

export class AddressPool {
  #ranges: readonly UsableRange[] = [];
  readonly #counts = new Map<string, number>();

  /** Replaces the ranges. Reservations stay, whether an address is in a range or not. */
  setRanges(ranges: readonly IpRange[]): void {
    this.#ranges = ranges.map(usable);
    for (const ip of this.#counts.keys()) this.#count(ip, 1);
  }

  /** Returns why an address cannot be reserved; `undefined` if it is free. */
  problemOf(ip: string): "outside" | "taken" | undefined {
    if (!this.#ranges.some((range) => usableIndex(range, ip) !== undefined)) return "outside";
    return this.#counts.has(canonical(ip)) ? "taken" : undefined;
  }

  /** Returns the first range of a family. */
  rangeOf(family: IpFamily): IpRange | undefined {
    return this.#ranges.find(({ range }) => range.family === family)?.range;
  }

  reserve(ip: string): void {
    const key = canonical(ip);
    const count = this.#counts.get(key) ?? 0;
    this.#counts.set(key, count + 1);
    if (count === 0) this.#count(key, 1);
  }

  release(ip: string): void {
    const key = canonical(ip);
    const count = this.#counts.get(key) ?? 0;
    if (count > 1) this.#counts.set(key, count - 1);
    else if (this.#counts.delete(key)) this.#count(key, -1);
  }

  /** Reserves a random free address of a family; `undefined` when none is free. */
  reserveAny(family: IpFamily, random: Random): string | undefined {
    for (const one of this.#ranges) {
      if (one.range.family !== family || one.used >= one.size) continue;
      const ip = this.#freeIn(one, one.lowest, one.size, random) ?? this.#freeIn(one, 0, one.lowest, random);
      if (ip === undefined) continue;
      this.reserve(ip);
      return ip;
    }
    return undefined;
  }

  #freeIn(one: UsableRange, from: number, end: number, random: Random): string | undefined {
    const count = end - from;
    const start = Math.floor(random.next() * count);
    const ipAt = (offset: number): string => one.range.addressAt(BigInt(from + offset) + 1n);
    const tries = one.size > takenMax ? count : Math.min(count, triesMax);
    for (let i = 0; i < tries; i++) {
      const ip = ipAt((start + i) % count);
      if (!this.#counts.has(ip)) return ip;
    }
    if (tries === count) return undefined;
    one.taken ??= this.#takenIn(one);
    const part = one.taken.subarray(from, end);
    const behind = part.indexOf(0, start);
    const free = behind === -1 ? part.indexOf(0) : behind;
    return free === -1 ? undefined : ipAt(free);
  }

  #takenIn(one: UsableRange): Uint8Array {
    const taken = new Uint8Array(one.size);
    for (const ip of this.#counts.keys()) {
      const index = usableIndex(one, ip);
      if (index !== undefined) taken[index] = 1;
    }
    return taken;
  }

  #count(ip: string, change: 1 | -1): void {
    for (const one of this.#ranges) {
      const index = usableIndex(one, ip);
      if (index === undefined) continue;
      one.used += change;
      if (one.taken !== undefined) one.taken[index] = change === 1 ? 1 : 0;
    }
  }
}

function usable(range: IpRange): UsableRange {
  const size = Math.min(Math.max(Number(range.size) - (range.family === "IPv4" ? 2 : 1), 0), countedMax);
  const lowest = size < 16 ? 0 : Math.min(Math.max(Math.floor(size / 16), 16), 256);
  return { range, size, lowest, used: 0, taken: undefined };
}

/** Returns the place of an address among the usable ones; `undefined` when services may not have it. */
function usableIndex({ range }: UsableRange, ip: string): number | undefined {
  const index = range.indexOf(ip);
  if (index === undefined || index === 0n) return undefined;
  return range.family === "IPv6" || index < range.size - 1n ? Number(index) - 1 : undefined;
}

function canonical(ip: string): string {
  const bytes = plainBytes(ip);
  return bytes === undefined ? ip : printIp(bytes);
}
