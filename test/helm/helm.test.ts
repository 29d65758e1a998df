/** Helm, if installed: releases that wait for their Service, and rollback when it never becomes ready. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { definition } from "../crds.ts";
import { anyServer, Api, type TestServer } from "../harness.ts";
import { absent, present } from "../view.ts";
import { helmIn, skip, writeChart } from "./helm.ts";

let server: Promise<TestServer> | undefined;
after(async () => (await server)?.close());

const shops = definition("helm.example.com", {
  kind: "Shop",
  scope: "Namespaced",
  schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
});

/** A chart with a Service whose type is a value, a ConfigMap that follows it, and a custom resource. */
const shop = {
  "values.yaml": "type: ClusterIP\n",
  "templates/service.yaml": `apiVersion: v1
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
  "crds/shops.yaml": JSON.stringify(shops),
};

test("helm installs and waits, upgrades, goes back and uninstalls", { skip }, async () => {
  server ??= anyServer("k8s.io");
  const api = new Api(await server);
  const { ns, configMaps } = await api.createNamespace();
  const helm = helmIn(await server, ns);
  const folder = writeChart("shop", shop);
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
