/**
 * The requests of Kubernetes' end-to-end tests of webhooks and conversion, and similar ones. `recorded.json` has the
 * answers and calls of kube-apiserver 1.32.1, which `npm run differ -- --webhooks --record test/webhooks/recorded.json`
 * records again.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after } from "node:test";
import { suite } from "../harness.ts";
import { WebhookServer } from "../webhook-server.ts";
import { webhookCases } from "./cases.ts";
import { Session } from "./session.ts";

const webhooks = await WebhookServer.open();
after(() => webhooks.close());

const text = readFileSync(new URL("recorded.json", import.meta.url), "utf8");
const recorded = JSON.parse(text) as Readonly<Record<string, readonly string[]>>; // written by the differ script

const inBothDomains = suite();

for (const { name, run } of webhookCases) {
  inBothDomains(`as 1.32.1: ${name}`, async (api) => {
    const session = await Session.open(api, webhooks, { run: api.unique("x").replace("-", ""), side: api.domain });
    try {
      await run(session);
    } finally {
      await session.close();
    }
    const lines = session.lines.map(({ brief }) => brief);
    assert.deepEqual(
      lines,
      recorded[name]?.map((line) => api.name(line)),
    );
  });
}
