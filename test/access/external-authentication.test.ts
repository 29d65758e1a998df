/**
 * External authenticators over TLS with private authorities: an identity provider as a separate process, a token
 * webhook, and an authenticating proxy. Also unavailable, slow, invalid and redirecting ones, and configuration files
 * that change while the server runs.
 */
import assert from "node:assert/strict";
import { createHash, generateKeyPairSync } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import http2 from "node:http2";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import tls from "node:tls";
import { type FakeAuthority, fakeAuthority, type IssueOptions } from "#authn/fake-authority.ts";
import { signJwt } from "#authn/jwt.ts";
import type { ServerSettings } from "#server/options.ts";
import type { Answer, SendOptions } from "../client.ts";
import {
  Api,
  type Domain,
  domains,
  eventually,
  file,
  gated,
  startObserved,
  openServer,
  temporaryFolder,
  usingObserved,
  withOwnServer,
} from "../harness.ts";
import { spawnProvider } from "../identity-provider.ts";
import { absent } from "../view.ts";

const whoAmI = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const subject = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
const minuteMs = 60_000;

const ask = (api: Api, token: string): Promise<Answer> => api.post(whoAmI, subject, { as: token });

async function isKnownAs(answer: Promise<Answer>, username: string, groups?: readonly string[]): Promise<Answer> {
  return (await answer).expect(201, {
    "status.userInfo.username": username,
    ...(groups === undefined ? {} : { "status.userInfo.groups": [...groups, "system:authenticated"] }),
  });
}

const isRefused = async (answer: Promise<Answer>): Promise<Answer> => (await answer).expectFailure(401, "Unauthorized");

// The tests below are about identity providers.

const authority = await fakeAuthority("providers");
const ca = file("providers.crt", authority.certificate);
const serving = await authority.issue({ commonName: "idp", usage: "server" });
const provider = await spawnProvider(serving.certificate, serving.key);
const second = await spawnProvider(serving.certificate, serving.key);
after(async () => {
  await provider.stop();
  await second.stop();
});

const pair = (id: string) => {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return { id, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), kid: id, use: "sig" } };
};
const oldKey = pair("old");
const newKey = pair("new");
await provider.set({ keys: [oldKey.jwk] });
await second.set({ keys: [oldKey.jwk] });

const idToken = (claims: object = {}, { key = oldKey, url = provider.url } = {}): Promise<string> => {
  const now = Math.floor(Date.now() / 1000);
  return signJwt({ iss: url, aud: "api", sub: "alice", iat: now, exp: now + 3600, ...claims }, key.privateKey, key.id);
};

const oidc: ServerSettings = {
  ...gated,
  oidcIssuerUrl: provider.url,
  oidcClientId: "api",
  oidcCaFile: ca,
  oidcSigningAlgs: ["ES256"],
  oidcGroupsClaim: "groups",
  oidcGroupsPrefix: "idp:",
  oidcRequiredClaim: ["tenant=one"],
};

withOwnServer(
  "an ID token is accepted as the flags say, and others are refused [AOIDC-01] [AOIDC-02] [AOIDC-03] [AOIDC-04] [AOIDC-10] [AOIDC-11] [AOIDC-12] [AOIDC-13]",
  oidc,
  async (api) => {
    const good = await idToken({ tenant: "one", groups: ["a"] });
    await eventually(() => isKnownAs(ask(api, good), `${provider.url}#alice`, ["idp:a"]));
    await isRefused(ask(api, "an-opaque-access-token"));
    await isRefused(ask(api, await idToken({ tenant: "two" })));
    await isRefused(ask(api, await idToken({ tenant: "one", aud: "other" })));
    await isRefused(ask(api, await idToken({ tenant: "one", exp: Math.floor(Date.now() / 1000) - 1 })));
    await isRefused(ask(api, await idToken({ tenant: "one" }, { key: pair("old") })));
    await isRefused(ask(api, await idToken({ tenant: "one", iss: `${provider.url}/` })));
    // The first token is still accepted.
    await isKnownAs(ask(api, good), `${provider.url}#alice`);
  },
);

