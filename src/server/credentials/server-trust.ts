/**
 * The certificates that clients must trust: the server's own authority, or, for a given certificate, as much of its
 * chain as its file shows.
 */
import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { getCACertificates } from "node:tls";
import { certificateBlocks } from "#authn/certificate-authorities.ts";
import { readAuthorities } from "../credentials.ts";
import { readGiven } from "../given-files.ts";
import type { GeneralFlags } from "../general-flags.ts";
import type { CredentialFlags } from "./flags.ts";

export interface ServerTrust {
  /**
   * The certificates that clients must trust, as PEM; `undefined` for a public authority, which every machine trusts.
   */
  readonly ca: string | undefined;
  /** A name in the certificate; `undefined` when the certificate has the host of the server's URL. */
  readonly serverName: string | undefined;
}

/**
 * Returns the host of this server's URL: the address on which it listens, or the loopback address if it is a wildcard.
 */
export const hostOf = ({ bindAddress }: Pick<GeneralFlags, "bindAddress">): string =>
  bindAddress === "0.0.0.0" || bindAddress === "::" ? "127.0.0.1" : bindAddress;

/**
 * `ownCa` is the server's own authority, `publicAuthorities` are the authorities that machines trust by themselves. Throws
 * `StartError`.
 */
export function serverTrust(
  options: CredentialFlags & Pick<GeneralFlags, "bindAddress">,
  ownCa: string,
  publicAuthorities: () => Iterable<string> = authoritiesOfMachine,
): ServerTrust {
  const { tlsCertFile, rootCaFile } = options;
  if (tlsCertFile === undefined) return { ca: ownCa, serverName: undefined };
  const chain = certificateBlocks(readGiven(tlsCertFile)).map((pem) => new X509Certificate(pem));
  const [leaf] = chain;
  const ca = rootCaFile === undefined ? anchorOf(chain, publicAuthorities) : readAuthorities(rootCaFile);
  return { ca, serverName: leaf === undefined ? undefined : nameInsteadOfHost(leaf, hostOf(options)) };
}

/**
 * Returns the trust anchor of a chain: the root if the chain has it, else the topmost certificate of the file, which
 * clients accept when it is given to them as a root. `undefined` when a public authority signed the topmost one.
 */
function anchorOf(chain: readonly X509Certificate[], publicAuthorities: () => Iterable<string>): string | undefined {
  let top = chain[0];
  if (top === undefined) return undefined;
  const others = new Set(chain.slice(1));
  for (;;) {
    if (isIssuedBy(top, top)) break;
    const above: X509Certificate | undefined = [...others].find((other) => isIssuedBy(top!, other));
    if (above === undefined) break;
    others.delete(above);
    top = above;
  }
  return !isIssuedBy(top, top) && isAnyIssuer(publicAuthorities(), top) ? undefined : top.toString();
}

const isIssuedBy = (certificate: X509Certificate, issuer: X509Certificate): boolean =>
  certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);

const authoritiesOfMachine = (): Iterable<string> =>
  new Set([...getCACertificates("default"), ...getCACertificates("system")]);

function isAnyIssuer(authorities: Iterable<string>, certificate: X509Certificate): boolean {
  for (const pem of authorities) {
    try {
      if (isIssuedBy(certificate, new X509Certificate(pem))) return true;
    } catch {
      // The machine's list of authorities may contain unreadable certificates.
    }
  }
  return false;
}

/**
 * Returns a name of a certificate that does not have the name of the host. In a wildcard name, `kubernetes` takes the
 * place of the star: clients need a real name.
 */
function nameInsteadOfHost(leaf: X509Certificate, host: string): string | undefined {
  const fits = isIP(host) === 0 ? leaf.checkHost(host) : leaf.checkIP(host);
  if (fits !== undefined) return undefined;
  const [name] = [...(leaf.subjectAltName ?? "").matchAll(/(?:^|, )DNS:([\w.*-]+)/g)].map(([, dnsName]) => dnsName!);
  return name?.replace("*", "kubernetes");
}
