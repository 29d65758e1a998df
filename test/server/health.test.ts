/** Health endpoints from start to stop. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Answer } from "../client.ts";
import { Api, domains, eventually, gated, openServer, suite, withOwnServer } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";

const inBothDomains = suite();

const endpoints = ["/healthz", "/livez", "/readyz"] as const;
const verboseLines = (answer: Answer): string[] => answer.text.trimEnd().split("\n");

/** Returns the names of the checks of an endpoint. */
async function checksOf(api: Api, endpoint: string): Promise<string[]> {
  const answer = (await api.get(`${endpoint}?verbose`)).expect(200);
  return verboseLines(answer).flatMap((line) => /^\[\+\](\S+) ok$/.exec(line)?.[1] ?? []);
}

inBothDomains("a healthy server says ok [HEALTH-01] [HEALTH-02] [HEALTH-03]", async (api) => {
  for (const endpoint of endpoints) {
    const answer = (await api.get(endpoint)).expect(200);
    assert.equal(answer.text, "ok");
    assert.match(String(answer.headers["content-type"]), /^text\/plain/);
  }
});

inBothDomains(
  "those without credentials may ask [HEALTH-02]",
  async (api) => {
    for (const endpoint of endpoints) (await api.get(endpoint, { as: "nobody" })).expect(200);
  },
  { differs: "the reference grants this later than its start" },
);

inBothDomains(
  "each check can be asked alone, by the name verbose shows [HEALTH-06] [HEALTH-07] [HEALTH-13]",
  async (api) => {
    for (const endpoint of endpoints) {
      const names = await checksOf(api, endpoint);
      assert.ok(names.includes("ping"), names.join());
      for (const name of names) {
        const answer = (await api.get(`${endpoint}/${name}`)).expect(200);
        assert.equal(answer.text, "ok", name);
      }
      (await api.get(`${endpoint}/no-such-check`)).expect(404);
    }
  },
);

inBothDomains("verbose shows one line for each check [HEALTH-08]", async (api) => {
  for (const endpoint of endpoints) {
    const answer = (await api.get(`${endpoint}?verbose`)).expect(200);
    assert.match(String(answer.headers["content-type"]), /^text\/plain/);
    for (const line of verboseLines(answer).slice(0, -1)) assert.match(line, /^\[\+\]\S+ ok$/);
  }
});

inBothDomains(
  "verbose ends with one sentence [HEALTH-09]",
  async (api) => {
    for (const endpoint of endpoints) {
      assert.equal(verboseLines(await api.get(`${endpoint}?verbose`)).at(-1), "healthz check passed");
    }
  },
  { differs: "1.32 names the endpoint in it" },
);

inBothDomains("checks can be left out, one or several [HEALTH-11] [HEALTH-12]", async (api) => {
  for (const endpoint of endpoints) {
    const [first, second] = await checksOf(api, endpoint);
    const one = (await api.get(`${endpoint}?verbose&exclude=${first}`)).expect(200);
    assert.ok(verboseLines(one).includes(`[+]${first} excluded: ok`), one.text);
    const two = (await api.get(`${endpoint}?verbose&exclude=${first}&exclude=${second}`)).expect(200);
    for (const name of [first, second]) assert.ok(verboseLines(two).includes(`[+]${name} excluded: ok`), two.text);
    (await api.get(`${endpoint}?exclude=${first}`)).expect(200);
  }
});

const slowStop = { ...gated, shutdownDelayMs: 1500 };

for (const domain of domains) {
  const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own server";
  const name = "a server that stops is not ready, and serves until its delay is over";
  test(`${domain}: ${name} [HEALTH-03] [HEALTH-05] [HEALTH-10] [HEALTH-14]`, { skip }, async () => {
    const clock = new MovingClock(slowStop.shutdownDelayMs);
    const server = await openServer(domain, slowStop, { clock });
    const api = new Api(server);
    (await api.get("/readyz")).expect(200);
    const closed = server.close({ keepConnections: true });
    const failed = await eventually(async () => (await api.get("/readyz?verbose")).expect(500));
    const lines = verboseLines(failed);
    assert.ok(lines.includes("[-]shutdown failed: reason withheld"), failed.text);
    assert.equal(lines.at(-1), "readyz check failed");
    (await api.get("/readyz/shutdown")).expect(500);
    (await api.get("/readyz?exclude=shutdown")).expect(200);
    (await api.get("/livez")).expect(200);
    (await api.get("/api/v1/namespaces")).expect(200);
    clock.advance(slowStop.shutdownDelayMs);
    await closed;
    await assert.rejects(api.get("/livez"));
  });
}

withOwnServer(
  "a grace period for liveness is taken [HEALTH-04]",
  { ...gated, livezGracePeriodMs: 60_000 },
  async (api) => {
    (await api.get("/livez")).expect(200);
    (await api.get("/readyz")).expect(200);
  },
);
