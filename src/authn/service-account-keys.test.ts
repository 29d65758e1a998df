/** Keys of service account tokens: accepted PEM files, and the published key set. */
import assert from "node:assert/strict";
import { createPublicKey, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { fakeAuthority } from "./fake-authority.ts";
import { parseJwt, SignatureVerifier, signJwt } from "./jwt.ts";
import {
  discoveryDocument,
  keySetDocument,
  readSigningKey,
  readVerificationKeys,
  VerificationKeys,
} from "./service-account-keys.ts";

const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pem = (key: KeyObject, type: "spki" | "pkcs8" | "pkcs1" | "sec1"): string =>
  key.export({ type, format: "pem" } as { type: "spki"; format: "pem" }).toString(); // every type fits its key here

test("public keys, private keys and certificates verify tokens, several of them in a file [ASA-02] [ASA-03] [ASA-04]", async () => {
  const id = readVerificationKeys(pem(elliptic.publicKey, "spki"))[0]?.id;
  assert.match(id ?? "", /^[A-Za-z0-9_-]{43}$/);
  for (const form of ["pkcs8", "sec1"] as const) {
    const [key] = readVerificationKeys(pem(elliptic.privateKey, form));
    assert.deepEqual([key?.id, key?.key.type], [id, "public"]);
  }
  for (const text of [
    pem(rsa.publicKey, "spki"),
    pem(rsa.publicKey, "pkcs1"),
    pem(rsa.privateKey, "pkcs1"),
    pem(rsa.privateKey, "pkcs8"),
  ]) {
    assert.equal(readVerificationKeys(text)[0]?.key.asymmetricKeyType, "rsa");
  }
  const { certificate } = await fakeAuthority();
  const many = `comment\n${pem(elliptic.publicKey, "spki")}\n${pem(rsa.publicKey, "spki")}${certificate}`;
  assert.equal(readVerificationKeys(many).length, 3);
});

test("files without a usable key are errors", () => {
  const ed = generateKeyPairSync("ed25519");
  for (const text of [
    "",
    "hello",
    pem(ed.publicKey, "spki"),
    pem(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey, "spki"),
  ]) {
    assert.throws(() => readVerificationKeys(text), /does not contain any valid RSA or ECDSA public keys/);
  }
  assert.throws(
    () => readVerificationKeys("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"),
    /"PUBLIC KEY"/,
  );
  for (const text of ["", pem(elliptic.publicKey, "spki"), pem(ed.privateKey, "pkcs8")]) {
    assert.throws(() => readSigningKey(text), /does not contain a valid RSA or ECDSA private key/);
  }
});

test("tokens name their key; those that name none may be of any", () => {
  const [one] = readVerificationKeys(pem(elliptic.publicKey, "spki"));
  const [two] = readVerificationKeys(pem(rsa.publicKey, "spki"));
  const keys = new VerificationKeys([one!, two!, one!]);
  assert.deepEqual(keys.all, [one, two]);
  assert.deepEqual(keys.find(two!.id), [two]);
  assert.deepEqual(keys.find(""), [one, two]);
  assert.deepEqual(keys.find("other"), []);
});

test("the published keys verify tokens without a private part among them", async () => {
  const signing = readSigningKey(pem(elliptic.privateKey, "pkcs8"));
  const keys = new VerificationKeys(
    readVerificationKeys(pem(elliptic.privateKey, "pkcs8") + pem(rsa.privateKey, "pkcs8")),
  );
  const document = keySetDocument(keys);
  const { keys: published } = JSON.parse(document) as { keys: Record<string, string>[] };
  assert.deepEqual(
    published.map(({ use, kty, alg, crv, d }) => [use, kty, alg, crv, d]),
    [
      ["sig", "EC", "ES256", "P-256", undefined],
      ["sig", "RSA", "RS256", undefined, undefined],
    ],
  );
  const token = await signJwt({ sub: "a" }, signing.key, signing.id);
  const jwt = parseJwt(token)!;
  const found = published.find(({ kid }) => kid === jwt.keyId)!;
  const key = createPublicKey({ key: found, format: "jwk" });
  assert.equal(await new SignatureVerifier().verify(jwt, key), true);
});

test("an issuer that verifiers can start from has a discovery document", () => {
  const keys = new VerificationKeys(readVerificationKeys(pem(rsa.publicKey, "spki") + pem(elliptic.publicKey, "spki")));
  const document = (issuer: string) => discoveryDocument({ issuer, keySetUrl: "https://h/openid/v1/jwks", keys });
  const text = document("https://issuer.example.com/path");
  assert.deepEqual(JSON.parse(String(text)), {
    issuer: "https://issuer.example.com/path",
    jwks_uri: "https://h/openid/v1/jwks",
    response_types_supported: ["id_token"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["ES256", "RS256"],
  });
  for (const issuer of ["http://a", "api", "https://a?b", "https://a#b"]) {
    assert.ok(document(issuer) instanceof Error, issuer);
  }
});