for (const domain of domains) {
  test(`${domain}: keys may change while the server runs, and the provider may be gone; nothing is asked per request [AOIDC-06] [AOIDC-07]`, async () => {
    const { api, clock, close } = await startObserved(domain, oidc);
    try {
      const token = await idToken({ tenant: "one" });
      await eventually(() => isKnownAs(ask(api, token), `${provider.url}#alice`));
      const before = await provider.set({});
      for (let i = 0; i < 10; i++) await ask(api, await idToken({ tenant: "one", jti: `${i}` }));
      assert.equal(await provider.set({ keys: [oldKey.jwk, newKey.jwk] }), before);
      clock.advance(minuteMs / 4);
      await isKnownAs(ask(api, await idToken({ tenant: "one" }, { key: newKey })), `${provider.url}#alice`);
      for (const mode of ["broken", "silent", "redirect"] as const) {
        await provider.set({ mode });
        clock.advance(16 * minuteMs);
        await isKnownAs(ask(api, token), `${provider.url}#alice`);
        await isKnownAs(ask(api, await idToken({ tenant: "one", jti: mode })), `${provider.url}#alice`);
      }
    } finally {
      await provider.set({ mode: "well", keys: [oldKey.jwk] });
      await close();
    }
  });
}

/** Tests a server that never gets the provider's keys, while the rest of it works. */
async function withoutKeys(settings: ServerSettings, reason: RegExp): Promise<void> {
  const { api, clock, logged, close } = await startObserved("k8s.io", settings);
  try {
    const isSeen = (): boolean =>
      logged.some((line) => line.includes("keys of an identity provider") && reason.test(line));
    await eventually(async () => {
      clock.advance(10_000);
      await isRefused(ask(api, await idToken({ tenant: "one" })));
      assert.ok(isSeen(), `the log must say ${String(reason)}`);
    });
    await isKnownAs(ask(api, "alice-token"), "alice");
    (await api.get("/readyz")).expect(200);
  } finally {
    await close();
  }
}

test("a provider whose authority is not the given one is not believed", async () => {
  const other = await fakeAuthority("others");
  await withoutKeys({ ...oidc, oidcCaFile: file("other.crt", other.certificate) }, /SELF_SIGNED|UNABLE_TO|signature/);
});

test("a provider under another name than its certificate's is not believed", async () => {
  const elsewhere = await authority.issue({ usage: "server", hosts: ["elsewhere.example"] });
  const impostor = await spawnProvider(elsewhere.certificate, elsewhere.key);
  try {
    await withoutKeys({ ...oidc, oidcIssuerUrl: impostor.url }, /ERR_TLS_CERT_ALTNAME_INVALID/);
  } finally {
    await impostor.stop();
  }
});

test("a provider that sends the server elsewhere, says nothing, or is another, gives no keys", async () => {
  for (const [state, reason] of [
    [{ mode: "redirect" }, /redirects are not followed/],
    [{ mode: "broken" }, /answered 500/],
    [{ mode: "silent" }, /no answer from/],
    [{ mode: "well", issuer: "https://else.example" }, /is the document of the issuer/],
  ] as const) {
    await provider.set(state);
    await withoutKeys(oidc, reason);
  }
  await provider.set({ mode: "well", issuer: provider.url });
  await withoutKeys({ ...oidc, oidcIssuerUrl: "https://127.0.0.1:1" }, /ECONNREFUSED/);
});

// The tests below are about the configuration file.

const entry = (url: string, more = "") => `
- issuer:
    url: ${url}
    audiences: [api, spare]
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
      ${authority.certificate.trim().replaceAll("\n", "\n      ")}
  claimMappings:
    username: {claim: sub, prefix: "p:"}
    groups: {claim: teams, prefix: ""}
    uid: {claim: oid}
  claimValidationRules:
  - {claim: tenant, requiredValue: one}
  userValidationRules:
  - {expression: "user.groups.all(name, !name.startsWith('system:'))"}
${more}`;
const configuration = (domain: Domain, jwt: string, rest = ""): string =>
  `apiVersion: apiserver.config.${domain}/v1beta1\nkind: AuthenticationConfiguration\n${jwt === "" ? "" : `jwt:${jwt}`}${rest}`;

