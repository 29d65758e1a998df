/** Kubeconfigs: finding, merging and reading files, and the settings of their contexts. */
import assert from "node:assert/strict";
import { renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { before, test } from "node:test";
import { type FakeAuthority, fakeAuthority, type Issued } from "#authn/fake-authority.ts";
import type { ConnectionSettings } from "#client/connection-settings.ts";
import {
  defaultSettings,
  inClusterSettings,
  KubeconfigError,
  loadKubeconfig,
  parseKubeconfig,
  settingsOf,
} from "#client/kubeconfig.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { base64, filesIn, kubeconfigOf } from "./temporary-kubeconfig.ts";

let authority: FakeAuthority;
let pair: Issued;
let other: Issued;
before(async () => {
  authority = await fakeAuthority();
  pair = await authority.issue({ commonName: "jo" });
  other = await authority.issue({ commonName: "jo again" });
});

const settingsIn = async (text: string, context?: string): Promise<ConnectionSettings> =>
  settingsOf(await parseKubeconfig(text), { context });

const failsWith = (promise: Promise<unknown>, text: RegExp): Promise<void> =>
  assert.rejects(promise, (error: Error) => {
    assert.ok(error instanceof KubeconfigError, String(error));
    assert.match(error.message, text);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  });

test("of several files the first that has an entry, or a current context, decides", async () => {
  const folder = filesIn({
    "a.yaml": "users: [{name: jo, user: {token: from-a}}]\ncontexts: [{name: x, context: {cluster: c, user: jo}}]",
    "b.yaml":
      "current-context: x\nclusters: [{name: c, cluster: {server: 'https://b:1'}}]\n" +
      "users: [{name: jo, user: {token: from-b, as: boss}}]",
    "c.yaml": "current-context: z\nclusters: [{name: c, cluster: {server: 'https://c:1', tls-server-name: c}}]",
  });
  const [a, b, c, none] = ["a", "b", "c", "none"].map((name) => join(folder, `${name}.yaml`)) as [string, ...string[]];
  const environment = { KUBECONFIG: [none, a, "", b, a, c].join(delimiter) };
  const merged = await loadKubeconfig({ environment });
  assert.equal(merged.currentContext, "x");
  assert.deepEqual(merged.clusters, new Map([["c", { server: "https://b:1", origin: b }]]));
  assert.deepEqual(merged.users, new Map([["jo", { token: "from-a", origin: a }]]));
  assert.deepEqual([merged.files, merged.missing], [[a, b, c], [none]]);
  assert.deepEqual(await loadKubeconfig({ files: [none!, a, b!, c!] }), merged);
});

test("a file that is asked for must exist, and so must no file of a list", async () => {
  const folder = filesIn({ "empty.yaml": "" });
  const missing = join(folder, "missing.yaml");
  await failsWith(loadKubeconfig({ files: missing }), /missing\.yaml: cannot be read: no such file$/);
  await failsWith(loadKubeconfig({ files: [missing] }), /no such file$/);
  await failsWith(loadKubeconfig({ files: folder }), /cannot be read: it is a folder$/);
  const loaded = await loadKubeconfig({ files: [missing, join(folder, "empty.yaml")] });
  assert.deepEqual([loaded.contexts.size, loaded.missing], [0, [missing]]);
});

test("without files and without a variable, the file at home is read", async () => {
  const home = filesIn({ ".kube/config": kubeconfigOf({ user: { token: "of-home" } }) });
  const settings = await defaultSettings({ environment: { HOME: home } });
  assert.deepEqual(await settings.credentials.current(), { token: "of-home" });
});

test("without any kubeconfig the error says where one was looked for", async () => {
  const home = filesIn({ "empty.yaml": "" });
  await failsWith(
    defaultSettings({ environment: { HOME: home } }),
    /^no kubeconfig: \S+\/\.kube\/config does not exist, and this is no pod .*; set KUBECONFIG/,
  );
  const KUBECONFIG = [join(home, "empty.yaml"), join(home, "gone.yaml")].join(delimiter);
  await failsWith(
    defaultSettings({ environment: { HOME: home, KUBECONFIG } }),
    /empty\.yaml names no cluster, and \S+gone\.yaml does not exist, and/,
  );
});

test("a file of more than 10 MB is refused", async () => {
  const folder = filesIn({ large: `# ${"x".repeat(10 * 1024 * 1024)}` });
  await failsWith(loadKubeconfig({ files: join(folder, "large") }), /large: is larger than 10 MB/);
});

const wrongTexts: readonly [string, RegExp][] = [
  ["kind: Pod", /it is no kubeconfig/],
  ["apiVersion: v2", /it is no kubeconfig/],
  ["[]", /it: must be a mapping/],
  ["s3cret", /it: must be a mapping/],
  ["clusters: {}", /clusters: must be a list/],
  ["clusters: [s3cret]", /clusters\[0\]: must be a mapping/],
  ["clusters: [{name: a}, {name: a}]", /cluster "a": there are two of this name/],
  ["clusters: [{name: a, cluster: {server: 3}}]", /cluster "a": server: must be text/],
  ["clusters: [{name: a, cluster: {insecure-skip-tls-verify: 'true'}}]", /insecure-skip-tls-verify: must be true or/],
  ["clusters: [{name: a, cluster: {certificate-authority-data: 's3cret!'}}]", /authority-data: must be base64/],
  ["users: [{name: a, user: {exec: {args: [1]}}}]", /user "a": exec\.args\[0\]: must be text/],
  ["users: [{name: a, user: {as-user-extra: {k: v}}}]", /user "a": as-user-extra\.k: must be a list/],
  ["users: [{name: y}]", /users\[0\]\.name: must be text: put it in quotes/],
  ["users:\n\t- s3cret", /line 2: /],
  ["users: &a [*a]", /users\[0\]: must be a mapping/],
  ["users: [{name: a, user: {auth-provider: &a [*a]}}]", /auth-provider: has too many values/],
];

for (const [text, problem] of wrongTexts) {
  test(`the kubeconfig ${JSON.stringify(text)} is refused`, async () => {
    await failsWith(parseKubeconfig(text), problem);
    await assert.rejects(parseKubeconfig(text), ({ message }: Error) => !message.includes("s3cret"));
  });
}

test("unknown fields and null are ignored, as kubectl does", async () => {
  const config = await parseKubeconfig(
    "users: [{name: a, more: 1, user: {token: ~, nope: 1}}, {name: b}]\nclusters: ~",
  );
  assert.deepEqual(
    config.users,
    new Map([
      ["a", {}],
      ["b", {}],
    ]),
  );
});

test("a context gives the settings of a connection", async () => {
  const settings = await settingsIn(
    kubeconfigOf({
      cluster: {
        server: "https://example.com:6443/clusters/a?x=1",
        "tls-server-name": "kubernetes",
        "certificate-authority-data": base64(authority.certificate),
        "proxy-url": "socks5://127.0.0.1:1080",
        "disable-compression": true,
      },
      user: { token: "t", as: "boss", "as-uid": "7", "as-groups": ["g"], "as-user-extra": { k: ["v"] } },
      context: { namespace: "fleet" },
    }),
  );
  const { tls, credentials, server, proxy, ...rest } = settings;
  assert.equal(server.href, "https://example.com:6443/clusters/a");
  assert.equal(proxy?.href, "socks5://127.0.0.1:1080");
  assert.deepEqual([tls.serverName, tls.insecure, await tls.ca?.()], ["kubernetes", false, authority.certificate]);
  assert.deepEqual(await credentials.current(), { token: "t" });
  const impersonate = { user: "boss", uid: "7", groups: ["g"], extra: { k: ["v"] } };
  assert.deepEqual(rest, { impersonate, compress: false, namespace: "fleet" });
});

test("what a context leaves out has its default", async () => {
  const { tls, proxy, impersonate, compress, namespace, credentials } = await settingsIn(kubeconfigOf({}));
  assert.deepEqual([tls, proxy, impersonate], [{ insecure: false }, undefined, undefined]);
  assert.deepEqual([compress, namespace], [true, "default"]);
  assert.deepEqual(await credentials.current(), {});
});

test("the context that is asked for is used in place of the current one", async () => {
  const text =
    "current-context: a\ncontexts: [{name: a, context: {cluster: c}}, {name: b, context: {cluster: c, namespace: ns}}]\n" +
    "clusters: [{name: c, cluster: {server: 'https://c:1'}}]";
  assert.equal((await settingsIn(text)).namespace, "default");
  assert.equal((await settingsIn(text, "b")).namespace, "ns");
  await failsWith(settingsIn(text, "c"), /no context "c": it has a, b$/);
  await failsWith(
    settingsIn(text.replace("current-context: a", "")),
    /no current-context: name a context; it has a, b$/,
  );
});

test("a kubeconfig without contexts may have one cluster without a name, which needs no user", async () => {
  const { server, credentials } = await settingsIn("clusters: [{name: '', cluster: {server: 'https://c:1'}}]");
  assert.deepEqual([server.host, await credentials.current()], ["c:1", {}]);
});

test("a context must name a cluster and a user that exist", async () => {
  await failsWith(settingsIn(kubeconfigOf({ context: { cluster: "x" } })), /context "shop": there is no cluster "x"/);
  await failsWith(settingsIn(kubeconfigOf({ context: { user: "x" } })), /context "shop": there is no user "x"/);
});

test("settings that cannot work are refused, with the file, the entry, the field and what to do", async () => {
  const wrong: readonly [Parameters<typeof kubeconfigOf>[0], RegExp][] = [
    [{ cluster: { server: "" } }, /cluster "harbour": server: must be set/],
    [{ cluster: { server: "10.1.2.3:6443" } }, /server: must be a URL such as https:\/\/10\.1\.2\.3:6443$/],
    [{ cluster: { server: "ftp://a" } }, /server: must be a URL such as https:/],
    [{ cluster: { server: "https://u:s3cret@a" } }, /server: must not contain a user/],
    [{ cluster: { "proxy-url": "socks4://s3cret" } }, /proxy-url: must be a URL of http, https or socks5/],
    [{ cluster: { "certificate-authority-data": base64("s3cret") } }, /certificate-authority-data: .* is not PEM/],
    [
      { cluster: { "insecure-skip-tls-verify": true, "certificate-authority-data": base64(authority.certificate) } },
      /insecure-skip-tls-verify: must not be set together/,
    ],
    [{ cluster: { "certificate-authority": "none.crt" } }, /certificate-authority: \S+none\.crt cannot be read/],
    [{ user: { tokenFile: "none" } }, /user "jo": tokenFile: \S+none cannot be read: no such file/],
    [{ user: { token: "s3 cret" } }, /user "jo": token: .* one word of visible ASCII/],
    [{ user: { "client-key-data": base64(pair.key) } }, /client-certificate and client-key must be given together/],
    [
      { user: { "client-certificate-data": base64("s3cret"), "client-key-data": base64(pair.key) } },
      /client-certificate-data: the client certificate is not PEM/,
    ],
    [
      { user: { "client-certificate-data": base64(pair.certificate), "client-key-data": base64(other.key) } },
      /the client key is not that of the client certificate/,
    ],
    [{ user: { "auth-provider": { name: "gcp", config: { "access-token": "s3cret" } } } }, /auth-provider: .*\(exec\)/],
    [{ user: { username: "jo", password: "s3cret" } }, /username, password: no server since/],
    [{ user: { "as-groups": ["g"] } }, /as-groups .* need a user: set as/],
  ];
  for (const [parts, problem] of wrong) {
    const folder = filesIn({ config: kubeconfigOf(parts) });
    const settings = settingsOf(await loadKubeconfig({ files: join(folder, "config") }));
    await failsWith(settings, problem);
    await assert.rejects(settings, ({ message }: Error) => message.startsWith(folder) && !message.includes("s3cret"));
  }
});

test("paths in a file begin at its folder, and data comes before a file", async () => {
  const folder = filesIn({
    "deep/config": kubeconfigOf({
      cluster: { "certificate-authority": "../ca.crt" },
      user: {
        "client-certificate": "jo.crt",
        "client-key": "/nowhere/jo.key",
        "client-key-data": base64(pair.key),
        tokenFile: "../token",
        token: "behind-the-file",
      },
    }),
    "deep/jo.crt": pair.certificate,
    "ca.crt": authority.certificate,
    token: " of-the-file\n",
  });
  const { tls, credentials } = await settingsOf(await loadKubeconfig({ files: join(folder, "deep/config") })).catch(
    (error: Error) => assert.fail(error.message),
  );
  assert.equal(await tls.ca?.(), authority.certificate);
  assert.deepEqual(await credentials.current(), {
    token: "of-the-file",
    certificate: { cert: pair.certificate, key: pair.key },
  });
});

test("the token stands in for a token file that cannot be read", async () => {
  const { credentials } = await settingsIn(kubeconfigOf({ user: { tokenFile: "/nowhere/token", token: "spare" } }));
  assert.deepEqual(await credentials.current(), { token: "spare" });
});

test("over plain http, nobody is told a credential", async () => {
  const { credentials } = await settingsIn(kubeconfigOf({ cluster: { server: "http://a" }, user: { token: "t" } }));
  assert.deepEqual(await credentials.current(), {});
});

test("files of certificates and tokens are read again when they change, at most once a second", async () => {
  const clock = new FakeClock();
  const user = { "client-certificate": "jo.crt", "client-key": "jo.key", tokenFile: "token" };
  const folder = filesIn({
    config: kubeconfigOf({ cluster: { "certificate-authority": "ca.crt" }, user }),
    "ca.crt": authority.certificate,
    "jo.crt": pair.certificate,
    "jo.key": pair.key,
    token: "one",
  });
  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text);
  const { tls, credentials } = await settingsOf(await loadKubeconfig({ files: join(folder, "config") }), { clock });
  const first = await credentials.current();
  write("token", "second");
  assert.equal(await credentials.current(), first);
  clock.advance(1000);
  const second = await credentials.current();
  assert.equal(second.token, "second");
  assert.equal(second.certificate, first.certificate, "the certificate is the same object, and so are its connections");

  write("jo.crt", other.certificate);
  clock.advance(1000);
  assert.equal(await credentials.current(), second, "a certificate waits for its key");
  write("jo.key", other.key);
  clock.advance(1000);
  const third = await credentials.current();
  assert.deepEqual(third, { token: "second", certificate: { cert: other.certificate, key: other.key } });

  rmSync(join(folder, "token"));
  clock.advance(1000);
  assert.equal(await credentials.current(), third, "a missing file leaves the last token");

  const authorities = `${authority.certificate}\n${authority.certificate}`;
  write("ca.crt", authorities);
  clock.advance(1000);
  assert.equal(await tls.ca?.(), authorities);
});

