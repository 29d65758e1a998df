/** The ways from this server to others. */
import type { OpenTunnel } from "#egress/proxy-tunnel.ts";

/** The ways through proxies; `undefined` where connections are direct. */
export interface Egress {
  /** To nodes, and to pods and services: targets of users, webhooks and aggregated servers. */
  readonly cluster: OpenTunnel | undefined;
  /** To webhooks at URLs: for admission, authentication, authorization and the audit log. */
  readonly controlPlane: OpenTunnel | undefined;
  /** Whether a proxy is named for etcd. */
  readonly hasEtcdProxy: boolean;
}
