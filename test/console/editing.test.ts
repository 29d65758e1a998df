/** The console in a real browser: editing with conflicts, making objects, deleting them and bringing them back. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Api, openServer, startsServers } from "../harness.ts";
import { configMap } from "../objects.ts";
import { patchTypes } from "../client.ts";
import { go, openBrowser, openPage, signIn, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
const maps = "/api/v1/namespaces/default/configmaps";
let browser: Browser | undefined;
let api: Api;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  api = new Api(await openServer("k8s.io"));
});

after(() => browser?.close());

/** Replaces the text of the editor by what `change` makes of it. */
async function edit(page: Page, label: string, change: (text: string) => string): Promise<void> {
  const editor = page.getByRole("textbox", { name: label });
  await editor.focus();
  const text = await page.evaluate(
    "[...document.querySelector('.editor').shadowRoot.querySelectorAll('.cm-line')].map((line) => line.textContent).join('\\n')",
  );
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(change(text as string));
}

test("a change of somebody else's field names the manager, and is made when it is taken", { skip }, async (t) => {
  const map = configMap("shared", { mode: "slow", size: "1" });
  (await api.patch(`${maps}/shared?fieldManager=helm`, map, patchTypes.apply)).expect(201);
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/configmaps/default/shared?tab=edit");
  await edit(page, "Object as YAML", (text) =>
    text.replace("slow", "fast").replace("\ndata:", "\ndata:\n  added: yes_"),
  );
  await page.getByRole("button", { name: "Review the changes" }).click();
  const review = page.getByRole("region", { name: "Review" });
  await review.getByText("+  mode: fast").waitFor();
  await review.getByRole("row", { name: "data.mode helm" }).waitFor();
  assert.strictEqual(await review.getByRole("row").count(), 2);
  const apply = review.getByRole("button", { name: "Apply" });
  assert.ok(await apply.isDisabled());
  (await api.get(`${maps}/shared`)).expect(200, { "data.mode": "slow" });
  await review.getByLabel(/take these fields/).check();
  await apply.click();
  await review.waitFor({ state: "detached" });
  const written = (await api.get(`${maps}/shared`)).expect(200);
  assert.deepEqual(written.at("data"), { mode: "fast", size: "1", added: "yes_" });
  const own = written.list("metadata.managedFields").find((entry) => entry.at("manager") === "console")!;
  own.has({ operation: "Apply", fieldsV1: { "f:data": { "f:mode": {}, "f:added": {} } } });
});

test("a field of somebody else that is taken away is named, and a change in between is not overwritten", {
  skip,
}, async (t) => {
  const map = configMap("less", { mode: "slow", size: "1" });
  (await api.patch(`${maps}/less?fieldManager=helm`, map, patchTypes.apply)).expect(201);
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/configmaps/default/less?tab=edit");
  await edit(page, "Object as YAML", (text) => text.replace("  mode: slow\n", ""));
  await page.getByRole("button", { name: "Review the changes" }).click();
  const review = page.getByRole("region", { name: "Review" });
  await review.getByRole("row", { name: "data.mode helm" }).waitFor();
  await review.getByLabel(/take these fields/).check();
  (await api.patch(`${maps}/less`, { data: { other: "x" } })).expect(200);
  await review.getByRole("button", { name: "Apply" }).click();
  await page.getByText("Somebody has changed the object since you read it").waitFor();
  (await api.get(`${maps}/less`)).expect(200, { "data.mode": "slow" });
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("textbox", { name: "Object as YAML" }).getByText("other").waitFor();
  await edit(page, "Object as YAML", (text) => text.replace("  mode: slow\n", ""));
  await page.getByRole("button", { name: "Review the changes" }).click();
  await review.getByLabel(/take these fields/).check();
  await review.getByRole("button", { name: "Apply" }).click();
  await review.waitFor({ state: "detached" });
  assert.deepEqual((await api.get(`${maps}/less`)).expect(200).at("data"), { other: "x", size: "1" });
});

test("mistakes are told: of the text, of the identity, and of what the server refuses", { skip }, async (t) => {
  (await api.post(maps, configMap("wrong", { a: "b" }))).expect(201);
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/configmaps/default/wrong?tab=edit");
  for (const [change, message] of [
    [(text: string) => text.replace("data:", "data: ["), /line|flow/i],
    [
      (text: string) => text.replace(": [", ":").replace("name: wrong", "name: other"),
      /name of an object cannot be changed/,
    ],
    [(text: string) => text.replace("name: other", "name: wrong").replace("a: b", "a/b: c"), /a valid config key/],
  ] as const) {
    await edit(page, "Object as YAML", change);
    await page.getByRole("button", { name: "Review the changes" }).click();
    await page.getByRole("alert").getByText(message).waitFor();
  }
});

test("an object is made, deleted, and brought back from its history", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/new/-/v1/configmaps");
  await edit(page, "New object as YAML", (text) => `${text}data:\n  kept: "1"\n`);
  await page.getByRole("button", { name: "Review" }).click();
  await page.getByRole("region", { name: "Differences" }).getByText('+  kept: "1"').waitFor();
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "ConfigMap configmap-1" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
  await page.getByText("This object does not exist (any more).").waitFor();
  (await api.get(`${maps}/configmap-1`)).expect(404);
  await page.getByRole("link", { name: "History" }).click();
  await page.getByText("deleted").waitFor();
  await page.getByText("created").click();
  await page.getByRole("button", { name: "Restore this version" }).click();
  await page.getByRole("dialog").getByText('+  kept: "1"').waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Restore" }).click();
  await page
    .locator("li", { hasText: /^created/ })
    .nth(1)
    .waitFor();
  (await api.get(`${maps}/configmap-1`)).expect(200, { "data.kept": "1" });
});
