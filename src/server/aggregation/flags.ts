/** Flags of the aggregation layer. */
import { optional } from "#std/flags.ts";

const misc = (name: string) => [name, "Misc"] as const;

export const aggregationFlags = {
  proxyClientCertFile: optional(
    misc("proxy-client-cert-file"),
    "file",
    "Certificate (PEM) that this server shows to aggregated API servers. Default: one of an authority of its own for that.",
  ),
  proxyClientKeyFile: optional(misc("proxy-client-key-file"), "file", "Key of --proxy-client-cert-file (PEM)."),
};
