/** Flags of the aggregation layer: the certificate that other servers get, the addresses of services, and loops. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { Api, domains, eventually, file, gated, openServer } from "../harness.ts";
import { namespaces } from "../objects.ts";
import {
  AggregatedServer,
  apiService,
  apiServices,
  base,
  becomes,
  waitForDiscovery,
  group,
} from "./aggregated-server.ts";

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
const closing: (() => Promise<void>)[] = [];
after(async () => {
  for (const close of closing.reverse()) await close();
});

for (const domain of domains) {
  test(`${domain}: the given certificate is shown, at the endpoints of the service, with the uid where its gate is on`, {
    skip,
  }, async () => {
    const authority = await fakeAuthority("proxies");
    const issued = await authority.issue({ commonName: "own-proxy" });
    const server = await openServer(domain, {
      ...gated,
      featureGates: [...gated.featureGates!, "RemoteRequestHeaderUID=true"],
      proxyClientCertFile: file("proxy.crt", issued.certificate),
      proxyClientKeyFile: file("proxy.key", issued.key),
      requestheaderClientCaFile: file("ca.crt", authority.certificate),
      requestheaderAllowedNames: ["own-proxy"],
      serviceAddress: ["shop/api=127.0.0.1:1"],
    });
    closing.push(() => server.close());
    const api = new Api(server);
    const backend = await AggregatedServer.start(api, "shop", { hasAggregated: false });
    closing.push(() => backend.stop());
    (await api.post(namespaces, { metadata: { name: "shop" } })).expect(201);
    // No service has this name, so the flag gives the address.
    (await api.post(apiServices, apiService("shop", { caBundle: backend.caBundle }))).expect(201);
    await becomes(api, "False", "FailedDiscoveryCheck", /dial tcp 127\.0\.0\.1:1: connect: connection refused/);
    const trust = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    await eventually(async () =>
      (await api.get(trust)).expect(200, {
        "data.requestheader-client-ca-file": `${authority.certificate.trim()}\n`,
        "data.requestheader-allowed-names": '["own-proxy"]',
      }),
    );
    // The test flag cannot name a port that is chosen later, so an external name leads to the real one.
    const real = { metadata: { name: "real" }, spec: { type: "ExternalName", externalName: "localhost" } };
    (await api.post("/api/v1/namespaces/shop/services", real)).expect(201);
    const spec = { service: { name: "real", port: backend.port }, caBundle: null, insecureSkipTLSVerify: true };
    (await api.patch(`${apiServices}/v1.${group}`, { spec })).expect(200);
    await becomes(api, "True", "Passed");
    (await api.get(`${base}/flunders`)).expect(200);
    const last = backend.received.findLast(({ url }) => url === `${base}/flunders`)!;
    assert.equal(last.client, "own-proxy");
    assert.ok(last.headers.includes("x-remote-uid: admin-uid"));
    // Only the older form of discovery names these resources.
    await waitForDiscovery(api, {
      "versions.0.resources.0.resource": "flunders",
      "versions.0.resources.0.subresources.0.subresource": "status",
    });
  });

  test(`${domain}: a server that is named as the server behind itself is never available`, { skip }, async () => {
    const authority = await fakeAuthority("proxies");
    const issued = await authority.issue({ commonName: "own-proxy" });
    const server = await openServer(domain, {
      ...gated,
      proxyClientCertFile: file("proxy.crt", issued.certificate),
      proxyClientKeyFile: file("proxy.key", issued.key),
      requestheaderClientCaFile: file("ca.crt", authority.certificate),
    });
    closing.push(() => server.close());
    const api = new Api(server);
    const spec = { service: { namespace: "default", name: "kubernetes", port: 443 }, insecureSkipTLSVerify: true };
    await eventually(async () => (await api.get("/api/v1/namespaces/default/endpoints/kubernetes")).expect(200));
    (await api.post(apiServices, apiService("default", spec))).expect(201);
    // This server calls itself for the discovery of the group version.
    await becomes(api, "False", "FailedDiscoveryCheck", /bad status from .*: 5\d\d/);
    (await api.get(`${base}/flunders`)).expect(503);
  });
}
