/** The source addresses of a request, including those of proxies. Source: upstream's `net.SourceIPs`. */
import { parseIp, printIp } from "#meta/ip-address.ts";

/**
 * Returns the addresses in the headers `X-Forwarded-For` and `X-Real-Ip`, which any client can forge, followed by the
 * address of the peer. Invalid addresses are skipped.
 */
export function sourceIps(forwardedFor: string | undefined, realIp: string | undefined, peer: string): string[] {
  const ips: string[] = [];
  for (const part of forwardedFor?.split(",") ?? []) {
    const ip = canonical(part.trim());
    if (ip !== undefined) ips.push(ip);
  }
  const real = canonical((realIp ?? "").trim());
  if (real !== undefined && !ips.includes(real)) ips.push(real);
  const last = canonical(peer);
  if (last !== undefined && ips.at(-1) !== last) ips.push(last);
  return ips;
}

/** Returns the canonical text of an address; for an IPv4 address in IPv6 form, that of IPv4. */
function canonical(text: string): string | undefined {
  const bytes = parseIp(text);
  return bytes === undefined ? undefined : printIp(bytes).replace(/^::ffff:(?=\d+\.)/, "");
}
