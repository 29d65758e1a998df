/** Kubeconfigs of webhooks. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fakeAuthority } from "#authn/fake-authority.ts";
import { readWebhookConnection } from "#egress/webhook-connection.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-webhook-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const authority = await fakeAuthority();
const client = await authority.issue({ commonName: "apiserver" });
writeFileSync(join(folder, "ca.crt"), authority.certificate);
writeFileSync(join(folder, "client.crt"), client.certificate);
writeFileSync(join(folder, "client.key"), client.key);
writeFileSync(join(folder, "token"), "secret\n");
writeFileSync(join(folder, "junk"), "junk");

const file = join(folder, "webhook.kubeconfig");

function read(cluster: object, user?: object, over: object = {}) {
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "c", cluster: { server: "https://hooks.example:8443/authn", ...cluster } }],
    users: user === undefined ? [] : [{ name: "u", user }],
    contexts: [{ name: "x", context: { cluster: "c", ...(user === undefined ? {} : { user: "u" }) } }],
    "current-context": "x",
    preferences: { colors: true },
    ...over,
  };
  writeFileSync(file, JSON.stringify(config));
  return readWebhookConnection(file);
}

test("certificates are taken from beside the file or out of it", () => {
  const trust = { ca: authority.certificate, cert: client.certificate, key: client.key, serverName: "hooks" };
  const named = read(
    { "certificate-authority": "ca.crt", "tls-server-name": "hooks" },
    { "client-certificate": "client.crt", "client-key": "client.key" },
  );
  assert.deepEqual(named, { url: "https://hooks.example:8443/authn", headers: {}, trust });
  const data = (text: string): string => Buffer.from(text).toString("base64");
  const embedded = read(
    { "certificate-authority-data": data(authority.certificate), "tls-server-name": "hooks" },
    { "client-certificate-data": data(client.certificate), "client-key-data": data(client.key) },
  );
  assert.deepEqual(embedded, named);
});

test("a token, a token file or a user and a password become a header", () => {
  assert.deepEqual(read({}, { token: "t" }).headers, { authorization: "Bearer t" });
  assert.deepEqual(read({}, { tokenFile: "token", token: "t" }).headers, { authorization: "Bearer secret" });
  assert.deepEqual(read({}, { username: "u", password: "p" }).headers, { authorization: "Basic dTpw" });
  assert.deepEqual(read({ "insecure-skip-tls-verify": true }).trust, { insecure: true });
});

test("missing and invalid files are named, without a word of any secret", () => {
  const expectRefusal = (message: string | RegExp, cluster: object, user?: object, over?: object): void => {
    assert.throws(
      () => read(cluster, user, over),
      (error: Error) => {
        assert.equal(error.name, "ConfigError");
        assert.ok(error.message.startsWith(`${file}: `));
        assert.ok(!error.message.includes("s3cret"), error.message);
        const rest = error.message.slice(file.length + 2);
        if (typeof message === "string") assert.equal(rest, message);
        else assert.match(rest, message);
        return true;
      },
    );
  };
  expectRefusal("current-context: must be set", {}, undefined, { "current-context": "" });
  expectRefusal('contexts: there is none with the name "y"', {}, undefined, { "current-context": "y" });
  expectRefusal('clusters: there is none with the name "c"', {}, undefined, { clusters: [] });
  expectRefusal('users: there is none with the name "u"', {}, {}, { users: [] });
  expectRefusal('server: must be an http or https URL, not "nowhere"', { server: "nowhere" });
  expectRefusal(/^server: must be an http or https URL/, { server: "file:///x" });
  expectRefusal("server: must not contain a user or password", { server: "https://a:s3cret@b" });
  expectRefusal(/^certificate-authority: .*absent cannot be read: no such file$/, {
    "certificate-authority": "absent",
  });
  expectRefusal("certificate-authority: not in PEM form", { "certificate-authority": "junk" });
  expectRefusal(/^insecure-skip-tls-verify: /, { "certificate-authority": "ca.crt", "insecure-skip-tls-verify": true });
  expectRefusal("client-certificate and client-key must be given together", {}, { "client-certificate": "client.crt" });
  expectRefusal("client-key: not in PEM form", {}, { "client-certificate": "client.crt", "client-key": "junk" });
  expectRefusal("proxy-url: proxies are not supported", { "proxy-url": "http://proxy" });
  expectRefusal("exec: credentials of other programs are not supported", {}, { exec: { command: "x" } });
  expectRefusal("token: must be one word of visible ASCII characters", {}, { token: "s3cret two" });
  expectRefusal(/^must be of kind Config in v1, not "Pod" in "v1"$/, {}, undefined, { kind: "Pod" });
  assert.throws(() => readWebhookConnection(join(folder, "none")), /none: cannot be read: no such file$/);
});
