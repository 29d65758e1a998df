/** Every page of the console in a real browser: its content, its accessibility in light and dark, and the keyboard alone. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { Api, openServer, startsServers } from "../harness.ts";
import { configMap } from "../objects.ts";
import { openConsole } from "./local-console.ts";
import { go, openBrowser, openPage, signIn, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
const roles = "/apis/rbac.authorization.k8s.io/v1";
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let browser: Browser | undefined;
let api: Api;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  api = new Api(await openServer("k8s.io"));
  (await api.post("/api/v1/namespaces/default/configmaps", configMap("settings", { mode: "slow" }))).expect(201);
  (await api.patch("/api/v1/namespaces/default/configmaps/settings", { data: { mode: "fast" } })).expect(200);
  const rules = [{ apiGroups: [""], resources: ["configmaps"], verbs: ["get", "list", "watch"] }];
  (await api.post(`${roles}/clusterroles`, { metadata: { name: "map-reader" }, rules })).expect(201);
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "map-reader" };
  const subjects = [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "alice" }];
  (await api.post(`${roles}/clusterrolebindings`, { metadata: { name: "map-readers" }, roleRef, subjects })).expect(
    201,
  );
  (
    await api.post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", {
      metadata: { name: "checks" },
      webhooks: [
        {
          name: "checks.example.com",
          clientConfig: { url: "https://checks.example.com/" },
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Ignore",
          rules: [{ apiGroups: ["apps"], apiVersions: ["v1"], resources: ["deployments"], operations: ["CREATE"] }],
        },
      ],
    })
  ).expect(201);
});

after(() => browser?.close());

const object = "#/object/-/v1/configmaps/default/settings";

/** The pages, with a text that each shows once it is there. */
const pages: readonly (readonly [hash: string, text: string])[] = [
  ["#/", "The server is ready"],
  ["#/kind/-/v1/configmaps?ns=default", "settings"],
  [object, "mode: fast"],
  [`${object}?tab=edit`, "Review the changes"],
  [`${object}?tab=history`, "created"],
  [`${object}?tab=events`, "Nobody has reported"],
  [`${object}?tab=tree`, "Nobody owns it"],
  [`${object}?tab=access`, "User alice"],
  ["#/new/-/v1/configmaps", "New ConfigMap"],
  ["#/changes?ns=default", "ConfigMap settings"],
  ["#/access", "See the cluster as this user"],
  ["#/definitions", "ClusterRoleBinding"],
  ["#/definitions/-/v1/ConfigMap", "binaryData"],
  ["#/policies", "checks.example.com"],
  ["#/explorer", "curl"],
];

const show = async (page: Page, [hash, text]: (typeof pages)[number]): Promise<void> => {
  await go(page, hash);
  await page.locator("main").getByText(text).first().waitFor();
};

interface Finding {
  readonly id: string;
  readonly impact: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
}

for (const colorScheme of ["light", "dark"] as const) {
  test(`no page has a serious finding of axe-core, and none breaks its rules: ${colorScheme}`, { skip }, async (t) => {
    const { page } = await openPage(t, browser!);
    await page.emulateMedia({ colorScheme });
    await page.goto(`${api.server.url}/console/`);
    const findings: string[] = [];
    const check = async (name: string): Promise<void> => {
      const { violations } = (await page.evaluate(`${axe}; axe.run({ resultTypes: ["violations"] })`)) as {
        readonly violations: readonly Finding[];
      };
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      for (const { id, nodes } of serious)
        findings.push(`${name}: ${id} ${nodes[0]!.html} ${nodes[0]!.failureSummary}`);
    };
    await check("sign-in");
    await signIn(page, api.server.url);
    for (const one of pages) {
      await show(page, one);
      await check(one[0]);
    }
    assert.deepEqual(findings, []);
  });
}

test("why: the rule that allows it, what comes nearest, and what would allow it; and the cluster as that user sees it", {
  skip,
}, async (t) => {
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/access?ns=default");
  await page.getByLabel("Kind or /path").fill("configmaps");
  await page.getByLabel("User", { exact: true }).fill("alice");
  await page.getByRole("button", { name: "Why?" }).click();
  const answer = page.getByRole("region", { name: "Answer" });
  await answer.getByText('"alice" may get configmaps in namespace default.').waitFor();
  await answer.getByText("ClusterRoleBinding map-readers gives ClusterRole map-reader").waitFor();
  await page.getByLabel("Verb").fill("delete");
  await page.getByRole("button", { name: "Why?" }).click();
  await answer.getByText('"alice" may not delete configmaps in namespace default.').waitFor();
  await answer.getByText('It lacks the verb "delete".').waitFor();
  await answer.getByText("kind: RoleBinding").waitFor();
  await page.getByRole("button", { name: "See the cluster as this user" }).click();
  await page.getByText("seen as alice").waitFor();
  await go(page, "#/kind/-/v1/configmaps?ns=default");
  await page.getByText("live: 1 object").waitFor();
  await go(page, "#/kind/-/v1/secrets?ns=default");
  await page.getByText('User "alice" cannot list resource "secrets"').waitFor();
  await page.getByRole("button", { name: "stop" }).click();
  await page.getByText(/live: \d+ object/).waitFor();
});

