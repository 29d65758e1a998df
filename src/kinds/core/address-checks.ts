/**
 * Checks of addresses in services, endpoints and ingresses, and warnings about unusual ones. Source:
 * `ValidateNonSpecialIP` in upstream's `pkg/apis/core/validation`, and `GetWarningsForIP`.
 */
import { type FieldError, goQuote, invalid } from "#meta/field-error.ts";
import type { FieldPath } from "#meta/field-path.ts";
import { plainBytes } from "#meta/ip-range.ts";
import { parseIp, printIp } from "#meta/ip-address.ts";
import { dns1123Subdomain } from "#meta/names.ts";

/** Returns findings about an address that other machines cannot reach, such as a loopback or link-local one. */
export function validateReachable(ip: string, field: FieldPath): FieldError[] {
  const bytes = plainBytes(ip);
  if (bytes === undefined) return [invalid(field, ip, "must be a valid IP address")];
  const [first = 0, second = 0, third = 0] = bytes;
  const isV4 = bytes.length === 4;
  const isLocal = isV4 ? first === 127 : bytes.every((byte, i) => byte === (i === 15 ? 1 : 0));
  const isLinkLocal = isV4 ? first === 169 && second === 254 : first === 0xfe && (second & 0xc0) === 0x80;
  const isLinkLocalMulticast = isV4
    ? first === 224 && second === 0 && third === 0
    : first === 0xff && (second & 0x0f) === 0x02;
  return [
    ...(bytes.every((byte) => byte === 0) ? [invalid(field, ip, `may not be unspecified (${ip})`)] : []),
    ...(isLocal ? [invalid(field, ip, "may not be in the loopback range (127.0.0.0/8, ::1/128)")] : []),
    ...(isLinkLocal ? [invalid(field, ip, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")] : []),
    ...(isLinkLocalMulticast
      ? [invalid(field, ip, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")]
      : []),
  ];
}

/** Returns findings about the host name of a load balancer. */
export function validateBalancerHost(hostname: string, field: FieldPath): FieldError[] {
  const errors = dns1123Subdomain(hostname).map((message) => invalid(field, hostname, message));
  if (parseIp(hostname) !== undefined) errors.push(invalid(field, hostname, "must be a DNS name, not an IP address"));
  return errors;
}

const mayCause = "which may cause controller apply-loops";
const willBeWrong = "was accepted, but will be invalid in a future Kubernetes release";

/** Returns warnings about an address that is accepted. */
export function aboutIp(field: string, ip: string): string[] {
  const reason = strictly(ip);
  if (reason !== undefined) return [`${field}: IP address ${willBeWrong}: ${reason}`];
  const canonical = canonicalV6(ip);
  if (canonical === undefined) return [];
  return [
    `${field}: IPv6 address ${goQuote(ip)} is not in RFC 5952 canonical format (${goQuote(canonical)}), ${mayCause}`,
  ];
}

/** Returns warnings about a range that is accepted. */
export function aboutRange(field: string, range: string): string[] {
  const slash = range.lastIndexOf("/");
  const ip = range.slice(0, slash);
  const bits = range.slice(slash + 1);
  const wrongBits = /^(?:0|[1-9]\d*)$/.test(bits) ? undefined : `bad bits after slash: ${goQuote(bits)}`;
  const reason = strictly(ip) ?? wrongBits;
  if (reason !== undefined)
    return [`${field}: IP prefix ${willBeWrong}: netip.ParsePrefix(${goQuote(range)}): ${reason}`];
  const canonical = canonicalV6(ip);
  if (canonical === undefined) return [];
  const text = `${canonical}/${bits}`;
  return [
    `${field}: IPv6 prefix ${goQuote(range)} is not in RFC 5952 canonical format (${goQuote(text)}), ${mayCause}`,
  ];
}

/** Returns the error of Go's stricter parser for an address that is accepted; `undefined` if there is none. */
function strictly(ip: string): string | undefined {
  const parse = `ParseAddr(${goQuote(ip)})`;
  const odd = ip.includes(".") ? ip.search(/[^\da-fA-F.:]/) : -1;
  if (odd >= 0) return `${parse}: unexpected character (at ${goQuote(ip.slice(odd))})`;
  if (parseIp(ip) === undefined) return ip.includes("%") ? undefined : `${parse}: ${problemOf(ip)}`;
  return /(?:^|[.:])0\d+(?=\.|$)/.test(ip) ? `${parse}: IPv4 field has octet with leading zero` : undefined;
}

/** Returns the reason why a text is not an address. */
function problemOf(ip: string): string {
  if (!ip.includes(".") || ip.includes(":")) return "unable to parse IP";
  const gap = ip.startsWith(".") ? 0 : ip.search(/\.(?=\.|$)/);
  if (gap >= 0) {
    const at = gap > 0 && gap < ip.length - 1 ? gap + 1 : gap;
    return `IPv4 field must have at least one digit (at ${goQuote(ip.slice(at))})`;
  }
  const parts = ip.split(".");
  if (parts.some((part) => Number(part) > 255)) return "IPv4 field has value >255";
  return parts.length < 4 ? "IPv4 address too short" : "IPv4 address too long";
}

/** Returns the canonical form of an IPv6 address; `undefined` if it has this form, and for IPv4 addresses. */
function canonicalV6(ip: string): string | undefined {
  if (plainBytes(ip)?.length !== 16) return undefined;
  const canonical = printIp(parseIp(ip)!); // it is an address
  return canonical === ip ? undefined : canonical;
}
