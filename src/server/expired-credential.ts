/** Whether the credential of a caller has expired, which servers answer with 401 alone. */
import { X509Certificate } from "node:crypto";
import type { Credential } from "#client/connection-settings.ts";
import { isObject } from "#std/is-object.ts";

/** Returns a sentence about an expired credential and what to do; `undefined` for one that has not expired, as far as it shows. */
export function expiredCredential({ certificate, token }: Credential, nowMs: number): string | undefined {
  const certificateEnd = certificate === undefined ? undefined : endOfCertificate(certificate.cert);
  if (certificateEnd !== undefined && certificateEnd < nowMs) {
    return `your client certificate expired at ${minuteOf(certificateEnd)} UTC: ask for a new kubeconfig (binnacle kubeconfig makes one)`;
  }
  const tokenEnd = token === undefined ? undefined : endOfToken(token);
  if (tokenEnd !== undefined && tokenEnd < nowMs) {
    return `your token expired at ${minuteOf(tokenEnd)} UTC: get a new one (binnacle token create makes those of service accounts)`;
  }
  return undefined;
}

const minuteOf = (ms: number): string => new Date(ms).toISOString().slice(0, 16).replace("T", " ");

function endOfCertificate(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch {
    return undefined;
  }
}

/** Returns the end that a JSON Web Token names; `undefined` for another token. */
function endOfToken(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
    const { exp } = isObject(claims) ? (claims as { readonly exp?: unknown }) : {};
    const isTime = typeof exp === "number" && exp > 0 && exp < latestSeconds;
    return isTime ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}

/** The last second of the year 9999: later ones have no date in four digits. */
const latestSeconds = 253_402_300_799;