test("a mounted token is a link that is replaced", async () => {
  const clock = new FakeClock();
  const folder = filesIn({
    "v1/token": "one",
    "v2/token": "two",
    config: kubeconfigOf({ user: { tokenFile: "token" } }),
  });
  symlinkSync("v1", join(folder, "data"));
  symlinkSync("data/token", join(folder, "token"));
  const { credentials } = await settingsOf(await loadKubeconfig({ files: join(folder, "config") }), { clock });
  assert.deepEqual(await credentials.current(), { token: "one" });
  symlinkSync("v2", join(folder, "next"));
  renameSync(join(folder, "next"), join(folder, "data"));
  clock.advance(1000);
  assert.deepEqual(await credentials.current(), { token: "two" });
});

test("a refused token of a file is worth another try when the file has another one", async () => {
  const folder = filesIn({ token: "one", config: kubeconfigOf({ user: { tokenFile: "token" } }) });
  const { credentials } = await settingsOf(await loadKubeconfig({ files: join(folder, "config") }));
  const first = await credentials.current();
  assert.equal(credentials.rejected(first), false);
  writeFileSync(join(folder, "token"), "two");
  assert.equal(credentials.rejected(first), true);
  assert.deepEqual(await credentials.current(), { token: "two" });
  assert.equal(credentials.rejected(first), true, "another one is in use already");
  const fixed = await settingsIn(kubeconfigOf({ user: { token: "t" } }));
  assert.equal(fixed.credentials.rejected(await fixed.credentials.current()), false);
});

