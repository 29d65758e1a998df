/** Health endpoints, as probes see them. */
import assert from "node:assert";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { Health, type HealthEndpoint } from "./health.ts";

const everywhere: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];

/** Makes a health with the checks `a` (everywhere) and `r` (readiness only), which fail when `failing` names them. */
function health(failing: Set<string> = new Set(), livezGracePeriodMs = 0) {
  const clock = new FakeClock();
  const healthChecks = new Health({ clock, livezGracePeriodMs });
  const problem = (name: string) => () => (failing.has(name) ? "secret reason" : undefined);
  healthChecks.add({ name: "a", endpoints: everywhere, problem: problem("a") });
  healthChecks.add({ name: "r", endpoints: ["readyz"], problem: problem("r") });
  return { clock, healthChecks };
}

function ask(healthChecks: Health, target: string): { code: number; text: string } | undefined {
  const url = new URL(target, "http://x");
  const reply = healthChecks.reply({ path: url.pathname, query: url.searchParams });
  if (reply === undefined) return undefined;
  assert.strictEqual(reply.contentType, "text/plain; charset=utf-8");
  return { code: reply.code, text: String(reply.bytes) };
}

void test("each endpoint answers ok [HEALTH-01, HEALTH-02, HEALTH-03]", () => {
  const { healthChecks } = health();
  for (const endpoint of everywhere)
    assert.deepStrictEqual(ask(healthChecks, `/${endpoint}`), { code: 200, text: "ok" });
  assert.strictEqual(ask(healthChecks, "/healthy"), undefined);
  assert.strictEqual(ask(healthChecks, "/healthz/"), undefined);
});

void test("a check has a path of its own, an unknown one is not found [HEALTH-06, HEALTH-07]", () => {
  const { healthChecks } = health(new Set(["r"]));
  assert.deepStrictEqual(ask(healthChecks, "/livez/ping"), { code: 200, text: "ok" });
  assert.deepStrictEqual(ask(healthChecks, "/readyz/a"), { code: 200, text: "ok" });
  assert.strictEqual(ask(healthChecks, "/readyz/r")?.code, 500);
  assert.strictEqual(ask(healthChecks, "/livez/r"), undefined);
  assert.strictEqual(ask(healthChecks, "/readyz/none"), undefined);
});

void test("verbose lists the checks and ends with healthz check passed at all three [HEALTH-08, HEALTH-09, HEALTH-13]", () => {
  const { healthChecks } = health();
  const lines = "[+]ping ok\n[+]a ok\n";
  assert.strictEqual(ask(healthChecks, "/healthz?verbose")?.text, `${lines}healthz check passed\n`);
  assert.strictEqual(ask(healthChecks, "/livez?verbose")?.text, `${lines}healthz check passed\n`);
  assert.strictEqual(ask(healthChecks, "/readyz?verbose=true")?.text, `${lines}[+]r ok\nhealthz check passed\n`);
});

void test("excluded checks are shown as such and do not count [HEALTH-10, HEALTH-11, HEALTH-12]", () => {
  const { healthChecks } = health(new Set(["a"]));
  assert.deepStrictEqual(ask(healthChecks, "/readyz?exclude=a"), { code: 200, text: "ok" });
  assert.strictEqual(
    ask(healthChecks, "/readyz?verbose&exclude=a&exclude=r")?.text,
    "[+]ping ok\n[+]a excluded: ok\n[+]r excluded: ok\nhealthz check passed\n",
  );
  assert.strictEqual(
    ask(healthChecks, "/livez?verbose&exclude=z&exclude=a&exclude=y")?.text,
    '[+]ping ok\n[+]a excluded: ok\nwarn: some health checks cannot be excluded: no matches for "y","z"\nhealthz check passed\n',
  );
});

void test("a failure is 500, names the check and withholds the reason [HEALTH-14]", () => {
  const { healthChecks } = health(new Set(["a"]));
  assert.deepStrictEqual(ask(healthChecks, "/livez"), {
    code: 500,
    text: "[+]ping ok\n[-]a failed: reason withheld\nlivez check failed\n",
  });
});

void test("start-up fails readiness, and liveness only after the grace period [HEALTH-03, HEALTH-04]", () => {
  const { clock, healthChecks } = health(new Set(), 10_000);
  const done = healthChecks.startupStep("fill-cache");
  assert.strictEqual(ask(healthChecks, "/readyz")?.code, 500);
  assert.strictEqual(ask(healthChecks, "/livez")?.code, 200);
  clock.advance(9_999);
  assert.strictEqual(ask(healthChecks, "/livez")?.code, 200);
  clock.advance(1);
  assert.strictEqual(ask(healthChecks, "/livez")?.code, 500);
  assert.match(ask(healthChecks, "/livez?verbose")!.text, /^\[-\]poststarthook\/fill-cache failed: reason withheld$/m);
  assert.strictEqual(ask(healthChecks, "/readyz")?.code, 500);
  done();
  assert.strictEqual(ask(healthChecks, "/livez")?.code, 200);
  assert.strictEqual(ask(healthChecks, "/readyz/poststarthook/fill-cache")?.code, 200);
  assert.strictEqual(ask(healthChecks, "/readyz")?.code, 200);
});
