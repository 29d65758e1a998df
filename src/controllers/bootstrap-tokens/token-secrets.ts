/** Parses Secrets of bootstrap tokens for their controllers. Source: upstream's `cluster-bootstrap`. */
import type { Secret } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { timeToMs } from "#meta/time.ts";

/** The namespace and the type of the Secrets. */
export const tokenSecrets = ({ rename }: ApiDomain) =>
  ({
    path: `/api/v1/namespaces/${rename("kube-system")}/secrets`,
    fieldSelector: `type=${rename("bootstrap.kubernetes.io/token")}`,
  }) as const;

/**
 * Returns the expiry of a token, in milliseconds since the epoch; `undefined` for never. An unreadable time counts as
 * expired.
 */
export function tokenEnd(secret: Secret): number | undefined {
  const expiration = text(secret, "expiration");
  return expiration === "" ? undefined : (timeToMs(expiration) ?? 0);
}

interface SigningToken {
  readonly id: string;
  /** Id and secret together, as the machine that joins sends them. */
  readonly token: string;
}

/** Returns the token of a Secret that allows signing; `undefined` for others. Expiry is not checked. */
export function signingToken(secret: Secret): SigningToken | undefined {
  const id = text(secret, "token-id");
  const rest = text(secret, "token-secret");
  if (!/^[a-z0-9]{6}$/.test(id) || rest === "" || secret.metadata.name !== `bootstrap-token-${id}`) return undefined;
  return text(secret, "usage-bootstrap-signing") === "true" ? { id, token: `${id}.${rest}` } : undefined;
}

/** Returns a value of a Secret as text; empty when it is missing. */
function text({ data = {} }: Secret, key: string): string {
  return Object.hasOwn(data, key) ? Buffer.from(data[key]!, "base64").toString() : "";
}

/** The longest timer; after a longer wait the expiry is checked again. */
export const waitMaxMs = 86_400_000;
