/** Kubernetes' IP library: `ip(text)`, `isIP`, and the functions of an address. */
import { goQuote } from "#meta/field-error.ts";
import { printIp } from "#meta/ip-address.ts";
import type { FunctionDeclaration, Library } from "../functions.ts";
import { bool, int, opaque, string, typeOf } from "../types.ts";
import { CelError, Opaque, TypeValue, type Value } from "../values.ts";
import { memberFunction, onText, plainFunction, traversalCost } from "./declare.ts";
import { parseAddress } from "#meta/parse-ip.ts";

/** The type of `ip('10.0.0.1')`. */
export const ipType = opaque("net.IP");

/** An IP address without a zone. An IPv4 address written as an IPv6 address is not allowed. */
export class Ip extends Opaque {
  readonly type = ipType;
  /** The 4 or 16 bytes of the address. */
  readonly bytes: readonly number[];

  constructor(bytes: readonly number[]) {
    super();
    this.bytes = bytes;
  }

  equals(other: Value): boolean | undefined {
    return other instanceof Ip ? this.text === other.text : undefined;
  }

  /** The canonical text. */
  get text(): string {
    return printIp(this.bytes);
  }
}

/** Whether the bytes are an IPv4 address in the form of an IPv6 address. */
export const isMapped = (bytes: readonly number[]): boolean =>
  bytes.length === 16 && bytes.every((byte, at) => at > 11 || byte === (at > 9 ? 255 : 0));

/** Parses an address. Returns an error for other texts, and for addresses that are not allowed. */
export function ipOf(text: string): Ip | CelError {
  const address = parseAddress(text);
  if ("fault" in address) {
    return new CelError(`IP Address ${goQuote(text)} parse error during conversion from string: ${address.fault}`);
  }
  if (address.zone !== "") return new CelError(`IP address ${goQuote(text)} with zone value is not allowed`);
  if (isMapped(address.bytes)) return new CelError(`IPv4-mapped IPv6 address ${goQuote(text)} is not allowed`);
  return new Ip(address.bytes);
}

type Claim = (bytes: readonly number[]) => boolean;

const isV4 = (bytes: readonly number[]): boolean => bytes.length === 4;
const [isAllZero, isAllOnes]: readonly [Claim, Claim] = [
  (bytes) => bytes.every((byte) => byte === 0),
  (bytes) => bytes.every((byte) => byte === 255),
];
const isLoopback: Claim = (bytes) =>
  isV4(bytes) ? bytes[0] === 127 : bytes[15] === 1 && isAllZero(bytes.slice(0, 15));
const isMulticast: Claim = (bytes) => (isV4(bytes) ? bytes[0]! >> 4 === 14 : bytes[0] === 255);
const isLinkLocalMulticast: Claim = (bytes) =>
  isV4(bytes) ? bytes[0] === 224 && bytes[1] === 0 && bytes[2] === 0 : bytes[0] === 255 && (bytes[1]! & 15) === 2;
const isLinkLocalUnicast: Claim = (bytes) =>
  isV4(bytes) ? bytes[0] === 169 && bytes[1] === 254 : bytes[0] === 254 && bytes[1]! >> 6 === 2;
const isGlobalUnicast: Claim = (bytes) =>
  !isAllZero(bytes) &&
  !(isV4(bytes) && isAllOnes(bytes)) &&
  !isLoopback(bytes) &&
  !isMulticast(bytes) &&
  !isLinkLocalUnicast(bytes);

const claim = (name: string, id: string, holds: Claim): FunctionDeclaration =>
  memberFunction(name, id, [ipType], bool, ([ip]) => (ip instanceof Ip ? holds(ip.bytes) : undefined));

/** The work of reading one address. */
const readWork = 200;

const onAddress = onText(readWork, 1);
const isIp = onAddress((text) => ipOf(text) instanceof Ip);

function isCanonical(text: string): boolean | CelError {
  const ip = ipOf(text);
  return ip instanceof CelError ? ip : ip.text === text;
}

export const ipLibrary: Library = {
  name: "net.ip",
  constants: new Map([["net.IP", { type: typeOf(ipType), value: new TypeValue("net.IP") }]]),
  functions: [
    plainFunction("ip", "string_to_ip", [string], ipType, onAddress(ipOf), traversalCost()),
    plainFunction("isIP", "is_ip", [string], bool, isIp, traversalCost()),
    plainFunction("ip.isCanonical", "ip_is_canonical", [string], bool, onAddress(isCanonical), traversalCost(2)),
    plainFunction("string", "ip_to_string", [ipType], string, ([ip]) => (ip instanceof Ip ? ip.text : undefined)),
    memberFunction("family", "ip_family", [ipType], int, ([ip]) =>
      ip instanceof Ip ? (isV4(ip.bytes) ? 4 : 6) : undefined,
    ),
    claim("isUnspecified", "ip_is_unspecified", isAllZero),
    claim("isLoopback", "ip_is_loopback", isLoopback),
    claim("isLinkLocalMulticast", "ip_is_link_local_multicast", isLinkLocalMulticast),
    claim("isLinkLocalUnicast", "ip_is_link_local_unicast", isLinkLocalUnicast),
    claim("isGlobalUnicast", "ip_is_global_unicast", isGlobalUnicast),
  ],
};
