/**
 * The work of a table in a real browser while 10,000 rows change at once: how many nodes of the document each drawing touches,
 * and over how many drawings the changes are spread. The server's answers are made up here, so that all arrive together.
 */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Browser, Page, Route } from "playwright-core";
import { eventually, openServer, startsServers, type TestServer } from "../harness.ts";
import { go, openBrowser, openPage, signIn, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
let browser: Browser | undefined;
let server: TestServer;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  server = await openServer("k8s.io");
});

after(() => browser?.close());

const count = 10_000;
/** The nodes that one drawing may touch, which is about the rows in sight and not about all. */
const nodesMax = 800;

const nameOf = (i: number): string => `map-${String(i).padStart(5, "0")}`;

const rowOf = (i: number, data: number, resourceVersion: number) => ({
  cells: [nameOf(i), data, "1d"],
  object: { metadata: { name: nameOf(i), namespace: "many", resourceVersion: String(resourceVersion) } },
});

const columnDefinitions = [
  { name: "Name", type: "string" },
  { name: "Data", type: "integer" },
  { name: "Age", type: "string" },
];

/** The size of the data of a row after its change. Sorted by it, the rows are in another order than by name. */
const changedData = (i: number): number => (i * 7919) % count;

/** Answers the list in one page, and the first watch with all changes once `burst` resolves; it never ends. */
async function answer(route: Route, burst: Promise<void>, watches: { begun: number }): Promise<void> {
  const isWatch = new URL(route.request().url()).searchParams.has("watch");
  if (!isWatch) {
    const rows = Array.from({ length: count }, (_, i) => rowOf(i, 1, i + 1));
    const metadata = { resourceVersion: String(count) };
    await route.fulfill({ json: { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata, columnDefinitions, rows } });
    return;
  }
  watches.begun += 1;
  if (watches.begun > 1) return;
  await burst;
  const events = Array.from({ length: count }, (_, i) => ({
    type: "MODIFIED",
    object: { kind: "Table", apiVersion: "meta.k8s.io/v1", rows: [rowOf(i, changedData(i), count + i + 1)] },
  }));
  await route.fulfill({
    contentType: "application/json",
    body: `${events.map((event) => JSON.stringify(event)).join("\n")}\n`,
  });
}

/** Counts the drawings of the table, and the nodes that each has touched. */
const observe = `window.drawings = [];
new MutationObserver((records) => drawings.push(records.reduce((sum, { addedNodes, removedNodes }) =>
  sum + 1 + removedNodes.length + [...addedNodes].reduce((all, node) => all + 1 + (node.querySelectorAll?.("*").length ?? 0), 0), 0)))
  .observe(document.querySelector(".rows"), { subtree: true, childList: true, attributes: true, characterData: true });`;

/** Returns the nodes that each drawing has touched since the last call. */
const drawings = (page: Page): Promise<readonly number[]> =>
  page.evaluate("drawings.splice(0)") as Promise<readonly number[]>;

const isBounded = (nodes: readonly number[]): void =>
  assert.ok(Math.max(0, ...nodes) <= nodesMax, `${Math.max(0, ...nodes)} nodes in a drawing`);

const firstNames = (page: Page): Promise<readonly string[]> => page.locator("tbody tr a").allInnerTexts();

test("10,000 changes at once, of the column by which rows are sorted, are drawn over many frames, each by a few rows", {
  skip,
}, async (t) => {
  const { page } = await openPage(t, browser!);
  let start = (): void => undefined;
  const burst = new Promise<void>((resolve) => (start = resolve));
  const watches = { begun: 0 };
  await page.route("**/api/v1/namespaces/many/configmaps?*", (route) => answer(route, burst, watches));
  await signIn(page, server.url);
  await go(page, "#/kind/-/v1/configmaps?ns=many");
  await page.getByText(/10,000 objects/).waitFor();
  await page.evaluate(observe);
  await page.getByRole("button", { name: "Data" }).click();
  await page.locator("th[aria-sort=ascending]").waitFor();
  start();
  // The row whose data is 0 is the first both by name and by data; the one after it is not.
  const second = nameOf(Array.from({ length: count }, (_, i) => i).find((i) => changedData(i) === 1)!);
  await page.locator("tbody tr").nth(1).getByText(second).waitFor();
  const all = Array.from({ length: count }, (_, i) => i).toSorted(
    (one, other) => changedData(one) - changedData(other),
  );
  await eventually(async () => {
    assert.deepEqual((await firstNames(page)).slice(0, 21), all.slice(0, 21).map(nameOf));
  });
  const changing = await drawings(page);
  isBounded(changing);
  assert.ok(changing.length >= 10, `${changing.length} drawings`);

  // A row in sight keeps the focus while others come, and one that leaves gives it to no other row.
  const focused = (): Promise<string | null> =>
    page.evaluate("document.activeElement.closest('tbody') && document.activeElement.textContent") as Promise<
      string | null
    >;
  await page.getByRole("link", { name: nameOf(all[15]!) }).focus();
  await page.evaluate("document.querySelector('.rows').scrollTop = 280");
  await page.getByRole("link", { name: nameOf(all[40]!) }).waitFor();
  assert.equal(await focused(), nameOf(all[15]!));
  // Steps that leave no row in sight in its place.
  await page.evaluate(`new Promise((resolve) => {
    const box = document.querySelector(".rows");
    const step = () => {
      box.scrollTop += 15_000;
      if (box.scrollTop + box.clientHeight >= box.scrollHeight - 1) resolve(); else requestAnimationFrame(step);
    };
    step();
  })`);
  await page.getByRole("link", { name: nameOf(all.at(-1)!) }).waitFor();
  isBounded(await drawings(page));
  assert.equal(await focused(), null);
  assert.ok((await page.locator("tbody tr").count()) < 80);
  await page.getByLabel("Name", { exact: true }).fill("0007");
  await page.getByText("11 of 10,000 objects").waitFor();
  isBounded(await drawings(page));
});

/** Notes how many rows each change of the page adds. */
const observeRows = `window.added = [];
new MutationObserver((records) => added.push(records.flatMap(({ addedNodes }) => [...addedNodes]).reduce((sum, node) =>
  sum + (node.matches?.("tbody tr[aria-rowindex]") ? 1 : node.querySelectorAll?.("tbody tr[aria-rowindex]").length ?? 0), 0)))
  .observe(document.body, { subtree: true, childList: true });`;

/** The rows that one drawing may add. */
const addedMax = 16;

test("the rows of a list that is opened are made over some frames, a few in each", { skip }, async (t) => {
  const { page } = await openPage(t, browser!);
  await page.route("**/api/v1/namespaces/many/configmaps?*", (route) => answer(route, Promise.resolve(), { begun: 1 }));
  await signIn(page, server.url);
  await page.getByText("The server is ready").waitFor();
  await page.evaluate(observeRows);
  await go(page, "#/kind/-/v1/configmaps?ns=many");
  // The last row below the window is there, too.
  await page.getByRole("link", { name: nameOf(40) }).waitFor();
  const added = (await page.evaluate("added")) as readonly number[];
  assert.ok(Math.max(...added) <= addedMax, `${Math.max(...added)} rows at once`);
  assert.ok(added.reduce((sum, rows) => sum + rows, 0) > 2 * addedMax);
});
