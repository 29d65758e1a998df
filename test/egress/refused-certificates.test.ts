/** The certificates that webhooks and aggregated API servers may not have, and the words in which they are refused. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import { type AddressInfo, createServer as createPlainServer, type Server } from "node:net";
import { type TestContext, test } from "node:test";
import { fakeAuthority, type FakeAuthority, type IssueOptions } from "#authn/fake-authority.ts";
import { connectionProblem } from "#egress/connection-problem.ts";
import { openForwarder } from "#egress/forwarding.ts";
import { WebhookClients } from "#egress/webhook-client.ts";
import { systemClock } from "#std/clock.ts";

const authority = await fakeAuthority("hooks");
const sameName = await fakeAuthority("hooks");
const other = await fakeAuthority("other");
const past = { notBefore: new Date("2020-01-02T03:04:05Z"), notAfter: new Date("2021-01-02T03:04:05Z") };
const future = { notBefore: new Date("2120-01-02T03:04:05Z"), notAfter: new Date("2121-01-02T03:04:05Z") };

async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return (server.address() as AddressInfo).port; // a TCP server has a port
}

async function hook(t: TestContext, by: FakeAuthority, options: IssueOptions): Promise<number> {
  const { certificate, key } = await by.issue({ usage: "server", ...options });
  const answer = createServer({ cert: certificate, key }, (_request, response) => response.end("{}"));
  return listen(t, answer);
}

function clientsFor(t: TestContext, port = 1): WebhookClients {
  const serviceAddress = () => ({ host: "127.0.0.1", port });
  const clients = new WebhookClients({ clock: systemClock, credentials: () => undefined, serviceAddress });
  t.after(() => clients.close());
  return clients;
}

const call = { body: Buffer.from("{}"), timeoutMs: 30_000, answerBytesMax: 1000, signal: undefined };
const caBundle = Buffer.from(authority.certificate).toString("base64");

/** Returns the message of a refused call, without what every message has. */
async function refusal(t: TestContext, port: number, isService = false): Promise<string> {
  const service = { namespace: "n", name: "s", port: 443 };
  const target = isService ? { service } : { url: `https://127.0.0.1:${port}` };
  const clients = clientsFor(t, port);
  const failure: unknown = await clients.post({ ...target, caBundle }, call).then(
    () => undefined,
    (error) => error,
  );
  assert.ok(failure instanceof Error, "the webhook was called");
  return failure.message.replace(/^Post "[^"]+": (?:tls: failed to verify certificate: x509: )?/, "");
}

test("a certificate is refused for its time first, then for its names, and then for who signed it", async (t) => {
  const time = "certificate has expired or is not yet valid: current time";
  const unknown = "certificate signed by unknown authority";
  const cases: readonly [FakeAuthority, IssueOptions, RegExp | string][] = [
    [authority, past, new RegExp(`^${time} \\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ is after 2021-01-02T03:04:05Z$`)],
    [authority, future, new RegExp(`^${time} .* is before 2120-01-02T03:04:05Z$`)],
    [other, { ...past, hosts: ["a.example"] }, new RegExp(`^${time} .* is after `)],
    [
      other,
      { hosts: ["a.example"] },
      "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
    ],
    [authority, { hosts: ["10.1.2.3", "a.example"] }, "certificate is valid for 10.1.2.3, not 127.0.0.1"],
    [
      authority,
      { commonName: "127.0.0.1", usage: "any" },
      "certificate relies on legacy Common Name field, use SANs instead",
    ],
    [other, {}, unknown],
    [
      sameName,
      {},
      `${unknown} (possibly because of "x509: ECDSA verification failure" while trying to verify candidate authority certificate "hooks")`,
    ],
  ];
  for (const [by, options, expected] of cases) {
    const said = await refusal(t, await hook(t, by, options));
    if (typeof expected === "string") assert.equal(said, expected);
    else assert.match(said, expected);
  }
});

test("a certificate of a service needs its name among its names", async (t) => {
  const legacy = await hook(t, authority, { commonName: "s.n.svc", usage: "any" });
  assert.equal(await refusal(t, legacy, true), "certificate relies on legacy Common Name field, use SANs instead");
  const elsewhere = await hook(t, authority, { hosts: ["a.n.svc", "*.m.svc"] });
  assert.equal(await refusal(t, elsewhere, true), "certificate is valid for a.n.svc, *.m.svc, not s.n.svc");
  const address = await hook(t, authority, { commonName: "s.n.svc", hosts: ["10.1.2.3"] });
  const none = "certificate is not valid for any names, but wanted to match s.n.svc";
  assert.equal(await refusal(t, address, true), none, "a name in the subject counts never");
  const part = await hook(t, authority, { hosts: ["s*.n.svc"] });
  assert.equal(await refusal(t, part, true), "certificate is valid for s*.n.svc, not s.n.svc");
  const right = await hook(t, authority, { hosts: ["*.n.svc"] });
  const service = { namespace: "n", name: "s", port: 443 };
  assert.deepEqual(await clientsFor(t, right).post({ service, caBundle }, call), {});
});

test("an expired authority, and a server without TLS, are named", async (t) => {
  const late = await authority.usurper({ commonName: "late", ...past });
  const { certificate, key } = await late.issue({ usage: "server" });
  const chain = createServer({ cert: certificate + late.certificate, key });
  assert.match(await refusal(t, await listen(t, chain)), /^certificate has expired .* is after 2021-01-02T03:04:05Z$/);
  const plain = createPlainServer((socket) =>
    socket.on("error", () => undefined).end("HTTP/1.1 400 Bad Request\r\n\r\n"),
  );
  assert.equal(await refusal(t, await listen(t, plain)), "http: server gave HTTP response to HTTPS client");
});

test("a bundle without an authority that can be read is no bundle, and nothing is called", async (t) => {
  const pem = (type: string): string => `-----BEGIN ${type}-----\nAAAA\n-----END ${type}-----\n`;
  const bundles = {
    x: "unable to parse bytes as PEM block",
    ["-----BEGIN A-----\n".repeat(50_000)]: "unable to parse bytes as PEM block",
    [pem("PRIVATE KEY")]: "no valid certificate authority data seen",
    [pem("CERTIFICATE")]: "failed to parse certificate: x509: malformed certificate",
  };
  const clients = clientsFor(t);
  for (const [bundle, problem] of Object.entries(bundles)) {
    const config = { url: "https://127.0.0.1:1", caBundle: Buffer.from(bundle).toString("base64") };
    const message = `unable to load root certificates: ${problem}`;
    await assert.rejects(clients.post(config, call), { message, isUncallable: true });
  }
});

test("aggregated API servers are refused in the same words", async (t) => {
  const trust = { ca: authority.certificate, insecure: false, serverName: "s.n.svc", cert: undefined, key: undefined };
  const forwarder = openForwarder({ clock: systemClock, ...trust });
  t.after(() => forwarder.close());
  const get = { method: "GET", path: "/", headers: [], body: undefined, headMs: 30_000, signal: AbortSignal.any([]) };
  for (const [options, expected] of [
    [past, /x509: certificate has expired or is not yet valid: current time .* is after 2021-01-02T03:04:05Z$/],
    [
      { commonName: "s.n.svc", usage: "any" },
      /x509: certificate relies on legacy Common Name field, use SANs instead$/,
    ],
  ] as const) {
    const address = { host: "127.0.0.1", port: await hook(t, authority, options) };
    await assert.rejects(forwarder.send(address, get), (error) => {
      assert.match(connectionProblem(error, { host: "127.0.0.1", serverName: "s.n.svc" }), expected);
      return true;
    });
  }
});
