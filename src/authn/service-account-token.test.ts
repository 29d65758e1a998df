/** Service account tokens: the user they give, and everything that invalidates them. */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, hash, type KeyObject } from "node:crypto";
import { test } from "node:test";
import type { FindObject } from "#api/object-types.ts";
import { apiDomain, kubernetesDomain } from "#meta/api-domain.ts";
import type { ApiObject, ObjectMeta } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import { FakeClock } from "#std/fake-clock.ts";
import type { Authentication } from "./authenticator.ts";
import { signJwt } from "./jwt.ts";
import { VerificationKeys } from "./service-account-keys.ts";
import {
  boundClaims,
  type BoundClaims,
  legacyClaims,
  legacyIssuer,
  type ServiceAccountTokenOptions,
  ServiceAccountTokens,
} from "./service-account-token.ts";

const issuer = "https://issuer.example.com";
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const idOf = (key: KeyObject): string =>
  hash("sha256", createPublicKey(key).export({ type: "spki", format: "der" }), "base64url");
const keyOf = (key: KeyObject) => ({ id: idOf(key), key: createPublicKey(key) });
const sign = (claims: object, key = privateKey, id = idOf(key)): Promise<string> => signJwt(claims, key, id);

/** A small cluster: objects by `resource/namespace/name`, and an authenticator that sees them. */
function cluster(over: Partial<ServiceAccountTokenOptions> = {}) {
  const clock = new FakeClock();
  const objects = new Map<string, ApiObject>();
  const used: string[] = [];
  const put = (path: string, uid: string, metadata: Partial<ObjectMeta> = {}, rest: object = {}): void => {
    const [, namespace, name] = path.split("/");
    objects.set(path, {
      metadata: {
        name: name!,
        namespace: namespace!,
        uid,
        resourceVersion: String(objects.size + used.length),
        ...metadata,
      },
      ...rest,
    });
  };
  put("serviceaccounts/shop/robot", "sa-1");
  const domain = over.domain ?? kubernetesDomain;
  const tokens = new ServiceAccountTokens({
    domain,
    clock,
    issuers: [issuer, "https://old.example.com"],
    keys: new VerificationKeys([keyOf(privateKey)]),
    audiences: ["api", "api-2"],
    lookup: true,
    find: ((resource, namespace, name) => objects.get(`${resource}/${namespace}/${name}`)) as FindObject, // as put
    usedSecret: ({ metadata }, day) => used.push(`${metadata.name} ${day}`),
    ...over,
  });
  const claims = (part: Partial<BoundClaims> = {}): object =>
    boundClaims(
      {
        namespace: "shop",
        account: { name: "robot", uid: "sa-1" },
        audiences: ["api"],
        id: "id-1",
        issuer,
        issuedAt: clock.now() / 1000,
        lifetimeSeconds: 3600,
        warnAfterSeconds: 0,
        ...part,
      },
      domain,
    );
  const ask = async (token: string, audiences?: readonly string[]): Promise<Authentication> =>
    tokens.authenticateToken(token, audiences);
  return { clock, objects, used, put, claims, ask, tokens };
}

/** Compares the result with the `name` of the user, `none`, or the reason of a refusal. */
async function check(answer: Promise<Authentication>, expected: string | RegExp): Promise<void> {
  const result = await answer;
  const text = result.outcome === "user" ? result.user.name : result.outcome === "none" ? "none" : result.reason;
  if (typeof expected === "string") assert.equal(text, expected);
  else assert.match(text, expected);
}

const robot = "system:serviceaccount:shop:robot";
const invalidated = "service account token has been invalidated";

test("a token names its account, the groups of accounts and itself [ASA-07] [ASA-08] [ASA-09] [AUTHN-01]", async () => {
  const { ask, claims } = cluster();
  assert.deepEqual(await ask(await sign(claims())), {
    outcome: "user",
    user: {
      name: robot,
      uid: "sa-1",
      groups: ["system:serviceaccounts", "system:serviceaccounts:shop"],
      extra: { "authentication.kubernetes.io/credential-id": ["JTI=id-1"] },
    },
    audiences: ["api"],
  });
});

test("pod and node of a token are extra values, under keys of the domain", async () => {
  const domain = apiDomain("platform.io");
  const { ask, claims, put } = cluster({ domain });
  put("pods/shop/p", "pod-1");
  const answer = await ask(
    await sign(claims({ pod: { name: "p", uid: "pod-1" }, node: { name: "n", uid: "node-1" } })),
  );
  assert.ok(answer.outcome === "user");
  assert.deepEqual(answer.user.extra, {
    "authentication.platform.io/credential-id": ["JTI=id-1"],
    "authentication.platform.io/node-name": ["n"],
    "authentication.platform.io/node-uid": ["node-1"],
    "authentication.platform.io/pod-name": ["p"],
    "authentication.platform.io/pod-uid": ["pod-1"],
  });
});

test("a known token is answered at once, with the same user", async () => {
  const { ask, claims, tokens } = cluster();
  const token = await sign(claims());
  const first = await ask(token);
  const second = tokens.authenticateToken(token);
  assert.ok(!(second instanceof Promise));
  assert.equal(second, first);
});

