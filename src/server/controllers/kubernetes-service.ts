/** Addresses of this server in the service `default/kubernetes`. */
import { networkInterfaces } from "node:os";
import type { KubernetesServiceOptions } from "#controllers/kubernetes-service.ts";
import { ipFamily, type IpRange } from "#meta/ip-range.ts";
import type { GeneralFlags } from "../general-flags.ts";
import type { ServiceFlags } from "../services/flags.ts";

type AddressFlags = ServiceFlags & Pick<GeneralFlags, "bindAddress">;

/** `url` is the URL by which clients on this machine reach the server. */
export function kubernetesService(
  options: AddressFlags,
  [range]: readonly IpRange[],
  url: string,
): KubernetesServiceOptions {
  if (range === undefined) throw new Error("there is always a range of cluster addresses");
  const ip = options.endpointReconcilerType === "none" ? undefined : advertisedAddress(options, range.family);
  return {
    clusterIp: range.addressAt(1n),
    port: Number(new URL(url).port || 443),
    endpoint: ip === undefined ? undefined : { ip, family: ipFamily(ip) ?? range.family },
  };
}

/**
 * Returns the address for the endpoints, which must not be a loopback address: the flag's, the bind address, or one of
 * the machine's addresses, preferably of the family of services.
 */
function advertisedAddress(options: AddressFlags, family: IpRange["family"]): string | undefined {
  const { advertiseAddress, bindAddress } = options;
  if (advertiseAddress !== undefined) return advertiseAddress;
  if (ipFamily(bindAddress) !== undefined && !/^(?:127\.|0\.0\.0\.0$|::1?$)/.test(bindAddress)) return bindAddress;
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(({ internal, address }) => !internal && !address.startsWith("fe80:"));
  return (own.find((candidate) => candidate.family === family) ?? own[0])?.address;
}
