/** The console's files on the server's own port: who may ask for them, and what browsers are told about them. */
import assert from "node:assert/strict";
import https from "node:https";
import { before, test } from "node:test";
import { startServer } from "#server/start-server.ts";
import { buildConsole } from "../../scripts/build-console.ts";
import { openServer, startsServers, usingServer } from "../harness.ts";

const skip = startsServers ? false : "another server has no console";

interface Answer {
  readonly code: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

before(async () => {
  if (startsServers) await buildConsole();
});

function get(url: string, headers: Readonly<Record<string, string>> = {}, method = "GET"): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // The path is sent as it is written here.
    const path = url.slice(new URL(url).origin.length);
    const request = https.request({ hostname, port, path, method, headers, rejectUnauthorized: false }, (message) => {
      const pieces: Buffer[] = [];
      message.on("data", (piece: Buffer) => pieces.push(piece));
      message.on("end", () =>
        resolve({ code: message.statusCode!, headers: message.headers, text: Buffer.concat(pieces).toString() }),
      );
    });
    request.once("error", reject);
    request.end();
  });
}

test(
  "the page and its files need no sign-in, allow nothing inline, and are kept for ever if their name has a hash",
  {
    skip,
  },
  () =>
    usingServer("k8s.io", {}, async ({ server: { url } }) => {
      const page = await get(`${url}/console/`);
      assert.strictEqual(page.code, 200);
      assert.strictEqual(page.headers["content-type"], "text/html; charset=utf-8");
      assert.strictEqual(page.headers["cache-control"], "no-cache");
      const names = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, name]) => name!);
      assert.strictEqual(names.length, 3);
      for (const name of names) {
        const file = await get(`${url}/console/${name}`);
        assert.strictEqual(file.code, 200, name);
        assert.match(String(file.headers["cache-control"]), /immutable/);
        assert.deepEqual(
          (await get(`${url}/console/${name}`, { "accept-encoding": "gzip" })).headers["content-encoding"],
          "gzip",
        );
      }
      const answers = [page, await get(`${url}/console/none.js`), await get(`${url}/console/session`)];
      assert.deepEqual(
        answers.map(({ code }) => code),
        [200, 404, 200],
      );
      for (const { headers } of answers) {
        const policy = String(headers["content-security-policy"]);
        for (const rule of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"]) {
          assert.ok(policy.includes(rule), rule);
        }
        assert.doesNotMatch(policy, /unsafe|\*|data:|blob:/);
        assert.match(policy, /require-trusted-types-for 'script'; trusted-types 'none'/);
        assert.strictEqual(headers["cross-origin-opener-policy"], "same-origin");
        assert.strictEqual(headers["x-content-type-options"], "nosniff");
        assert.strictEqual(headers["referrer-policy"], "no-referrer");
        assert.strictEqual(headers["set-cookie"], undefined);
      }
    }),
);