test("a token ends with its account, even if another of the same name exists [ASA-06]", async () => {
  const { ask, claims, objects, put, clock } = cluster();
  const token = await sign(claims());
  await check(ask(token), robot);
  objects.clear();
  await check(ask(token), 'serviceaccounts "robot" not found');
  put("serviceaccounts/shop/robot", "sa-2");
  await check(ask(token), "service account UID (sa-2) does not match claim (sa-1)");
  put("serviceaccounts/shop/robot", "sa-1", { deletionTimestamp: timestampOf(clock.now() - 61_000) });
  await check(ask(token), "service account shop/robot has been deleted");
  put("serviceaccounts/shop/robot", "sa-1", { deletionTimestamp: timestampOf(clock.now() - 59_000) });
  await check(ask(token), robot);
});

for (const [kind, path] of [
  ["secret", "secrets/shop/x"],
  ["pod", "pods/shop/x"],
  ["node", "nodes//x"],
] as const) {
  test(`a token bound to a ${kind} dies with it [ASA-06]`, async () => {
    const { ask, claims, objects, put, clock } = cluster();
    const token = await sign(claims({ [kind]: { name: "x", uid: "u1" } }));
    await check(ask(token), invalidated);
    put(path, "u1");
    await check(ask(token), robot);
    put(path, "u2");
    await check(ask(token), `${kind} UID (u2) does not match service account ${kind} ref claim (u1)`);
    put(path, "u1", { deletionTimestamp: timestampOf(clock.now() - 61_000) });
    await check(ask(token), invalidated);
    objects.delete(path);
    await check(ask(token), invalidated);
  });
}

test("a pod's token does not need the node it ran on", async () => {
  const { ask, claims, put } = cluster();
  put("pods/shop/p", "pod-1");
  await check(ask(await sign(claims({ pod: { name: "p", uid: "pod-1" }, node: { name: "n", uid: "" } }))), robot);
});

test("a token holds from its time to its time, known or not", async () => {
  const { ask, claims, clock } = cluster();
  const token = await sign(claims({ lifetimeSeconds: 600 }));
  const later = await sign(claims({ issuedAt: clock.now() / 1000 + 120 }));
  await check(ask(later), "service account token is not valid yet");
  await check(ask(token), robot);
  clock.advance(659_000);
  await check(ask(token), robot);
  await check(ask(later), robot);
  clock.advance(2000);
  await check(ask(token), "service account token has expired");
  await check(ask(await sign(claims({ issuedAt: clock.now() / 1000 - 7200 }))), "service account token has expired");
});

test("a token is for its audiences alone", async () => {
  const { ask, claims } = cluster();
  const token = await sign(claims({ audiences: ["vault", "api-2"] }));
  await check(ask(token), robot);
  const both = await ask(token, ["api-2", "vault", "x"]);
  assert.deepEqual(both.outcome === "user" && both.audiences, ["vault", "api-2"]);
  await check(ask(token, ["x"]), 'token audiences ["vault" "api-2"] is invalid for the target audiences ["x"]');
  const other = await sign(claims({ audiences: ["vault"] }));
  for (let i = 0; i < 2; i++) {
    await check(ask(other), 'token audiences ["vault"] is invalid for the target audiences ["api" "api-2"]');
  }
  await check(ask(other, ["vault"]), robot);
  await check(ask(await sign({ ...claims(), aud: [1] })), /claims could not be validated/);
});

test("tokens of several issuers are known, those of others are left to other authenticators", async () => {
  const { ask, claims } = cluster();
  await check(ask(await sign(claims({ issuer: "https://old.example.com" }))), robot);
  for (const iss of ["https://other.example.com", "", issuer.toUpperCase(), undefined, [issuer], { issuer }]) {
    await check(ask(await sign({ ...claims(), iss })), "none");
  }
  for (const text of ["", "x", "a.b.c", "abcdef.0123456789abcdef", "..", "é.ü.ö"]) await check(ask(text), "none");
});

test("tokens of other keys are refused: none, unknown, of another kind, or with the wrong name [ASA-01]", async () => {
  const { ask, claims } = cluster();
  const stranger = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const none = "invalid signature, no keys found";
  const bad = "invalid signature: no key of this server made it";
  await check(ask(await sign(claims(), stranger)), none);
  await check(ask(await sign(claims(), stranger, idOf(privateKey))), bad);
  await check(ask(await sign(claims(), stranger, "")), bad);
  await check(ask(await sign(claims(), privateKey, "")), robot);
  const [, body = "", signature = ""] = (await sign(claims())).split(".");
  for (const alg of ["none", "HS256", "RS256", "ES384"]) {
    const header = Buffer.from(JSON.stringify({ alg, kid: idOf(privateKey) })).toString("base64url");
    for (let i = 0; i < 2; i++) await check(ask(`${header}.${body}.${signature}`), bad);
  }
});

