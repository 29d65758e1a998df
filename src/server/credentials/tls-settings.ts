/** Maps kube-apiserver's names of TLS versions and cipher suites to Node's. */
import { getCiphers } from "node:tls";
import { StartError } from "#std/start-error.ts";
import type { CredentialFlags } from "./flags.ts";

interface TlsSettings {
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  /** OpenSSL's names of cipher suites, separated by colons. */
  readonly ciphers: string;
}

/**
 * The suites of TLS 1.3, which no flag changes, and the default ones of TLS 1.2: those of kube-apiserver in its order.
 */
const suites13 = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"];
const suites12 = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
  "ECDHE-ECDSA-AES128-SHA",
  "ECDHE-RSA-AES128-SHA",
  "ECDHE-ECDSA-AES256-SHA",
  "ECDHE-RSA-AES256-SHA",
];

/** Throws `StartError` for an unknown cipher suite. */
export function tlsSettings(options: Pick<CredentialFlags, "tlsMinVersion" | "tlsCipherSuites">): TlsSettings {
  const given = new Set(options.tlsCipherSuites.map(opensslName));
  const preferred = suites12.filter((suite) => given.size === 0 || given.has(suite));
  return {
    minVersion: options.tlsMinVersion === "VersionTLS13" ? "TLSv1.3" : "TLSv1.2",
    ciphers: [...new Set([...suites13, ...preferred, ...given])].join(":"),
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
