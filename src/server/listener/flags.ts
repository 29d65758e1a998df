/** Flags of the listener: its port, protocols, and limits of connections. */
import { binnacleFlag, boolean, integer, list, type OptionsOf } from "#std/flags.ts";

const secure = (name: string) => [name, "Secure serving"] as const;
const count = { min: 0, max: 10_000_000 };

export const listenerFlags = {
  securePort: integer(secure("secure-port"), 6443, { min: 0, max: 65_535 }, "Port for HTTPS; 0 takes a free one."),
  permitPortSharing: boolean(
    ["permit-port-sharing", "Generic"],
    false,
    "Let other processes listen on the port, too, if they permit it (SO_REUSEPORT); each gets some of the connections.",
  ),
  http2MaxStreams: integer(
    secure("http2-max-streams-per-connection"),
    0,
    { min: 0, max: 1_000_000 },
    "Most requests at a time on one HTTP/2 connection; 0 for the server's own choice (100).",
  ),
  disableHttp2: boolean(secure("disable-http2-serving"), false, "Speak HTTP/1.1 only."),
  strictTransportSecurity: list(
    ["strict-transport-security-directives", "Generic"],
    "directives",
    "Content of the Strict-Transport-Security header.",
    (directive) =>
      /^(?:max-age=\d+|includeSubDomains|preload)$/.test(directive)
        ? undefined
        : "must be max-age=seconds, includeSubDomains or preload",
  ),
  connectionsMax: integer(
    binnacleFlag("max-connections"),
    0,
    count,
    "Most connections at a time: for others the oldest of which no user is known is closed, or they are. 0 for 16384, or three quarters of the files that the process may open if these are fewer.",
  ),
  connectionsPerAddressMax: integer(
    binnacleFlag("max-connections-per-address"),
    0,
    count,
    "The same for those of one address, or one IPv6 network of 64 bits, where others are closed at once; 0 for half of --max-connections.",
  ),
  connectionsPerUserMax: integer(
    binnacleFlag("max-connections-per-user"),
    0,
    count,
    "The same for those of one user, who is answered 429 on others; 0 for half of --max-connections.",
  ),
  connectionsPerPlaneMax: integer(
    binnacleFlag("max-connections-per-plane"),
    0,
    count,
    "The same for those of all users of one control plane (--planes), each of whom has half of it at most; 0 for half of --max-connections.",
  ),
};

export type ListenerFlags = OptionsOf<typeof listenerFlags>;
