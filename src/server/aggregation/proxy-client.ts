/**
 * The client certificate for aggregated API servers, and the data of the ConfigMap
 * `extension-apiserver-authentication`. Source: upstream's `clusterauthenticationtrust`.
 */
import type { KeyPair } from "#std/certificate.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { ClientTrust } from "../authentication/client-trust.ts";
import type { ExternalAuthenticationFlags } from "../authentication/external-flags.ts";
import { frontProxyName, readGivenPair } from "../credentials.ts";
import type { AggregationFlags } from "./flags.ts";
import { watchFiles } from "../watched-file.ts";

export interface ProxyClient {
  /** Returns the current certificate and key. */
  current(): KeyPair;
  /** Reads the files again when they change, until the returned function is called. */
  follow(clock: Clock, log: Log): () => void;
}

/** Throws `StartError` for files that cannot be read or do not belong together. */
export function readProxyClient(options: AggregationFlags, trust: ClientTrust): ProxyClient {
  const { proxyClientCertFile, proxyClientKeyFile } = options;
  if (proxyClientCertFile === undefined || proxyClientKeyFile === undefined) {
    return { current: () => trust.frontProxy.client, follow: () => () => undefined };
  }
  let current = readGivenPair(proxyClientCertFile, proxyClientKeyFile);
  return {
    current: () => current,
    follow: (clock, log) =>
      watchFiles(
        [proxyClientCertFile, proxyClientKeyFile],
        clock,
        () => {
          current = readGivenPair(proxyClientCertFile, proxyClientKeyFile);
        },
        (error, file) => log.error({ error, file }, "the certificate for aggregated servers stays as it was"),
      ),
  };
}

/** The flags that decide which authorities the ConfigMap publishes. */
export type PublishedTrustFlags = AggregationFlags & ExternalAuthenticationFlags;

/** Returns the keys and values of the ConfigMap. */
export function publishedTrust(
  options: PublishedTrustFlags,
  { bundles, frontProxy }: ClientTrust,
): Record<string, string> {
  const isOwn = options.proxyClientCertFile === undefined;
  const proxyCa = bundles.requestHeaderCa + (isOwn ? frontProxy.ca.certificate : "");
  const clients = { "client-ca-file": bundles.clientCa };
  // An operator who configured a certificate without its authority also configures the aggregated servers.
  if (proxyCa === "") return clients;
  const { requestheaderAllowedNames: allowed } = options;
  // The configured authority may be trusted for any name.
  const isAny = bundles.requestHeaderCa !== "" && allowed.length === 0;
  const names = isAny ? [] : [...allowed, ...(isOwn ? [frontProxyName] : [])];
  const orUsual = (headerNames: readonly string[], usual: string): readonly string[] =>
    headerNames.some((name) => name.toLowerCase() === usual.toLowerCase()) ? headerNames : [usual, ...headerNames];
  return {
    ...clients,
    "requestheader-allowed-names": JSON.stringify(names),
    "requestheader-client-ca-file": proxyCa,
    "requestheader-extra-headers-prefix": JSON.stringify(
      orUsual(options.requestheaderExtraHeadersPrefix, "X-Remote-Extra-"),
    ),
    "requestheader-group-headers": JSON.stringify(orUsual(options.requestheaderGroupHeaders, "X-Remote-Group")),
    "requestheader-username-headers": JSON.stringify(orUsual(options.requestheaderUsernameHeaders, "X-Remote-User")),
  };
}
