/**
 * `fetch` for one server whose certificate the machine does not know: it trusts the server's authority and sends a
 * token. The `fetch` of Node takes both only through a package that has to fit its version.
 */
import https from "node:https";
import { Readable } from "node:stream";

interface Target {
  /** The URL as `https://host:port`. */
  readonly url: string;
  /** The authority as PEM. */
  readonly ca: string;
  readonly token: string;
}

interface TrustingFetch {
  /**
   * Fetches from the server. The URL may be a path. Other servers are refused with `TypeError`, since the token is not
   * theirs. A header `authorization` of the caller replaces the token.
   */
  fetch(input: string | URL | Request, init?: RequestInit): Promise<Response>;
  /** Closes the connections. */
  close(): void;
}

export function trustingFetch({ url: server, ca, token }: Target): TrustingFetch {
  const agent = new https.Agent({ ca, keepAlive: true, maxSockets: 256 });
  return {
    async fetch(input, init) {
      const url = new URL(input instanceof Request ? input.url : input, server);
      if (url.origin !== new URL(server).origin)
        throw new TypeError(`this fetch is for ${server} only, not ${url.origin}`);
      const request = input instanceof Request ? new Request(input, init) : new Request(url, init);
      const headers = new Headers(request.headers);
      if (!headers.has("authorization")) headers.set("authorization", `Bearer ${token}`);
      const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer());
      const { method, signal } = request;
      return send(url, { method, headers: Object.fromEntries(headers), signal, agent }, body);
    },
    close: () => agent.destroy(),
  };
}

function send(url: URL, options: https.RequestOptions, body: Buffer | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const request = https.request(url, options, (response) => {
      const { statusCode = 0, statusMessage = "", headersDistinct } = response;
      const headers = new Headers();
      for (const [name, values = []] of Object.entries(headersDistinct)) {
        for (const value of values) headers.append(name, value);
      }
      const hasBody = statusCode !== 204 && statusCode !== 304 && options.method !== "HEAD";
      if (!hasBody) response.resume();
      const content = hasBody ? Readable.toWeb(response) : null;
      // The types of Node and of the web describe the same stream.
      resolve(
        new Response(content as ConstructorParameters<typeof Response>[0], {
          status: statusCode,
          statusText: statusMessage,
          headers,
        }),
      );
    });
    request.on("error", (error) => {
      reject(options.signal?.aborted === true ? error : new TypeError("fetch failed", { cause: error }));
    });
    request.end(body);
  });
}
