/** `binnacle console`: a page signs in with the code of the link, and sees the cluster with the kubeconfig's rights. */
import assert from "node:assert/strict";
import http from "node:http";
import { createInterface } from "node:readline";
import { before, test } from "node:test";
import { buildConsole } from "../../scripts/build-console.ts";
import { startsServers } from "../harness.ts";
import { openConsole } from "./local-console.ts";

const skip = startsServers ? false : "another server is not asked by the program";

before(async () => {
  if (startsServers) await buildConsole();
});

interface Answer {
  readonly code: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

interface Asked {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

function ask(origin: string, path: string, { method = "GET", headers = {}, body }: Asked = {}): Promise<Answer> {
  const { hostname, port } = new URL(origin);
  return new Promise((resolve, reject) => {
    const request = http.request({ hostname, port, path, method, headers, agent: false }, (message) => {
      const pieces: Buffer[] = [];
      message.on("data", (piece: Buffer) => pieces.push(piece));
      message.on("end", () =>
        resolve({ code: message.statusCode!, headers: message.headers, text: Buffer.concat(pieces).toString() }),
      );
    });
    request.once("error", reject);
    request.end(body);
  });
}

const signInWith = (origin: string, code: string, more: Readonly<Record<string, string>> = {}): Promise<Answer> =>
  ask(origin, "/console/session", {
    method: "POST",
    headers: { "content-type": "application/json", ...more },
    body: JSON.stringify({ code }),
  });

test("a code is good once, and its token opens the API with the kubeconfig's rights", { skip }, async (t) => {
  const { origin, code } = await openConsole(t, "k8s.io");
  assert.strictEqual((await ask(origin, "/console/")).code, 200);
  assert.strictEqual((await ask(origin, "/api/v1/namespaces")).code, 401);
  assert.strictEqual((await signInWith(origin, "wrong")).code, 403);
  const { token } = JSON.parse((await signInWith(origin, code)).text) as { readonly token: string };
  assert.strictEqual((await signInWith(origin, code)).code, 403);
  const authorization = `Bearer ${token}`;
  const list = await ask(origin, "/api/v1/namespaces/kube-system", { headers: { authorization } });
  assert.match(list.text, /"name":"kube-system"/);
  assert.strictEqual(list.headers["content-type"], "application/json");
  assert.match(String(list.headers["content-security-policy"]), /^sandbox/);
  assert.strictEqual(list.headers["x-content-type-options"], "nosniff");
  const made = await ask(origin, "/api/v1/namespaces", {
    method: "POST",
    headers: { authorization, "content-type": "application/json" },
    body: JSON.stringify({ metadata: { name: "made-here" } }),
  });
  assert.strictEqual(made.code, 201);
  const refused = await ask(origin, "/api/v1/namespaces", {
    headers: { authorization, "impersonate-user": "al%C3%ADce", "impersonate-group": "dev,a%2Cb" },
  });
  assert.strictEqual(refused.code, 403);
  assert.match(refused.text, /User \\"alíce\\" cannot list/);
  const warned = await ask(origin, "/api/v1/componentstatuses", { headers: { authorization } });
  assert.match(String(warned.headers["x-console-warnings"]), /deprecated/);
  for (const wrong of [`Bearer ${token}x`, `Basic ${token}`, token]) {
    assert.strictEqual((await ask(origin, "/version", { headers: { authorization: wrong } })).code, 401);
  }
  assert.strictEqual(
    (await ask(origin, "/console/session", { method: "DELETE", headers: { authorization } })).code,
    200,
  );
  assert.strictEqual((await ask(origin, "/version", { headers: { authorization } })).code, 401);
});

test("pages of other sites and other names of this machine are refused, with a token, too", { skip }, async (t) => {
  const { origin, code } = await openConsole(t, "k8s.io");
  const { token } = JSON.parse((await signInWith(origin, code)).text) as { readonly token: string };
  const authorization = `Bearer ${token}`;
  const { port } = new URL(origin);
  for (const headers of [
    { host: "evil.example.com" },
    { host: `evil.example.com:${port}` },
    { host: "127.0.0.1" },
    { origin: "https://evil.example.com" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
  ]) {
    const answers = [
      await ask(origin, "/version", { headers: { authorization, ...headers } }),
      await signInWith(origin, code, headers),
      await ask(origin, "/console/", { headers }),
    ];
    assert.deepEqual(
      answers.map((answer) => answer.code),
      [403, 403, 403],
      JSON.stringify(headers),
    );
  }
  const named = { authorization, host: `localhost:${port}`, origin: `http://localhost:${port}` };
  assert.strictEqual((await ask(origin, "/version", { headers: named })).code, 200);
  assert.strictEqual((await ask(origin, "http://evil.example.com/version", { headers: { authorization } })).code, 400);
});

test("a watch is passed on event by event, and ends when the page leaves", { skip }, async (t) => {
  const { origin, code } = await openConsole(t, "k8s.io");
  const { token } = JSON.parse((await signInWith(origin, code)).text) as { readonly token: string };
  const headers = { authorization: `Bearer ${token}` };
  const { hostname, port } = new URL(origin);
  const path = "/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=0";
  const message = await new Promise<http.IncomingMessage>((resolve, reject) => {
    http.get({ hostname, port, path, headers, agent: false }, resolve).once("error", reject);
  });
  const lines = createInterface({ input: message })[Symbol.asyncIterator]();
  for (const name of ["one", "two"]) {
    await ask(origin, "/api/v1/namespaces/default/configmaps", {
      method: "POST",
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify({ metadata: { name } }),
    });
    const { value } = (await lines.next()) as { readonly value: string };
    assert.match(value, new RegExp(`"type":"ADDED".*"name":"${name}"`));
  }
  message.destroy();
  assert.strictEqual((await ask(origin, "/api/v1/namespaces/none/pods/none?watch=0", { headers })).code, 404);
});
