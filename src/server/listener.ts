/** The listener of a server: its port, certificates and limits of connections. */
import type { ApiRequest, Reply } from "#http/api-request.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { StartError } from "#std/start-error.ts";
import { reasonOf } from "#std/system-error.ts";
import type { HeldPort } from "#transport/held-port.ts";
import { type Listener, openListener } from "#transport/listener.ts";
import type { CredentialFlags } from "./credentials/flags.ts";
import { type ServingCredentials, tlsFiles } from "./credentials/serving.ts";
import type { GeneralFlags } from "./general-flags.ts";
import { connectionLimits, connectionRefusals } from "./listener/connection-limits.ts";
import type { ListenerFlags } from "./listener/flags.ts";
import type { ServerParts } from "./server-parts.ts";

interface ListenerParts extends Pick<ServerParts, "clock" | "random" | "log" | "metrics"> {
  readonly options: ListenerFlags & CredentialFlags & Pick<GeneralFlags, "bindAddress">;
  readonly credentials: ServingCredentials;
  /** Whether large bodies are compressed for clients that accept it. */
  readonly compress: boolean;
  /** The port of several processes, if this is one of them. Where it is held, `begin` lets this one take connections. */
  readonly heldPort: HeldPort | undefined;
  /** Whether the port and its connections let the process end. */
  readonly inBackground: boolean;
  handle(request: ApiRequest): MaybePromise<Reply>;
  handshakeFailed(): void;
}

/** Opens the port. Rejects with `StartError` when the port is not available. */
export async function listen(parts: ListenerParts): Promise<Listener> {
  const { options, credentials, handle, handshakeFailed, log, clock, random, metrics } = parts;
  const { bindAddress: host, securePort: port } = options;
  const { heldPort, compress, inBackground } = parts;
  try {
    return await openListener({
      host,
      port,
      heldPort,
      tls: tlsFiles(options, credentials),
      sharesPort: options.permitPortSharing,
      http1Only: options.disableHttp2,
      limits: {
        ...connectionLimits(options),
        ...(options.http2MaxStreams === 0 ? {} : { concurrentStreams: options.http2MaxStreams }),
      },
      compress,
      inBackground,
      strictTransport: options.strictTransportSecurity.join("; "),
      handle,
      handshakeFailed,
      connectionRefused: connectionRefusals(metrics, clock, log),
      log,
      clock,
      random,
    });
  } catch (error) {
    throw portError(options, error);
  }
}

/** Takes connections on a port that other processes serve already. Rejects with `StartError`. */
export async function beginToListen(listener: Listener, options: PortOptions): Promise<void> {
  try {
    await listener.begin();
  } catch (error) {
    throw portError(options, error);
  }
}

type PortOptions = Pick<ListenerFlags, "securePort"> & Pick<GeneralFlags, "bindAddress">;

function portError({ bindAddress: host, securePort: port }: PortOptions, error: unknown): StartError {
  const why: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} of ${host} is in use by another program: choose one with --secure-port`,
    EACCES: `port ${port} of ${host} may not be used: permission denied`,
    EADDRNOTAVAIL: `${host} is no address of this machine (--bind-address)`,
    ENOTFOUND: `${host} is no address of this machine (--bind-address)`,
  };
  const { code } = error as NodeJS.ErrnoException;
  return new StartError(why[code ?? ""] ?? `cannot listen on ${host}: ${reasonOf(error)}`, { cause: error });
}
