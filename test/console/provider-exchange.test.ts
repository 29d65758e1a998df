/** The exchange of codes of identity providers over HTTP: who may ask for it, and what it never does. */
import assert from "node:assert/strict";
import https from "node:https";
import { after, before, test } from "node:test";
import { type FakeAuthority, fakeAuthority } from "#authn/fake-authority.ts";
import { eventually, openServer, startsServers, type TestServer, usingServer } from "../harness.ts";
import { flagsOf, SignInProvider } from "./identity-provider.ts";

const skip = startsServers ? false : "another server has no console";
let authority: FakeAuthority;
let provider: SignInProvider;
let server: TestServer;

before(async () => {
  if (skip !== false) return;
  authority = await fakeAuthority("providers");
  provider = await SignInProvider.start(authority, {});
  server = await openServer("k8s.io", flagsOf(provider, authority));
  await eventually(async () => assert.equal((await offersOf(server.url)).length, 1));
});

after(() => provider?.stop());

interface Answer {
  readonly code: number;
  readonly body: { readonly token?: string; readonly message?: string; readonly providers?: readonly object[] };
}

const json = { "content-type": "application/json" };

function ask(url: string, method: string, headers: Readonly<Record<string, string>>, body = ""): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = https.request(
      `${url}/console/session`,
      { method, headers, rejectUnauthorized: false },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on("data", (piece: Buffer) => pieces.push(piece));
        answer.on("end", () => {
          const text = Buffer.concat(pieces).toString();
          const isJson = answer.headers["content-type"] === "application/json";
          resolve({
            code: answer.statusCode!,
            body: isJson ? (JSON.parse(text) as Answer["body"]) : { message: text },
          });
        });
      },
    );
    request.once("error", reject);
    request.end(body);
  });
}

const offersOf = async (url: string): Promise<readonly object[]> => (await ask(url, "GET", {})).body.providers ?? [];

const sent = (over: object = {}): string => JSON.stringify({ issuer: provider.url, code: "c", verifier: "v", ...over });

const redeem = (over: object = {}): Promise<Answer> => ask(server.url, "POST", json, sent(over));

test("a page learns where people sign in, and a server without providers names none", { skip }, async () => {
  assert.deepEqual(await offersOf(server.url), [
    {
      issuer: provider.url,
      clientId: "console",
      authorizationEndpoint: `${provider.url}/authorize?kept=1`,
      scope: "openid email",
      namesIssuer: true,
    },
  ]);
  await usingServer("k8s.io", {}, async ({ server: { url } }) => {
    assert.deepEqual(await offersOf(url), []);
    assert.equal((await ask(url, "POST", json, sent())).code, 403);
  });
});

test("only the console's own page asks, for providers of this server alone, and in few bytes", { skip }, async () => {
  const before = provider.exchanged.length;
  const codes: number[] = [];
  for (const headers of [
    {},
    { "content-type": "text/plain" },
    { "content-type": "application/x-www-form-urlencoded" },
    { ...json, origin: "https://evil.example" },
    { ...json, origin: "null" },
    { ...json, host: "evil.example" },
    { ...json, "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    { ...json, "sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "empty" },
  ]) {
    codes.push((await ask(server.url, "POST", headers, sent())).code);
  }
  assert.deepEqual(codes, [415, 415, 415, 403, 403, 403, 403, 403]);
  for (const [code, body] of [
    [400, ""],
    [400, "[]"],
    [400, sent({ code: 1 })],
    [400, sent({ code: "" })],
    [400, sent({ verifier: undefined })],
    [400, sent({ code: "x".repeat(9000) })],
    [400, " ".repeat(40_000)],
    [403, sent({ issuer: "https://169.254.169.254" })],
    [403, sent({ issuer: `${provider.url}/` })],
  ] as const) {
    assert.equal((await ask(server.url, "POST", json, body)).code, code, body.slice(0, 60));
  }
  assert.equal((await ask(server.url, "PUT", json, sent())).code, 405);
  assert.equal(provider.exchanged.length, before);
});

test("of a provider's answer only the words of a refusal are given on, and it sends the server nowhere", {
  skip,
}, async (t) => {
  t.after(() => (provider.misbehaviour = {}));
  const message = async (exchange: SignInProvider["misbehaviour"]["exchange"]): Promise<string | undefined> => {
    provider.misbehaviour = { exchange: exchange! };
    const { code, body } = await redeem();
    assert.equal(code, 403);
    assert.equal(body.token, undefined);
    return body.message;
  };
  const before = provider.exchanged.length;
  assert.equal(
    await message((response) => void response.writeHead(307, { location: `${provider.url}/token` }).end()),
    "the provider refused: code 307",
  );
  assert.equal(
    await message((response) => void response.writeHead(500).end("<h1>secret of the inside</h1>")),
    "the provider refused: code 500",
  );
  assert.equal(
    await message((response) => void response.writeHead(400).end('{"error":"invalid_grant","inside":"secret"}')),
    "the provider refused: invalid_grant",
  );
  assert.equal(
    (await message((response) => void response.writeHead(400).end(`{"error":"${"x".repeat(2000)}"}`)))!.length,
    "the provider refused: ".length + 500,
  );
  assert.equal(await message((response) => void response.end("{}")), "the provider gave no ID token");
  assert.equal(await message((response) => void response.end('{"id_token":"a.b.c"}')), "the provider gave no ID token");
  assert.match((await message((response) => void response.end(" ".repeat(300_000))))!, /longer than 262144 bytes/);
  assert.match((await message((response) => void response.destroy()))!, /the provider does not answer/);
  assert.equal(provider.exchanged.length, before + 8);
});

test("few exchanges wait at a time, and the next ones are told to try again", { skip }, async (t) => {
  t.after(() => (provider.misbehaviour = {}));
  let free = (): void => undefined;
  const held = new Promise<void>((resolve) => (free = resolve));
  provider.misbehaviour = { exchange: (response) => void held.then(() => response.writeHead(400).end("{}")) };
  const asked = Array.from({ length: 9 }, () => redeem());
  assert.equal((await Promise.race(asked)).code, 429);
  free();
  const codes = (await Promise.all(asked)).map(({ code }) => code);
  assert.deepEqual(codes.toSorted(), [403, 403, 403, 403, 403, 403, 403, 403, 429]);
});
