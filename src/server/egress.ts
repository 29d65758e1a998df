/** This server reaches others directly, or through the proxies of `--egress-selector-config-file`. */
import type { ApiDomain } from "#meta/api-domain.ts";
import { StartError } from "#std/start-error.ts";
import type { EgressFlags } from "./egress/flags.ts";
import type { Egress } from "./egress/ways.ts";

/** Returns the ways to webhooks at URLs, and to those that are services. */
export const webhookTunnels = ({ cluster, controlPlane }: Egress) => ({ url: controlPlane, service: cluster });

const direct: Egress = { hasEtcdProxy: false, cluster: undefined, controlPlane: undefined };

interface EgressOptions extends EgressFlags {
  readonly etcdServers: readonly string[];
}

/** Reads the configuration. Rejects with `StartError`, also where etcd would be reached past its proxy. */
export async function planEgress(options: EgressOptions, domain: ApiDomain): Promise<Egress> {
  const { egressSelectorConfigFile: file, etcdServers } = options;
  if (file === undefined) return direct;
  const { readEgress } = await import("./egress/selector.ts");
  const egress = readEgress(file, domain);
  if (egress.hasEtcdProxy && etcdServers.length > 0) {
    throw new StartError(`${file}: a proxy for the selection "etcd" is not supported: use Direct`);
  }
  return egress;
}
