/** Flags of the aggregation layer. */
import { optional, type OptionsOf } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";

const misc = (name: string) => [name, "Misc"] as const;

export const aggregationFlags = {
  proxyClientCertFile: optional(
    misc("proxy-client-cert-file"),
    "file",
    "Certificate (PEM) that this server shows to aggregated API servers. Default: one of an authority of its own for that.",
  ),
  proxyClientKeyFile: optional(misc("proxy-client-key-file"), "file", "Key of --proxy-client-cert-file (PEM)."),
};

export type AggregationFlags = OptionsOf<typeof aggregationFlags>;

/** Throws `StartError` for a certificate without its key, or a key without its certificate. */
export function checkProxyClientFiles({ proxyClientCertFile, proxyClientKeyFile }: AggregationFlags): void {
  if ((proxyClientCertFile === undefined) === (proxyClientKeyFile === undefined)) return;
  throw new StartError("--proxy-client-cert-file and --proxy-client-key-file must be given together");
}
