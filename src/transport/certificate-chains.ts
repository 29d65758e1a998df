/**
 * Remembers the intermediate certificates of clients. A resumed TLS session shows only the leaf, so the chain is kept
 * from the connection that showed it. A leaf whose chain was forgotten counts only if an authority issued it directly,
 * until the client starts a new session.
 */
import type { TLSSocket } from "node:tls";
import { hash } from "node:crypto";

/** The maximum number of remembered leaves; the one that was presented longest ago is dropped first. */
const chainsMax = 1000;
/** The maximum number of certificates that are used of one chain. */
const chainLengthMax = 8;

export class CertificateChains {
  readonly #chains = new Map<string, readonly Buffer[]>();

  /** Returns the certificates above `leaf` that the TLS layer has verified; all certificates are DER. */
  issuersOf(socket: TLSSocket, leaf: Buffer): readonly Buffer[] {
    const sent: Buffer[] = [];
    let next = socket.getPeerX509Certificate()?.issuerCertificate;
    for (; next !== undefined && sent.length < chainLengthMax; next = next.issuerCertificate) sent.push(next.raw);
    const key = hash("sha256", leaf, "base64");
    if (sent.length === 0) return (socket.isSessionReused() ? this.#chains.get(key) : undefined) ?? sent;
    this.#chains.delete(key);
    this.#chains.set(key, sent);
    if (this.#chains.size > chainsMax) this.#chains.delete(this.#chains.keys().next().value!);
    return sent;
  }
}
