/** The certificates clients must trust, derived from a certificate file and tried with a real handshake. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createServer } from "node:https";
import { fakeAuthority, type Issued } from "#authn/fake-authority.ts";
import { openOutgoing } from "#egress/outgoing-https.ts";
import { systemClock } from "#std/clock.ts";
import { resolveOptions, type ServerSettings } from "../options.ts";
import { serverTrust } from "./server-trust.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-trust-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const root = await fakeAuthority("root");
const middle = await root.subordinate("middle");
const leaf = await middle.issue({ usage: "server" });

let files = 0;
function trust(certificates: readonly string[], settings: ServerSettings = {}, known?: () => string[]) {
  const file = join(folder, `${files++}.crt`);
  writeFileSync(file, certificates.join(""));
  return serverTrust(resolveOptions({ tlsCertFile: file, tlsPrivateKeyFile: file, ...settings }), "own", known);
}

/** Whether a client that trusts `ca` accepts the certificate. */
async function isTaken(server: Issued, chain: readonly string[], ca: string, serverName?: string): Promise<boolean> {
  const listener = createServer({ cert: server.certificate + chain.join(""), key: server.key }, (_in, out) =>
    out.end("{}"),
  );
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const outgoing = openOutgoing({ clock: systemClock, ca, ...(serverName === undefined ? {} : { serverName }) });
  const { port } = listener.address() as AddressInfo; // it listens on TCP
  try {
    await outgoing.callOut({ url: `https://127.0.0.1:${port}/`, timeoutMs: 5000, maxBytes: 100 });
    return true;
  } catch {
    return false;
  } finally {
    outgoing.close();
    listener.close();
  }
}

test("a server that makes its certificate is known by its own authority", () => {
  assert.deepEqual(serverTrust(resolveOptions({}), "own"), { ca: "own", serverName: undefined });
});

test("a given chain is known by its root, or by what is nearest to it, in any order", async () => {
  const whole = trust([leaf.certificate, root.certificate, middle.certificate]);
  assert.deepEqual(whole, { ca: root.certificate, serverName: undefined });
  const rootless = trust([leaf.certificate, middle.certificate]);
  assert.equal(rootless.ca, middle.certificate);
  const alone = trust([leaf.certificate]);
  assert.equal(alone.ca, leaf.certificate);
  assert.equal(await isTaken(leaf, [middle.certificate], root.certificate), true);
  assert.equal(await isTaken(leaf, [middle.certificate], rootless.ca!), true);
  assert.equal(await isTaken(leaf, [], alone.ca!), true);
  const other = await (await fakeAuthority("middle")).issue({ usage: "server" });
  assert.equal(await isTaken(other, [], rootless.ca!), false);
});

test("a certificate that signed itself is its own authority, and others in the file do not count", async () => {
  const self = await fakeAuthority("self");
  assert.equal(trust([self.certificate]).ca, self.certificate);
  assert.equal(trust([leaf.certificate, self.certificate]).ca, leaf.certificate);
});

test("a certificate of a public authority needs no given authority to be trusted", () => {
  const known = () => ["no certificate", root.certificate];
  assert.equal(trust([leaf.certificate, middle.certificate], {}, known).ca, undefined);
  assert.equal(trust([leaf.certificate], {}, known).ca, leaf.certificate);
  assert.equal(trust([leaf.certificate, middle.certificate, root.certificate], {}, known).ca, root.certificate);
});

test("the file of --root-ca-file takes the place of the certificate's own authority", () => {
  const file = join(folder, "roots.crt");
  writeFileSync(file, `the roots\n${root.certificate}`);
  assert.equal(trust([leaf.certificate], { rootCaFile: file }).ca, root.certificate);
});

test("clients are told a name of the certificate when it has none for the address they use", async () => {
  const issueFor = async (...hosts: string[]) => root.issue({ usage: "server", hosts });
  const api = await issueFor("api.example.com", "10.0.0.1");
  const { ca, serverName } = trust([api.certificate, root.certificate]);
  assert.equal(serverName, "api.example.com");
  assert.equal(await isTaken(api, [], ca!), false);
  assert.equal(await isTaken(api, [], ca!, serverName), true);
  const nameOf = async (host: string, settings: ServerSettings = {}) =>
    trust([(await issueFor(host)).certificate], settings).serverName;
  assert.equal(await nameOf("*.example.com"), "kubernetes.example.com");
  assert.equal(await nameOf("10.0.0.1"), undefined);
  assert.equal(await nameOf("10.0.0.1", { bindAddress: "10.0.0.1" }), undefined);
});
