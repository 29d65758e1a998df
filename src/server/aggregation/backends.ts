/** Connections to the servers of aggregated APIs: one pool per API, and reads of whole answers. */
import { connectionProblem } from "#egress/connection-problem.ts";
import type { Forwarder } from "#egress/forwarding.ts";
import type { OpenTunnel } from "#egress/proxy-tunnel.ts";
import { type FindServiceAddress, hostPort, type ServiceAddress } from "#egress/service-address.ts";
import type { AggregatedApi } from "#extensions/aggregated-apis.ts";
import type { KeyPair } from "#std/certificate.ts";
import type { Clock } from "#std/clock.ts";

interface BackendsOptions {
  readonly clock: Clock;
  readonly serviceAddress: FindServiceAddress;
  /** Begins the connections, through a proxy; `undefined` where they are direct. */
  readonly tunnel: OpenTunnel | undefined;
  /** Returns what proves to them that it is this server that says who the user is. */
  credentials(): KeyPair;
}

/** The server of an API, and the connections to it. */
interface Backend {
  readonly address: ServiceAddress;
  readonly forwarder: Forwarder;
  readonly serverName: string;
}

export interface WholeAnswer {
  readonly code: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
}

interface BackendQuestion {
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly timeoutMs: number;
  /** The maximum bytes of the body; left out: only the head is of interest, and the body is empty. */
  readonly maxBytes?: number;
  readonly signal: AbortSignal;
  /** Whether the call has a connection of its own. */
  readonly isAlone?: boolean;
}

interface CachedBackend {
  readonly settings: string;
  readonly forwarder: Forwarder;
}

export class Backends {
  readonly #options: BackendsOptions;
  readonly #backends = new Map<string, CachedBackend>();

  constructor(options: BackendsOptions) {
    this.#options = options;
  }

  /** Returns the connections to the server of an API. Rejects with an `Error` when the service cannot be found. */
  async of(api: AggregatedApi): Promise<Backend> {
    const { namespace, name, port } = api.service;
    const address = this.#options.serviceAddress(namespace, name, port);
    const serverName = `${name}.${namespace}.svc`;
    const { certificate: cert, key } = this.#options.credentials();
    const { ca, insecure } = api;
    // Node's HTTP client is loaded only when there is a server to call.
    const { openForwarder } = await import("#egress/forwarding.ts");
    const settings = JSON.stringify([serverName, ca, insecure, cert]);
    let backend = this.#backends.get(api.name);
    if (backend?.settings !== settings) {
      backend?.forwarder.retire();
      const { clock, tunnel } = this.#options;
      const forwarder = openForwarder({ clock, tunnel, ca, insecure, serverName, cert, key });
      backend = { settings, forwarder };
      this.#backends.set(api.name, backend);
    }
    return { address, forwarder: backend.forwarder, serverName };
  }

  /** Forgets a removed API. Its running requests continue. */
  forget(name: string): void {
    this.#backends.get(name)?.forwarder.retire();
    this.#backends.delete(name);
  }

  close(): void {
    for (const { forwarder } of this.#backends.values()) forwarder.close();
    this.#backends.clear();
  }
}

const tooLate = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";

/** Rejects with an `Error` whose message has the words of Go's client. */
export async function ask(backend: Backend, question: BackendQuestion, clock: Clock): Promise<WholeAnswer> {
  const { address, forwarder, serverName } = backend;
  const { path, headers, timeoutMs, maxBytes, isAlone = false } = question;
  const stop = new AbortController();
  const signal = AbortSignal.any([question.signal, stop.signal]);
  // The time limit includes the transfer of the body.
  const cancel = clock.after(timeoutMs, () => stop.abort());
  try {
    const answer = await forwarder.send(address, {
      method: "GET",
      path,
      headers,
      body: undefined,
      headMs: timeoutMs,
      signal,
      isAlone,
    });
    if (maxBytes === undefined) {
      answer.destroy();
      return { code: answer.code, headers: answer.headers, body: Buffer.alloc(0) };
    }
    const pieces: Buffer[] = [];
    let length = 0;
    for await (const piece of answer.body) {
      length += piece.length;
      if (length > maxBytes) throw new Error(`the answer is longer than ${maxBytes} bytes`);
      pieces.push(piece);
    }
    return { code: answer.code, headers: answer.headers, body: Buffer.concat(pieces, length) };
  } catch (error) {
    const isLate = stop.signal.aborted;
    const host = hostPort(address);
    const problem = isLate ? tooLate : connectionProblem(error, { host, serverName, isHttp: true });
    throw new Error(problem, { cause: error });
  } finally {
    cancel();
  }
}
