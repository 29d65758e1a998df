/**
 * Connections to nodes: to kubelets, and to the targets of proxies. They are opened when somebody asks, and kept for a
 * while. See `http/handlers/connect.ts`.
 */
import type { FeatureGates } from "#api/feature-gates.ts";
import type { Forwarder, PeerOptions } from "#egress/forwarding.ts";
import { hostProblem, isProxyableIp, proxyableLookup } from "#egress/proxyable-address.ts";
import type { ServiceAddress } from "#egress/service-address.ts";
import type { HandledRequest } from "#http/api-request.ts";
import type { NodeAccess, PeerSort } from "#http/node-access.ts";
import { type ConsoleFlags, servesConsole } from "./console/flags.ts";
import type { GeneralFlags } from "./general-flags.ts";
import type { Lookups } from "./lookups.ts";
import { type NodeFlags, preferredAddressTypes } from "./nodes/flags.ts";
import type { KubeletClient } from "./nodes/kubelet-client.ts";
import type { ServerParts } from "./server-parts.ts";

interface NodesParts extends Pick<ServerParts, "clock" | "log" | "egress"> {
  readonly options: NodeFlags & ConsoleFlags & Pick<GeneralFlags, "requestTimeoutMs" | "bindAddress">;
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly kubeletClient: KubeletClient;
  readonly lookups: Lookups;
  /** Returns the address to which a connection to a node or a target goes instead. Tests keep theirs on this machine. */
  readonly route?: ((address: ServiceAddress) => ServiceAddress) | undefined;
}

interface NodeConnections {
  readonly access: NodeAccess;
  /** Gives up the requests that nodes do not begin to answer within a few seconds, since this server ends. */
  drain(): void;
  close(): void;
}

/** The maximum time in milliseconds for which requests wait for nodes while this server ends. */
const drainMs = 5_000;

export function openNodes(parts: NodesParts): NodeConnections {
  const { options, gates, clock, log, lookups } = parts;
  const peers = new Peers(parts);
  const waiting = new Set<HandledRequest>();
  const unfollow = parts.kubeletClient.follow(clock, log);
  let stopDraining: (() => void) | undefined;
  const access: NodeAccess = {
    find: lookups.get,
    forwarder: (peer) => peers.of(peer),
    preferredAddressTypes: preferredAddressTypes(options),
    hostProblem,
    isProxyable: isProxyableIp,
    translatesCommands: gates.isOn("TranslateStreamCloseWebsocketRequests"),
    tunnelsPorts: gates.isOn("PortForwardWebsockets"),
    isolatesPages: servesConsole(options),
    async limited(connection) {
      const { maxConnectionBytesPerSec: bytes } = options;
      if (bytes === 0) return connection;
      const { throttled } = await import("#egress/throttled.ts");
      return throttled(connection, bytes, clock);
    },
    upgradeMs: options.requestTimeoutMs,
    waitFor(request, answer) {
      waiting.add(request);
      return answer.finally(() => waiting.delete(request));
    },
  };
  return {
    access,
    drain() {
      stopDraining = clock.after(drainMs, () => {
        for (const request of waiting) request.abort(new Error("this server ends"));
      });
    },
    close() {
      stopDraining?.();
      unfollow();
      peers.close();
    },
  };
}

/** The forwarders, one for each sort of peer, made when first used. */
class Peers {
  readonly #parts: NodesParts;
  readonly #forwarders = new Map<PeerSort, { readonly settings: string; readonly forwarder: Forwarder }>();

  constructor(parts: NodesParts) {
    this.#parts = parts;
  }

  async of(peer: PeerSort): Promise<Forwarder> {
    // Node's HTTP client is loaded only when there is a server to call.
    const { openForwarder } = await import("#egress/forwarding.ts");
    const options = this.#optionsOf(peer);
    const settings = options.cert ?? "";
    const known = this.#forwarders.get(peer);
    if (known?.settings === settings) return known.forwarder;
    known?.forwarder.retire();
    const forwarder = openForwarder(options);
    this.#forwarders.set(peer, { settings, forwarder });
    return forwarder;
  }

  #optionsOf(peer: PeerSort): PeerOptions {
    const { kubeletClient, clock, route, options, egress } = this.#parts;
    const { certificate: cert, key } = kubeletClient.current() ?? {};
    const { ca } = kubeletClient;
    const shared = { clock, serverName: undefined, tunnel: egress.cluster, ...(route === undefined ? {} : { route }) };
    const none = { ...shared, ca: undefined, insecure: true, cert: undefined, key: undefined, lookup: proxyableLookup };
    const kubelet = { ...shared, ca, insecure: ca === undefined, cert, key, dialMs: options.kubeletTimeoutMs };
    switch (peer) {
      case "kubelet":
        return kubelet;
      case "unverified kubelet":
        return { ...kubelet, insecure: true };
      case "proxied kubelet":
        return { ...kubelet, lookup: proxyableLookup };
      case "target with TLS":
        return none;
      case "target":
        return { ...none, isPlain: true };
    }
  }

  close(): void {
    for (const { forwarder } of this.#forwarders.values()) forwarder.close();
    this.#forwarders.clear();
  }
}
