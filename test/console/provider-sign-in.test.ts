/** Signing in to the console at identity providers, in a real browser, with providers that are right, wrong and hostile. */
import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import type { Browser, Page } from "playwright-core";
import { type FakeAuthority, fakeAuthority } from "#authn/fake-authority.ts";
import type { ServerSettings } from "#server/options.ts";
import { Api, eventually, file, openServer, startsServers } from "../harness.ts";
import { MovingClock } from "../moving-clock.ts";
import { flagsOf, SignInProvider } from "./identity-provider.ts";
import { go, openBrowser, openPage, skip as noBrowser } from "./browser.ts";

const skip = startsServers ? noBrowser : "another server has no console";
let browser: Browser | undefined;
let authority: FakeAuthority;

before(async () => {
  if (skip !== false) return;
  browser = await openBrowser();
  authority = await fakeAuthority("providers");
});

after(() => browser?.close());

async function openProvider(t: TestContext, options: Parameters<typeof SignInProvider.start>[1] = {}) {
  const provider = await SignInProvider.start(authority, options);
  t.after(() => provider.stop());
  return provider;
}

/** Returns the settings of a server with a configuration file, in which the audience is that of the provider and another. */
function configurationOf(providers: readonly SignInProvider[], more: ServerSettings = {}): ServerSettings {
  const certificate = authority.certificate.trim().replaceAll("\n", "\n      ");
  const jwt = providers.map(
    ({ url, clientId }) => `
- issuer:
    url: ${url}
    audiences: [${clientId}${more.consoleOidcClientId === undefined ? "" : ", spare"}]
    audienceMatchPolicy: MatchAny
    certificateAuthority: |
      ${certificate}
  claimMappings:
    username: {claim: sub, prefix: "${url}:"}`,
  );
  const text = `apiVersion: apiserver.config.k8s.io/v1beta1\nkind: AuthenticationConfiguration\njwt:${jwt.join("")}\n`;
  return { ...more, authenticationConfig: file("authentication.yaml", text) };
}

/** Starts a server, and opens its console once it knows its providers. All their users may do everything. */
async function openConsole(t: TestContext, settings: ServerSettings) {
  const server = await openServer(
    "k8s.io",
    { authorizationMode: ["AlwaysAllow"], ...settings },
    { clock: new MovingClock() },
  );
  t.after(() => server.close());
  const opened = await openPage(t, browser!);
  const { page } = opened;
  await eventually(async () => {
    await page.goto(`${server.url}/console/`);
    await page.getByLabel("Token").waitFor();
    assert.ok((await page.getByRole("button", { name: /^Sign in at/ }).count()) > 0);
  });
  return { server, api: new Api(server), ...opened };
}

/** Begins to sign in. Returns the window of the provider. */
async function begin(page: Page, name: string | RegExp = /^Sign in at/): Promise<Page> {
  const opened = page.waitForEvent("popup");
  await page.getByRole("button", { name }).click();
  return opened;
}

const isSignedIn = (page: Page): Promise<void> => page.getByRole("button", { name: "Sign out" }).waitFor();

/** Returns the name of the user of the page, by the explorer. */
async function whoIs(page: Page): Promise<string> {
  await go(page, "#/explorer");
  await page.getByLabel("Path").fill("/apis/authentication.k8s.io/v1/selfsubjectreviews");
  await page.getByLabel("Method").selectOption("POST");
  await page.getByLabel("Body").first().fill('{"apiVersion":"authentication.k8s.io/v1","kind":"SelfSubjectReview"}');
  await page.getByRole("button", { name: "Send" }).click();
  const body = await page.getByRole("region", { name: "Body" }).innerText();
  return /"username": ?"([^"]*)"/.exec(body)?.[1] ?? body;
}

