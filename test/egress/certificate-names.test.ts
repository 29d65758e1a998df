/** A server is known by the alternative names of its certificate, by whatever way it is reached: a subject names nobody. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { createServer } from "node:tls";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { connect } from "#client/cluster.ts";
import { httpTunnel } from "#egress/proxy-tunnel.ts";
import { file } from "../harness.ts";

const authority = await fakeAuthority("names");

/** Starts a server whose certificate has the name `localhost` in its subject alone, and returns its port. */
async function listen(t: { after(work: () => void): void }): Promise<number> {
  const issued = await authority.issue({ commonName: "localhost", hosts: ["10.1.2.3"], usage: "any" });
  const server = createServer({ cert: issued.certificate, key: issued.key }, (socket) => {
    socket.on("error", () => undefined).end("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return (server.address() as AddressInfo).port; // a TCP server has a port
}

test("a proxy whose certificate has its name in the subject alone is not used", async (t) => {
  const address = { host: "localhost", port: await listen(t) };
  const { opened } = httpTunnel({ address, tls: { ca: authority.certificate } })({ host: "a.example", port: 443 });
  await assert.rejects(opened, (error: Error) => {
    assert.equal((error.cause as NodeJS.ErrnoException).code, "ERR_TLS_CERT_ALTNAME_INVALID");
    return true;
  });
});

test("the client refuses a server whose certificate has its name in the subject alone", async (t) => {
  const server = `https://localhost:${await listen(t)}`;
  const data = Buffer.from(authority.certificate).toString("base64");
  const kubeconfig = {
    "current-context": "a",
    clusters: [{ name: "a", cluster: { server, "certificate-authority-data": data } }],
    contexts: [{ name: "a", context: { cluster: "a", user: "a" } }],
    users: [{ name: "a", user: { token: "t" } }],
  };
  await using cluster = await connect({ kubeconfig: file("config", JSON.stringify(kubeconfig)) });
  await assert.rejects(cluster.call({ method: "GET", path: "/version" }), /is for no such name, not for localhost/);
});
