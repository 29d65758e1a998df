/** Randomly damaged ID tokens: none is accepted, and nothing throws. */
import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { signJwt } from "./jwt.ts";
import { OidcTokens } from "./oidc.ts";
import { groupsFromClaim, usernameFromClaim } from "./oidc-claims.ts";
import { OidcProvider } from "./oidc-provider.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 2000);

const url = "https://idp.example";
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

const integer = (random: Random, below: number): number => Math.floor(random.next() * below);

/** Makes another text of the same alphabet. */
function changeToken(token: string, random: Random): string {
  const at = integer(random, token.length);
  const letter = alphabet[integer(random, alphabet.length)]!;
  switch (integer(random, 6)) {
    case 0:
      return token.slice(0, at) + token.slice(at + 1);
    case 1:
      return token.slice(0, at) + letter + token.slice(at);
    case 2:
      return token.slice(0, at);
    case 3:
      return `${token.slice(0, at)}.${token.slice(at)}`;
    case 4:
      return changeHeader(token, random);
    default:
      return token.slice(0, at) + letter + token.slice(at + 1);
  }
}

function changeHeader(token: string, random: Random): string {
  const [, ...rest] = token.split(".");
  const algorithms = ["none", "NONE", "", "HS256", "RS256", "ES384", "ES256 ", "es256", "__proto__"];
  const keys = ["k", "", "x", "../k", "__proto__"];
  const header = {
    alg: algorithms[integer(random, algorithms.length)],
    kid: keys[integer(random, keys.length)],
    ...(integer(random, 2) === 0 ? {} : { crit: ["exp"] }),
  };
  return [Buffer.from(JSON.stringify(header)).toString("base64url"), ...rest].join(".");
}

test(`no change makes a token anybody's (FUZZ_SEED=${seed})`, async () => {
  const random = seededRandom(seed);
  const clock = new FakeClock();
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "k" }];
  const provider = new OidcProvider({
    url,
    outgoing: {
      callOut(call) {
        const document = call.url.endsWith("/keys") ? { keys } : { issuer: url, jwks_uri: `${url}/keys` };
        return Promise.resolve({ code: 200, headers: {}, body: Buffer.from(JSON.stringify(document)) });
      },
      close() {},
    },
    clock,
    failed: (error) => assert.fail(String(error)),
  });
  await provider.ready;
  const tokens = new OidcTokens(clock);
  const rules = {
    username: usernameFromClaim("sub", ""),
    groups: groupsFromClaim("groups", ""),
    extra: [],
    claimChecks: [],
    userChecks: [],
  };
  tokens.use([{ url, audiences: ["api"], algorithms: ["ES256", "RS256"], rules, provider }]);
  const claims = { iss: url, aud: "api", sub: "alice", groups: ["a"], exp: clock.now() / 1000 + 3600 };
  const good = await signJwt(claims, privateKey, "k");
  for (let run = 0; run < runs; run++) {
    let token = good;
    for (let i = integer(random, 3); i >= 0; i--) token = changeToken(token, random);
    if (token === good) continue;
    const { outcome } = await tokens.authenticateToken(token);
    assert.notEqual(outcome, "user", token);
  }
  assert.equal((await tokens.authenticateToken(good)).outcome, "user");
});