test("one signs in at the provider of the flags, by a code and no cookie, and the token is in no address", {
  skip,
}, async (t) => {
  const provider = await openProvider(t);
  const { page, server, asked } = await openConsole(t, flagsOf(provider, authority));
  const seen: string[] = [];
  page.context().on("request", (request) => seen.push(request.url()));
  const opened = await begin(page);
  await isSignedIn(page);
  // The window closes by itself.
  if (!opened.isClosed()) await opened.waitForEvent("close");
  assert.equal(await whoIs(page), "oidc:alice");
  assert.deepEqual(await page.context().cookies(), []);
  assert.deepEqual(await page.evaluate("[localStorage.length, sessionStorage.length]"), [0, 0]);
  assert.equal(provider.exchanged.length, 1);
  const urls = [...seen, ...asked, page.url()];
  // No address has a token, and the page itself asks its own server alone.
  assert.deepEqual(
    urls.filter((url) => /eyJ|token=|verifier/.test(url)),
    [],
  );
  assert.deepEqual(
    asked.filter((url) => !url.startsWith(`${server.url}/`)),
    [],
  );
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
  await begin(page);
  await isSignedIn(page);
});

test("the providers of a configuration are a choice, and a flag names the client", { skip }, async (t) => {
  const [one, other, unnamed] = [
    await openProvider(t, { clientId: "web", kind: "ec" }),
    await openProvider(t, { clientId: "web" }),
    await openProvider(t, { namesIssuer: false }),
  ];
  const { page } = await openConsole(
    t,
    configurationOf([one, other, unnamed], { consoleOidcClientId: ["web", `${unnamed.url}=console`] }),
  );
  const buttons = page.getByRole("button", { name: /^Sign in at/ });
  await eventually(async () => {
    await page.reload();
    await page.getByLabel("Token").waitFor();
    assert.equal(await buttons.count(), 2);
  });
  await begin(page, `Sign in at ${one.url}`);
  await isSignedIn(page);
  assert.equal(await whoIs(page), `${one.url}:alice`);
  await page.getByRole("button", { name: "Sign out" }).click();
  await begin(page, `Sign in at ${other.url}`);
  await isSignedIn(page);
  assert.equal(await whoIs(page), `${other.url}:alice`);
  assert.deepEqual([one.exchanged.length, other.exchanged.length], [1, 1]);
});

test("a provider cannot send people on to another one, and get the code of that one", { skip }, async (t) => {
  const [evil, honest] = [await openProvider(t), await openProvider(t)];
  const { page } = await openConsole(t, configurationOf([evil, honest]));
  const alert = page.getByRole("alert");
  evil.misbehaviour = { leadsTo: (query) => `${honest.url}/authorize?kept=1&${String(query)}` };
  await begin(page, `Sign in at ${evil.url}`);
  await alert.getByText("the answer is not of this provider").waitFor();
  // It also cannot keep silent about whose the answer is.
  evil.misbehaviour = { answer: { iss: null } };
  await begin(page, `Sign in at ${evil.url}`);
  await alert.getByText("the answer is not of this provider").waitFor();
  // A token of the other one, which it may have got elsewhere, is not taken either.
  evil.misbehaviour = { claims: { iss: honest.url } };
  await begin(page, `Sign in at ${evil.url}`);
  await alert.getByText("the token is of the issuer").waitFor();
  assert.deepEqual([evil.exchanged.length, honest.exchanged.length], [1, 0]);
});

