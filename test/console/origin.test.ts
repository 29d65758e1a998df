/** Pages of aggregated servers have the console's address, and must not have its origin. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import type { Browser } from "playwright-core";
import type { ServerSettings } from "#server/options.ts";
import { AggregatedServer, base, register } from "../aggregation/aggregated-server.ts";
import { Api, openServer, startsServers } from "../harness.ts";
import { openBrowser, openPage, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
let browser: Browser | undefined;

before(async () => {
  if (skip === false) browser = await openBrowser();
});

after(() => browser?.close());

/** Returns what a page of an aggregated server says that it can reach, and the origin of the server. */
async function reachOf(t: TestContext, settings: ServerSettings): Promise<{ reach: object; origin: string }> {
  const api = new Api(await openServer("k8s.io", settings));
  t.after(() => api.server.close());
  const aggregated = await AggregatedServer.start(api, "shop");
  t.after(() => aggregated.stop());
  await register(api, "shop", aggregated);
  const { page } = await openPage(t, browser!);
  await page.setExtraHTTPHeaders({ authorization: "Bearer admin-token" });
  await page.goto(`${api.server.url}${base}/namespaces/shop/flunders/page`);
  return { reach: JSON.parse(await page.title()) as object, origin: new URL(api.server.url).origin };
}

test("a page of an aggregated server has an origin of its own: no storage, no workers, no cookies", {
  skip,
}, async (t) => {
  const { reach } = await reachOf(t, {});
  const refused = "SecurityError";
  assert.deepEqual(reach, { origin: "null", storage: refused, cookies: refused, workers: refused });
});

test("without the console it is passed on as it is", { skip }, async (t) => {
  const { reach, origin } = await reachOf(t, { console: false });
  assert.deepEqual(reach, { origin, storage: "0", cookies: "0", workers: "object" });
});
