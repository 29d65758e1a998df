/**
 * Authenticates by headers of an authenticating proxy. Only a client with a certificate of the proxy authority may set
 * them; headers of other clients are ignored and removed (`http/filters/authenticate.ts`). Source: upstream's
 * `authentication/request/headerrequest`.
 */
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import { type Authenticator, type RequestCredentials, noCredentials } from "./authenticator.ts";
import type { CertificateAuthorities } from "./certificate-authorities.ts";
import { certificateProblem } from "./client-certificate.ts";

/** The names of headers, in lower case; the first header that is present gives the user. */
export interface RequestHeaderNames {
  readonly users: readonly string[];
  readonly uids: readonly string[];
  readonly groups: readonly string[];
  readonly extraPrefixes: readonly string[];
}

export interface RequestHeaderOptions {
  readonly clock: Clock;
  /** Returns the present authorities of proxies. */
  authorities(): CertificateAuthorities;
  /** The common names of proxies; an empty list allows any. */
  readonly allowedNames: readonly string[];
  readonly names: RequestHeaderNames;
}

/** The header names that proxies use by default. */
export const standardHeaders: RequestHeaderNames = {
  users: ["x-remote-user"],
  uids: ["x-remote-uid"],
  groups: ["x-remote-group"],
  extraPrefixes: ["x-remote-extra-"],
};

/** Makes the authenticator. It leaves a certificate that is not a proxy's to the next authenticator. */
export function requestHeader({ clock, authorities, allowedNames, names }: RequestHeaderOptions): Authenticator {
  const allowed = new Set(allowedNames);
  return {
    authenticate(credentials) {
      const certificate = credentials.clientCertificate;
      if (certificate === undefined) return noCredentials;
      const trusted = authorities();
      if (trusted.validityOf(certificate) === undefined) return noCredentials;
      const problem = certificateProblem(certificate, trusted, clock.now());
      if (problem !== undefined) return problem;
      if (allowed.size > 0 && !allowed.has(certificate.commonName)) {
        const reason = `subject with cn=${certificate.commonName} is not in the allowed list`;
        return { outcome: "refused", reason: `request header: ${reason}` };
      }
      const user = userOf(credentials, names);
      return user === undefined ? noCredentials : { outcome: "user", user };
    },
  };
}

function userOf(credentials: RequestCredentials, names: RequestHeaderNames): UserInfo | undefined {
  const first = (of: readonly string[]): string => {
    for (const name of of) {
      const value = credentials.headerValues(name)[0] ?? "";
      if (value !== "") return value;
    }
    return "";
  };
  const name = first(names.users);
  if (name === "") return undefined;
  const uid = first(names.uids);
  const groups = names.groups.flatMap((header) => credentials.headerValues(header)).filter((group) => group !== "");
  const extra = extraOf(credentials, names.extraPrefixes);
  return {
    name,
    ...(uid === "" ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}

function extraOf(credentials: RequestCredentials, prefixes: readonly string[]): UserInfo["extra"] | undefined {
  let extra: Map<string, readonly string[]> | undefined;
  for (const prefix of prefixes) {
    for (const header in credentials.headers) {
      if (!header.startsWith(prefix)) continue;
      const key = unescapeKey(header.slice(prefix.length));
      extra ??= new Map();
      extra.set(key, [...(extra.get(key) ?? []), ...credentials.headerValues(header)]);
    }
  }
  // `fromEntries` defines members, so `__proto__` is a key like any other.
  return extra === undefined ? undefined : Object.fromEntries(extra);
}

/** Unescapes the key in a header with extra information about a user; an invalid escape stays as it is. */
export function unescapeKey(key: string): string {
  if (!key.includes("%") || /%(?![0-9A-Fa-f]{2})/.test(key)) return key;
  const bytes = key.replace(/%(..)/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return Buffer.from(bytes, "latin1").toString();
}

/**
 * Returns whether a header must be hidden from code behind the authenticators, because it contains, or pretends to
 * contain, an identity.
 */
export function identityHeaderTest(names: readonly RequestHeaderNames[]): (header: string) => boolean {
  const exact = new Set([
    "authorization",
    // This header may contain a token, see `websocket-token.ts`.
    "sec-websocket-protocol",
    ...names.flatMap(({ users, uids, groups }) => [...users, ...uids, ...groups]),
  ]);
  const prefixes = names.flatMap(({ extraPrefixes }) => extraPrefixes);
  return (header) => {
    if (exact.has(header)) return true;
    for (const prefix of prefixes) if (header.startsWith(prefix)) return true;
    return false;
  };
}
