/**
 * Certificates for certain names of the server (`--tls-sni-cert-key`): a client that asks for one of the names is shown
 * that certificate.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { dns1123Subdomain } from "#meta/names.ts";
import type { KeyPair } from "#std/certificate.ts";
import { readGivenPair } from "../credentials.ts";

interface NamedFiles {
  readonly certificate: string;
  readonly key: string;
  /** The names of the flag; empty for those of the certificate. */
  readonly names: readonly string[];
}

/** Parses `CERTIFICATE,KEY` or `CERTIFICATE,KEY:NAME,...`. Returns a text about the mistake in other values. */
function parseNamedFiles(text: string): NamedFiles | string {
  const colon = text.indexOf(":");
  const files = (colon < 0 ? text : text.slice(0, colon)).split(",");
  const [certificate = "", key = ""] = files.map((file) => file.trim());
  if (files.length !== 2 || certificate === "" || key === "")
    return "must name a certificate file and its key file with a comma between them";
  const names = colon < 0 ? [] : splitNames(text.slice(colon + 1));
  return colon >= 0 && names.length === 0 ? "must have names behind the colon" : { certificate, key, names };
}

const splitNames = (text: string): string[] =>
  text.split(",").flatMap((name) => (name.trim() === "" ? [] : [name.trim().toLowerCase()]));

/** Returns the files of the flag's values. */
export const namedFiles = (values: readonly string[]): readonly string[] =>
  values.flatMap((value) => {
    const { certificate, key } = parseNamedFiles(value) as NamedFiles; // the flag has refused other values
    return [certificate, key];
  });

/** Returns the mistake in a value of the flag. */
export function namedFilesMistake(text: string): string | undefined {
  const parsed = parseNamedFiles(text);
  return typeof parsed === "string" ? parsed : undefined;
}

/**
 * Reads the files of the flag's values. Returns the certificates by name; `*.` before a name stands for one label. The
 * first value wins, and names of the flag win over those of certificates. Source: kube-apiserver's choices. Throws `StartError`.
 */
export function readNamedCertificates(values: readonly string[]): ReadonlyMap<string, KeyPair> {
  const byName = new Map<string, KeyPair>();
  const read = values.map((value) => {
    const files = parseNamedFiles(value) as NamedFiles; // the flag has refused other values
    return { names: files.names, pair: readGivenPair(files.certificate, files.key) };
  });
  const add = (names: readonly string[], pair: KeyPair): void => {
    for (const name of names) if (!byName.has(name)) byName.set(name, pair);
  };
  for (const { names, pair } of read) add(names, pair);
  const own = read.map(({ names, pair }) => ({ isNamed: names.length > 0, pair, ...hostNames(pair.certificate) }));
  for (const { isNamed, pair, common, alternative } of own) if (!isNamed) add([...common, ...alternative], pair);
  for (const { pair, alternative } of own) add(alternative, pair);
  return byName;
}

/** Returns the host names of the first certificate of a chain: the common name, and the alternative names. */
function hostNames(chain: string): { readonly common: readonly string[]; readonly alternative: readonly string[] } {
  const { subject, subjectAltName } = new X509Certificate(chain);
  const alternative = (subjectAltName ?? "").split(", ").flatMap((one) => (one.startsWith("DNS:") ? one.slice(4) : []));
  const hosts = (names: readonly string[]): string[] => names.map((name) => name.toLowerCase()).filter(isHostName);
  return { common: hosts([/^CN=(.+)$/m.exec(subject)?.[1] ?? ""]), alternative: hosts(alternative) };
}

const isHostName = (name: string): boolean =>
  dns1123Subdomain(name.replace(/^\*\./, "")).length === 0 && isIP(name) === 0;