for (const domain of domains) {
  test(`${domain}: issuers of a file are known, and others from the moment the file changed; a bad one changes nothing [AUTHRES-52] [AOIDC-05]`, async () => {
    const path = file("authentication.yaml", configuration(domain, entry(provider.url)));
    const { api, clock, logged, close } = await startObserved(domain, { authenticationConfig: path });
    const reloads = async (status: string): Promise<number> => {
      const { text } = await api.get("/metrics");
      const line = text
        .split("\n")
        .find(
          (one) =>
            one.startsWith("apiserver_authentication_config_controller_automatic_reloads_total{") &&
            one.includes(`status="${status}"`),
        );
      return Number(line?.split(" ").at(-1) ?? 0);
    };
    const change = async (text: string, status: "success" | "failure"): Promise<void> => {
      const before = await reloads(status);
      writeFileSync(path, text);
      clock.advance(minuteMs);
      await eventually(async () => assert.ok((await reloads(status)) > before));
    };
    try {
      const token = await idToken({ tenant: "one", aud: "spare", teams: "t", oid: "u1" });
      const other = await idToken({ tenant: "one" }, { url: second.url });
      (await eventually(() => isKnownAs(ask(api, token), "p:alice", ["t"]))).has({ "status.userInfo.uid": "u1" });
      await isRefused(ask(api, other));
      const named = await ask(api, await idToken({ tenant: "one", oid: "u1", jti: "t-1" }));
      named.expect(201, {
        "status.userInfo.extra": { [api.name("authentication.kubernetes.io/credential-id")]: ["JTI=t-1"] },
      });
      // A rule is false, or the claims do not result in a user.
      await isRefused(ask(api, await idToken({ tenant: "two", oid: "u1" })));
      await isRefused(ask(api, await idToken({ oid: "u1" })));
      await isRefused(ask(api, await idToken({ tenant: "one", oid: 7 })));
      const issuerHash = `sha256:${createHash("sha256").update(provider.url).digest("hex")}`;
      const latency = "apiserver_authentication_jwt_authenticator_latency_seconds_count";
      const { text: metrics } = await api.get("/metrics");
      assert.ok(metrics.includes(`${latency}{jwt_issuer_hash="${issuerHash}",result="success"} 2`));
      await isRefused(ask(api, await idToken({ tenant: "one", oid: "u1", teams: ["system:masters"] })));
      await isKnownAs(ask(api, await idToken({ tenant: "one", oid: "u1", teams: [] })), "p:alice", []);

      await change(configuration(domain, entry(provider.url) + entry(second.url)), "success");
      await isKnownAs(ask(api, token), "p:alice");
      await isRefused(ask(api, other));
      await isKnownAs(ask(api, await idToken({ tenant: "one", oid: "u2" }, { url: second.url })), "p:alice");

      await change(configuration(domain, entry("http://idp.example")), "failure");
      assert.ok(logged.some((line) => line.includes("URL scheme must be https") && line.includes('"level":"error"')));
      await isKnownAs(ask(api, token), "p:alice");

      // Requests without credentials stay as they were at the start, so such a file changes nothing.
      await change(configuration(domain, entry(second.url), "anonymous: {enabled: true}\n"), "failure");
      await isKnownAs(ask(api, token), "p:alice");

      // No provider answers: the old configuration stays until the file is valid again.
      writeFileSync(path, configuration(domain, entry("https://127.0.0.1:1")));
      clock.advance(minuteMs);
      await eventually(async () => {
        assert.ok(logged.some((line) => line.includes("https://127.0.0.1:1") && line.includes("could not be fetched")));
        await Promise.resolve();
      });
      await change(configuration(domain, entry("https://127.0.0.1:1")), "failure");
      await isKnownAs(ask(api, token), "p:alice");

      await change(configuration(domain, entry(second.url)), "success");
      await isRefused(ask(api, token));
      await change(configuration(domain, ""), "success");
      await isRefused(ask(api, await idToken({ tenant: "one", oid: "u2" }, { url: second.url })));
    } finally {
      await close();
    }
  });

  test(`${domain}: the file may switch anonymous requests off, or leave them for some paths [AUTHRES-50] [AUTHRES-51] [AANON-05]`, async () => {
    const nobody = { as: "nobody" } as const;
    await usingObserved(
      domain,
      { authenticationConfig: file("off.yaml", configuration(domain, "", "anonymous: {enabled: false}\n")) },
      async (off) => {
        (await off.api.get("/livez", nobody)).expectFailure(401, "Unauthorized");
      },
    );
    await usingObserved(
      domain,
      {
        authenticationConfig: file(
          "some.yaml",
          configuration(domain, "", "anonymous: {enabled: true, conditions: [{path: /livez}]}\n"),
        ),
      },
      async (some) => {
        (await some.api.get("/livez", nobody)).expect(200);
        (await some.api.get("/readyz", nobody)).expectFailure(401, "Unauthorized");
        (await some.api.get("/livez", { as: "nope" })).expectFailure(401, "Unauthorized");
      },
    );
  });
}

