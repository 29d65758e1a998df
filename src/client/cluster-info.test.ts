/** The verification of `cluster-info`, with signatures that are right, forged or of another algorithm. */
import assert from "node:assert/strict";
import { createHmac, createSign, generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { ClusterInfoError, verifyClusterInfo } from "./cluster-info.ts";

const id = "abcdef";
const token = `${id}.0123456789abcdef`;
const kubeconfig = "clusters: [{name: '', cluster: {server: 'https://a'}}]\n";
const encode = (text: string): string => Buffer.from(text).toString("base64url");

interface Forged {
  readonly header?: object;
  readonly key?: string;
  readonly hash?: string;
  readonly content?: string;
}

/** Returns the data of a config map whose signature was made in this way. */
function signed({
  header = { alg: "HS256", kid: id },
  key = token,
  hash = "sha256",
  content = kubeconfig,
}: Forged = {}) {
  const head = encode(JSON.stringify(header));
  const signature = createHmac(hash, key)
    .update(`${head}.${encode(content)}`)
    .digest("base64url");
  return { kubeconfig, [`jws-kubeconfig-${id}`]: `${head}..${signature}` };
}

const refused = (data: Readonly<Record<string, string>>, text: RegExp, by = token): void =>
  assert.throws(
    () => verifyClusterInfo(data, by),
    (error: Error) => {
      assert.ok(error instanceof ClusterInfoError);
      assert.match(error.message, text);
      assert.doesNotMatch(error.message, /0123456789abcdef(?<!such as abcdef\.0123456789abcdef)/);
      return true;
    },
  );

test("[ABOOT-08] a content that the token signed with HS256 is trusted", () => {
  assert.equal(verifyClusterInfo(signed(), token), kubeconfig);
  assert.equal(verifyClusterInfo(signed({ header: { alg: "HS256" } }), token), kubeconfig);
});

test("a content that a controller of Kubernetes signed, with the secret of the token alone, is trusted too", () => {
  assert.equal(verifyClusterInfo(signed({ key: "0123456789abcdef" }), token), kubeconfig);
  refused(signed({ key: id }), /is wrong/);
});

test("[ABOOT-08] every other algorithm is refused, none among them", () => {
  refused(signed({ header: { alg: "HS512", kid: id }, hash: "sha512" }), /must have the algorithm HS256/);
  refused(signed({ header: { alg: "hs256", kid: id } }), /must have the algorithm HS256/);
  refused(signed({ header: { kid: id } }), /must have the algorithm HS256/);
  const none = encode(JSON.stringify({ alg: "none", kid: id }));
  refused({ kubeconfig, [`jws-kubeconfig-${id}`]: `${none}..` }, /must have the algorithm HS256/);
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const rsa = encode(JSON.stringify({ alg: "RS256", kid: id }));
  const signature = createSign("sha256")
    .update(`${rsa}.${encode(kubeconfig)}`)
    .sign(privateKey, "base64url");
  refused({ kubeconfig, [`jws-kubeconfig-${id}`]: `${rsa}..${signature}` }, /must have the algorithm HS256/);
});

test("a signature by another key, of another content or of another token is refused", () => {
  refused(signed({ key: `${id}.fedcba9876543210` }), /is wrong: cluster-info, or the token, is not the real one/);
  refused(signed({ content: "another" }), /is wrong/);
  refused(signed({ header: { alg: "HS256", kid: "other0" } }), /that of another token/);
  refused(signed({ header: { alg: "HS256", kid: id, crit: ["b64"], b64: false } }), /needs extensions/);
  refused(signed(), /token zzzzzz has not signed cluster-info/, "zzzzzz.0123456789abcdef");
});

test("what is no detached signature, no token or no information is refused", () => {
  const jws = (text: string): Record<string, string> => ({ kubeconfig, [`jws-kubeconfig-${id}`]: text });
  const whole = signed()[`jws-kubeconfig-${id}`]!;
  refused(jws(whole.replace("..", `.${encode(kubeconfig)}.`)), /is no detached JWS/);
  refused(jws(`${whole}.x`), /is no detached JWS/);
  refused(jws(""), /is no detached JWS/);
  refused(jws("bm90IGpzb24..x"), /has no header/);
  refused(jws(`${encode("[]")}..x`), /has no header/);
  refused(jws(whole.slice(0, -4)), /is wrong/);
  refused({ [`jws-kubeconfig-${id}`]: whole }, /has no kubeconfig/);
  for (const wrong of ["", "abcdef", "ABCDEF.0123456789abcdef", `${token}0`, ` ${token}`]) {
    refused(signed(), /a bootstrap token has the form id\.secret/, wrong);
  }
});

void test("data that is no text is refused", () => {
  const data = (fields: object) => ({ ...signed(), ...fields }) as Readonly<Record<string, string>>;
  refused(data({ kubeconfig: 5 }), /has no kubeconfig/);
  refused(data({ [`jws-kubeconfig-${id}`]: {} }), /has not signed/);
});
