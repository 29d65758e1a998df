/** Texts in objects that name others: no controller is led by them to what their authors may not reach. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../harness.ts";
import { configMap } from "../objects.ts";
import { openAudited } from "./audited-server.ts";

test("owners that name subresources lead the garbage collector nowhere", async (t) => {
  const { api, requests } = await openAudited(t, "Metadata");
  const owned = (name: string, apiVersion: string, kind: string, owner: string) => {
    const { metadata, ...rest } = configMap(name, {}) as { readonly metadata: object };
    return {
      ...rest,
      metadata: { ...metadata, ownerReferences: [{ apiVersion, kind, name: owner, uid: `uid-${name}` }] },
    };
  };
  const configMaps = "/api/v1/namespaces/default/configmaps";
  (await api.post(configMaps, owned("a", "v1", "Pod", "victim:8080/proxy/reset"))).expect(201);
  (await api.post(configMaps, owned("b", "v1", "Node", "node/proxy/logs"))).expect(201);
  (await api.post(configMaps, owned("c", "v1", "Service", "../pods/victim/proxy"))).expect(201);
  (await api.post(configMaps, owned("d", "v1", "Secret", ".."))).expect(201);
  (await api.post(configMaps, owned("e", "v1", "Secret", "."))).expect(201);
  // The collector has come to later objects.
  (await api.post(configMaps, owned("last", "v1", "ConfigMap", "absent"))).expect(201);
  await eventually(async () => (await api.get(`${configMaps}/last`)).expect(404));
  const ofControllers = requests().map(({ request }) => request);
  assert.ok(ofControllers.some(({ requestURI }) => requestURI.endsWith("/configmaps/absent")));
  assert.deepEqual(
    ofControllers.filter(({ objectRef }) => objectRef?.subresource === "proxy").map(({ requestURI }) => requestURI),
    [],
  );
  const secrets = ofControllers.filter(({ requestURI }) => /\/namespaces\/default\/secrets\//.test(requestURI));
  assert.deepEqual(new Set(secrets.map(({ objectRef }) => objectRef?.name)), new Set(["%..", "%."]));
});