test("an invalid file stops the start before anything is written [AUTHRES-52] [AANON-06]", async () => {
  const wrong = file("wrong.yaml", configuration("k8s.io", entry("http://idp.example")));
  const open = file("open.yaml", configuration("k8s.io", "", "anonymous: {enabled: true}\n"));
  const unreadable = file("webhook.yaml", "kind: Config");
  for (const [settings, message] of [
    [{ authenticationConfig: wrong }, /wrong\.yaml: jwt\[0\]\.issuer\.url: .* URL scheme must be https$/],
    [{ authenticationConfig: open, anonymousAuth: true }, /^--anonymous-auth cannot be set when the field anonymous/],
    [{ authenticationTokenWebhookConfigFile: unreadable }, /webhook\.yaml: must be of kind Config in v1/],
    [{ requestheaderClientCaFile: unreadable }, /webhook\.yaml: no certificate in it$/],
    [{ oidcClientId: "api" }, /^--oidc-issuer-url and --oidc-client-id must be set together/],
  ] as const) {
    const dataDir = join(temporaryFolder(), "data");
    await assert.rejects(openServer("k8s.io", { ...gated, ...settings, storage: "disk", dataDir }), {
      name: "StartError",
      message,
    });
    assert.ok(!existsSync(dataDir));
  }
});

// The tests below are about the token webhook.

const hookAuthority = await fakeAuthority("hooks");

interface Hook {
  readonly url: string;
  readonly reviews: Record<string, unknown>[];
  /** The common names of the calling clients' certificates. */
  readonly clients: string[];
  respond(spec: { readonly token: string }): object | number | "silent" | "redirect";
}

