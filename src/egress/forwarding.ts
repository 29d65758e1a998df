/**
 * Forwards requests to another server, over TLS unless it has none: by HTTP/2 where ALPN (RFC 7301) selects it, else by
 * HTTP/1.1; upgrades always by HTTP/1.1. Bodies stream in both directions with backpressure. Connections are kept,
 * redirects are not followed, and the head of an answer is bounded in time and size.
 */
import { Connections, type PeerOptions } from "./forwarding/connections.ts";
import type { Forwarded, ForwardedAnswer, UpgradedAnswer } from "./forwarding/call.ts";
import { ResponseDeadline } from "./forwarding/response-deadline.ts";
import type { ServiceAddress } from "./service-address.ts";

export type { PeerOptions } from "./forwarding/connections.ts";
export type { Forwarded, ForwardedAnswer, ForwardedBody, UpgradedAnswer } from "./forwarding/call.ts";

export interface Forwarder {
  /** Resolves with any answer. Rejects in the same cases as `Outgoing.callOut`. */
  send(address: ServiceAddress, call: Forwarded): Promise<ForwardedAnswer>;
  /** Sends a request to change the protocol; it has no body. */
  upgrade(address: ServiceAddress, protocol: string, call: Omit<Forwarded, "body">): Promise<UpgradedAnswer>;
  /** Uses its connections for no later call. Running calls continue. */
  retire(): void;
  close(): void;
}

/**
 * The maximum number of attempts. A call is sent again only if the peer has not begun to handle it, or if a repetition
 * makes no difference.
 */
const attemptsMax = 3;

export function openForwarder(options: PeerOptions): Forwarder {
  const connections = new Connections(options);
  return {
    async send(address, call) {
      const deadline = new ResponseDeadline(call, address, options.clock);
      try {
        for (let attempt = 1; attempt <= attemptsMax; attempt++) {
          const { answer, giveUp } = await deadline.during(connections.begin(address, call, deadline));
          const answered = await deadline.during(answer, giveUp);
          if (answered !== undefined) return answered;
        }
        throw new Error("the server takes no calls");
      } catch (error) {
        call.body?.stop();
        throw error;
      } finally {
        deadline.end();
      }
    },
    async upgrade(address, protocol, call) {
      const deadline = new ResponseDeadline(call, address, options.clock);
      try {
        const { answer, giveUp } = connections.upgrade(address, protocol, call);
        return await deadline.during(answer, giveUp);
      } finally {
        deadline.end();
      }
    },
    retire: () => connections.retire(),
    close: () => connections.close(),
  };
}
