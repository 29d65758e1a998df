/**
 * The addresses to which this server connects on behalf of a user who may proxy to a pod, a service or a node: none of
 * this machine, of its link or of cloud metadata, so that an object whose address somebody writes opens no way to them.
 * Source: upstream's `util/proxy`.
 */
import { lookup as findAddresses } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";

const refused = new BlockList();
refused.addAddress("0.0.0.0");
refused.addSubnet("127.0.0.0", 8);
refused.addSubnet("169.254.0.0", 16);
refused.addSubnet("224.0.0.0", 4);
refused.addAddress("255.255.255.255");
refused.addAddress("::", "ipv6");
refused.addAddress("::1", "ipv6");
refused.addSubnet("fe80::", 10, "ipv6");
refused.addSubnet("ff00::", 8, "ipv6");
// The metadata service of a cloud that is not on the link.
refused.addAddress("fd00:ec2::254", "ipv6");

/** Whether a target may have this IP address. A text that is no IP address is none. */
export function isProxyableIp(address: string): boolean {
  const family = isIP(address);
  if (family === 0 || address.includes("%")) return false;
  return !refused.check(address, family === 4 ? "ipv4" : "ipv6");
}

/** The message, in upstream's words. */
export const addressNotAllowed = "address not allowed";

/**
 * Finds the addresses of a host name for a connection, and refuses names with an address that is not allowed. The
 * connection uses what was checked, so a name that changes between a check and a connection changes nothing.
 */
export const proxyableLookup: LookupFunction = (host, options, callback) => {
  findAddresses(host, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [], 0);
    if (!addresses.every(({ address }) => isProxyableIp(address))) return callback(new Error(addressNotAllowed), [], 0);
    if (options.all === true) return callback(null, addresses);
    const [first] = addresses;
    callback(null, first?.address ?? "", first?.family);
  });
};

/** Returns why a host is no target; `undefined` when it is one. Resolves host names. */
export function hostProblem(host: string): Promise<string | undefined> {
  if (isIP(host) !== 0) return Promise.resolve(isProxyableIp(host) ? undefined : addressNotAllowed);
  return new Promise((resolve) => {
    proxyableLookup(host, {}, (error) => {
      const isUnknown = error?.code === "ENOTFOUND" || error?.code === "EAI_AGAIN";
      resolve(isUnknown ? `lookup ${host}: no such host` : error?.message);
    });
  });
}
