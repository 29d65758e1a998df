/**
 * Randomly damaged service account tokens: nothing throws and none is accepted. Signed tokens with random claims: an
 * accepted one names an existing account.
 */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import type { FindObject } from "#api/object-types.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import { signJwt } from "./jwt.ts";
import { VerificationKeys } from "./service-account-keys.ts";
import { boundClaims, legacyClaims, ServiceAccountTokens } from "./service-account-token.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 3000);

const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const keys = new VerificationKeys([{ id: "k", key: createPublicKey(privateKey) }]);
const clock = new FakeClock();
const account = { name: "robot", uid: "u1" };
const tokens = new ServiceAccountTokens({
  domain: kubernetesDomain,
  clock,
  issuers: ["i"],
  keys,
  audiences: ["api"],
  lookup: true,
  find: ((resource, namespace, name) =>
    resource === "serviceaccounts" && namespace === "shop" && name === "robot"
      ? { metadata: { namespace, name, uid: "u1" } }
      : undefined) as FindObject, // an account, as the resource says
  usedSecret: () => undefined,
});
const bound = boundClaims(
  {
    namespace: "shop",
    account,
    audiences: ["api"],
    id: "1",
    issuer: "i",
    issuedAt: clock.now() / 1000,
    lifetimeSeconds: 3600,
    warnAfterSeconds: 0,
  },
  kubernetesDomain,
);
const legacy = legacyClaims({ namespace: "shop", account, secret: "s" }, kubernetesDomain);

/** Returns a function that makes whole numbers below a bound. */
function generator(from: number): (below: number) => number {
  const random = seededRandom(from);
  return (below) => Math.floor(random.next() * below);
}

const letters = "AZaz09-_.=+/ \n\0é{}";

/** Makes one to three changes in the token: adds, removes and swaps letters, and moves parts. */
function damageToken(token: string, below: (bound: number) => number): string {
  let text = token;
  for (let i = below(3); i >= 0; i--) {
    const at = below(text.length + 1);
    const letter = letters[below(letters.length)]!;
    const parts = text.split(".");
    const part = below(parts.length);
    text = [
      () => text.slice(0, at) + letter + text.slice(at),
      () => text.slice(0, at) + letter + text.slice(at + 1),
      () => text.slice(0, at) + text.slice(at + 1 + below(5)),
      () => parts.with(part, parts[below(parts.length)]!).join("."),
      () => parts.with(part, "").join("."),
      () => [...parts, parts[part]].join("."),
      () => text.slice(0, at).toUpperCase() + text.slice(at),
    ][below(7)]!();
  }
  return text;
}

test(`damaged tokens are nobody's (seed ${seed})`, async () => {
  const below = generator(seed);
  const good = [await signJwt(bound, privateKey, "k"), await signJwt(bound, privateKey, "")];
  for (let run = 0; run < runs; run++) {
    const token = good[run % 2]!;
    const text = damageToken(token, below);
    const answer = await tokens.authenticateToken(text);
    if (!good.includes(text)) assert.notEqual(answer.outcome, "user", text);
  }
  for (const token of good) assert.equal((await tokens.authenticateToken(token)).outcome, "user");
});

test(`signed tokens with any claims name who is there, or nobody (seed ${seed})`, async () => {
  const below = generator(seed + 1);
  const values: readonly unknown[] = [
    undefined,
    null,
    true,
    0,
    -1,
    1e300,
    1.5,
    "",
    "shop",
    "robot",
    "u1",
    "i",
    "api",
    "__proto__",
    [],
    ["api"],
    [["api"]],
    {},
    account,
    { name: "robot" },
    { name: ["robot"], uid: { u1: 1 } },
    "system:serviceaccount:shop:robot",
    "kubernetes/serviceaccount",
  ];
  for (let run = 0; run < runs / 4; run++) {
    const claims = structuredClone(below(2) === 0 ? bound : legacy) as Record<string, unknown>;
    for (let i = below(3); i >= 0; i--) {
      const own = claims["kubernetes.io"];
      const isObject = typeof own === "object" && own !== null && !Array.isArray(own);
      const target = isObject && below(2) === 0 ? (own as Record<string, unknown>) : claims; // seen to be an object
      const names = [...Object.keys(target), "pod", "secret", "node", "exp", "aud", "warnafter"];
      target[names[below(names.length)]!] = values[below(values.length)];
    }
    const answer = await tokens.authenticateToken(await signJwt(claims, privateKey, "k"));
    if (answer.outcome !== "user") continue;
    assert.deepEqual([answer.user.name, answer.user.uid], ["system:serviceaccount:shop:robot", "u1"]);
    assert.deepEqual(answer.audiences, ["api"]);
  }
});