test("keys of RSA, with longer digests too, and several at a time [ASA-03] [ASA-04]", async () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
  const { ask, claims } = cluster({ keys: new VerificationKeys([keyOf(rsa), keyOf(privateKey)]) });
  for (const key of [rsa, privateKey]) {
    for (const id of [idOf(key), ""]) await check(ask(await sign(claims(), key, id)), robot);
  }
});

test("a token with a missing claim, or one of another type, is refused without a crash", async () => {
  const { ask, claims } = cluster();
  for (const own of [
    undefined,
    null,
    1,
    "x",
    [],
    {},
    { namespace: 1 },
    { namespace: "shop", serviceaccount: ["robot"] },
  ]) {
    await check(ask(await sign({ ...claims(), "kubernetes.io": own })), /not found/);
  }
  await check(ask(await sign({ ...claims(), exp: "never" })), /could not be validated/);
});

test("a use beyond the time that was asked for is told to the audit log", async () => {
  const { ask, claims, clock, put } = cluster();
  put("pods/shop/p", "pod-1");
  const pod = { name: "p", uid: "pod-1" };
  const token = await sign(claims({ pod, lifetimeSeconds: 31_536_000, warnAfterSeconds: 3607 }));
  const before = await ask(token);
  assert.equal(before.outcome === "user" && before.annotations, undefined);
  clock.advance(3_617_000);
  const after = await ask(token);
  assert.deepEqual(after.outcome === "user" && after.annotations, {
    "authentication.k8s.io/stale-token": `subject: ${robot}, seconds after warning threshold: 10`,
  });
});

const legacy = legacyClaims(
  { namespace: "shop", account: { name: "robot", uid: "sa-1" }, secret: "s" },
  kubernetesDomain,
);
const tokenSecret = (token: string, labels?: Record<string, string>) =>
  [
    "s-1",
    labels === undefined ? {} : { labels },
    { type: "kubernetes.io/service-account-token", data: { token: Buffer.from(token).toString("base64") } },
  ] as const;

test("a legacy token lives as long as its Secret holds it and its account is there [ASA-06]", async () => {
  const { ask, objects, put, clock, used } = cluster();
  const token = await sign(legacy);
  await check(ask(token), invalidated);
  put("secrets/shop/s", ...tokenSecret("another"));
  await check(ask(token), "service account token does not match server's copy");
  put("secrets/shop/s", ...tokenSecret(token));
  const answer = await ask(token);
  assert.deepEqual(
    answer.outcome === "user" && [answer.user.name, answer.user.extra, answer.audiences, answer.annotations],
    [
      robot,
      undefined,
      ["api", "api-2"],
      {
        "authentication.k8s.io/legacy-token": robot,
        "authentication.k8s.io/legacy-token-manual-secret": "s",
      },
    ],
  );
  assert.deepEqual(used, ["s 2026-01-01"]);
  put("secrets/shop/s", ...tokenSecret(token, { "kubernetes.io/legacy-token-last-used": "2026-01-01" }));
  await check(ask(token), robot);
  assert.equal(used.length, 1);
  clock.advance(86_400_000);
  await check(ask(token), robot);
  assert.deepEqual(used.at(-1), "s 2026-01-02");
  put("serviceaccounts/shop/robot", "sa-1", {}, { secrets: [{ name: "s" }] });
  const automatic = await ask(token);
  assert.ok(automatic.outcome === "user");
  assert.equal(automatic.annotations?.["authentication.k8s.io/legacy-token-autogenerated-secret"], "s");
  put("secrets/shop/s", ...tokenSecret(token, { "kubernetes.io/legacy-token-invalid-since": "2026-01-01" }));
  await check(ask(token), /^the token in secret shop\/s for service account shop\/robot has been marked invalid/);
  put("secrets/shop/s", ...tokenSecret(token));
  put("serviceaccounts/shop/robot", "sa-1", { deletionTimestamp: timestampOf(clock.now()) });
  await check(ask(token), "service account shop/robot has been deleted");
  objects.clear();
  await check(ask(token), invalidated);
});

test("without look-ups a legacy token holds for ever, a bound one does not", async () => {
  const { ask, objects, claims } = cluster({ lookup: false });
  objects.clear();
  await check(ask(await sign(legacy)), robot);
  await check(ask(await sign(claims())), /not found/);
});

test("a legacy token must agree with itself", async () => {
  const { ask } = cluster();
  const prefix = "kubernetes.io/serviceaccount";
  for (const [change, expected] of [
    [{ sub: undefined }, "sub claim is missing"],
    [{ sub: "system:serviceaccount:shop:other" }, "sub claim is invalid"],
    [{ [`${prefix}/namespace`]: "" }, "namespace claim is missing"],
    [{ [`${prefix}/secret.name`]: undefined }, "secretName claim is missing"],
    [{ [`${prefix}/service-account.name`]: 1 }, "serviceAccountName claim is missing"],
    [{ [`${prefix}/service-account.uid`]: undefined }, "serviceAccountUID claim is missing"],
  ] as const) {
    await check(ask(await sign({ ...legacy, ...change })), expected);
  }
  assert.equal((legacy as { iss?: string }).iss, legacyIssuer);
});
