/** ID tokens: requirements on valid ones, and the bounded cost of invalid ones. */
import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import { test } from "node:test";
import { type Outgoing, OutgoingError } from "#egress/outgoing-https.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { rawNumber } from "#std/raw-number.ts";
import { signJwt } from "./jwt.ts";
import { type TokenIssuer, OidcTokens } from "./oidc.ts";
import { type ClaimRules, groupsFromClaim, requiredClaim, uidFromClaim, usernameFromClaim } from "./oidc-claims.ts";
import { OidcProvider } from "./oidc-provider.ts";

const url = "https://idp.example/realm";

interface Pair {
  readonly id: string;
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

const rsa = (id: string, modulusLength = 2048): Pair => ({ id, ...generateKeyPairSync("rsa", { modulusLength }) });
const ec = (id: string, namedCurve = "P-256"): Pair => ({ id, ...generateKeyPairSync("ec", { namedCurve }) });
const jwk = ({ id, publicKey }: Pair, over: object = {}) => ({
  ...publicKey.export({ format: "jwk" }),
  kid: id,
  ...over,
});

const first = rsa("k1");
const second = ec("k2");

const rules = (over: Partial<ClaimRules> = {}): ClaimRules => ({
  username: usernameFromClaim("sub", "idp:"),
  groups: groupsFromClaim("groups", "g:"),
  extra: [],
  claimChecks: [],
  userChecks: [],
  ...over,
});

interface Answer {
  readonly code: number;
  readonly body: unknown;
}

function openProvider(
  over: Partial<TokenIssuer> = {},
  published: readonly object[] = [jwk(first)],
  discoveryUrl?: string,
) {
  const clock = new FakeClock();
  const calls: string[] = [];
  const failures: string[] = [];
  const documents = new Map<string, Answer | Error>([
    [
      `${url}/.well-known/openid-configuration`,
      { code: 200, body: { issuer: url, jwks_uri: "https://idp.example/keys" } },
    ],
    ["https://idp.example/keys", { code: 200, body: { keys: published } }],
  ]);
  const outgoing: Outgoing = {
    callOut(call) {
      calls.push(call.url);
      const answer = documents.get(call.url) ?? { code: 404, body: {} };
      if (answer instanceof Error) return Promise.reject(answer);
      const body = Buffer.from(typeof answer.body === "string" ? answer.body : JSON.stringify(answer.body));
      return Promise.resolve({ code: answer.code, headers: {}, body });
    },
    close() {},
  };
  const provider = new OidcProvider({
    url,
    ...(discoveryUrl === undefined ? {} : { discoveryUrl }),
    outgoing,
    clock,
    failed: (error) => failures.push((error as Error).message), // the provider's and the outgoing's are errors
  });
  const issuer: TokenIssuer = {
    url,
    audiences: ["api"],
    algorithms: ["RS256", "ES256"],
    rules: rules(),
    provider,
    ...over,
  };
  const tokens = new OidcTokens(clock);
  tokens.use([issuer]);
  const claims = (more: object = {}) => ({
    iss: url,
    aud: "api",
    sub: "alice",
    exp: clock.now() / 1000 + 3600,
    ...more,
  });
  return {
    clock,
    calls,
    failures,
    documents,
    provider,
    issuer,
    tokens,
    claims,
    publish: (keys: readonly object[]) => void documents.set("https://idp.example/keys", { code: 200, body: { keys } }),
    token: (more: object = {}, key = first) => signJwt(claims(more), key.privateKey, key.id),
  };
}

async function outcome(tokens: OidcTokens, token: string): Promise<string> {
  const answer = await tokens.authenticateToken(token);
  if (answer.outcome === "user") {
    const { name, uid, groups, extra } = answer.user;
    return [name, uid ?? [], groups, extra === undefined ? [] : JSON.stringify(extra)].flat().join(" ");
  }
  return answer.outcome === "refused" ? answer.reason : answer.outcome;
}

/** Lets promises settle that wait for nothing but each other. */
async function turns(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

const forge = (header: object, claims: object, signature: string): string => {
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  return `${encode(header)}.${encode(claims)}.${signature}`;
};

test("a good token is its user's, and the second time nothing is computed [AOIDC-01] [AOIDC-11]", async () => {
  const { provider, tokens, token, calls } = openProvider();
  await provider.ready;
  const good = await token({ groups: ["a", "b"] });
  assert.equal(await outcome(tokens, good), "idp:alice g:a g:b");
  assert.ok(!(tokens.authenticateToken(good) instanceof Promise));
  assert.equal(calls.length, 2);
});

test("tokens of others are left to others: opaque ones, other issuers', what is no token [AOIDC-02]", async () => {
  const { provider, tokens, token } = openProvider();
  await provider.ready;
  for (const other of [
    "opaque",
    "a.b",
    "a.b.c",
    "..",
    await token({ iss: "https://other.example" }),
    await token({ iss: 1 }),
  ]) {
    assert.equal(await outcome(tokens, other), "none");
  }
});

test("a token must be signed by the provider, with an algorithm of its key [AOIDC-03]", async () => {
  const { provider, tokens, token, claims, clock } = openProvider({}, [jwk(first), jwk(second)]);
  await provider.ready;
  assert.equal(await outcome(tokens, await token({}, second)), "idp:alice");
  const stranger = rsa("k1");
  const good = await token();
  clock.advance(10_000);
  assert.equal(await outcome(tokens, await token({}, stranger)), "oidc: failed to verify signature");
  assert.equal(await outcome(tokens, `${good.slice(0, -4)}AAAA`), "oidc: failed to verify signature");
  // These tokens have the key of one algorithm under the name of another, no signature, and the public key as a shared
  // secret.
  const parts = good.split(".");
  assert.match(await outcome(tokens, forge({ alg: "ES256", kid: "k1" }, claims(), parts[2]!)), /^oidc: failed/);
  const another = "oidc: token is signed with another algorithm than the allowed";
  assert.equal(await outcome(tokens, forge({ alg: "none" }, claims(), "AA")), another);
  const secret = first.publicKey.export({ type: "spki", format: "pem" });
  const unsigned = forge({ alg: "HS256", kid: "k1" }, claims(), "").slice(0, -1);
  const mac = createHmac("sha256", secret).update(unsigned).digest("base64url");
  assert.equal(await outcome(tokens, `${unsigned}.${mac}`), another);
  assert.equal(await outcome(tokens, forge({ alg: "RS384", kid: "k1" }, claims(), parts[2]!)), another);
});

test("a token counts from its beginning to its end, however well it is known [AOIDC-04] [AOIDC-07]", async () => {
  const { provider, tokens, token, clock } = openProvider();
  await provider.ready;
  const now = clock.now() / 1000;
  assert.equal(await outcome(tokens, await token({ exp: now - 1 })), "oidc: token is expired");
  assert.equal(await outcome(tokens, await token({ exp: undefined })), "oidc: token has no expiry");
  assert.equal(await outcome(tokens, await token({ exp: 2 ** 63 })), "oidc: token is expired");
  assert.equal(await outcome(tokens, await token({ nbf: now + 61 })), "oidc: token is not valid yet");
  assert.equal(await outcome(tokens, await token({ nbf: now + 60 })), "idp:alice");
  assert.equal(await outcome(tokens, await token({ exp: `${now + 60}`, nbf: "5.5", iat: "1e3" })), "idp:alice");
  const good = await token();
  assert.equal(await outcome(tokens, good), "idp:alice");
  clock.advance(3_600_000);
  assert.equal(await outcome(tokens, good), "oidc: token is expired");
});

test("a token must be meant for one of the audiences [AOIDC-10]", async () => {
  const { provider, tokens, token } = openProvider({ audiences: ["api", "spare"] });
  await provider.ready;
  assert.equal(await outcome(tokens, await token({ aud: ["x", "spare"] })), "idp:alice");
  assert.equal(await outcome(tokens, await token({ aud: [null, "api"] })), "idp:alice");
  for (const aud of ["x", ["x", "y"], [], undefined]) {
    assert.equal(await outcome(tokens, await token({ aud })), "oidc: token is meant for another audience");
  }
});

test("claims that have a meaning for every provider must have their types", async () => {
  const { provider, tokens, token } = openProvider();
  await provider.ready;
  const named = { _claim_names: { groups: "there" }, _claim_sources: { there: { endpoint: "https://i.example" } } };
  for (const claims of [{ nonce: null, at_hash: "x", nbf: null }, named, { _claim_names: null }, { azp: 1 }]) {
    assert.equal(await outcome(tokens, await token(claims)), "idp:alice");
  }
  const wrong: readonly object[] = [
    { sub: 7 },
    { nonce: 1 },
    { at_hash: {} },
    { aud: { api: true } },
    { aud: ["api", 1] },
    { exp: "soon" },
    { exp: "+5000000000" },
    { nbf: true },
    { iat: null },
    { _claim_names: "x" },
    { _claim_names: { groups: "there" } },
    { ...named, _claim_sources: { there: { endpoint: 1 } } },
  ];
  for (const claims of wrong) {
    const answer = await outcome(tokens, await token(claims));
    assert.equal(answer, "oidc: a claim of the token has another type than it must have", JSON.stringify(claims));
  }
});

test("claims become a user by the rules [AOIDC-12] [AOIDC-13]", async () => {
  const check = async (over: Partial<ClaimRules>, claims: object, expected: string): Promise<void> => {
    const { provider, tokens, token } = openProvider({ rules: rules(over) });
    await provider.ready;
    assert.equal(await outcome(tokens, await token(claims)), expected);
  };
  await check({}, { groups: "one" }, "idp:alice g:one");
  await check({}, { groups: null }, "idp:alice");
  await check({}, { groups: [1] }, 'oidc: claim "groups" is neither a text nor a list of texts');
  await check({}, { groups: ["a", null] }, "idp:alice g:a g:");
  await check({}, { sub: undefined }, 'oidc: claim "sub" is missing or no text');
  await check({ uid: uidFromClaim("oid") }, { oid: null }, "idp:alice");
  await check(
    { username: usernameFromClaim("constructor", "") },
    {},
    'oidc: claim "constructor" is missing or no text',
  );
  await check({ username: usernameFromClaim("sub", "") }, { sub: "" }, "oidc: the user name is empty");
  const exact = { username: (claims: object) => JSON.stringify(claims) };
  const id = {
    sub: undefined,
    iss: url,
    aud: "api",
    iat: undefined,
    exp: rawNumber("1e11"),
    id: rawNumber("9007199254740993"),
  };
  await check(exact, id, `{"iss":"${url}","aud":"api","exp":1e11,"id":9007199254740993}`);
  await check({}, { sub: "\ud800x" }, "idp:\ufffdx");
  const email = { username: usernameFromClaim("email", "") };
  await check(email, { email: "a@b" }, "a@b");
  await check(email, { email: "a@b", email_verified: true }, "a@b");
  await check(email, { email: "a@b", email_verified: false }, "oidc: email not verified");
  await check(email, { email: "a@b", email_verified: "true" }, "oidc: email not verified");
  await check({ uid: uidFromClaim("oid") }, { oid: "u1" }, "idp:alice u1");
  const checks = { claimChecks: [requiredClaim("tenant", "t1")] };
  await check(checks, { tenant: "t1" }, "idp:alice");
  await check(checks, { tenant: "t2" }, 'oidc: required claim "tenant" has another value than "t1"');
  await check(checks, {}, 'oidc: claim "tenant" is missing or no text');
  const extra = {
    extra: [
      { key: "a.b/c", values: () => ["v"] },
      { key: "none", values: () => [] },
    ],
  };
  await check(extra, {}, 'idp:alice {"a.b/c":["v"]}');
});

test("a provider that is gone takes nothing with it [AOIDC-06]", async () => {
  const { provider, tokens, token, documents, clock, failures } = openProvider();
  await provider.ready;
  const before = await token({ exp: 9_999_999_999 });
  await outcome(tokens, before);
  for (const at of documents.keys()) documents.set(at, new OutgoingError("TIMEOUT", "no answer"));
  clock.advance(3_600_000);
  await turns();
  assert.ok(failures.length > 0);
  assert.equal(await outcome(tokens, before), "idp:alice");
  assert.equal(await outcome(tokens, await token({ jti: "another" })), "idp:alice");
});

test("until a provider has answered its tokens are refused; it is asked every ten seconds", async () => {
  const { provider, tokens, token, documents, clock, calls, failures } = openProvider();
  const keys = documents.get("https://idp.example/keys")!;
  documents.set("https://idp.example/keys", { code: 503, body: "" });
  await turns();
  const early = await token();
  assert.equal(await outcome(tokens, early), `oidc: authenticator for issuer ${url} is not initialized`);
  assert.deepEqual(failures, ["https://idp.example/keys answered 503"]);
  clock.advance(10_000);
  await turns();
  documents.set("https://idp.example/keys", keys);
  clock.advance(10_000);
  await provider.ready;
  assert.deepEqual([failures.length, calls.length], [2, 6]);
  assert.equal(await outcome(tokens, early), "idp:alice");
});

test("a new key is found when its first token comes, an old one is forgotten when it is published no longer", async () => {
  const { provider, tokens, token, publish, clock, calls } = openProvider();
  await provider.ready;
  const old = await token();
  assert.equal(await outcome(tokens, old), "idp:alice");
  publish([jwk(second)]);
  clock.advance(10_000);
  assert.equal(await outcome(tokens, await token({}, second)), "idp:alice");
  assert.equal(calls.length, 4);
  assert.equal(await outcome(tokens, old), "oidc: failed to verify signature");
  publish([jwk(first), jwk(second)]);
  clock.advance(15 * 60_000);
  await turns();
  assert.equal(await outcome(tokens, old), "idp:alice");
});

test("ten thousand tokens of unknown keys make the provider answer once, and slow no known token", async () => {
  const { provider, tokens, token, clock, calls } = openProvider();
  await provider.ready;
  const good = await token();
  await outcome(tokens, good);
  clock.advance(10_000);
  const unknown = await signJwt({ iss: url, aud: "api", sub: "x", exp: 9_999_999_999 }, second.privateKey, "k9");
  const [header, body] = unknown.split(".");
  const flood: Promise<string>[] = [];
  for (let i = 0; i < 10_000; i++) {
    const signature = Buffer.from(`${i}`.padStart(64, "0")).toString("base64url");
    flood.push(outcome(tokens, `${header}.${body}.${signature}`));
    if (i % 100 === 0) assert.ok(!(tokens.authenticateToken(good) instanceof Promise));
  }
  const answers = new Set(await Promise.all(flood));
  assert.deepEqual([...answers], ["oidc: failed to verify signature"]);
  assert.equal(calls.length, 4);
  for (let i = 0; i < 9; i++) {
    clock.advance(1000);
    await outcome(tokens, `${header}.${body}.${Buffer.from(`later ${i}`.padEnd(64)).toString("base64url")}`);
  }
  assert.equal(calls.length, 4, "one after the other neither");
});

test("discovery must be the issuer's own, over https, and is followed nowhere else", async () => {
  const check = async (document: Answer, message: string | RegExp, keys?: Answer): Promise<void> => {
    const { documents, clock, failures, provider } = openProvider();
    await provider.ready;
    await turns();
    documents.set(`${url}/.well-known/openid-configuration`, document);
    if (keys !== undefined) documents.set("https://idp.example/keys", keys);
    clock.advance(15 * 60_000);
    await turns();
    if (typeof message === "string") assert.equal(failures.at(-1), message);
    else assert.match(failures.at(-1) ?? "", message);
    provider.close();
  };
  const at = `${url}/.well-known/openid-configuration`;
  const good = { code: 200, body: { issuer: url, jwks_uri: "https://idp.example/keys" } };
  await check({ code: 302, body: "" }, `${at} answered 302; redirects are not followed`);
  await check({ code: 200, body: "<html>" }, `${at} is no JSON document`);
  await check({ code: 200, body: "7" }, `${at} is no JSON object`);
  await check(
    { code: 200, body: { issuer: `${url}/`, jwks_uri: "https://idp.example/keys" } },
    `${at} is the document of the issuer "${url}/", not of "${url}"`,
  );
  await check(
    { code: 200, body: { issuer: url, jwks_uri: "http://idp.example/keys" } },
    /jwks_uri must be an https URL$/,
  );
  await check({ code: 200, body: { issuer: url } }, /jwks_uri must be an https URL$/);
  await check(good, "https://idp.example/keys holds no keys", { code: 200, body: {} });
  await check(good, "https://idp.example/keys holds no key that signs tokens", { code: 200, body: { keys: [] } });
  await check(good, /holds no key that signs tokens$/, {
    code: 200,
    body: {
      keys: [
        null,
        7,
        { kty: "oct", k: "c2VjcmV0", kid: "k1" },
        jwk(first, { use: "enc" }),
        jwk(rsa("weak", 1024)),
        { kty: "RSA", n: "!", e: "AQAB" },
        jwk(ec("odd", "secp256k1")),
      ],
    },
  });
});

test("the document may be elsewhere than the issuer says", async () => {
  const { documents, provider, tokens, token, clock } = openProvider({}, [jwk(first)], "https://inside.example/d");
  documents.set("https://inside.example/d", documents.get(`${url}/.well-known/openid-configuration`)!);
  clock.advance(10_000);
  await turns();
  clock.advance(10_000);
  await provider.ready;
  assert.equal(await outcome(tokens, await token()), "idp:alice");
});

test("a token without the name of a key is tried with all of them", async () => {
  const { provider, tokens, claims } = openProvider({}, [jwk(second), jwk(first)]);
  await provider.ready;
  assert.equal(await outcome(tokens, await signJwt(claims(), first.privateKey, "")), "idp:alice");
});

test("after the issuers change, tokens that were known before are verified again", async () => {
  const { provider, tokens, token, issuer } = openProvider();
  await provider.ready;
  const good = await token();
  assert.equal(await outcome(tokens, good), "idp:alice");
  tokens.use([{ ...issuer, rules: rules({ username: usernameFromClaim("sub", "new:") }) }]);
  assert.equal(await outcome(tokens, good), "new:alice");
  tokens.use([]);
  assert.equal(await outcome(tokens, good), "none");
});

test("an overlong or malformed token is refused", async () => {
  const { provider, tokens, token } = openProvider();
  await provider.ready;
  assert.equal(await outcome(tokens, await token({ filler: "x".repeat(48_000) })), "idp:alice");
  assert.equal(await outcome(tokens, await token({ filler: "x".repeat(49_000) })), "none", "although it is signed");
  const deep = `${Buffer.from('{"alg":"RS256"}').toString("base64url")}.${Buffer.from("[".repeat(20_000)).toString("base64url")}.AA`;
  assert.equal(await outcome(tokens, deep), "none");
});

test("people sign in only where both endpoints are https", async () => {
  const code = async (more: object) => {
    const { provider, documents, clock } = openProvider();
    documents.set(`${url}/.well-known/openid-configuration`, {
      code: 200,
      body: { issuer: url, jwks_uri: "https://idp.example/keys", ...more },
    });
    await provider.ready;
    await turns();
    clock.advance(15 * 60_000);
    await turns();
    return provider.codeFlow;
  };
  const [authorize, token] = ["https://idp.example/authorize", "https://tokens.example/"];
  assert.deepEqual(
    await code({ authorization_endpoint: authorize, token_endpoint: token, scopes_supported: ["a", 1] }),
    {
      authorizationEndpoint: authorize,
      tokenEndpoint: token,
      scopes: ["a"],
      namesIssuer: false,
    },
  );
  for (const wrong of [
    undefined,
    1,
    "",
    "http://idp.example/",
    "javascript:alert(1)",
    "//idp.example/",
    "file:///etc",
  ]) {
    assert.equal(await code({ authorization_endpoint: wrong, token_endpoint: token }), undefined);
    assert.equal(await code({ authorization_endpoint: authorize, token_endpoint: wrong }), undefined);
  }
});