test(
  "names of others that lead here, pages of other sites, and paths that leave the folder are refused",
  { skip },
  () =>
    usingServer("k8s.io", { tlsSan: ["console.example.com"] }, async ({ server: { url } }) => {
      const { port } = new URL(url);
      const codes = async (all: readonly Readonly<Record<string, string>>[]): Promise<number[]> =>
        (await Promise.all(all.map((headers) => get(`${url}/console/`, headers)))).map(({ code }) => code);
      assert.deepEqual(
        await codes([
          { host: `localhost:${port}` },
          { host: `[::1]:${port}` },
          { host: "console.example.com" },
          { host: "evil.example.com" },
          { host: `127.0.0.1.evil.example.com:${port}` },
          { host: "169.254.169.254" },
        ]),
        [200, 200, 200, 403, 403, 403],
      );
      const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
      assert.deepEqual(
        await codes([
          { "sec-fetch-site": "same-origin" },
          { "sec-fetch-site": "cross-site", ...navigation },
          { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script" },
          { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
          { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
        ]),
        [200, 200, 403, 403, 403],
      );
      for (const path of [
        "/console/../package.json",
        "/console/%2e%2e/%2e%2e/package.json",
        "/console/..%2f..%2fpackage.json",
        "/console/index.html%00",
      ]) {
        const { code, text } = await get(url + path);
        assert.ok(code >= 400, `${path}: ${code}`);
        assert.doesNotMatch(text, /devDependencies/);
      }
      assert.strictEqual((await get(`${url}/console/`, {}, "POST")).code, 405);
      assert.strictEqual((await get(`${url}/console`)).headers["location"], "/console/");
      // Browsers at the address of the server are led to the console, and other clients are not.
      const browser = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
      assert.strictEqual((await get(`${url}/`, browser)).headers["location"], "/console/");
      assert.strictEqual((await get(`${url}/`, { ...browser, authorization: "Bearer x" })).code, 401);
      assert.strictEqual((await get(`${url}/`, { accept: "*/*" })).code, 403);
      assert.strictEqual((await get(`${url}/api`, browser)).code, 403);
      // Other paths that begin with the word are the API's.
      assert.strictEqual((await get(`${url}/consoles`)).code, 403);
    }),
);

test("the first page is small, and so is all of it together", { skip }, async () => {
  const { first, all } = await buildConsole();
  assert.ok(first <= 30_000, `${first} bytes at first`);
  assert.ok(all <= 250_000, `${all} bytes in all`);
});

test("a flag turns the console off, and on where others reach the server", { skip }, async (t) => {
  const codeWith = async (settings: Parameters<typeof openServer>[1]): Promise<number> => {
    const server = await openServer("k8s.io", settings);
    t.after(() => server.close());
    return (await get(`https://127.0.0.1:${new URL(server.url).port}/console/`)).code;
  };
  assert.strictEqual(await codeWith({ console: false }), 403);
  assert.strictEqual(await codeWith({ bindAddress: "0.0.0.0" }), 403);
  assert.strictEqual(await codeWith({ bindAddress: "0.0.0.0", console: true }), 200);
});

test("pages of other sites cannot use the certificate of a browser, neither for requests nor for WebSockets", {
  skip,
}, async () => {
  const server = await startServer({ storage: "memory", securePort: 0 });
  const { admin, url } = server;
  const { hostname, port } = new URL(url);
  const options = { hostname, port, cert: admin.certificate, key: admin.key, rejectUnauthorized: false };
  const maps = "/api/v1/namespaces/default/configmaps";
  /** Sends a request of a page, and returns its code. */
  const send = (method: string, path: string, headers: Readonly<Record<string, string>>): Promise<number> =>
    new Promise((resolve, reject) => {
      const request = https.request({ ...options, method, path, headers }, (answer) => {
        answer.resume().once("end", () => resolve(answer.statusCode!));
      });
      request.once("upgrade", (answer, socket) => {
        socket.destroy();
        resolve(answer.statusCode!);
      });
      request.once("error", reject);
      request.end(method === "POST" ? '{"metadata":{"generateName":"a-"}}' : undefined);
    });
  const evil = { origin: "https://evil.example", "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" };
  const upgrade = {
    connection: "Upgrade",
    upgrade: "websocket",
    "sec-websocket-version": "13",
    "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
  };
  try {
    assert.equal(await send("POST", maps, evil), 403);
    assert.equal(await send("GET", `${maps}?watch=true`, { ...evil, ...upgrade, "sec-fetch-mode": "websocket" }), 403);
    assert.equal(await send("GET", maps, { ...evil, "sec-fetch-site": "same-site" }), 403);
    // The console's own requests, links that people follow, and programs are answered.
    assert.equal(await send("POST", maps, { "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors" }), 201);
    assert.equal(
      await send("GET", maps, {
        "sec-fetch-site": "cross-site",
        "sec-fetch-mode": "navigate",
        "sec-fetch-dest": "document",
      }),
      200,
    );
    assert.equal(await send("GET", maps, {}), 200);
    assert.equal(await send("GET", `${maps}?watch=true`, upgrade), 101);
  } finally {
    await server.close();
  }
});
