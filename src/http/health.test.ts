/** Health endpoints, as probes see them. */
import assert from "node:assert";
import { test } from "node:test";
import { FakeClock } from "#std/fake-clock.ts";
import { Health, type HealthEndpoint } from "./health.ts";

const everywhere: readonly HealthEndpoint[] = ["healthz", "livez", "readyz"];

/** Makes a health with the checks `a` (everywhere) and `r` (readiness only), which fail when `failing` names them. */
function health(failing: Set<string> = new Set(), livezGracePeriodMs = 0) {
  const clock = new FakeClock();
  const made = new Health({ clock, livezGracePeriodMs });
  const problem = (name: string) => () => (failing.has(name) ? "secret reason" : undefined);
  made.add({ name: "a", endpoints: everywhere, problem: problem("a") });
  made.add({ name: "r", endpoints: ["readyz"], problem: problem("r") });
  return { clock, made };
}

function ask(made: Health, target: string): { code: number; text: string } | undefined {
  const url = new URL(target, "http://x");
  const reply = made.reply({ path: url.pathname, query: url.searchParams });
  if (reply === undefined) return undefined;
  assert.strictEqual(reply.contentType, "text/plain; charset=utf-8");
  return { code: reply.code, text: String(reply.bytes) };
}

void test("each endpoint answers ok [HEALTH-01, HEALTH-02, HEALTH-03]", () => {
  const { made } = health();
  for (const endpoint of everywhere) assert.deepStrictEqual(ask(made, `/${endpoint}`), { code: 200, text: "ok" });
  assert.strictEqual(ask(made, "/healthy"), undefined);
  assert.strictEqual(ask(made, "/healthz/"), undefined);
});

void test("a check has a path of its own, an unknown one is not found [HEALTH-06, HEALTH-07]", () => {
  const { made } = health(new Set(["r"]));
  assert.deepStrictEqual(ask(made, "/livez/ping"), { code: 200, text: "ok" });
  assert.deepStrictEqual(ask(made, "/readyz/a"), { code: 200, text: "ok" });
  assert.strictEqual(ask(made, "/readyz/r")?.code, 500);
  assert.strictEqual(ask(made, "/livez/r"), undefined);
  assert.strictEqual(ask(made, "/readyz/none"), undefined);
});

void test("verbose lists the checks and ends with healthz check passed at all three [HEALTH-08, HEALTH-09, HEALTH-13]", () => {
  const { made } = health();
  const lines = "[+]ping ok\n[+]a ok\n";
  assert.strictEqual(ask(made, "/healthz?verbose")?.text, `${lines}healthz check passed\n`);
  assert.strictEqual(ask(made, "/livez?verbose")?.text, `${lines}healthz check passed\n`);
  assert.strictEqual(ask(made, "/readyz?verbose=true")?.text, `${lines}[+]r ok\nhealthz check passed\n`);
});

void test("excluded checks are shown as such and do not count [HEALTH-10, HEALTH-11, HEALTH-12]", () => {
  const { made } = health(new Set(["a"]));
  assert.deepStrictEqual(ask(made, "/readyz?exclude=a"), { code: 200, text: "ok" });
  assert.strictEqual(
    ask(made, "/readyz?verbose&exclude=a&exclude=r")?.text,
    "[+]ping ok\n[+]a excluded: ok\n[+]r excluded: ok\nhealthz check passed\n",
  );
  assert.strictEqual(
    ask(made, "/livez?verbose&exclude=z&exclude=a&exclude=y")?.text,
    '[+]ping ok\n[+]a excluded: ok\nwarn: some health checks cannot be excluded: no matches for "y","z"\nhealthz check passed\n',
  );
});

void test("a failure is 500, names the check and withholds the reason [HEALTH-14]", () => {
  const { made } = health(new Set(["a"]));
  assert.deepStrictEqual(ask(made, "/livez"), {
    code: 500,
    text: "[+]ping ok\n[-]a failed: reason withheld\nlivez check failed\n",
  });
});

void test("start-up fails readiness, and liveness only after the grace period [HEALTH-03, HEALTH-04]", () => {
  const { clock, made } = health(new Set(), 10_000);
  const done = made.startupStep("fill-cache");
  assert.strictEqual(ask(made, "/readyz")?.code, 500);
  assert.strictEqual(ask(made, "/livez")?.code, 200);
  clock.advance(9_999);
  assert.strictEqual(ask(made, "/livez")?.code, 200);
  clock.advance(1);
  assert.strictEqual(ask(made, "/livez")?.code, 500);
  assert.match(ask(made, "/livez?verbose")!.text, /^\[-\]poststarthook\/fill-cache failed: reason withheld$/m);
  assert.strictEqual(ask(made, "/readyz")?.code, 500);
  done();
  assert.strictEqual(ask(made, "/livez")?.code, 200);
  assert.strictEqual(ask(made, "/readyz/poststarthook/fill-cache")?.code, 200);
  assert.strictEqual(ask(made, "/readyz")?.code, 200);
});
