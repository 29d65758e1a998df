/**
 * Parses IP addresses and prefixes as Go's `net/netip` does, with its error texts: IPv4 has no leading zeros, IPv6 may
 * have zones. `ip-address.ts` is more lenient, as most fields of objects are.
 */
import { goQuote } from "./field-error.ts";

/** A parsed address; `zone` is empty if there is none. */
interface IpAddress {
  /** The 4 or 16 bytes of the address. */
  readonly bytes: readonly number[];
  readonly zone: string;
}

/** The error of a text, in Go's words. */
export interface Fault {
  readonly fault: string;
}

/** An error, and the rest of the text at which it occurred. */
interface FaultAt extends Fault {
  readonly at?: string;
}

const fault = (text: string, at?: string): FaultAt => (at === undefined ? { fault: text } : { fault: text, at });

/** Parses an address. Returns an error in Go's words for other texts. */
export function parseAddress(text: string): IpAddress | Fault {
  const parsed = parseAny(text);
  if ("bytes" in parsed) return parsed;
  const at = parsed.at === undefined ? "" : ` (at ${goQuote(parsed.at)})`;
  return { fault: `ParseAddr(${goQuote(text)}): ${parsed.fault}${at}` };
}

/** An address, and the number of bits in its prefix. */
interface IpPrefix {
  readonly address: IpAddress;
  readonly bits: number;
}

/** Parses an address with the length of its prefix. Returns an error in Go's words for other texts. */
export function parsePrefix(text: string): IpPrefix | Fault {
  const wrong = (why: string): Fault => ({ fault: `netip.ParsePrefix(${goQuote(text)}): ${why}` });
  const slash = text.lastIndexOf("/");
  if (slash < 0) return wrong("no '/'");
  const address = parseAddress(text.slice(0, slash));
  if ("fault" in address) return wrong(address.fault);
  if (address.zone !== "") return wrong("IPv6 zones cannot be present in a prefix");
  const digits = text.slice(slash + 1);
  if (!/^(?:[0-9]|[1-9][0-9]{1,18})$/.test(digits)) return wrong(`bad bits after slash: ${goQuote(digits)}`);
  const bits = Number(digits);
  return bits > address.bytes.length * 8 ? wrong("prefix length out of range") : { address, bits };
}

function parseAny(text: string): IpAddress | FaultAt {
  const mark = /[.:%]/.exec(text)?.[0];
  if (mark === undefined) return fault("unable to parse IP");
  if (mark === "%") return fault("missing IPv6 address");
  if (mark === ":") return parseIpv6(text);
  const bytes = parseIpv4(text);
  return "fault" in bytes ? bytes : { bytes, zone: "" };
}

function parseIpv4(text: string): readonly number[] | FaultAt {
  const bytes: number[] = [];
  let value = 0;
  let digits = 0;
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!;
    if (char >= "0" && char <= "9") {
      if (digits === 1 && value === 0) return fault("IPv4 field has octet with leading zero");
      value = value * 10 + Number(char);
      digits++;
      if (value > 255) return fault("IPv4 field has value >255");
    } else if (char === ".") {
      const isEmpty = at === 0 || at === text.length - 1 || text[at - 1] === ".";
      if (isEmpty) return fault("IPv4 field must have at least one digit", text.slice(at));
      if (bytes.length === 3) return fault("IPv4 address too long");
      bytes.push(value);
      value = 0;
      digits = 0;
    } else return fault("unexpected character", text.slice(at));
  }
  return bytes.length < 3 ? fault("IPv4 address too short") : [...bytes, value];
}

/** The parts of an IPv6 address that have been read, and the rest of its text. */
interface Ipv6 {
  readonly bytes: number[];
  /** The number of bytes before `::`; -1 if there is no `::`. */
  gap: number;
  rest: string;
}

function parseIpv6(text: string): IpAddress | FaultAt {
  const percent = text.indexOf("%");
  const zone = percent < 0 ? "" : text.slice(percent + 1);
  if (percent >= 0 && zone === "") return fault("zone must be a non-empty string");
  const whole = percent < 0 ? text : text.slice(0, percent);
  const startsWithGap = whole.startsWith("::");
  const state: Ipv6 = { bytes: [], gap: startsWithGap ? 0 : -1, rest: startsWithGap ? whole.slice(2) : whole };
  while (state.bytes.length < 16 && (state.rest !== "" || (state.gap < 0 && state.bytes.length === 0))) {
    const wrong = readGroup(state);
    if (wrong !== undefined) return wrong;
    // An embedded IPv4 address is the end of the text.
    if (state.rest === "") break;
  }
  if (state.rest !== "") return fault("trailing garbage after address", state.rest);
  const missing = 16 - state.bytes.length;
  if (missing > 0 && state.gap < 0) return fault("address string too short");
  if (missing === 0 && state.gap >= 0) return fault("the :: must expand to at least one field of zeros");
  if (missing > 0) state.bytes.splice(state.gap, 0, ...Array<number>(missing).fill(0));
  return { bytes: state.bytes, zone };
}

/** Reads a group of hexadecimal digits and the colons after it, or the IPv4 address at the end. */
function readGroup(state: Ipv6): FaultAt | undefined {
  const { rest } = state;
  const digits = /^[0-9a-fA-F]{0,5}/.exec(rest)![0];
  if (digits.length > 4) return fault("each group must have 4 or less digits", rest);
  if (digits === "") return fault("each colon-separated field must have at least one digit", rest);
  if (rest[digits.length] === ".") return readEmbedded(state);
  const value = Number.parseInt(digits, 16);
  state.bytes.push(value >> 8, value & 255);
  state.rest = rest.slice(digits.length);
  if (state.rest === "") return undefined;
  if (!state.rest.startsWith(":")) return fault("unexpected character, want colon", state.rest);
  if (state.rest === ":") return fault("colon must be followed by more characters", state.rest);
  state.rest = state.rest.slice(1);
  if (!state.rest.startsWith(":")) return undefined;
  if (state.gap >= 0) return fault("multiple :: in address", state.rest);
  state.gap = state.bytes.length;
  state.rest = state.rest.slice(1);
  return undefined;
}

function readEmbedded(state: Ipv6): FaultAt | undefined {
  const { bytes, rest } = state;
  if (state.gap < 0 && bytes.length !== 12) {
    return fault("embedded IPv4 address must replace the final 2 fields of the address", rest);
  }
  if (bytes.length > 12) return fault("too many hex fields to fit an embedded IPv4 at the end of the address", rest);
  const last = parseIpv4(rest);
  if ("fault" in last) return last;
  bytes.push(...last);
  state.rest = "";
  return undefined;
}
