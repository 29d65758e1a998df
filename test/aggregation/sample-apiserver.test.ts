/**
 * k8s.io/sample-apiserver, built from its Go module (`test/sample-apiserver`), as an aggregated API server that
 * delegates authentication and authorization to this one. Needs Go and cached modules: `cd test/sample-apiserver && go
 * mod download`.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { freePort, GoModule, stop } from "../go-program.ts";
import { Api, eventually, file, openServer, temporaryFolder } from "../harness.ts";
import { namespaces } from "../objects.ts";
import { apiServices, waitForDiscovery, group } from "./aggregated-server.ts";

const sample = new GoModule("sample-apiserver");
const program = join(temporaryFolder(), "sample-apiserver");
const skip = sample.missingModule(".");

const patienceMs = 60_000;
const versions = ["v1alpha1", "v1beta1"];

test("sample-apiserver serves its group through this server, and is available again after a stop [MEDIA-14]", {
  skip: skip ?? false,
}, async () => {
  sample.build(".", program);
  const server = await openServer("k8s.io", {});
  const api = new Api(server);
  const port = await freePort();
  const authority = await fakeAuthority("sample");
  const { certificate, key } = await authority.issue({ usage: "server", hosts: ["api.wardle.svc"] });
  const kubeconfig = file("kubeconfig", server.kubeconfig);
  const etcd = temporaryFolder();
  const start = (): ChildProcess =>
    spawn(
      program,
      [
        join(etcd, "data"),
        `--secure-port=${port}`,
        "--bind-address=127.0.0.1",
        `--tls-cert-file=${file("tls.crt", certificate)}`,
        `--tls-private-key-file=${file("tls.key", key)}`,
        ...["kubeconfig", "authentication-kubeconfig", "authorization-kubeconfig"].map(
          (flag) => `--${flag}=${kubeconfig}`,
        ),
      ],
      { stdio: "ignore" },
    );
  let child = start();
  const available = (status: string): Promise<unknown> =>
    eventually(async () => {
      for (const version of versions) {
        (await api.get(`${apiServices}/${version}.${group}`)).expect(200, { "status.conditions.0.status": status });
      }
    }, patienceMs);
  try {
    // The other server starts when it has read the ConfigMap.
    const trust = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    await eventually(async () => (await api.get(trust)).expect(200));
    (await api.post(namespaces, { metadata: { name: "wardle" } })).expect(201);
    const service = { metadata: { name: "api" }, spec: { type: "ExternalName", externalName: "localhost" } };
    (await api.post("/api/v1/namespaces/wardle/services", service)).expect(201);
    for (const version of versions) {
      const spec = {
        group,
        version,
        service: { namespace: "wardle", name: "api", port },
        caBundle: Buffer.from(authority.certificate).toString("base64"),
        groupPriorityMinimum: 1000,
        versionPriority: 15,
      };
      (await api.post(apiServices, { metadata: { name: `${version}.${group}` }, spec })).expect(201);
    }
    await available("True");
    const flunders = (version: string): string => `/apis/${group}/${version}/namespaces/wardle/flunders`;
    const watch = await api.watch(flunders("v1alpha1"));
    const flunder = { apiVersion: `${group}/v1beta1`, kind: "Flunder", metadata: { name: "one" } };
    (await api.post(flunders("v1beta1"), flunder)).expect(201);
    // The object is written in one version and watched in the other.
    (await watch.next()).has({
      type: "ADDED",
      "object.metadata.name": "one",
      "object.apiVersion": `${group}/v1alpha1`,
    });
    // The other server has no Protobuf for its own kinds, and says so in Protobuf.
    (await api.get(flunders("v1beta1"), { accept: "application/vnd.kubernetes.protobuf" })).expect(406);
    // Both servers authorize a user, and the other one knows the user's name.
    (await api.get(flunders("v1beta1"), { as: "alice" })).expectFailure(403, "Forbidden");
    await waitForDiscovery(api, {
      "versions.0.version": "v1beta1",
      "versions.0.freshness": "Current",
      "versions.0.resources.0.resource": "flunders",
      "versions.1.version": "v1alpha1",
    });
    await eventually(async () => {
      const { paths } = (await api.get("/openapi/v3")).expect(200).value as { paths: Record<string, object> };
      for (const version of versions) assert.ok(paths[`apis/${group}/${version}`] !== undefined);
    }, patienceMs);
    watch.close();
    await stop(child);
    (await api.get(flunders("v1beta1"))).expect(503);
    (await api.patch("/api/v1/namespaces/wardle/services/api", { metadata: { labels: { a: "b" } } })).expect(200);
    await available("False");
    child = start();
    await available("True");
    (await api.get(flunders("v1beta1"))).expect(200, { "items.length": 1 });
  } finally {
    api.close();
    await stop(child);
    await server.close();
  }
});
