/**
 * Conversion webhooks that do not answer: calls end with their clients, the number of waiting calls is bounded, and
 * other requests continue.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { rawNumber } from "#std/raw-number.ts";
import { crds } from "../crds.ts";
import { Api, eventually, gated, openServer, type TestServer } from "../harness.ts";

interface Hook {
  readonly webhook: object;
  /** The numbers of calls that have begun, and that have ended without an answer. */
  readonly counts: { begun: number; ended: number };
  close(): void;
}

interface Review {
  readonly apiVersion: string;
  readonly request: { readonly uid: string; readonly desiredAPIVersion: string; readonly objects: readonly object[] };
}

/** Starts a webhook that changes only the version. A hanging one never answers. */
async function startHook(isHanging: boolean, padding = ""): Promise<Hook> {
  const authority = await fakeAuthority("converters");
  const { certificate: cert, key } = await authority.issue({ commonName: "converter", usage: "server" });
  const counts = { begun: 0, ended: 0 };
  // Like a webhook in Go, this one preserves numbers that a double would change.
  const exact = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    key === "big" ? rawNumber(context!.source!) : value;
  const server = https.createServer({ cert, key }, (request, response) => {
    counts.begun++;
    response.once("close", () => void (response.writableFinished ? undefined : counts.ended++));
    void (async () => {
      const { apiVersion, request: asked } = JSON.parse(await text(request), exact) as Review;
      if (isHanging) return;
      const convertedObjects = asked.objects.map((object) => ({ ...object, apiVersion: asked.desiredAPIVersion }));
      const reply = { uid: asked.uid, result: { status: "Success" }, convertedObjects, padding };
      response.end(JSON.stringify({ kind: "ConversionReview", apiVersion, response: reply }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo; // a TCP server's
  const caBundle = Buffer.from(authority.certificate).toString("base64");
  return {
    webhook: {
      clientConfig: { url: `https://127.0.0.1:${port}/`, caBundle },
      conversionReviewVersions: ["v1"],
    },
    counts,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };

/** Defines ports of the group with the stored version `v1`, and creates one object. */
async function define(api: Api, group: string, webhook: object, more = ""): Promise<string> {
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `ports.${group}` },
    spec: {
      group,
      scope: "Cluster",
      names: { plural: "ports", kind: "Port" },
      conversion: { strategy: "Webhook", webhook },
      versions: ["v1", "v2"].map((name) => ({ name, served: true, storage: name === "v1", schema })),
    },
  };
  (await api.post(crds, definition)).expect(201);
  const path = (version: string): string => `/apis/${group}/${version}/ports`;
  await eventually(async () => (await api.get(path("v1"))).expect(200));
  const object = `{"apiVersion":"${group}/v1","kind":"Port","metadata":{"name":"a"}${more}}`;
  (await api.post(path("v1"), object)).expect(201);
  return `${path("v2")}/a`;
}

async function withServer(run: (server: TestServer, api: Api) => Promise<void>, hooks: readonly Hook[]): Promise<void> {
  const server = await openServer("k8s.io", gated);
  const api = new Api(server);
  try {
    await run(server, api);
  } finally {
    api.close();
    for (const hook of hooks) hook.close();
    await server.close();
  }
}

/** Sends a GET without waiting. Returns a function that closes its connection. */
function ask(
  { endpoint: { host, port, tokens }, ca }: TestServer,
  path: string,
  onAnswer?: (code: number | undefined) => void,
): () => void {
  const headers = { authorization: `Bearer ${tokens["admin"]}` };
  const request = https.request({ host, port, path, headers, ca, agent: false });
  request
    .on("error", () => undefined)
    .on("response", (response) => {
      onAnswer?.(response.statusCode);
      response.resume();
    });
  request.end();
  return () => void request.destroy();
}

test("the call of a conversion webhook ends when the client leaves that waits for it", async () => {
  const hook = await startHook(true);
  await withServer(
    async (server, api) => {
      const path = await define(api, "left.example.com", hook.webhook);
      const leave = ask(server, path);
      await eventually(() => Promise.resolve(assert.equal(hook.counts.begun, 1)));
      leave();
      await eventually(() => Promise.resolve(assert.equal(hook.counts.ended, 1)));
    },
    [hook],
  );
});

test("calls that wait for a conversion webhook are bounded, and hold up no other definition", async () => {
  const [hanging, fine] = await Promise.all([startHook(true), startHook(false)]);
  await withServer(
    async (server, api) => {
      const [path, other] = [
        await define(api, "hung.example.com", hanging.webhook),
        await define(api, "fine.example.com", fine.webhook),
      ];
      const codes: (number | undefined)[] = [];
      const leaving = Array.from({ length: 130 }, () => ask(server, path, (code) => codes.push(code)));
      await eventually(() => Promise.resolve(assert.deepEqual(codes, [429, 429])));
      (await api.get(other)).expect(200, { apiVersion: "fine.example.com/v2" });
      for (const leave of leaving) leave();
      await eventually(() => Promise.resolve(assert.equal(hanging.counts.ended, hanging.counts.begun)));
    },
    [hanging, fine],
  );
});

test("an answer of 10 MB is refused", async () => {
  const hook = await startHook(false, "x".repeat(10 * 1024 * 1024));
  await withServer(
    async (_server, api) => {
      const path = await define(api, "long.example.com", hook.webhook);
      assert.match((await api.get(path)).expect(500).text, /the answer is longer than \d+ bytes/);
    },
    [hook],
  );
});

test("whole numbers of 64 bits stay exact on their way through a conversion webhook", async () => {
  const hook = await startHook(false);
  await withServer(
    async (_server, api) => {
      const path = await define(api, "exact.example.com", hook.webhook, ',"spec":{"big":9007199254740993}');
      const read = (await api.get(path)).expect(200, { apiVersion: "exact.example.com/v2" });
      assert.match(read.text, /"big":9007199254740993\b/);
    },
    [hook],
  );
});
