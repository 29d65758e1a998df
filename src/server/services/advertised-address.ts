/** The address by which programs of the cluster, and other servers, reach this one. */
import { networkInterfaces } from "node:os";
import { ipFamily, type IpRange } from "#meta/ip-range.ts";
import type { GeneralFlags } from "../general-flags.ts";
import type { ServiceFlags } from "./flags.ts";

export type AddressFlags = ServiceFlags & Pick<GeneralFlags, "bindAddress">;

/**
 * Returns the address for the endpoints, which must not be a loopback address: the flag's, the bind address, or one of
 * the machine's addresses, preferably of the family of services.
 */
export function advertisedAddress(options: AddressFlags, family: IpRange["family"]): string | undefined {
  const { advertiseAddress, bindAddress } = options;
  if (advertiseAddress !== undefined) return advertiseAddress;
  if (ipFamily(bindAddress) !== undefined && !/^(?:127\.|0\.0\.0\.0$|::1?$)/.test(bindAddress)) return bindAddress;
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return (own.find((candidate) => candidate.family === family) ?? own[0])?.address;
}
