/** JSON Web Tokens: parsing, and accepted and refused signatures. */
import assert from "node:assert/strict";
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import {
  algorithmsOf,
  audienceClaim,
  parseJwt,
  SignatureVerifier,
  signJwt,
  timeClaims,
  timeProblem,
  tokenLengthMax,
} from "./jwt.ts";

const ec = (namedCurve: string): KeyObject => generateKeyPairSync("ec", { namedCurve }).privateKey;
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
const encode = (part: unknown): string => Buffer.from(JSON.stringify(part)).toString("base64url");

/** Whether the key verifies the token. */
async function verifies(token: string, key: KeyObject, allowed?: readonly string[]): Promise<boolean> {
  const jwt = parseJwt(token);
  assert.ok(jwt !== undefined, "a token");
  return new SignatureVerifier().verify(jwt, createPublicKey(key), allowed);
}

test("each kind of key signs with its algorithm and verifies what it signed [ASA-03]", async () => {
  const keys: readonly (readonly [string, KeyObject])[] = [
    ["RS256", rsa],
    ["ES256", ec("P-256")],
    ["ES384", ec("P-384")],
    ["ES512", ec("P-521")],
  ];
  for (const [algorithm, key] of keys) {
    const token = await signJwt({ sub: "a" }, key, "k1");
    const jwt = parseJwt(token);
    assert.deepEqual([jwt?.algorithm, jwt?.keyId, jwt?.claims], [algorithm, "k1", { sub: "a" }]);
    assert.equal(await verifies(token, key), true, algorithm);
    for (const [, other] of keys) if (other !== key) assert.equal(await verifies(token, other), false, algorithm);
  }
});

test("the key decides about algorithms, never the token", async () => {
  const key = ec("P-256");
  const token = await signJwt({ sub: "a" }, key, "");
  const [, claims = "", signature = ""] = token.split(".");
  const pem = createPublicKey(key).export({ type: "spki", format: "pem" });
  const hmac = (header: string): string => createHmac("sha256", pem).update(`${header}.${claims}`).digest("base64url");
  const shared = encode({ alg: "HS256" });
  for (const forged of [
    `${encode({ alg: "none" })}.${claims}.${signature}`,
    `${encode({ alg: "None" })}.${claims}.${signature}`,
    `${shared}.${claims}.${hmac(shared)}`,
    `${encode({ alg: "ES384" })}.${claims}.${signature}`,
    `${encode({ alg: "RS256" })}.${claims}.${signature}`,
    `${encode({ alg: "es256" })}.${claims}.${signature}`,
    `${encode({ alg: "toString" })}.${claims}.${signature}`,
  ]) {
    assert.equal(await verifies(forged, key), false, forged);
  }
  assert.equal(await verifies(token, key, ["RS256"]), false, "an algorithm that is not allowed");
  assert.deepEqual(algorithmsOf(createPublicKey(ec("secp256k1"))), []);
  assert.deepEqual(algorithmsOf(generateKeyPairSync("ed25519").publicKey), []);
});

test("a changed letter anywhere makes another token", async () => {
  const key = ec("P-256");
  const token = await signJwt({ sub: "a" }, key, "");
  const end = token.lastIndexOf(".");
  for (let at = end + 1; at < token.length; at += 9) {
    const letter = token[at] === "A" ? "B" : "A";
    const changed = `${token.slice(0, at)}${letter}${token.slice(at + 1)}`;
    assert.equal(parseJwt(changed) !== undefined && (await verifies(changed, key)), false, `letter ${at}`);
  }
  for (const changed of [`${token}x`, `${token}A`, token.slice(0, -1), `${token.slice(0, -1)}${nextLetter(token)}`]) {
    assert.equal(parseJwt(changed) !== undefined && (await verifies(changed, key)), false);
  }
});

/** Changes an unused bit of the last letter: lenient decoders read the same signature. */
function nextLetter(token: string): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return letters[letters.indexOf(token.at(-1)!) + 1]!;
}

