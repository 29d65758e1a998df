/**
 * Authenticates bootstrap tokens, `<id>.<secret>`, of machines that join the cluster; they are stored as Secrets of the
 * system namespace. Source: upstream's `plugin/pkg/auth/authenticator/token/bootstrap`.
 */
import { timingSafeEqual } from "node:crypto";
import type { Secret } from "#api/core/v1.ts";
import type { FindObject } from "#api/object-types.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { timeToMs } from "#meta/time.ts";
import type { Clock } from "#std/clock.ts";
import { noCredentials } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";

interface BootstrapTokenOptions {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  readonly find: FindObject;
}

const group = "system:bootstrappers";

/** Makes the authenticator. It leaves tokens of another form, and those without a matching Secret, to other methods. */
export function bootstrapTokens({ domain, clock, find }: BootstrapTokenOptions): TokenAuthenticator {
  const namespace = domain.rename("kube-system");
  const type = domain.rename("bootstrap.kubernetes.io/token");
  return {
    authenticateToken(token) {
      const [, id, secret] = /^([a-z0-9]{6})\.([a-z0-9]{16})$/.exec(token) ?? [];
      if (id === undefined || secret === undefined) return noCredentials;
      const object = find("secrets", namespace, `bootstrap-token-${id}`);
      if (object === undefined || object.metadata.deletionTimestamp !== undefined) return noCredentials;
      if (object.type !== type) return noCredentials;
      const value = (key: string): string => dataText(object, key);
      const expected = Buffer.from(value("token-secret"));
      const secretBytes = Buffer.from(secret);
      if (expected.length !== secretBytes.length || !timingSafeEqual(expected, secretBytes)) return noCredentials;
      if (value("token-id") !== id || value("usage-bootstrap-authentication") !== "true") return noCredentials;
      if (hasExpired(value("expiration"), clock.now())) return noCredentials;
      const groups = groupsOf(value("auth-extra-groups"));
      if (groups === undefined) return noCredentials;
      return { outcome: "user", user: { name: `system:bootstrap:${id}`, groups } };
    },
  };
}

/** Returns a value of a Secret as text; empty when it is missing. */
function dataText({ data = {} }: Secret, key: string): string {
  return Object.hasOwn(data, key) ? Buffer.from(data[key]!, "base64").toString() : "";
}

/** Whether a token has expired; an unreadable time counts as expired. */
function hasExpired(expiration: string, nowMs: number): boolean {
  return expiration !== "" && (timeToMs(expiration) ?? 0) <= nowMs;
}

/** Returns the groups, sorted and not repeated; `undefined` when such tokens may not have one of them. */
function groupsOf(extra: string): readonly string[] | undefined {
  const wanted = extra === "" ? [] : extra.split(",");
  if (!wanted.every((name) => /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/.test(name))) return undefined;
  return [...new Set([group, ...wanted])].sort();
}