test("the keyboard alone signs in, finds a kind, opens an object and leaves the editor", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  const { keyboard } = page;
  const focused = (): Promise<string> =>
    page.evaluate(
      "(document.activeElement?.textContent || document.activeElement?.id || '').trim()",
    ) as Promise<string>;
  const tabTo = async (wanted: string): Promise<void> => {
    for (let i = 0; i < 150; i++) {
      if ((await focused()).startsWith(wanted)) return;
      await keyboard.press("Tab");
    }
    assert.fail(`no ${wanted} by the keyboard`);
  };
  await page.goto(`${api.server.url}/console/`);
  await page.getByLabel("Token").waitFor();
  await keyboard.type("admin-token");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  await tabTo("Skip to the content");
  await tabTo("kinds");
  await keyboard.type("configmaps");
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "ConfigMap" }).waitFor();
  await page.getByText(/live: \d+ objects/).waitFor();
  // The page that appears has the focus.
  await tabTo("extension-apiserver-authentication");
  await keyboard.press("ArrowUp");
  assert.match(await focused(), /^settings/);
  await keyboard.press("Enter");
  await page.getByRole("heading", { name: "ConfigMap settings" }).waitFor();
  await tabTo("Edit");
  await keyboard.press("Enter");
  await page.getByRole("textbox", { name: "Object as YAML" }).waitFor();
  await tabTo("Review the changes");
  await keyboard.press("Enter");
  await page.getByText("Nothing has changed.").waitFor();
});

test("the explorer sends a request, and writes it for curl, kubectl and TypeScript without the token", {
  skip,
}, async (t) => {
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/explorer?ns=default");
  await page.getByRole("combobox", { name: "Kind" }).selectOption("configmaps");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByRole("region", { name: "Body" }).getByText('"ConfigMapList"').waitFor();
  await page.getByRole("region", { name: "kubectl" }).getByText("kubectl get configmaps -n default").waitFor();
  const elsewhere = await page.getByRole("region", { name: "The same elsewhere" }).innerText();
  assert.match(elsewhere, /curl -X GET -H "Authorization: Bearer \$TOKEN"/);
  assert.match(elsewhere, /path: "\/api\/v1\/namespaces\/default\/configmaps\?limit=10"/);
  assert.doesNotMatch(await page.content(), /admin-token/);
  await page.getByLabel("Path").fill("//evil.example.com/");
  await page.getByRole("button", { name: "Send" }).click();
  await page.getByText("a path begins with one slash").waitFor();
});

for (const domain of ["k8s.io", "platform.io"] as const) {
  test(`the link of binnacle console signs in once, and its pages are those of the cluster: ${domain}`, {
    skip,
  }, async (t) => {
    const { origin, code, server } = await openConsole(t, domain);
    const cluster = new Api(server);
    const { page, asked } = await openPage(t, browser!);
    await page.goto(`${origin}/console/#code=${code}`);
    await page.getByText("The server is ready").waitFor();
    assert.doesNotMatch(page.url(), /code/);
    await page.getByText(server.url).waitFor();
    await go(page, "#/kind/-/v1/configmaps?ns=default");
    await page.getByText(/live: \d object/).waitFor();
    (await cluster.post("/api/v1/namespaces/default/configmaps", configMap("through", { a: "b" }))).expect(201);
    await page.getByRole("link", { name: "through", exact: true }).click();
    await page.getByText("a: b").waitFor();
    await page.getByRole("link", { name: "Who may" }).click();
    await page.getByRole("cell", { name: "Group system:masters" }).waitFor();
    await go(page, "#/access?ns=default");
    await page.getByLabel("User", { exact: true }).fill("al,ice");
    await page.getByLabel("Groups").fill("dev, ops");
    await page.getByRole("button", { name: "See the cluster as this user" }).click();
    await go(page, "#/kind/-/v1/configmaps?ns=default");
    await page.getByText('User "al,ice" cannot list').waitFor();
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(`${origin}/`)),
      [],
    );
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Code or link").fill(`${origin}/console/#code=${code}`);
    await page.keyboard.press("Enter");
    await page.getByText("the code is wrong, was used before, or is older than a minute").waitFor();
    cluster.close();
  });
}

test("a value of 900 kB in 100,000 lines is shown in parts, and its page stays in use", { skip }, async (t) => {
  const lines = Array.from({ length: 100_000 }, (_, i) => `line ${i % 1000}`).join("\n");
  (
    await api.post("/api/v1/namespaces/default/configmaps", configMap("large", { lines, word: "x".repeat(50_000) }))
  ).expect(201);
  const { page } = await openPage(t, browser!);
  await signIn(page, api.server.url);
  await go(page, "#/object/-/v1/configmaps/default/large");
  await page.getByRole("button", { name: /Show more of/ }).waitFor();
  assert.ok((await page.locator(".fields tr").count()) < 2100);
  await go(page, "#/object/-/v1/configmaps/default/large?tab=history");
  await page.getByText("created").click();
  await page.getByText(/lines more/).waitFor();
  await go(page, "#/object/-/v1/configmaps/default/large?tab=edit");
  await page.getByRole("textbox", { name: "Object as YAML" }).waitFor();
});
