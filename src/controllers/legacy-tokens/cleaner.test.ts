/** Tests which unused legacy tokens are invalidated and deleted, and when. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { timestampOf } from "#meta/time.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { FakeCluster } from "../fake-cluster.ts";
import { legacyTokenCleanerController } from "./cleaner.ts";
import { legacyTokenTrackingController } from "./tracking.ts";

const dayMs = 86_400_000;
const period = 10 * dayMs;
const tracking = "/api/v1/namespaces/kube-system/configmaps/kube-apiserver-legacy-service-account-token-tracking";
const lastUsed = "kubernetes.io/legacy-token-last-used";
const invalidSince = "kubernetes.io/legacy-token-invalid-since";
const home = "/api/v1/namespaces/shop";
const dayAt = (ms: number): string => timestampOf(ms).slice(0, 10);

interface Token {
  readonly ageMs?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly account?: string;
  readonly accountUid?: string;
  readonly type?: string;
}

function openApi(trackedDays = 100) {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  const now = clock.now();
  api.put(tracking, { data: { since: dayAt(now - trackedDays * dayMs) } });
  const put = (name: string, token: Token = {}): void => {
    const { ageMs = 50 * dayMs, labels = {}, account = "robot", accountUid = "uid of robot" } = token;
    api.put(`${home}/secrets/${name}`, {
      type: token.type ?? "kubernetes.io/service-account-token",
      metadata: {
        creationTimestamp: timestampOf(now - ageMs),
        labels,
        annotations: {
          "kubernetes.io/service-account.name": account,
          "kubernetes.io/service-account.uid": accountUid,
        },
      },
    });
  };
  /** Makes the account list Secrets as its own. */
  const own = (...names: string[]): void => {
    const metadata = { uid: "uid of robot" };
    api.put(`${home}/serviceaccounts/robot`, { metadata, secrets: names.map((name) => ({ name })) });
  };
  const markOf = (name: string): string | undefined =>
    api.get(`${home}/secrets/${name}`)?.metadata.labels?.[invalidSince];
  const run = async (): Promise<void> => {
    const secretsOf = (pod: object): string[] => (pod as { uses?: string[] }).uses ?? [];
    void legacyTokenCleanerController({ periodMs: period, secretsOf })(api.environment);
    await api.settled();
  };
  return { api, clock, now, put, own, marked: markOf, run };
}

test("a token unused for the whole time is marked, and deleted after the same time again", async () => {
  const { api, now, put, own, marked, run } = openApi();
  put("never");
  put("long-ago", { labels: { [lastUsed]: dayAt(now - 11 * dayMs) } });
  put("lately", { labels: { [lastUsed]: dayAt(now - 9 * dayMs) } });
  own("never", "long-ago", "lately");
  await run();
  assert.deepEqual(["never", "long-ago", "lately"].map(marked), [dayAt(now), dayAt(now), undefined]);
  for (let day = 0; day < 10; day++) await api.advance(dayMs);
  assert.equal(marked("never"), dayAt(now));
  await api.advance(dayMs);
  assert.deepEqual(
    ["never", "long-ago", "lately"].map((name) => api.get(`${home}/secrets/${name}`) !== undefined),
    [false, false, true],
  );
  assert.equal(marked("lately"), dayAt(now + 2 * dayMs));
  api.stop();
});

test("tokens that are young, in use, made by hand or not understood stay as they are", async () => {
  const { api, now, put, own, marked, run } = openApi();
  const stay: Readonly<Record<string, Token>> = {
    young: { ageMs: 9 * dayMs },
    mounted: {},
    "by-hand": {},
    "of-another-account": { account: "nobody" },
    "of-an-account-before": { accountUid: "another" },
    "of-no-account": { account: "robot/token" },
    "used-some-day": { labels: { [lastUsed]: "yesterday" } },
    "of-another-type": { type: "Opaque" },
  };
  for (const [name, token] of Object.entries(stay)) put(name, token);
  put("unused", { labels: { [invalidSince]: "some day" } });
  own("unused", ...Object.keys(stay).filter((name) => name !== "by-hand"));
  api.put(`${home}/pods/p`, { uses: ["mounted"] });
  await run();
  assert.deepEqual(
    Object.keys(stay).map(marked),
    Object.keys(stay).map(() => undefined),
  );
  assert.equal(marked("unused"), dayAt(now));
  api.stop();
});

test("nothing ends before uses were noted for the whole time", async () => {
  for (const [days, isMarked] of [
    [10, false],
    [12, true],
  ] as const) {
    const { api, put, own, marked, run } = openApi(days);
    put("never");
    own("never");
    await run();
    assert.equal(marked("never") !== undefined, isMarked, `${days} days`);
    api.stop();
  }
  const { api, put, own, marked, run } = openApi();
  api.put(tracking, { data: { since: "long ago" } });
  put("never");
  own("never");
  await run();
  assert.equal(marked("never"), undefined);
  api.stop();
});

test("a token used meanwhile is kept, and one that cannot be deleted does not delay others", async () => {
  const { api, put, own, marked, run } = openApi();
  for (const name of ["used", "refused", "last"]) put(name);
  own("used", "refused", "last");
  api.fails = (request) => {
    if (request === `GET ${home}/pods`) put("used", { labels: { [lastUsed]: "2026-01-01" } });
    return request === `PATCH ${home}/secrets/refused` ? 403 : 0;
  };
  await run();
  assert.deepEqual(["used", "refused"].map(marked), [undefined, undefined]);
  assert.ok(marked("last") !== undefined);
  api.stop();
});

test("the day since when uses are recorded is written once, and again after it is removed", async () => {
  const clock = new FakeClock();
  const api = new FakeCluster(clock);
  const since = (): unknown => (api.get(tracking)?.["data"] as { since?: string } | undefined)?.since;
  api.fails = (request) => (request.startsWith("POST") && api.requests.length < 5 ? 500 : 0);
  const running = legacyTokenTrackingController(api.environment);
  await api.advance(10_000);
  await api.advance(10_000);
  const first = dayAt(clock.now());
  assert.equal(since(), first);
  await api.advance(5 * dayMs);
  assert.equal(since(), first);
  api.put(tracking, { data: { since: "long ago", more: "x" } });
  await api.advance(30 * 60_000);
  assert.deepEqual(api.get(tracking)?.["data"], { since: dayAt(clock.now()), more: "x" });
  api.remove(tracking);
  await api.advance(30 * 60_000);
  assert.equal(since(), dayAt(clock.now()));
  api.stop();
  await running;
});
