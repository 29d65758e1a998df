/** Which credentials a webhook is shown. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { credentialsFor, type WebhookCredentials } from "./webhook-client.ts";

const named = (name: string): [string, WebhookCredentials] => [name, { headers: { authorization: name }, trust: {} }];

const shown = (names: readonly string[], target: string): string | undefined =>
  credentialsFor(new Map(names.map(named)), target)?.headers["authorization"];

test("a webhook is shown what names it best: whole, then with stars, then without the usual port", () => {
  const names = ["hook.n.svc:443", "*.n.svc:443", "hook.n.svc", "*.svc"];
  assert.equal(shown(names, "hook.n.svc:443"), "hook.n.svc:443");
  assert.equal(shown(names.slice(1), "hook.n.svc:443"), "*.n.svc:443");
  assert.equal(shown(names.slice(2), "hook.n.svc:443"), "hook.n.svc");
  assert.equal(shown(names.slice(3), "hook.n.svc:443"), "*.svc");
});

test("credentials go nowhere else", () => {
  assert.equal(shown(["hook.n.svc"], "hook.n.svc:8443"), undefined);
  assert.equal(shown(["*.n.svc"], "n.svc:443"), undefined);
  assert.equal(shown(["n.svc"], "hook.n.svc:443"), undefined);
  assert.equal(shown(["*"], "hook.example.com:443"), undefined);
  assert.equal(shown([], "hook.example.com:443"), undefined);
});
