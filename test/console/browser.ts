/**
 * A browser for tests of the console: Chromium, where Debian's package has put it or `CHROMIUM` says. Where there is none,
 * tests are skipped by name.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import type { TestContext } from "node:test";
import { type Browser, chromium, type Page } from "playwright-core";
import { buildConsole } from "../../scripts/build-console.ts";

const executable = [process.env["CHROMIUM"] ?? "", "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (path) => path !== "" && existsSync(path),
);

/** The reason for which tests with a browser are skipped; `false` where they run. */
export const skip = executable === undefined ? "there is no Chromium: apt-get install chromium" : false;

/** Builds the console, and starts the browser for the tests of a file, which closes it. */
export async function openBrowser(): Promise<Browser> {
  await buildConsole();
  return chromium.launch({
    executablePath: executable!,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"],
  });
}

/** The script that reports broken rules of a page to the binding of this name. */
const reportViolations = `document.addEventListener("securitypolicyviolation", (event) => {
  reportProblem([event.violatedDirective, event.blockedURI, event.sourceFile, event.sample].join(" "));
});`;

/** Signs in with a token at the console of a server. */
export async function signIn(page: Page, url: string, token = "admin-token"): Promise<void> {
  await page.goto(`${url}/console/`);
  await page.getByLabel("Token").fill(token);
  await page.keyboard.press("Enter");
}

/** Goes to a page of the console that is open, as a link would. */
export const go = (page: Page, hash: string): Promise<unknown> =>
  page.evaluate(`location.hash = ${JSON.stringify(hash)}`);

/** A page, and everything in it that must not happen. */
interface WatchedPage {
  readonly page: Page;
  /** Reports of broken rules of the page, and errors of its scripts. */
  readonly problems: readonly string[];
  /** The addresses that the page has asked. */
  readonly asked: readonly string[];
}

/** Opens an empty page of its own, which is closed with the test. At the end there must be no problem. */
export async function openPage(t: TestContext, browser: Browser): Promise<WatchedPage> {
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(Number(process.env["CONSOLE_TIMEOUT"] ?? 60_000));
  const problems: string[] = [];
  const asked: string[] = [];
  await page.exposeBinding("reportProblem", (_source, text: string) => void problems.push(text));
  await page.addInitScript({ content: reportViolations });
  page.on("pageerror", (error) => problems.push(String(error)));
  page.on("console", (message) => {
    // A browser tells every answer of 400 and more as an error.
    if (message.type() === "error" && !message.text().startsWith("Failed to load resource"))
      problems.push(message.text());
  });
  page.on("request", (request) => asked.push(request.url()));
  t.after(async () => {
    await context.close();
    assert.deepEqual(problems, []);
  });
  return { page, problems, asked };
}