test("wrong states, nonces, audiences and signatures, refusals and codes of before sign nobody in", {
  skip,
}, async (t) => {
  const provider = await openProvider(t);
  const { page } = await openConsole(t, flagsOf(provider, authority));
  const alert = page.getByRole("alert");
  let dialogs = 0;
  page.context().on("dialog", (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  const html = "<img src=x onerror=alert(1)>";
  const refused = async (misbehaviour: SignInProvider["misbehaviour"], text: string): Promise<void> => {
    provider.misbehaviour = misbehaviour;
    await begin(page);
    await alert.getByText(text).waitFor();
    assert.equal(await page.getByLabel("Token").count(), 1);
  };
  await refused({ answer: { code: null, error: "access_denied", error_description: html } }, `access_denied ${html}`);
  await refused({ claims: { nonce: "other" } }, "the token is not of this sign-in");
  await refused({ claims: { nonce: undefined } }, "the token is not of this sign-in");
  await refused({ claims: { aud: "other" } }, "the token is meant for");
  await refused({ claims: { exp: 1000 } }, "the server does not take this sign-in");
  provider.misbehaviour = { answer: { state: "other" } };
  const opened = await begin(page);
  await opened.getByText("No page of the console waits for this sign-in").waitFor();
  assert.doesNotMatch(opened.url(), /code|state/);
  await opened.close();
  // A code that was exchanged before.
  await refused({ replays: true }, `invalid_grant: ${html}`);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal(dialogs, 0);
  provider.misbehaviour = {};
  await begin(page);
  await isSignedIn(page);
});

test("the page of the provider has no hold on the page that opened it", { skip }, async (t) => {
  const provider = await openProvider(t);
  const { page } = await openConsole(t, flagsOf(provider, authority));
  provider.misbehaviour = { leadsTo: () => `${provider.url}/page` };
  const opened = await begin(page);
  await opened.getByText("The page of the provider").waitFor();
  assert.equal(await opened.evaluate("window.opener"), null);
  await opened.close();
  // Whoever has closed the window begins again.
  provider.misbehaviour = {};
  await begin(page);
  await isSignedIn(page);
});

test("an answer that no page has asked for does nothing, and is not kept in the address", { skip }, async (t) => {
  const provider = await openProvider(t);
  const { page, server } = await openConsole(t, flagsOf(provider, authority));
  await page.goto(`${server.url}/console/?code=stolen&state=x&iss=${encodeURIComponent(provider.url)}`);
  await page.getByText("No page of the console waits for this sign-in").waitFor();
  assert.equal(page.url(), `${server.url}/console/`);
  assert.deepEqual(provider.exchanged, []);
});

test("a token that has expired is replaced beside the page, which keeps what was typed", { skip }, async (t) => {
  const provider = await openProvider(t);
  const { page, api } = await openConsole(t, flagsOf(provider, authority));
  await begin(page);
  await isSignedIn(page);
  await go(page, "#/new/-/v1/configmaps?ns=default");
  const editor = page.getByRole("textbox", { name: "New object as YAML" });
  await editor.focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.insertText('data:\n  typed: "1"\n');
  const expireNow = async (): Promise<void> => {
    api.server.clock!.advance(2 * 3_600_000);
    provider.misbehaviour = { claims: times() };
    await page.evaluate("{ const now = Date.now; Date.now = () => now() + 2 * 3_600_000; }");
  };
  const times = (): object => {
    const now = Math.floor(api.server.clock!.now() / 1000);
    return { iat: now, exp: now + 3600 };
  };
  await expireNow();
  const review = page.getByRole("button", { name: "Review" });
  await review.click();
  const notice = page.getByText("Your sign-in has expired.");
  await notice.waitFor();
  const refused = page.getByRole("alert").getByText("nothing was done: sign in again, then repeat it");
  await refused.waitFor();
  await begin(page, "Sign in again");
  await notice.waitFor({ state: "detached" });
  // The page says still that the write was refused, and what was typed is there to be sent again.
  assert.equal(await refused.count(), 1);
  await review.click();
  await page.getByRole("region", { name: "Differences" }).getByText('+  typed: "1"').waitFor();
  // Somebody else who signs in begins anew.
  await expireNow();
  await review.click();
  await notice.waitFor();
  provider.misbehaviour = { user: "bob", claims: times() };
  await begin(page, "Sign in again");
  await editor.getByText("typed").waitFor({ state: "detached" });
  assert.equal(await whoIs(page), "oidc:bob");
});

test("a page says that its token has expired before anything is refused", { skip }, async (t) => {
  const provider = await openProvider(t);
  const { page } = await openConsole(t, flagsOf(provider, authority));
  provider.misbehaviour = { claims: { exp: Math.floor(Date.now() / 1000) + 5 } };
  await begin(page);
  await isSignedIn(page);
  await go(page, "#/explorer");
  await page.getByText("Your sign-in has expired.").waitFor();
  // A sign-in that fails changes nothing.
  provider.misbehaviour = { claims: { nonce: "other" } };
  await begin(page, "Sign in again");
  await page.getByRole("alert").getByText("the token is not of this sign-in").waitFor();
  provider.misbehaviour = {};
  await begin(page, "Sign in again");
  await page.getByText("Your sign-in has expired.").waitFor({ state: "detached" });
  await go(page, "#/kind/-/v1/configmaps?ns=default");
  await page.getByText(/live: \d/).waitFor();
});
