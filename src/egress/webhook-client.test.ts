/** The address at which a webhook is called, and the credentials that are sent to it. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "#std/clock.ts";
import { credentialsFor, WebhookClients, type WebhookCredentials } from "./webhook-client.ts";

const entryNamed = (name: string): [string, WebhookCredentials] => [
  name,
  { headers: { authorization: name }, trust: {} },
];

const selectName = (names: readonly string[], target: string): string | undefined =>
  credentialsFor(new Map(names.map(entryNamed)), target)?.headers["authorization"];

test("a webhook is shown what names it best: whole, then with stars, then without the usual port", () => {
  const names = ["hook.n.svc:443", "*.n.svc:443", "hook.n.svc", "*.svc"];
  assert.equal(selectName(names, "hook.n.svc:443"), "hook.n.svc:443");
  assert.equal(selectName(names.slice(1), "hook.n.svc:443"), "*.n.svc:443");
  assert.equal(selectName(names.slice(2), "hook.n.svc:443"), "hook.n.svc");
  assert.equal(selectName(names.slice(3), "hook.n.svc:443"), "*.svc");
});

test("credentials are sent to no other host", () => {
  assert.equal(selectName(["hook.n.svc"], "hook.n.svc:8443"), undefined);
  assert.equal(selectName(["*.n.svc"], "n.svc:443"), undefined);
  assert.equal(selectName(["n.svc"], "hook.n.svc:443"), undefined);
  assert.equal(selectName(["*"], "hook.example.com:443"), undefined);
  assert.equal(selectName([], "hook.example.com:443"), undefined);
});

test("a port that no connection can have is not called", async () => {
  const clients = new WebhookClients({
    clock: systemClock,
    credentials: () => undefined,
    serviceAddress: () => ({ host: "127.0.0.1", port: 1 }),
  });
  const call = { body: Buffer.from("{}"), timeoutMs: 10_000, answerBytesMax: 1000, signal: undefined };
  const problems = {
    "127.0.0.1:0": "dial tcp 127.0.0.1:0: connect: connection refused",
    "127.0.0.1:65536": "dial tcp: address 65536: invalid port",
    "[::1]:99999": "dial tcp: address 99999: invalid port",
  };
  for (const [host, problem] of Object.entries(problems)) {
    await assert.rejects(clients.post({ url: `https://${host}/x` }, call), {
      message: `Post "https://${host}/x?timeout=10s": ${problem}`,
    });
  }
  clients.close();
});

test("the path of a webhook is called clean, as kube-apiserver calls it", async () => {
  const clients = new WebhookClients({
    clock: systemClock,
    credentials: () => undefined,
    serviceAddress: () => ({ host: "127.0.0.1", port: 1 }),
  });
  const call = { body: Buffer.from("{}"), timeoutMs: 10_000, answerBytesMax: 1000, signal: undefined };
  const paths = {
    "//a//b/../c/": "/a/c",
    "": "/",
    "/x%20y/%2e%2e/z/": "/z",
    "/a%2Fb": "/a/b",
    "/a%20b%3F": "/a%20b%3F",
  };
  for (const [path, called] of Object.entries(paths)) {
    await assert.rejects(clients.post({ url: `https://127.0.0.1:1${path}` }, call), {
      message: `Post "https://127.0.0.1:1${called}?timeout=10s": dial tcp 127.0.0.1:1: connect: connection refused`,
    });
  }
  const service = { namespace: "n", name: "s", path: "//a/", port: 443 };
  await assert.rejects(clients.post({ service }, call), {
    message: /^Post "https:\/\/s\.n\.svc:443\/a\?timeout=10s": /,
  });
  clients.close();
});
