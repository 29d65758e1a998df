/**
 * Implements conditional requests and negotiation of the OpenAPI endpoints. Upstream serves them as plain files, so
 * they follow HTTP (RFC 9110 section 13.1.2) instead of the rest of the API: errors have no body, and requests may have
 * lists of ETags.
 */
import type { Reply } from "#http/api-request.ts";
import { parseAccept } from "#http/negotiation.ts";

/** Returns the first of `offered` (names of media types) that `accept` allows. An absent or empty header allows all. */
export function acceptedType(accept: string | undefined, offered: readonly string[]): string | undefined {
  if (accept === undefined || accept.trim() === "") return offered[0];
  for (const { type, subtype } of parseAccept(accept)) {
    const offer = offered.find((name) => {
      const [mainType, ownSubtype] = name.split("/");
      return (type === "*" || type === mainType) && (subtype === "*" || subtype === ownSubtype);
    });
    if (offer !== undefined) return offer;
  }
  return undefined;
}

/** Whether `If-None-Match` includes `tag`, which is written with its quotes. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(",").some((text) => {
    const one = text.trim();
    return one === "*" || one === tag || (one.startsWith("W/") && one.slice(2) === tag);
  });
}

/** The answer if no offered type is acceptable for the client. */
export const notAcceptableFile: Reply = { code: 406, headers: { vary: "Accept" } };

/** The answer if the document does not exist. */
export const missingFile: Reply = { code: 404 };

/** Returns a time as headers write it. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
