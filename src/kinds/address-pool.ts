/**
 * The cluster addresses of services: ranges, and the count of reservations of each address. A stored object and its pending
 * write may share a reservation, and ranges may overlap.
 */
import type { IpFamily, IpRange } from "#meta/ip-range.ts";
import { plainBytes } from "#meta/ip-range.ts";
import { printIp } from "#meta/names.ts";
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
}

const countedMax = 2 ** 48;

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
    if (!this.#ranges.some((range) => holds(range, ip))) return "outside";
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

  #freeIn({ range }: UsableRange, from: number, end: number, random: Random): string | undefined {
    const count = end - from;
    const start = Math.floor(random.next() * count);
    for (let i = 0; i < count; i++) {
      const ip = range.addressAt(BigInt(from + ((start + i) % count)) + 1n);
      if (!this.#counts.has(ip)) return ip;
    }
    return undefined;
  }

  #count(ip: string, change: 1 | -1): void {
    for (const range of this.#ranges) if (holds(range, ip)) range.used += change;
  }
}

function usable(range: IpRange): UsableRange {
  const size = Math.min(Math.max(Number(range.size) - (range.family === "IPv4" ? 2 : 1), 0), countedMax);
  return { range, size, lowest: size < 16 ? 0 : Math.min(Math.max(Math.floor(size / 16), 16), 256), used: 0 };
}

/** Whether services may have an address of a range. */
function holds({ range }: UsableRange, ip: string): boolean {
  const index = range.indexOf(ip);
  if (index === undefined || index === 0n) return false;
  return range.family === "IPv6" || index < range.size - 1n;
}

function canonical(ip: string): string {
  const bytes = plainBytes(ip);
  return bytes === undefined ? ip : printIp(bytes);
}
