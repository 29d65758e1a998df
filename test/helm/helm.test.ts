/** Helm, if installed: releases that wait for their Service, and rollback when it never becomes ready. */
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { anyServer, Api, temporaryFolder, type TestServer } from "../harness.ts";
import { absent, present } from "../view.ts";

const isThere = spawnSync("helm", ["version"]).status === 0;
const skip = isThere ? false : "no helm on the PATH";

let server: Promise<TestServer> | undefined;
after(async () => (await server)?.close());

/**
 * Creates a chart with a Service whose type is a value, a ConfigMap that follows it, and a custom resource. Returns its
 * folder.
 */
function chart(): string {
  const folder = join(temporaryFolder(), "shop");
  for (const part of ["templates", "crds"]) mkdirSync(join(folder, part), { recursive: true });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  write("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n");
  write("values.yaml", "type: ClusterIP\n");
  write(
    "templates/service.yaml",
    `apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec:
  type: {{ .Values.type }}
  selector: {app: shop}
  ports: [{port: 80, targetPort: http, name: http}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}}
data: {type: {{ .Values.type }}}
---
apiVersion: helm.example.com/v1
kind: Shop
metadata: {name: {{ .Release.Name }}}
spec: {open: true}
`,
  );
  const names = { plural: "shops", singular: "shop", kind: "Shop", listKind: "ShopList" };
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  const versions = [{ name: "v1", served: true, storage: true, schema }];
  write(
    "crds/shops.yaml",
    JSON.stringify({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "shops.helm.example.com" },
      spec: { group: "helm.example.com", scope: "Namespaced", names, versions },
    }),
  );
  return folder;
}

test("helm installs and waits, upgrades, goes back and uninstalls", { skip }, async () => {
  server ??= anyServer("k8s.io");
  const api = new Api(await server);
  const { ns, configMaps } = await api.createNamespace();
  const home = temporaryFolder();
  const kubeconfig = join(home, "kubeconfig");
  writeFileSync(kubeconfig, (await server).kubeconfig, { mode: 0o600 });
  const env = { PATH: process.env["PATH"], HOME: home, KUBECONFIG: kubeconfig };
  const helm = (...args: string[]): Promise<{ readonly code: number | null; readonly output: string }> =>
    new Promise((resolve, reject) => {
      const child = spawn("helm", [...args, "--namespace", ns], { env });
      let said = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (piece: Buffer) => (said += String(piece)));
      child.once("error", reject);
      child.once("close", (code) => resolve({ code, output: said }));
    });
  const folder = chart();
  const service = `/api/v1/namespaces/${ns}/services/one`;
  try {
    const installed = await helm("install", "one", folder, "--wait", "--timeout=120s");
    assert.equal(installed.code, 0, installed.output);
    (await api.get(service)).expect(200, { "spec.clusterIP": present, "spec.type": "ClusterIP" });

    const upgraded = await helm("upgrade", "one", folder, "--set=type=NodePort", "--atomic", "--timeout=120s");
    assert.equal(upgraded.code, 0, upgraded.output);
    (await api.get(service)).expect(200, { "spec.ports[0].nodePort": present });

    // No controller assigns an address to a load balancer service.
    const failed = await helm("upgrade", "one", folder, "--set=type=LoadBalancer", "--atomic", "--timeout=2s");
    assert.notEqual(failed.code, 0);
    assert.match(failed.output, /has been rolled back due to atomic being set/);
    (await api.get(service)).expect(200, { "spec.type": "NodePort", "spec.loadBalancerClass": absent });
    (await api.get(`${configMaps}/one`)).expect(200, { "data.type": "NodePort" });

    const back = await helm("rollback", "one", "1", "--wait", "--timeout=120s");
    assert.equal(back.code, 0, back.output);
    (await api.get(service)).expect(200, { "spec.type": "ClusterIP", "spec.ports[0].nodePort": absent });

    const gone = await helm("uninstall", "one", "--wait", "--timeout=120s");
    assert.equal(gone.code, 0, gone.output);
    (await api.get(service)).expect(404);
  } finally {
    api.close();
  }
});
