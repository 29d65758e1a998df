/** Whom clients have to trust, told from a certificate file alone; tried with a real handshake. */
import assert from "node:assert/strict";
import { createPublicKey, type KeyObject } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createServer } from "node:https";
import { openOutgoing } from "#client/outgoing-https.ts";
import { keyPem, newKey, signCertificate } from "#std/certificate.ts";
import { systemClock } from "#std/clock.ts";
import { systemRandom } from "#std/random.ts";
import { resolveOptions, type ServerSettings } from "./options.ts";
import { serverTrust } from "./server-trust.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-trust-"));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Issued {
  readonly commonName: string;
  readonly key: KeyObject;
  readonly pem: string;
}

function issue(commonName: string, names: readonly string[] | "authority", issuer?: Issued): Issued {
  const key = newKey();
  const now = Date.now();
  const wanted = {
    commonName,
    publicKey: createPublicKey(key),
    notBeforeMs: now - 60_000,
    notAfterMs: now + 3_600_000,
    ...(names === "authority" ? { usage: "authority" as const } : { usage: "server" as const, names }),
  };
  return { commonName, key, pem: signCertificate(wanted, issuer ?? { commonName, key }, systemRandom) };
}

const root = issue("root", "authority");
const middle = issue("middle", "authority", root);
const leaf = issue("leaf", ["localhost", "127.0.0.1"], middle);

let files = 0;
function trust(certificates: readonly string[], settings: ServerSettings = {}, known?: () => string[]) {
  const file = join(folder, `${files++}.crt`);
  writeFileSync(file, certificates.join(""));
  return serverTrust(resolveOptions({ tlsCertFile: file, tlsPrivateKeyFile: file, ...settings }), "own", known);
}

/** Whether a client that goes by `ca` takes the certificate. */
async function isTaken(server: Issued, chain: readonly string[], ca: string, serverName?: string): Promise<boolean> {
  const listener = createServer({ cert: [server.pem, ...chain].join(""), key: keyPem(server.key) }, (_in, out) =>
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
  const whole = trust([leaf.pem, root.pem, middle.pem]);
  assert.deepEqual(whole, { ca: root.pem, serverName: undefined });
  const rootless = trust([leaf.pem, middle.pem]);
  assert.equal(rootless.ca, middle.pem);
  const alone = trust([leaf.pem]);
  assert.equal(alone.ca, leaf.pem);
  assert.equal(await isTaken(leaf, [middle.pem], root.pem), true);
  assert.equal(await isTaken(leaf, [middle.pem], rootless.ca!), true);
  assert.equal(await isTaken(leaf, [], alone.ca!), true);
  const other = issue("leaf", ["localhost", "127.0.0.1"], issue("middle", "authority"));
  assert.equal(await isTaken(other, [], rootless.ca!), false);
});

test("a certificate that signed itself is its own authority, and other certificates in the file do not count", () => {
  const self = issue("self", ["127.0.0.1"]);
  assert.equal(trust([self.pem]).ca, self.pem);
  assert.equal(trust([leaf.pem, self.pem]).ca, leaf.pem);
});

test("what a public authority signed needs no certificate to be trusted", () => {
  const known = () => ["no certificate", root.pem];
  assert.equal(trust([leaf.pem, middle.pem], {}, known).ca, undefined);
  assert.equal(trust([leaf.pem], {}, known).ca, leaf.pem);
  assert.equal(trust([leaf.pem, middle.pem, root.pem], {}, known).ca, root.pem);
});

test("--root-ca-file says it better", () => {
  const file = join(folder, "roots.crt");
  writeFileSync(file, `the roots\n${root.pem}`);
  assert.equal(trust([leaf.pem], { rootCaFile: file }).ca, root.pem);
});

test("clients are told a name of the certificate when it has none for the address they use", async () => {
  const named = issue("x", ["api.example.com", "10.0.0.1"], root);
  const { ca, serverName } = trust([named.pem, root.pem]);
  assert.equal(serverName, "api.example.com");
  assert.equal(await isTaken(named, [], ca!), false);
  assert.equal(await isTaken(named, [], ca!, serverName), true);
  assert.equal(trust([issue("x", ["*.example.com"], root).pem]).serverName, "kubernetes.example.com");
  assert.equal(trust([issue("x", ["10.0.0.1"], root).pem]).serverName, undefined);
  assert.equal(trust([issue("x", ["10.0.0.1"], root).pem], { bindAddress: "10.0.0.1" }).serverName, undefined);
});
