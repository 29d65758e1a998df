/** Bootstrap tokens: valid Secrets, and the users they give. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import type { FindObject } from "#api/object-types.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { bootstrapTokens } from "./bootstrap-token.ts";

const token = "abcdef.0123456789abcdef";
const data = { "token-id": "abcdef", "token-secret": "0123456789abcdef", "usage-bootstrap-authentication": "true" };

interface Given {
  readonly token?: string;
  readonly data?: Record<string, string>;
  readonly type?: string;
  readonly metadata?: Partial<ObjectMeta>;
  readonly domain?: string;
  readonly namespace?: string;
}

/** Expects name and groups of the user, or nothing. */
async function check(given: Given, expected: readonly string[]): Promise<void> {
  const domain = given.domain === undefined ? kubernetesDomain : apiDomain(given.domain);
  const encoded = Object.entries(given.data ?? data).map(([key, value]) => [
    key,
    Buffer.from(value).toString("base64"),
  ]);
  const tokens = bootstrapTokens({
    domain,
    clock: new FakeClock(Date.UTC(2026, 0, 1)),
    find: ((resource, namespace, name) =>
      `${resource}/${namespace}/${name}` ===
      domain.rename(`secrets/${given.namespace ?? "kube-system"}/bootstrap-token-abcdef`)
        ? {
            metadata: { name, namespace, ...given.metadata },
            type: given.type ?? domain.rename("bootstrap.kubernetes.io/token"),
            data: Object.fromEntries(encoded) as Record<string, string>,
          }
        : undefined) as FindObject, // a Secret, by its name
  });
  const answer = await tokens.authenticateToken(given.token ?? token);
  assert.deepEqual(answer.outcome === "user" ? [answer.user.name, ...answer.user.groups] : [], expected);
}

const baseUser = ["system:bootstrap:abcdef", "system:bootstrappers"];

test("a token is the user of its id, among the machines that join, in either domain [ABOOT-03] [ABOOT-04]", async () => {
  await check({}, baseUser);
  await check({ domain: "platform.io" }, baseUser);
});

test("a Secret of another namespace makes no token [BOOT-02]", async () => {
  await check({ namespace: "kube-public" }, []);
  await check({ namespace: "default", domain: "platform.io" }, []);
});

test("the form is six and sixteen small letters and digits [ABOOT-02] [BOOT-04]", async () => {
  for (const bad of [
    "ABCDEF.0123456789abcdef",
    "abcdef.0123456789abcde",
    "abcdef.0123456789abcdef0",
    "abcdef0123456789abcdef",
    "abcde.0123456789abcdef",
    "abcdef.0123456789abcdeF",
    "abcdef.0123456789abcdef\n",
    "abcdef.0123456789abcdeg",
    "../../.0123456789abcdef",
  ]) {
    await check({ token: bad }, []);
  }
});

test("the Secret must be of its type, hold both parts and allow it", async () => {
  await check({ type: "Opaque" }, []);
  await check({ metadata: { deletionTimestamp: "2026-01-01T00:00:00Z" } }, []);
  await check({ data: { ...data, "token-id": "abcdeg" } }, []);
  await check({ data: { ...data, "token-secret": "0123456789abcdeg" } }, []);
  await check({ data: { ...data, "token-secret": "" } }, []);
  await check({ data: { ...data, "usage-bootstrap-authentication": "yes" } }, []);
  await check({ data: {} }, []);
});

test("an expired token is refused, and so is one with an unreadable time", async () => {
  await check({ data: { ...data, expiration: "2026-01-01T00:00:01Z" } }, baseUser);
  await check({ data: { ...data, expiration: "2026-01-01T01:00:01+01:00" } }, baseUser);
  await check({ data: { ...data, expiration: "2026-01-01T00:00:00Z" } }, []);
  await check({ data: { ...data, expiration: "tomorrow" } }, []);
});

test("a Secret may name more groups, with the prefix for bootstrap tokens", async () => {
  const extra = (groups: string): Given => ({ data: { ...data, "auth-extra-groups": groups } });
  await check(extra("system:bootstrappers:b,system:bootstrappers:a:x"), [
    ...baseUser,
    "system:bootstrappers:a:x",
    "system:bootstrappers:b",
  ]);
  for (const bad of [
    "system:masters",
    "system:bootstrappers:",
    "system:bootstrappers:a,",
    "system:bootstrappers:A",
    "x",
  ]) {
    await check(extra(bad), []);
  }
});
