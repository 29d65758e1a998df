/** IP ranges (CIDR), and addresses as offsets into one. */
import { type NameCheck, parseIp, printIp } from "./names.ts";

export type IpFamily = "IPv4" | "IPv6";

export interface IpRange {
  /** Canonical: the first address of the range and the length of its prefix. */
  readonly text: string;
  readonly family: IpFamily;
  /** How many addresses there are, the first and the last among them. */
  readonly size: bigint;
  /** Which address of the range it is, from 0; `undefined` when it lies outside, or is none. */
  indexOf(address: string): bigint | undefined;
  /** Text of an address by its number, from 0. */
  addressAt(index: bigint): string;
}

/** `undefined` for what is no CIDR. Bits after the prefix are dropped. */
export function parseIpRange(text: string): IpRange | undefined {
  const slash = text.indexOf("/");
  const bytes = slash < 0 ? undefined : parseIp(text.slice(0, slash));
  const prefix = text.slice(slash + 1);
  if (bytes === undefined || !/^\d{1,3}$/.test(prefix)) return undefined;
  const free = bytes.length * 8 - Number(prefix);
  if (free < 0) return undefined;
  const size = 1n << BigInt(free);
  const first = (numberOf(bytes) / size) * size;
  const addressAt = (index: bigint): string => printIp(bytesOf(first + index, bytes.length));
  return {
    text: `${addressAt(0n)}/${Number(prefix)}`,
    family: bytes.length === 4 ? "IPv4" : "IPv6",
    size,
    indexOf(address) {
      const other = plainBytes(address);
      if (other?.length !== bytes.length) return undefined;
      const index = numberOf(other) - first;
      return index >= 0n && index < size ? index : undefined;
    },
    addressAt,
  };
}

/** Whether a range is a part of another one, and not all of it. */
export const isStrictlyInside = (inner: IpRange, outer: IpRange): boolean =>
  inner.size < outer.size && outer.indexOf(inner.addressAt(0n)) !== undefined;

export const cidr: NameCheck = (text) =>
  parseIpRange(text) === undefined ? ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"] : [];

/** `undefined` for what is no address. An IPv4 address written as an IPv6 one is an IPv4 address. */
export function ipFamily(address: string): IpFamily | undefined {
  const bytes = plainBytes(address);
  return bytes === undefined ? undefined : bytes.length === 4 ? "IPv4" : "IPv6";
}

/** The 4 or 16 bytes of an address, those of an IPv4 address written as an IPv6 one without the rest. */
export function plainBytes(address: string): readonly number[] | undefined {
  const bytes = parseIp(address);
  const isMapped = bytes?.length === 16 && bytes.every((byte, i) => i > 11 || byte === (i > 9 ? 255 : 0));
  return isMapped ? bytes.slice(12) : bytes;
}

const numberOf = (bytes: readonly number[]): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

const bytesOf = (number: bigint, count: number): number[] =>
  Array.from({ length: count }, (_, i) => Number((number >> BigInt(8 * (count - 1 - i))) & 255n));
