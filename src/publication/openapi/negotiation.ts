/**
 * Conditional requests and negotiation of the OpenAPI endpoints. Upstream serves them as plain files, so they follow
 * HTTP (RFC 9110 section 13.1.2) instead of the rest of the API: errors have no body, and ETags come in lists.
 */
import type { Reply } from "#http/api-request.ts";
import { parseAccept } from "#http/negotiation.ts";

/** First of `offered` (names of media types) that `accept` takes; all take an absent or empty header. */
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

/** Whether `If-None-Match` names `tag`, which is written with its quotes. */
export function matchesTag(ifNoneMatch: string | undefined, tag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.split(",").some((text) => {
    const one = text.trim();
    return one === "*" || one === tag || (one.startsWith("W/") && one.slice(2) === tag);
  });
}

/** Nothing in a type the client takes. */
export const notAcceptableFile: Reply = { code: 406, headers: { vary: "Accept" } };

/** No such document. */
export const missingFile: Reply = { code: 404 };

/** Time as headers write it. */
export function httpDate(ms: number): string {
  return new Date(ms).toUTCString();
}
