/** A `Transport` over https: one connection kept open, a client certificate or a token, one trusted authority. */
import { Agent, request as httpsRequest } from "node:https";
import type { IncomingMessage } from "node:http";
import { eventOfLine } from "#client/received-event.ts";
import type { ClientRequest, ClientResponse, Transport } from "#client/transport.ts";

interface HttpsOptions {
  /** The URL as `https://host:port`. */
  readonly url: string;
  /** The authority of the server's certificate, as PEM. */
  readonly ca: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly token?: string;
  readonly userAgent: string;
}

/**
 * Returns a transport. Its requests reject with the system's error (`ECONNREFUSED`) when the server cannot be reached.
 */
export function httpsTransport(options: HttpsOptions): Transport & { close(): void } {
  const agent = new Agent({
    keepAlive: true,
    ca: options.ca,
    ...(options.certificate === undefined ? {} : { cert: options.certificate }),
    ...(options.key === undefined ? {} : { key: options.key }),
  });
  const send = (wanted: ClientRequest): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const headers = {
        accept: "application/json",
        "user-agent": options.userAgent,
        ...(options.token === undefined ? {} : { authorization: `Bearer ${options.token}` }),
        ...(wanted.body === undefined
          ? {}
          : { "content-type": wanted.contentType ?? "application/json", "content-length": wanted.body.length }),
      };
      const request = httpsRequest(new URL(wanted.path, options.url), {
        agent,
        method: wanted.method,
        headers,
        ...(wanted.signal === undefined ? {} : { signal: wanted.signal }),
      });
      request.once("response", resolve);
      request.once("error", reject);
      request.end(wanted.body);
    });
  return {
    async request(wanted) {
      return readWhole(await send(wanted));
    },
    async stream(wanted, onEvent) {
      const response = await send(wanted);
      if (response.statusCode !== 200) return readWhole(response);
      let rest: Buffer = Buffer.alloc(0);
      for await (const piece of response as AsyncIterable<Buffer>) {
        rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
        for (let at = rest.indexOf(10); at >= 0; at = rest.indexOf(10)) {
          onEvent(eventOfLine(rest.subarray(0, at)));
          rest = rest.subarray(at + 1);
        }
      }
      return { code: 200, body: Buffer.alloc(0) };
    },
    close: () => agent.destroy(),
  };
}

async function readWhole(response: IncomingMessage): Promise<ClientResponse> {
  const pieces: Buffer[] = [];
  for await (const piece of response as AsyncIterable<Buffer>) pieces.push(piece);
  return { code: response.statusCode ?? 0, body: Buffer.concat(pieces) };
}