test("text that is not in the compact form is no token", () => {
  const good = encode({ alg: "ES256" });
  for (const text of [
    "",
    ".",
    "..",
    "a.b.c",
    `${good}.${encode({})}`,
    `${good}.${encode({})}.`,
    `.${encode({})}.AA`,
    `${good}.${encode({})}.AA.AA`,
    `${good}.${encode({})}.AA=`,
    `${good}.${encode({})}.A A`,
    `${good}.${encode([])}.AA`,
    `${good}.${encode(null)}.AA`,
    `${good}.${encode("x")}.AA`,
    `${encode({})}.${encode({})}.AA`,
    `${encode({ alg: 1 })}.${encode({})}.AA`,
    `${encode({ alg: "ES256", kid: {} })}.${encode({})}.AA`,
    `${encode({ alg: "ES256", crit: ["exp"] })}.${encode({})}.AA`,
    `${good}.${encode({ filler: "x".repeat((tokenLengthMax * 3) / 4) })}.AA`,
    `${good}.${Buffer.from("[".repeat(20_000)).toString("base64url")}.AA`,
    `{"protected":"${good}","payload":"${encode({})}","signature":"AA"}`,
  ]) {
    assert.equal(parseJwt(text), undefined, text.slice(0, 60));
  }
});

test("claims cannot change what objects are", () => {
  const token = `${encode({ alg: "ES256" })}.${Buffer.from('{"__proto__":{"aud":"a"}}').toString("base64url")}.AA`;
  const claims = parseJwt(token)?.claims ?? {};
  assert.deepEqual(audienceClaim(claims), []);
  assert.equal(({} as { aud?: unknown }).aud, undefined);
});

test("audiences are one text or a list, times are numbers with a minute of leeway", () => {
  assert.deepEqual(audienceClaim({ aud: "a" }), ["a"]);
  assert.deepEqual(audienceClaim({ aud: ["a", "b"] }), ["a", "b"]);
  assert.equal(audienceClaim({ aud: ["a", 1] }), undefined);
  assert.equal(audienceClaim({ aud: {} }), undefined);
  for (const exp of ["1", {}, Number.NaN, true]) assert.equal(timeClaims({ exp }), undefined);

  const at = (seconds: number) => timeProblem(timeClaims({ nbf: 1000, exp: 2000, iat: 1000 })!, seconds * 1000);
  assert.equal(at(939), "not valid yet");
  assert.equal(at(940), undefined);
  assert.equal(at(2060), undefined);
  assert.equal(at(2061), "expired");
  assert.equal(timeProblem(timeClaims({ iat: 1000 })!, 0), "issued in the future");
  assert.equal(timeProblem(timeClaims({})!, 0), undefined);
});

test("quick signatures are verified at once, but only a few before others have a turn", async () => {
  for (const key of [ec("P-256"), rsa]) {
    const jwt = parseJwt(await signJwt({}, key, ""))!;
    const verifier = new SignatureVerifier();
    const results = Array.from({ length: 100 }, () => verifier.verify(jwt, createPublicKey(key)));
    assert.equal(
      results.findIndex((result) => result instanceof Promise),
      16,
    );
    assert.ok(
      results.slice(16).every((result) => result instanceof Promise),
      "a later check does not overtake waiting ones",
    );
    let rounds = 0;
    const round = (): void => {
      rounds += 1;
      if (rounds < 1000) again = setImmediate(round);
    };
    let again = setImmediate(round);
    assert.deepEqual(new Set(await Promise.all(results.map(async (result) => result))), new Set([true]));
    clearImmediate(again);
    assert.ok(rounds >= 5, `${rounds} rounds`);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(verifier.verify(jwt, createPublicKey(key)), true);
  }
});

test("beyond a bound of waiting signatures clients are asked to come again", async () => {
  for (const [curve, atOnce] of [
    ["P-256", 16 + 3],
    ["P-384", 2 + 3],
  ] as const) {
    const key = ec(curve);
    const jwt = parseJwt(await signJwt({}, key, ""))!;
    const verifier = new SignatureVerifier(3);
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, async () => verifier.verify(jwt, createPublicKey(key))),
    );
    const outcomes = results.map((result) => (result.status === "fulfilled" ? result.value : String(result.reason)));
    assert.deepEqual(outcomes.slice(0, atOnce), Array(atOnce).fill(true));
    for (const outcome of outcomes.slice(atOnce)) assert.match(String(outcome), /too many new tokens wait/);
    assert.equal(await verifier.verify(jwt, createPublicKey(key)), true);
  }
});

test("many dear signatures at once are verified a few at a time, and all of them", async () => {
  const key = ec("P-384");
  const verifier = new SignatureVerifier();
  const tokens = await Promise.all(Array.from({ length: 50 }, (_, i) => signJwt({ i }, key, "")));
  const results = tokens.map(async (token) => verifier.verify(parseJwt(token)!, createPublicKey(key)));
  assert.deepEqual(new Set(await Promise.all(results)), new Set([true]));
});
