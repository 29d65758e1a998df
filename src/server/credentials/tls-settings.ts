/** Maps kube-apiserver's names of TLS versions and cipher suites to Node's. */
import { getCiphers } from "node:tls";
import { StartError } from "#std/start-error.ts";
import type { CredentialFlags } from "./flags.ts";

interface TlsSettings {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names of cipher suites, separated by colons; `undefined` for the default. */
  readonly ciphers: string | undefined;
}

/** Throws `StartError` for an unknown cipher suite. */
export function tlsSettings(options: Pick<CredentialFlags, "tlsMinVersion" | "tlsCipherSuites">): TlsSettings {
  const suites = options.tlsCipherSuites.map(opensslName);
  return {
    minVersion: options.tlsMinVersion === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2",
    ciphers: suites.length === 0 ? undefined : suites.join(":"),
  };
}

/**
 * Returns OpenSSL's name: `ECDHE-RSA-AES128-GCM-SHA256` for `TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256`. Names of TLS 1.3
 * are unchanged.
 */
function opensslName(name: string): string {
  const knownCiphers = new Set(getCiphers());
  const direct = name.toLowerCase();
  if (knownCiphers.has(direct)) return name;
  const old = name
    .replace(/^TLS_/, "")
    .replace("_WITH_", "_")
    .replace(/^RSA_/, "")
    .replace(/AES_(\d+)/, "AES$1")
    .replace(/AES(\d+)_CBC/, "AES$1")
    .replace(/(CHACHA20_POLY1305)(?:_SHA256)?$/, "$1")
    .replaceAll("_", "-");
  if (!knownCiphers.has(old.toLowerCase())) {
    throw new StartError(`invalid value ${JSON.stringify(name)} for --tls-cipher-suites: no such suite here`);
  }
  return old;
}