const podVariables = { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "443", HOME: "/nowhere" };

test("in a pod, its account is used, whose token is read again", async () => {
  const clock = new FakeClock();
  const accountFolder = filesIn({ token: "one", "ca.crt": authority.certificate, namespace: "fleet\n" });
  const settings = await defaultSettings({ environment: podVariables, accountFolder, clock });
  assert.equal(settings.server.href, "https://10.96.0.1/");
  assert.deepEqual([settings.namespace, await settings.tls.ca?.()], ["fleet", authority.certificate]);
  assert.deepEqual(await settings.credentials.current(), { token: "one" });
  writeFileSync(join(accountFolder, "token"), "rotated");
  clock.advance(1000);
  assert.deepEqual(await settings.credentials.current(), { token: "rotated" });
  const named = { ...podVariables, KUBERNETES_SERVICE_HOST: "fd00::1", POD_NAMESPACE: "own" };
  const inCluster = await inClusterSettings({ environment: named, accountFolder });
  assert.deepEqual([inCluster.server.host, inCluster.namespace], ["[fd00::1]", "own"]);
});

test("outside of a pod there is no account, and in a pod without files the error names them", async () => {
  await failsWith(inClusterSettings({ environment: {} }), /^this is no pod of a cluster: KUBERNETES_SERVICE_HOST/);
  const accountFolder = filesIn({ other: "" });
  await failsWith(
    inClusterSettings({ environment: podVariables, accountFolder }),
    /^account of this pod: \S+token cannot be read: no such file$/,
  );
});

test("a kubeconfig that chooses a context comes before the account of the pod", async () => {
  const accountFolder = filesIn({ token: "pod", "ca.crt": authority.certificate });
  const home = filesIn({ ".kube/config": kubeconfigOf({ user: { token: "of-home" } }) });
  const environment = { ...podVariables, HOME: home };
  const settings = await defaultSettings({ environment, accountFolder });
  assert.deepEqual(await settings.credentials.current(), { token: "of-home" });
});
