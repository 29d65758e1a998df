/**
 * The means to reach nodes, and the targets of proxies, as handlers see them. `server/nodes.ts` provides them; without
 * nodes nothing of it is loaded.
 */
import type { Duplex } from "node:stream";
import type { FindObject } from "#api/object-types.ts";
import type { Forwarder } from "#egress/forwarding.ts";
import type { HandledRequest } from "./api-request.ts";

/** The sort of a peer, which says how it is connected to and what it must prove. */
export type PeerSort =
  /** A kubelet, to which this server shows its certificate. */
  | "kubelet"
  /** A kubelet whose certificate is not checked. */
  | "unverified kubelet"
  /** A kubelet at an address to which a user may proxy. */
  | "proxied kubelet"
  /** A target of a proxy: any certificate is accepted, and this server shows none. */
  | "target with TLS"
  | "target";

export interface NodeAccess {
  readonly find: FindObject;
  /** Returns the forwarder to such peers. */
  forwarder(peer: PeerSort): Promise<Forwarder>;
  /** Types of addresses of nodes, the first that a node has is used. */
  readonly preferredAddressTypes: readonly string[];
  /** Returns why a host is no target of a proxy; `undefined` when it is one. */
  hostProblem(host: string): Promise<string | undefined>;
  /** Whether the address is one of those to which a user may proxy. */
  isProxyable(address: string): boolean;
  /** Whether WebSockets with a channel for each stream are translated (`TranslateStreamCloseWebsocketRequests`). */
  readonly translatesCommands: boolean;
  /** Whether ports are forwarded over WebSocket (`PortForwardWebsockets`). */
  readonly tunnelsPorts: boolean;
  /** Whether pages get an origin of their own, since the console has that of this server. */
  readonly isolatesPages: boolean;
  /** Returns a connection that has changed its protocol, with the limit of bytes per second if there is one. */
  limited(connection: Duplex): Promise<Duplex>;
  /** The maximum time in milliseconds until a kubelet has changed the protocol. */
  readonly upgradeMs: number;
  /** Counts a request as waiting for another server until the promise settles; it is given up when this server ends. */
  waitFor<T>(request: HandledRequest, answer: Promise<T>): Promise<T>;
}
