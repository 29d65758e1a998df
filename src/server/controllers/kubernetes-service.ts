/** The servers in the service `default/kubernetes`. */
import type { KubernetesServiceOptions, ServerEndpoint } from "#controllers/kubernetes-service.ts";
import { ipFamily, type IpRange } from "#meta/ip-range.ts";
import type { Peers } from "../peers.ts";
import { type AddressFlags, advertisedAddress } from "../services/advertised-address.ts";

interface Sources {
  readonly options: AddressFlags;
  /** The URL by which clients on this machine reach the server. */
  readonly url: string;
  readonly peers: Pick<Peers, "others" | "isStopping"> | undefined;
}

export function kubernetesService(
  { options, url, peers }: Sources,
  [range]: readonly IpRange[],
): KubernetesServiceOptions {
  if (range === undefined) throw new Error("there is always a range of cluster addresses");
  const ip = options.endpointReconcilerType === "none" ? undefined : advertisedAddress(options, range.family);
  const port = Number(new URL(url).port || 443);
  return {
    clusterIp: range.addressAt(1n),
    port,
    nodePort: options.kubernetesServiceNodePort,
    servers: { list: () => [...(peers?.isStopping === true ? [] : [{ ip: ip ?? "", port }]), ...peersOf(peers)] },
    family: ip === undefined ? undefined : (ipFamily(ip) ?? range.family),
  };
}

/** Returns the other servers that answer requests, and new ones. */
const peersOf = (peers: Sources["peers"]): readonly ServerEndpoint[] =>
  (peers?.others ?? [])
    .filter(({ isEndpoint, isStopping, applied }) => isEndpoint && !isStopping && applied > 0)
    .map(({ address: ip, port }) => ({ ip, port }));
