/** Completion in the editor, in a real browser: by the keyboard, of built-in and custom kinds, and with hostile schemas. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test, type TestContext } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { Api, eventually, openServer, startsServers } from "../harness.ts";
import { go, openBrowser, openPage, signIn, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const html = "<img src=x onerror=alert(1)>";
let browser: Browser | undefined;
let api: Api;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  api = new Api(await openServer("k8s.io"));
  const spec = {
    type: "object",
    description: html,
    required: ["size"],
    properties: {
      size: { type: "string", enum: ["small", "large", html], description: `${html} the size` },
      sides: { type: "array", items: { type: "object", properties: { colour: { type: "string" } } } },
      deep: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
  };
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "boxes.example.com" },
    spec: {
      group: "example.com",
      scope: "Namespaced",
      names: { plural: "boxes", singular: "box", kind: "Box", listKind: "BoxList" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec } } },
        },
      ],
    },
  };
  (await api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)).expect(201);
  await eventually(async () => (await api.get("/openapi/v3/apis/example.com/v1")).expect(200));
});

after(() => browser?.close());

interface OpenEditor {
  readonly page: Page;
  readonly list: Locator;
  type(text: string): Promise<void>;
  /** Takes the option that is chosen. */
  take(): Promise<void>;
  text(): Promise<string>;
}

/** Opens the editor of a new object, with the cursor at its end. */
async function openEditor(t: TestContext, kind: string): Promise<OpenEditor> {
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await page.getByText("The server is ready").waitFor();
  await go(page, `#/new/${kind}?ns=default`);
  const editor = page.getByRole("textbox", { name: "New object as YAML" });
  await editor.focus();
  await page.keyboard.press("Control+End");
  return {
    page,
    list: page.getByRole("listbox"),
    type: (text) => page.keyboard.type(text),
    async take() {
      // The editor takes no option just after the list has appeared, since somebody may be typing.
      await page.evaluate("new Promise((resolve) => setTimeout(resolve, 200))");
      await page.keyboard.press("Enter");
    },
    text: async () => (await editor.innerText()).replaceAll("\u00a0", " "),
  };
}

test("names and values are completed by the keyboard alone, and the list has no serious finding of axe-core", {
  skip,
}, async (t) => {
  const { page, list, type, take, text } = await openEditor(t, "-/v1/pods");
  const { keyboard } = page;
  await keyboard.press("Control+Space");
  await list.getByRole("option", { name: /^spec/ }).waitFor();
  // Names that are there are not offered.
  assert.equal(await list.getByRole("option", { name: /^metadata/ }).count(), 0);
  const { violations } = (await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] })`)) as {
    readonly violations: readonly { readonly id: string; readonly impact: string }[];
  };
  assert.deepEqual(
    violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id }) => id),
    [],
  );
  await keyboard.press("Escape");
  await list.waitFor({ state: "detached" });
  await type("spe");
  await list.getByRole("option", { name: /^spec/ }).waitFor();
  await take();
  await type("restartP");
  await list.getByRole("option", { name: /^restartPolicy/ }).waitFor();
  await take();
  await keyboard.press("Control+Space");
  await list.getByRole("option", { name: /^OnFailure/ }).waitFor();
  await type("Ne");
  await list.getByRole("option", { name: /^Never/ }).waitFor();
  await take();
  await type("\ncontai");
  await list.getByRole("option", { name: /^containers.*required/ }).waitFor();
  await take();
  await type("imageP");
  await list.getByRole("option", { name: /^imagePullPolicy/ }).waitFor();
  await take();
  assert.match(await text(), /spec:\n {2}restartPolicy: Never\n {2}containers:\n {2}- imagePullPolicy: $/m);
  // The tabulator still leaves the editor.
  await keyboard.press("Tab");
  await page.locator("button:focus").waitFor();
});

test("a custom kind is completed by its schema, whose texts are shown as texts", { skip }, async (t) => {
  const { page, list, type, take, text } = await openEditor(t, "example.com/v1/boxes");
  let dialogs = 0;
  page.on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await type("spe");
  await list.getByRole("option", { name: /^spec/ }).waitFor();
  await page.getByText(html).first().waitFor();
  await take();
  await page.keyboard.press("Control+Space");
  await list.getByRole("option", { name: /^size.*required/ }).waitFor();
  // The required field comes first.
  assert.match(await list.getByRole("option").first().innerText(), /^size/);
  await take();
  await page.keyboard.press("Control+Space");
  await list.getByRole("option", { name: html }).waitFor();
  await type("la");
  await take();
  await type("\nsi");
  await list.getByRole("option", { name: /^sides/ }).waitFor();
  await take();
  await type("co");
  await list.getByRole("option", { name: /^colour/ }).waitFor();
  await take();
  assert.match(await text(), /spec:\n {2}size: large\n {2}sides:\n {2}- colour: $/m);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(dialogs, 0);
});

test("where there is no schema, or none is answered, one writes without completion", { skip }, async (t) => {
  const { page, list, type, text } = await openEditor(t, "-/v1/configmaps");
  await page.route("**/openapi/v3/**", (route) => route.fulfill({ status: 500, body: html }));
  await type("dat");
  await page.keyboard.press("Control+Space");
  await type('a:\n  a: "1"');
  assert.match(await text(), /data:\n {2}a: "1"/);
  assert.equal(await list.count(), 0);
  await page.unroute("**/openapi/v3/**");
  await type("\n");
  await page.keyboard.press("Home");
  await type("imm");
  await page.keyboard.press("Control+Space");
  await list.getByRole("option", { name: /^immutable/ }).waitFor();
});
