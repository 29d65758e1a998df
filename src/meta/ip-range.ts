/** IP ranges (CIDR), and addresses as offsets into a range. */
import { parseIp, printIp } from "./ip-address.ts";
import type { NameCheck } from "./names.ts";

export type IpFamily = "IPv4" | "IPv6";

export class IpRange {
  /** The number of leading bits that all addresses of the range share. */
  readonly prefix: number;
  readonly #first: readonly number[];
  #number: bigint | undefined;

  /** `first` is the first address as 4 or 16 bytes. */
  constructor(first: readonly number[], prefix: number) {
    this.prefix = prefix;
    this.#first = first;
  }

  /** The canonical text: the first address of the range and the length of its prefix. */
  get text(): string {
    return `${printIp(this.#first)}/${this.prefix}`;
  }

  get family(): IpFamily {
    return this.#first.length === 4 ? "IPv4" : "IPv6";
  }

  /** The number of addresses, including the first and the last one. */
  get size(): bigint {
    return 1n << BigInt(this.#first.length * 8 - this.prefix);
  }

  /** Returns the index of an address in the range, from 0; `undefined` when it is outside, or not an address. */
  indexOf(address: string): bigint | undefined {
    const bytes = plainBytes(address);
    return bytes !== undefined && this.#has(bytes) ? numberOf(bytes) - this.#firstNumber() : undefined;
  }

  /** Returns the text of the address with an index, from 0. */
  addressAt(index: bigint): string {
    return printIp(bytesOf(this.#firstNumber() + index, this.#first.length));
  }

  /** Whether another range is a part of this one, but not equal to it. */
  strictlyHolds(inner: IpRange): boolean {
    return inner.prefix > this.prefix && this.#has(inner.#first);
  }

  #has(bytes: readonly number[]): boolean {
    const first = this.#first;
    return bytes.length === first.length && bytes.every((byte, i) => (byte & maskOf(this.prefix, i)) === first[i]);
  }

  #firstNumber(): bigint {
    return (this.#number ??= numberOf(this.#first));
  }
}

/** Returns a mask with the bits of an address byte that belong to a prefix. */
function maskOf(prefix: number, at: number): number {
  const bits = Math.min(8, Math.max(0, prefix - at * 8));
  return (0xff00 >> bits) & 0xff;
}

/** Parses a CIDR; `undefined` when it is invalid. Bits after the prefix are dropped. */
export function parseIpRange(text: string): IpRange | undefined {
  const slash = text.indexOf("/");
  const bytes = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const length = text.slice(slash + 1);
  if (bytes === undefined || !/^\d{1,3}$/.test(length)) return undefined;
  const prefix = Number(length);
  if (prefix > bytes.length * 8) return undefined;
  const first = bytes.map((byte, i) => byte & maskOf(prefix, i));
  return new IpRange(first, prefix);
}

export const cidr: NameCheck = (text) =>
  parseIpRange(text) === undefined ? ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"] : [];

/**
 * Returns the family of an address; `undefined` for an invalid one. An IPv4 address written as an IPv6 one is an IPv4
 * address.
 */
export function ipFamily(address: string): IpFamily | undefined {
  const bytes = plainBytes(address);
  return bytes === undefined ? undefined : bytes.length === 4 ? "IPv4" : "IPv6";
}

/** Returns the 4 or 16 bytes of an address; 4 also for an IPv4 address written as an IPv6 one. */
export function plainBytes(address: string): readonly number[] | undefined {
  const bytes = parseIp(address);
  const isMapped = bytes?.length === 16 && bytes.every((byte, i) => i > 11 || byte === (i > 9 ? 255 : 0));
  return isMapped ? bytes.slice(12) : bytes;
}

const numberOf = (bytes: readonly number[]): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

const bytesOf = (number: bigint, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Number((number >> BigInt(8 * (count - 1 - i))) & 255n));
