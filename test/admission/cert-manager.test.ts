/**
 * The webhook of cert-manager, built from its Go module (`test/cert-manager`). It stores its certificate in a Secret of
 * this server, fills in and checks cert-manager's objects. The test needs Go and cached modules: `cd test/cert-manager
 * && go mod download`.
 */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { newRequest } from "../certificate-requests.ts";
import { crds } from "../crds.ts";
import { freePort, GoModule, stop } from "../go-program.ts";
import { Api, eventually, file, openServer, temporaryFolder } from "../harness.ts";
import { namespaces } from "../objects.ts";

const webhookProgram = "github.com/cert-manager/cert-manager/cmd/webhook";
const certManager = new GoModule("cert-manager");
const skip = certManager.missingModule(webhookProgram);

const namespace = "cert-manager";
const service = "cert-manager-webhook";
const registration = "/apis/admissionregistration.k8s.io/v1";
const group = "cert-manager.io";
const issuers = `/apis/${group}/v1/namespaces/default/issuers`;
const requests = `/apis/${group}/v1/namespaces/default/certificaterequests`;

/** Returns cert-manager's definitions, which its module has for helm. */
function definitions(): readonly object[] {
  const listed = certManager.run(["list", "-m", "-f", "{{.Dir}}", "github.com/cert-manager/cert-manager"]);
  assert.ok("output" in listed);
  return globSync(join(listed.output.trim(), "deploy/crds/crd-*.yaml")).map((path) => {
    const text = readFileSync(path, "utf8").replaceAll(/\{\{.*?\}\}/g, "x");
    return load(text) as object; // a definition
  });
}

/** Returns the configuration that cert-manager's chart registers. */
const configuration = (kind: "Mutating" | "Validating", path: string, caBundle: string): object => ({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: `${kind}WebhookConfiguration`,
  metadata: { name: service },
  webhooks: [
    {
      name: "webhook.cert-manager.io",
      rules: [
        {
          apiGroups: [group, `acme.${group}`],
          apiVersions: ["v1"],
          operations: ["CREATE", "UPDATE"],
          resources: ["*/*"],
        },
      ],
      admissionReviewVersions: ["v1"],
      sideEffects: "None",
      clientConfig: { service: { namespace, name: service, path }, caBundle },
    },
  ],
});

const object = (kind: string, name: string, spec: object): object => ({
  apiVersion: `${group}/v1`,
  kind,
  metadata: { name },
  spec,
});

test("cert-manager's webhook fills in and checks what is written", { skip: skip ?? false }, async () => {
  const program = join(temporaryFolder(), "webhook");
  certManager.build(webhookProgram, program);
  const [port, healthPort] = [await freePort(), await freePort()];
  const server = await openServer("k8s.io", { serviceAddress: [`${namespace}/${service}=127.0.0.1:${port}`] });
  const api = new Api(server);
  (await api.post(namespaces, { metadata: { name: namespace } })).expect(201);
  const child = spawn(
    program,
    [
      `--secure-port=${port}`,
      `--healthz-port=${healthPort}`,
      `--kubeconfig=${file("kubeconfig", server.kubeconfig)}`,
      `--dynamic-serving-ca-secret-namespace=${namespace}`,
      `--dynamic-serving-ca-secret-name=${service}-ca`,
      `--dynamic-serving-dns-names=${service}.${namespace}.svc`,
    ],
    { stdio: "ignore" },
  );
  try {
    for (const definition of definitions()) (await api.post(crds, definition)).expect(201);
    const secret = `/api/v1/namespaces/${namespace}/secrets/${service}-ca`;
    await eventually(async () => (await api.get(secret)).expect(200, { type: "Opaque" }), 60_000);
    const { data } = (await api.get(secret)).value as { readonly data: Readonly<Record<string, string>> };
    for (const [kind, path] of [
      ["Mutating", "/mutate"],
      ["Validating", "/validate"],
    ] as const) {
      const where = `${registration}/${kind.toLowerCase()}webhookconfigurations`;
      (await api.post(where, configuration(kind, path, data["ca.crt"]!))).expect(201);
    }
    await eventually(
      async () => (await api.post(`${issuers}?dryRun=All`, object("Issuer", "self", { selfSigned: {} }))).expect(201),
      60_000,
    );
    (await api.post(issuers, object("Issuer", "self", { selfSigned: {} }))).expect(201);
    // The webhook refuses an object that its schema accepts.
    (await api.post(issuers, object("Issuer", "none", {}))).expectFailure(
      406,
      "NotAcceptable",
      /admission webhook "webhook\.cert-manager\.io" denied the request: spec: Required value: at least one issuer must be configured/,
    );
    // The webhook fills in the name of the user, which cannot be changed.
    const { request } = await newRequest([{ CN: ["one"] }], ["one.example.com"]);
    const spec = { request, issuerRef: { name: "self" } };
    const answer = await api.post(requests, object("CertificateRequest", "one", spec), { as: "admin" });
    answer.expect(201, { "spec.username": "admin" });
    const change = { spec: { username: "alice" } };
    (await api.patch(`${requests}/one`, change)).expectFailure(406, "NotAcceptable", /spec\.username: Forbidden/);
    await stop(child);
    (await api.patch(`${issuers}/self`, { metadata: { labels: { a: "b" } } })).expectFailure(
      500,
      "InternalError",
      /failed calling webhook "webhook\.cert-manager\.io"/,
    );
  } finally {
    api.close();
    await stop(child);
    await server.close();
  }
});
