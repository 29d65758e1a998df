/** The console in a real browser: signing in, tables that follow the server, and objects whose texts are hostile. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Api, openServer, startsServers } from "../harness.ts";
import { configMap, namespace, secret } from "../objects.ts";
import { go, openBrowser, openPage, signIn, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
let browser: Browser | undefined;
let api: Api;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  api = new Api(await openServer("k8s.io"));
  (await api.post("/api/v1/namespaces", namespace("shop"))).expect(201);
});

after(() => browser?.close());

async function untilStatus(page: Page, wanted: string): Promise<void> {
  await page.locator("p.status", { hasText: wanted }).waitFor();
}

test("one signs in with a token, which is nowhere but in the memory of the page", { skip }, async (t) => {
  const { page, asked } = await openPage(t, browser!);
  await signIn(page, api.server.url, "no-token");
  await page.getByText("the server does not know this token").waitFor();
  await signIn(page, api.server.url);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  assert.doesNotMatch(page.url(), /token/);
  assert.deepEqual(await page.context().cookies(), []);
  assert.deepEqual(await page.evaluate("[localStorage.length, sessionStorage.length]"), [0, 0]);
  assert.doesNotMatch(await page.content(), /admin-token/);
  await page.reload();
  await page.getByLabel("Token").waitFor();
  const own = new URL(api.server.url).origin;
  assert.deepEqual(
    asked.filter((url) => !url.startsWith(`${own}/`)),
    [],
  );
  assert.deepEqual(
    asked.filter((url) => url.includes("admin-token")),
    [],
  );
});

test("a table follows the server, and asks for what its selectors say", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/kind/-/v1/configmaps?ns=shop");
  await untilStatus(page, "live: 0 objects");
  (
    await api.post("/api/v1/namespaces/shop/configmaps", configMap("one", { a: "b" }, { labels: { app: "web" } }))
  ).expect(201);
  (await api.post("/api/v1/namespaces/shop/configmaps", configMap("two"))).expect(201);
  await untilStatus(page, "live: 2 objects");
  await page.getByRole("link", { name: "one", exact: true }).waitFor();
  await page.getByLabel("Labels").fill("app=web");
  await page.keyboard.press("Enter");
  await untilStatus(page, "live: 1 object");
  assert.match(page.url(), /labels=app%3Dweb/);
  (await api.patch("/api/v1/namespaces/shop/configmaps/one", { data: { c: "d" } })).expect(200);
  await page.locator("td", { hasText: /^2$/ }).waitFor();
  (await api.delete("/api/v1/namespaces/shop/configmaps/one")).expect(200);
  await untilStatus(page, "live: 0 objects");
  await page.getByLabel("Labels").fill("app in (");
  await page.keyboard.press("Enter");
  await page.getByText("refused").waitFor();
});

test("a table of 10,000 objects that change has few rows in the document, and loses none", { skip }, async (t) => {
  const count = 10_000;
  (await api.post("/api/v1/namespaces", namespace("many"))).expect(201);
  const path = "/api/v1/namespaces/many/configmaps";
  const name = (i: number): string => `map-${String(i).padStart(5, "0")}`;
  const each = async (work: (i: number) => Promise<unknown>): Promise<void> => {
    for (let i = 0; i < count; i += 100) await Promise.all(Array.from({ length: 100 }, (_, at) => work(i + at)));
  };
  await each((i) => api.post(path, configMap(name(i))));
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/kind/-/v1/configmaps?ns=many");
  await untilStatus(page, "live: 10,000 objects");
  const rows = (): Promise<number> => page.locator("tbody tr").count();
  assert.ok((await rows()) < 80);
  await page.evaluate("document.querySelector('.rows').scrollTop = 1e9");
  await page.getByRole("link", { name: name(count - 1) }).waitFor();
  assert.ok((await rows()) < 80);
  await each((i) => api.patch(`${path}/${name(i)}`, { data: { a: "1", b: "2" } }));
  await page
    .locator("tr", { hasText: name(count - 1) })
    .locator("td", { hasText: /^2$/ })
    .waitFor();
  await each((i) => (i % 2 === 0 ? api.delete(`${path}/${name(i)}`) : Promise.resolve()));
  await untilStatus(page, "live: 5,000 objects");
  assert.ok((await rows()) < 80);
  await page.getByLabel("Name", { exact: true }).fill(name(77));
  await untilStatus(page, "1 of 5,000 objects");
});

const hostileTexts = {
  html: "<img src=x onerror=alert(1)><script>alert(2)</script>",
  bidi: "invoice\u202efdp.exe",
  invisible: "ad\u200bmin",
  link: "javascript:alert(1)",
};

test("hostile texts are texts, what is not seen is shown, and a value of 10 kB is cut", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  const annotations = { ...hostileTexts, long: "x".repeat(10_000) };
  (await api.post("/api/v1/namespaces/shop/configmaps", configMap("hostile", hostileTexts, { annotations }))).expect(
    201,
  );
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/configmaps/shop/hostile");
  const fields = page.getByRole("region", { name: "Fields" });
  await fields.waitFor();
  const text = await fields.innerText();
  assert.ok(text.includes("<script>alert(2)</script>"));
  assert.ok(text.includes("invoice\\u202efdp.exe"));
  assert.ok(text.includes("ad\\u200bmin"));
  assert.doesNotMatch(text, /[\u200b\u202e]/);
  assert.ok(!text.includes("x".repeat(1500)));
  assert.strictEqual(await fields.locator("img, script, a").count(), 0);
  await page.getByRole("button", { name: /show all/ }).click();
  assert.ok((await fields.innerText()).includes("x".repeat(10_000)));
  for (const tab of ["history", "events", "tree"]) {
    await go(page, `#/object/-/v1/configmaps/shop/hostile?tab=${tab}`);
    await page.locator(`.tabs a[aria-current]`).waitFor();
  }
  await go(page, "#/object/-/v1/configmaps/shop/%3Cscript%3Ealert(1)%3C%2Fscript%3E%E2%80%AE");
  await page.getByText("<script>alert(1)</script>\\u{202e}").waitFor();
  assert.strictEqual(dialogs, 0);
});

test("addresses with dots as names lead to no other object", { skip }, async (t) => {
  const { page, asked } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await page.getByText("The server is ready").waitFor();
  for (const hash of [
    "#/object/-/v1/configmaps/shop/..",
    "#/object/-/v1/configmaps/../shop",
    "#/kind/-/v1/configmaps?ns=..",
    "#/object/-/v1/configmaps/shop/.",
  ]) {
    await go(page, "#/definitions");
    await page.getByRole("heading", { name: "Definitions" }).waitFor();
    const before = asked.length;
    await go(page, hash);
    await page.locator("main").getByText("leads elsewhere").first().waitFor();
    assert.deepEqual(
      asked.slice(before).filter((url) => !url.includes("/console/")),
      [],
    );
    assert.strictEqual(await page.getByRole("button", { name: "Delete" }).count(), 0);
  }
  await go(page, "#/explorer");
  await page.getByLabel("Path").fill("/\\evil.example.com/");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("leads elsewhere").waitFor();
});

test("values of Secrets are masked until somebody asks", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  (await api.post("/api/v1/namespaces/shop/secrets", secret("key", { password: "hunter2" }))).expect(201);
  const value = Buffer.from("hunter2").toString("base64");
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/secrets/shop/key");
  const fields = page.getByRole("region", { name: "Fields" });
  await fields.getByText("***").waitFor();
  assert.ok(!(await page.content()).includes(value));
  await page.getByLabel("show the values").check();
  await fields.getByText(value).waitFor();
});

test("the margin names the manager of each field", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  const body = { ...configMap("owned", { one: "1" }) };
  (await api.post("/api/v1/namespaces/shop/configmaps?fieldManager=anna", body)).expect(201);
  const path = "/api/v1/namespaces/shop/configmaps/owned?fieldManager=ben";
  (await api.patch(path, { data: { two: "2" } })).expect(200);
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/configmaps/shop/owned");
  await page.getByRole("row", { name: "anna data:" }).waitFor();
  await page.getByRole("row", { name: 'ben two: "2"' }).waitFor();
});

test("a page of another site cannot show the console in a frame", { skip }, async (t) => {
  const { page, problems } = await openPage(t, browser!);
  await page.route("https://attacker.test/", (route) =>
    route.fulfill({ contentType: "text/html", body: `<iframe src="${api.server.url}/console/"></iframe>` }),
  );
  await page.goto("https://attacker.test/");
  const frame = page.frames().find((one) => one !== page.mainFrame());
  assert.strictEqual(await frame?.locator("#console").count(), 0);
  // The browser tells that it has refused.
  (problems as string[]).length = 0;
});