async function openHook(t: { after(end: () => void): void }, respond: Hook["respond"], cert = hookAuthority) {
  const { certificate, key } = await cert.issue({ usage: "server" });
  const hook: Hook = { url: "", reviews: [], clients: [], respond };
  const server = https.createServer({
    cert: certificate,
    key,
    ca: hookAuthority.certificate,
    requestCert: true,
    rejectUnauthorized: false,
  });
  server.on("request", (request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.once("end", () => {
      const review = JSON.parse(Buffer.concat(pieces).toString()) as Record<string, unknown>;
      hook.reviews.push(review);
      hook.clients.push(String((request.socket as tls.TLSSocket).getPeerCertificate().subject?.CN));
      // A client that followed the redirect would get an approving answer.
      const isElsewhere = request.url === "/elsewhere";
      const answer = isElsewhere
        ? { authenticated: true, user: { username: "hooked" } }
        : hook.respond(review["spec"] as { token: string });
      if (answer === "silent") return;
      if (answer === "redirect") response.writeHead(307, { location: "/elsewhere" }).end();
      else if (typeof answer === "number") response.writeHead(answer).end();
      else {
        const { apiVersion, kind } = review;
        response.writeHead(200, { "content-type": "application/json" });
        response.end(JSON.stringify({ apiVersion, kind, status: answer }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { ...hook, url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/authn` };
}

async function hookFile(url: string): Promise<string> {
  const client = await hookAuthority.issue({ commonName: "apiserver" });
  const data = (text: string): string => Buffer.from(text).toString("base64");
  return file(
    "webhook.yaml",
    `apiVersion: v1
kind: Config
current-context: hook
clusters:
- name: hook
  cluster: {server: "${url}", certificate-authority-data: ${data(hookAuthority.certificate)}}
users:
- name: server
  user: {client-certificate-data: ${data(client.certificate)}, client-key-data: ${data(client.key)}}
contexts:
- name: hook
  context: {cluster: hook, user: server}
`,
  );
}

for (const domain of domains) {
  test(`${domain}: the webhook is asked about a token that no other authenticator knows, once in two minutes [AWH-01] [AWH-02]`, async (t) => {
    const hook = await openHook(t, ({ token }) =>
      token.startsWith("good")
        ? { authenticated: true, user: { username: "hooked", uid: "h1", groups: ["h"], extra: { k: ["v"] } } }
        : { authenticated: false, error: "secret reasons" },
    );
    const { api, clock, logged, close } = await startObserved(domain, {
      authenticationTokenWebhookConfigFile: await hookFile(hook.url),
    });
    try {
      const answer = await isKnownAs(ask(api, "good-1"), "hooked", ["h"]);
      answer.has({ "status.userInfo.uid": "h1", "status.userInfo.extra.k": ["v"] });
      const [asked] = hook.reviews;
      assert.deepEqual(
        [asked!["apiVersion"], asked!["kind"], hook.clients[0]],
        [`authentication.${domain}/v1beta1`, "TokenReview", "apiserver"],
      );
      assert.deepEqual(asked!["spec"], {
        token: "good-1",
        audiences: ["https://kubernetes.default.svc.cluster.local"],
      });
      await isKnownAs(ask(api, "good-1"), "hooked");
      assert.equal(hook.reviews.length, 1);
      const review = { apiVersion: "authentication.k8s.io/v1", kind: "TokenReview", spec: { token: "good-1" } };
      (await api.post("/apis/authentication.k8s.io/v1/tokenreviews", review)).expect(201, {
        "status.authenticated": true,
        "status.user.username": "hooked",
        "status.user.groups": ["h", "system:authenticated"],
      });
      clock.advance(2 * minuteMs);
      await isKnownAs(ask(api, "good-1"), "hooked");
      assert.equal(hook.reviews.length, 2);
      const refused = await isRefused(ask(api, "bad-token-7"));
      assert.ok(!refused.text.includes("secret reasons"));
      // The webhook does not get tokens that the server knows itself.
      await isKnownAs(ask(api, "alice-token"), "alice");
      assert.ok(!hook.reviews.some(({ spec }) => (spec as { token: string }).token === "alice-token"));
      assert.ok(!logged.some((line) => line.includes("bad-token-7") || line.includes("good-1")));
    } finally {
      await close();
    }
  });
}

test("without the webhook, with a false one, a slow one or one that sends elsewhere, its tokens are refused and others are not", async (t) => {
  const other = await fakeAuthority("hooks");
  const fine = { authenticated: true, user: { username: "hooked" } };
  for (const [respond, by, reason] of [
    [() => "silent" as const, hookAuthority, /no answer from/],
    [() => 404, hookAuthority, /the webhook answered 404/],
    [() => "redirect" as const, hookAuthority, /the webhook answered 307/],
    [() => fine, other, /SELF_SIGNED|UNABLE_TO|signature/],
  ] as const) {
    const hook = await openHook(t, respond, by);
    await usingObserved(
      "k8s.io",
      { authenticationTokenWebhookConfigFile: await hookFile(hook.url), authenticationTokenWebhookVersion: "v1" },
      async ({ api, clock, logged }) => {
        const answer = ask(api, "good");
        if (reason.source.startsWith("no answer")) {
          await eventually(async () => assert.equal(await Promise.resolve(hook.reviews.length), 1));
          await isKnownAs(ask(api, "alice-token"), "alice");
          clock.advance(10_000);
        }
        await isRefused(answer);
        assert.ok(
          logged.some((line) => line.includes("token webhook") && reason.test(line)),
          String(reason),
        );
        await isKnownAs(ask(api, "alice-token"), "alice");
      },
    );
  }
  await usingObserved(
    "k8s.io",
    { authenticationTokenWebhookConfigFile: await hookFile("https://127.0.0.1:1/authn") },
    async ({ api }) => {
      await isRefused(ask(api, "good"));
    },
  );
});

// The tests below are about the authenticating proxy and certificates.

const proxies = await fakeAuthority("proxies");
const clients = await fakeAuthority("clients");
const proxiesFile = file("proxies.crt", proxies.certificate);
const clientsFile = file("clients.crt", clients.certificate);

async function presentCertificate(
  api: Api,
  by: FakeAuthority,
  options: IssueOptions,
  chain = "",
): Promise<SendOptions> {
  const { certificate, key } = await by.issue(options);
  return { as: "nobody", agent: new https.Agent({ ca: api.server.ca, cert: certificate + chain, key }) };
}

const said = {
  "X-Remote-User": "alice",
  "X-Remote-Group": ["a", "b"],
  "X-Remote-Uid": "u1",
  "X-Remote-Extra-Scopes": ["one", "two"],
  "X-Remote-Extra-Acme.io%2fteam": "t",
};

const proxied: ServerSettings = { ...gated, requestheaderClientCaFile: proxiesFile, clientCaFile: clientsFile };

withOwnServer(
  "a proxy with its certificate names the user [APROXY-01] [APROXY-02] [APROXY-03] [APROXY-04] [AUTHRES-06]",
  proxied,
  async (api) => {
    const proxy = await presentCertificate(api, proxies, { commonName: "proxy" });
    const answer = await isKnownAs(api.post(whoAmI, subject, { ...proxy, headers: said }), "alice", ["a", "b"]);
    answer.has({
      "status.userInfo.uid": "u1",
      "status.userInfo.extra": { scopes: ["one", "two"], "acme.io/team": ["t"] },
    });
    // The proxy names another user for its next client on the same connection. Without headers there is no user.
    await isKnownAs(api.post(whoAmI, subject, { ...proxy, headers: { "X-Remote-User": "bob" } }), "bob", []);
    await isRefused(api.post(whoAmI, subject, proxy));
    // Names are UTF-8; Node writes headers as Latin-1.
    const utf8 = (text: string): string => Buffer.from(text).toString("latin1");
    const far = { "X-Remote-User": utf8("jürgen"), "X-Remote-Group": utf8("größe") };
    await isKnownAs(api.post(whoAmI, subject, { ...proxy, headers: far }), "jürgen", ["größe"]);
  },
);

withOwnServer(
  "the same headers from anybody else change nothing, in whatever form they come [APROXY-05]",
  proxied,
  async (api) => {
    const smuggled = {
      ...said,
      "X-Remote-User": ["root", "admin"],
      X_Remote_User: "root",
      "X-Remote-Group": "system:masters",
    };
    const client = await presentCertificate(api, clients, { commonName: "carla", organizations: ["c"] });
    (await isKnownAs(api.post(whoAmI, subject, { ...client, headers: smuggled }), "carla", ["c"])).has({
      "status.userInfo.uid": absent,
    });
    await isKnownAs(api.post(whoAmI, subject, { as: "alice", headers: smuggled }), "alice");
    (await api.get("/api/v1/namespaces", { as: "nobody", headers: smuggled })).expectFailure(
      403,
      "Forbidden",
      'namespaces is forbidden: User "system:anonymous" cannot list resource "namespaces" in API group "" at the cluster scope',
    );
    const stranger = await fakeAuthority("proxies");
    await isRefused(
      api.post(whoAmI, subject, {
        ...(await presentCertificate(api, stranger, { commonName: "proxy" })),
        headers: smuggled,
      }),
    );
    const old = { commonName: "proxy", notAfter: new Date(Date.now() - 60_000) };
    await isRefused(api.post(whoAmI, subject, { ...(await presentCertificate(api, proxies, old)), headers: smuggled }));
    const server = { commonName: "proxy", usage: "server" } as const;
    await isRefused(
      api.post(whoAmI, subject, { ...(await presentCertificate(api, proxies, server)), headers: smuggled }),
    );
  },
);

withOwnServer("of a user a proxy says twice the first counts", proxied, async (api) => {
  const proxy = await presentCertificate(api, proxies, { commonName: "proxy" });
  const headers = { "X-Remote-User": ["alice", "root"] };
  await isKnownAs(api.post(whoAmI, subject, { ...proxy, headers }), "alice");
});

withOwnServer(
  "only proxies of the allowed names speak for others, in headers of the given names [APROXY-07] [APROXY-08]",
  {
    ...proxied,
    requestheaderAllowedNames: ["front", "spare"],
    requestheaderUsernameHeaders: ["X-Login"],
    requestheaderGroupHeaders: ["X-Team"],
    requestheaderExtraHeadersPrefix: ["X-More-"],
  },
  async (api) => {
    const headers = { ...said, "X-Login": "lena", "X-Team": "t", "X-More-k": "v" };
    const front = await presentCertificate(api, proxies, { commonName: "spare" });
    (await isKnownAs(api.post(whoAmI, subject, { ...front, headers }), "lena", ["t"])).has({
      "status.userInfo.extra": { k: ["v"] },
      "status.userInfo.uid": absent,
    });
    await isRefused(
      api.post(whoAmI, subject, { ...(await presentCertificate(api, proxies, { commonName: "proxy" })), headers }),
    );
  },
);

withOwnServer(
  "a proxy without its authority is anonymous [APROXY-06]",
  { ...gated, requestheaderUsernameHeaders: ["X-Login"] },
  async (api) => {
    const proxy = await presentCertificate(api, proxies, { commonName: "proxy" });
    await isRefused(api.post(whoAmI, subject, { ...proxy, headers: { ...said, "X-Login": "lena" } }));
  },
);

/** Starts a proxy that knows its users by their path and names them to the server, with a certificate of its own. */
async function openProxy(api: Api, options: IssueOptions) {
  const front = await fakeAuthority("front");
  const { certificate, key } = await front.issue({ usage: "server" });
  const own = await proxies.issue(options);
  const agent = new https.Agent({ ca: api.server.ca, cert: own.certificate, key: own.key, keepAlive: true });
  const server = https.createServer({ cert: certificate, key }, (request, response) => {
    const [, user = "", path = ""] = /^\/as\/([^/]+)(.*)$/.exec(request.url ?? "") ?? [];
    // The proxy drops headers in which its clients name themselves.
    const passed = Object.entries(request.headers).filter(([name]) => !/^x-remote-|^authorization$/.test(name));
    const headers = { ...Object.fromEntries(passed), "x-remote-user": user, "x-remote-group": "behind" };
    const onward = https.request(api.server.url + path, { agent, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on("error", () => response.writeHead(502).end());
    request.pipe(onward);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = new Api({
    ...api.server,
    endpoint: {
      ...api.endpoint,
      port: (server.address() as AddressInfo).port,
      agent: new https.Agent({ ca: front.certificate, keepAlive: true }),
    },
  });
  return {
    client,
    close() {
      agent.destroy();
      client.endpoint.agent.destroy();
      server.closeAllConnections();
      server.close();
    },
  };
}

withOwnServer(
  "users of a proxy in front are themselves, with its certificate and not without [APROXY-01] [APROXY-05] [AUTHN-08]",
  proxied,
  async (api) => {
    const { client, close } = await openProxy(api, { commonName: "proxy" });
    const smuggling = { as: "admin", headers: { "X-Remote-User": "root", "X-Remote-Group": "system:masters" } };
    const users = ["lena", "mia", "noa"];
    const answers = users.map((user) => client.post(`/as/${user}${whoAmI}`, subject, smuggling));
    for (const [i, answer] of answers.entries()) await isKnownAs(answer, users[i]!, ["behind"]);
    (await client.get("/as/lena/api/v1/namespaces")).expectFailure(
      403,
      "Forbidden",
      /^namespaces is forbidden: User "lena" /,
    );
    close();
    for (const options of [
      { commonName: "proxy", notAfter: new Date(Date.now() - minuteMs) },
      { commonName: "proxy", usage: "server" },
    ] as const) {
      const old = await openProxy(api, options);
      await isRefused(old.client.post(`/as/lena${whoAmI}`, subject));
      old.close();
    }
  },
);

test("one authority for clients and proxies is warned of, unless proxies have names of their own", async () => {
  const shared = { requestheaderClientCaFile: clientsFile, clientCaFile: clientsFile };
  const hasWarned = (logged: readonly string[]): boolean =>
    logged.some((line) => line.includes("every client of an authority in --requestheader-client-ca-file"));
  await usingObserved("k8s.io", shared, async (open) => {
    assert.ok(hasWarned(open.logged));
  });
  await usingObserved("k8s.io", { ...shared, requestheaderAllowedNames: ["front"] }, async (named) => {
    assert.ok(!hasWarned(named.logged));
    const client = await presentCertificate(named.api, clients, { commonName: "carla" });
    // A client that is not a proxy keeps its own identity.
    await isKnownAs(named.api.post(whoAmI, subject, { ...client, headers: said }), "carla", []);
  });
});

test("over HTTP/2 a proxy speaks for each of its streams", async () => {
  await usingObserved("k8s.io", proxied, async ({ api }) => {
    const { certificate, key } = await proxies.issue({ commonName: "proxy" });
    const session = http2.connect(api.server.url, { ca: api.server.ca, cert: certificate, key });
    const nameOf = (user: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const stream = session.request({
          ":method": "POST",
          ":path": whoAmI,
          "content-type": "application/json",
          "x-remote-user": Buffer.from(user).toString("latin1"),
          "x-remote-group": ["a", "b"],
        });
        let text = "";
        stream.on("data", (piece: Buffer) => (text += piece.toString()));
        stream.on("end", () => resolve(text));
        stream.on("error", reject);
        stream.end(JSON.stringify(subject));
      });
    const users = Array.from({ length: 20 }, (_, i) => `üser-${i}`);
    for (const [i, text] of (await Promise.all(users.map(nameOf))).entries()) {
      const { status } = JSON.parse(text) as { status: { userInfo: { username: string; groups: string[] } } };
      assert.deepEqual(
        [status.userInfo.username, status.userInfo.groups],
        [users[i], ["a", "b", "system:authenticated"]],
      );
    }
    session.destroy();
  });
});

for (const domain of domains) {
  test(`${domain}: authorities come and go with their file, on connections that stand too [ACERT-01] [ACERT-02] [ACERT-05]`, async () => {
    const bundle = file("bundle.crt", clients.certificate);
    const { api, clock, logged, close } = await startObserved(domain, { clientCaFile: bundle });
    const later = await fakeAuthority("later");
    const connectWith = async (by: FakeAuthority, commonName: string): Promise<SendOptions> => {
      const { certificate, key } = await by.issue({ commonName });
      return {
        as: "nobody",
        agent: new https.Agent({ ca: api.server.ca, cert: certificate, key, keepAlive: true, maxSockets: 1 }),
      };
    };
    const change = async (text: string): Promise<void> => {
      const renewed = logged.length;
      writeFileSync(bundle, text);
      clock.advance(minuteMs);
      await eventually(async () => {
        assert.ok(logged.slice(renewed).some((line) => /certificates (renewed|could not be renewed)/.test(line)));
        await Promise.resolve();
      });
    };
    try {
      const carla = await connectWith(clients, "carla");
      await isKnownAs(api.post(whoAmI, subject, carla), "carla");
      await isRefused(api.post(whoAmI, subject, await connectWith(later, "lena")));
      await change(clients.certificate + later.certificate);
      await isKnownAs(api.post(whoAmI, subject, await connectWith(later, "lena")), "lena");
      await isKnownAs(api.post(whoAmI, subject, carla), "carla");
      await change("nothing of the kind");
      await isKnownAs(api.post(whoAmI, subject, carla), "carla");
      await change(later.certificate);
      await isRefused(api.post(whoAmI, subject, carla));
      await isRefused(api.post(whoAmI, subject, await connectWith(clients, "carla")));
      await isKnownAs(ask(api, "alice-token"), "alice");
    } finally {
      await close();
    }
  });
}

for (const version of ["TLSv1.2", "TLSv1.3"] as const) {
  test(`a client whose certificate needs those that came with it may resume its session (${version})`, async () => {
    const { api, close } = await startObserved("k8s.io", { clientCaFile: clientsFile });
    const middle = await clients.subordinate("middle");
    const { certificate, key } = await middle.issue({ commonName: "mia" });
    const { hostname, port } = new URL(api.server.url);
    let session: Buffer | undefined;
    const request = `POST ${whoAmI} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${JSON.stringify(subject).length}\r\n\r\n${JSON.stringify(subject)}`;
    const exchange = (): Promise<{ text: string; reused: boolean }> =>
      new Promise((resolve, reject) => {
        const socket = tls.connect({
          host: hostname,
          port: Number(port),
          ca: api.server.ca,
          cert: certificate + middle.certificate,
          key,
          minVersion: version,
          maxVersion: version,
          ...(session === undefined ? {} : { session }),
        });
        let text = "";
        let reused = false;
        socket.on("session", (ticket) => (session = ticket));
        socket.once("secureConnect", () => {
          reused = socket.isSessionReused();
          socket.write(request);
        });
        socket.on("data", (piece: Buffer) => (text += piece.toString()));
        socket.once("close", () => resolve({ text, reused }));
        socket.once("error", reject);
      });
    try {
      for (const wanted of [false, true, true]) {
        const { text, reused } = await exchange();
        assert.match(text, /"username":"mia"/);
        assert.equal(reused, wanted);
      }
      const without = await presentCertificate(api, middle, { commonName: "mia" });
      await isRefused(api.post(whoAmI, subject, without));
    } finally {
      await close();
    }
  });
}

const middle = await clients.subordinate("middle");

withOwnServer(
  "an authority that another one signed may stand alone in the file [ACERT-01]",
  { ...gated, clientCaFile: file("middle.crt", middle.certificate) },
  async (api) => {
    await isKnownAs(api.post(whoAmI, subject, await presentCertificate(api, middle, { commonName: "mia" })), "mia");
    const chained = await presentCertificate(api, middle, { commonName: "mia" }, middle.certificate);
    await isKnownAs(api.post(whoAmI, subject, chained), "mia");
    for (const options of [
      { commonName: "mia", usage: "server" },
      { commonName: "mia", notAfter: new Date(Date.now() - minuteMs) },
      { commonName: "mia", notBefore: new Date(Date.now() + minuteMs) },
    ] as const) {
      await isRefused(api.post(whoAmI, subject, await presentCertificate(api, middle, options)));
    }
    await isRefused(api.post(whoAmI, subject, await presentCertificate(api, clients, { commonName: "carla" })));
    const twin = await (await fakeAuthority("clients")).subordinate("middle");
    await isRefused(api.post(whoAmI, subject, await presentCertificate(api, twin, { commonName: "mia" })));
    const below = await (await fakeAuthority("else")).subordinate("below");
    await isRefused(
      api.post(whoAmI, subject, await presentCertificate(api, below, { commonName: "mia" }, below.certificate)),
    );
  },
);

withOwnServer(
  "with AlwaysAllow there is no anonymous access [AANON-04]",
  { ...gated, authorizationMode: ["AlwaysAllow"] },
  async (api) => {
    (await api.get("/api/v1/namespaces", { as: "nobody" })).expectFailure(401, "Unauthorized");
    (await api.get("/api/v1/namespaces", { as: "bob" })).expect(200);
  },
);
