/** Answers of webhooks that are long and have very many values: other requests have turns while they are decoded. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { largestPiece } from "#std/growth-for-tests.ts";
import { Api, gated, openServer } from "../harness.ts";
import { configMap } from "../objects.ts";
import { type WebhookAnswer, WebhookServer } from "../webhook-server.ts";

const hooks = await WebhookServer.open();
after(() => hooks.close());

const configurations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
const configMaps = "/api/v1/namespaces/default/configmaps";

const configuration = (clientConfig: object): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "MutatingWebhookConfiguration",
  metadata: { name: "long" },
  webhooks: [
    {
      name: "long.example.com",
      clientConfig,
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      timeoutSeconds: 30,
    },
  ],
});

/** Runs a part of a test with a server whose webhook for new config maps gives this answer. */
async function whileAnswering(answer: WebhookAnswer, run: (api: Api) => Promise<void>): Promise<void> {
  const server = await openServer("k8s.io", gated);
  const api = new Api(server);
  try {
    (await api.post(configurations, configuration(await hooks.at("/long", answer)))).expect(201);
    await run(api);
  } finally {
    api.close();
    await server.close();
  }
}

/** The maximum share of the work in one piece. If all work were done at once, a piece would be nearly all of it. */
const pieceMax = 1 / 3;

const empty = (count: number): readonly object[] => Array.from({ length: count }, () => ({}));

test("an answer of two million values is read in pieces", async () => {
  await whileAnswering({ response: { more: empty(2_000_000) } }, async (api) => {
    const piece = await largestPiece(async () => (await api.post(configMaps, configMap("read"))).expect(201));
    assert.ok(piece < pieceMax, `${piece} of the work in one piece`);
  });
});

test("a patch of more than an object may hold is read in pieces, and refused", async () => {
  const patch = [{ op: "add", path: "/metadata/annotations", value: { a: empty(1_500_000) } }];
  await whileAnswering({ patch }, async (api) => {
    const piece = await largestPiece(async () => {
      (await api.post(configMaps, configMap("refused"))).expectFailure(
        413,
        "RequestEntityTooLarge",
        /larger than the 1572864 bytes/,
      );
    });
    assert.ok(piece < pieceMax, `${piece} of the work in one piece`);
  });
});

test("a patch nested as deeply as fits, and one that ends early, are refused", async () => {
  for (const value of ["[".repeat(9000) + "]".repeat(9000), `[${"{},".repeat(1_000_000)}`]) {
    const patch = `[{"op":"add","path":"/data/x","value":${value}}]`;
    const response = { allowed: true, patchType: "JSONPatch", patch: Buffer.from(patch).toString("base64") };
    await whileAnswering({ response }, async (api) => {
      const { status: code } = await api.post(configMaps, configMap("nested"));
      assert.ok(code === 500 || code === 400, String(code));
      (await api.get(configMaps)).expect(200);
    });
  }
});
