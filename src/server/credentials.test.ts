/** Certificates are accepted by OpenSSL, reused while valid, and renewed otherwise. */
import assert from "node:assert";
import { execFile } from "node:child_process";
import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { FakeClock } from "#std/fake-clock.ts";
import { seededRandom } from "#std/random.ts";
import {
  type Credentials,
  type CredentialsWanted,
  prepareCredentials,
  readAuthorities,
  readGivenPair,
} from "./credentials.ts";
import { readGiven } from "./given-files.ts";
import { StartError } from "#std/start-error.ts";

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-credentials-"));
  folders.push(folder);
  return folder;
}

const random = seededRandom(1);
const dayMs = 86_400_000;

async function prepare(
  folder: string | undefined,
  clock = new FakeClock(),
  names: readonly string[] = [],
  { isUsed = false, acceptLoss = false }: Partial<CredentialsWanted> = {},
): Promise<Credentials> {
  const made = await prepareCredentials({ folder, isUsed, isKeeper: true, acceptLoss, names, clock, random });
  for (const [path, content] of made.files) {
    if (folder === undefined) break;
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  return made;
}

void test("the authority signs a serving certificate for this machine's names and a client in system:masters", async () => {
  const { ca, serving, admin } = await prepare(undefined, new FakeClock(), [
    "api.example.com",
    "10.1.2.3",
    "fd00::1:2",
  ]);
  const authority = new X509Certificate(ca.certificate);
  assert.strictEqual(authority.ca, true);
  assert.ok(authority.verify(authority.publicKey));
  const server = new X509Certificate(serving.certificate);
  assert.ok(server.verify(authority.publicKey) && server.checkIssued(authority));
  assert.ok(server.checkPrivateKey(createPrivateKey(serving.key)));
  assert.deepStrictEqual(server.keyUsage, ["1.3.6.1.5.5.7.3.1"]);
  for (const name of ["localhost", "kubernetes.default.svc", "api.example.com"]) {
    assert.strictEqual(server.checkHost(name), name);
  }
  for (const address of ["127.0.0.1", "::1", "10.1.2.3", "fd00::1:2"]) assert.ok(server.checkIP(address), address);
  assert.strictEqual(server.checkHost("example.com"), undefined);
  const client = new X509Certificate(admin.certificate);
  assert.ok(client.verify(authority.publicKey));
  assert.strictEqual(client.subject, "O=system:masters\nCN=admin");
  assert.deepStrictEqual(client.keyUsage, ["1.3.6.1.5.5.7.3.2"]);
  assert.strictEqual(client.ca, false);
  assert.ok(admin.token.length >= 43);
});

void test("a later start reuses everything", async () => {
  const folder = temporary();
  const first = await prepare(folder);
  const second = await prepare(folder);
  assert.strictEqual(second.files.size, 0);
  assert.deepStrictEqual({ ...second, files: 0 }, { ...first, files: 0 });
});

void test("a later start does not load what makes certificates", async () => {
  const folder = temporary();
  await prepare(folder);
  const script = `
    import { registerHooks } from "node:module";
    const loaded = [];
    registerHooks({ load: (url, context, next) => (loaded.push(url), next(url, context)) });
    const { prepareCredentials } = await import("./credentials.ts");
    const { readAuthority } = await import("#std/certificate.ts");
    const { FakeClock } = await import("#std/fake-clock.ts");
    const { seededRandom } = await import("#std/random.ts");
    const wanted = { folder: process.argv[1], names: [], isKeeper: true, clock: new FakeClock(), random: seededRandom(1) };
    const { ca } = await prepareCredentials(wanted);
    readAuthority(ca.certificate, ca.key);
    const isMaker = (url) => /std.x509|node_modules.*asn1/.test(url);
    const before = loaded.filter(isMaker).length;
    await prepareCredentials({ ...wanted, folder: undefined });
    console.log(before, loaded.filter(isMaker).length > 0);
  `;
  const args = ["--conditions=source", "--input-type=module", "--eval", script, folder];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: import.meta.dirname });
  assert.strictEqual(stdout.trim(), "0 true");
});

void test("certificates near their end are made anew, the authority stays", async () => {
  const folder = temporary();
  const clock = new FakeClock();
  const first = await prepare(folder, clock);
  clock.advance(334 * dayMs);
  assert.strictEqual((await prepare(folder, clock)).files.size, 0);
  clock.advance(2 * dayMs);
  const renewed = await prepare(folder, clock);
  assert.deepStrictEqual(
    [...renewed.files.keys()],
    ["apiserver", "admin", "front-proxy-client"].flatMap((name) => [`pki/${name}.key`, `pki/${name}.crt`]),
  );
  assert.strictEqual(renewed.ca.certificate, first.ca.certificate);
  assert.strictEqual(renewed.admin.token, first.admin.token);
  assert.strictEqual(renewed.serviceAccount.privateKey, first.serviceAccount.privateKey);
});

void test("an authority near its end is replaced with all it signed; keys of service accounts are not", async () => {
  const folder = temporary();
  const clock = new FakeClock();
  const first = await prepare(folder, clock);
  clock.advance(3640 * dayMs);
  const renewed = await prepare(folder, clock);
  assert.deepStrictEqual(
    [...renewed.files.keys()].filter((path) => path.endsWith(".crt")),
    ["ca", "apiserver", "admin", "front-proxy-ca", "front-proxy-client"].map((name) => `pki/${name}.crt`),
  );
  assert.strictEqual(renewed.serviceAccount.privateKey, first.serviceAccount.privateKey);
});

void test("a name the serving certificate lacks makes a new one, a name less does not", async () => {
  const folder = temporary();
  await prepare(folder, new FakeClock(), ["a.example"]);
  assert.deepStrictEqual(
    [...(await prepare(folder, new FakeClock(), ["a.example", "b.example"])).files.keys()],
    ["pki/apiserver.key", "pki/apiserver.crt"],
  );
  assert.strictEqual((await prepare(folder, new FakeClock(), [])).files.size, 0);
});

void test("a certificate valid beyond 2049 is written in the longer form", async () => {
  const { ca } = await prepare(undefined, new FakeClock(Date.UTC(2045, 0, 1)));
  assert.strictEqual(new X509Certificate(ca.certificate).validToDate.getUTCFullYear(), 2054);
});

void test("keys are elliptic ones in their own form, since Java's clients read no other", async () => {
  const { ca, serving, admin, serviceAccount } = await prepare(undefined);
  for (const key of [ca.key, serving.key, admin.key, serviceAccount.privateKey]) {
    assert.match(key, /^-----BEGIN EC PRIVATE KEY-----\n/);
    assert.strictEqual(createPrivateKey(key).asymmetricKeyType, "ec");
  }
});

void test("service account keys belong together", async () => {
  const { serviceAccount } = await prepare(undefined);
  const derived = createPublicKey(serviceAccount.privateKey).export({ type: "spki", format: "pem" });
  assert.strictEqual(derived, serviceAccount.publicKey);
});

void test("files that are missing, no PEM, or do not fit each other are named in one line", async () => {
  const folder = temporary();
  const a = await prepare(undefined);
  const b = await prepare(undefined);
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const cert = file("a.crt", a.serving.certificate);
  const key = file("a.key", a.serving.key);
  const other = file("b.key", b.serving.key);
  const junk = file("junk", "junk");
  const isRefusal = (message: string) => (error: unknown) =>
    error instanceof StartError && error.message === message.replaceAll("DIR", folder);
  assert.strictEqual(readGivenPair(cert, key).key, a.serving.key);
  assert.throws(() => readGivenPair(cert, other), isRefusal("DIR/b.key: not the key of DIR/a.crt"));
  assert.throws(() => readGivenPair(junk, key), isRefusal("DIR/junk: not a certificate in PEM form"));
  assert.throws(() => readGivenPair(cert, junk), isRefusal("DIR/junk: not a private key in PEM form"));
  assert.throws(() => readGivenPair(`${cert}x`, key), isRefusal("cannot read DIR/a.crtx: no such file"));
  assert.throws(() => readGiven(folder), isRefusal("cannot read DIR: it is a folder"));
  assert.throws(() => readAuthorities(junk), isRefusal("DIR/junk: no certificate in it"));
  const bundle = file("bundle", `comment\n${a.ca.certificate}\n${b.ca.certificate}`);
  assert.strictEqual(readAuthorities(bundle), a.ca.certificate + b.ca.certificate);
});

void test("damaged files of the data folder are reported, not replaced", async () => {
  const folder = temporary();
  await prepare(folder);
  writeFileSync(join(folder, "pki/ca.key"), "junk");
  await assert.rejects(prepare(folder), /pki\/ca\.key: not a private key in PEM form/);
});

/** Expects that a folder with a missing or empty file is refused, and then that the loss can be accepted. */
async function expectLoss(name: string, isUsed: boolean, how: "missing" | "empty"): Promise<void> {
  const folder = temporary();
  const first = await prepare(folder);
  const file = join(folder, "pki", name);
  if (how === "missing") rmSync(file);
  else writeFileSync(file, "");
  const asked = { isUsed };
  await assert.rejects(
    prepare(folder, new FakeClock(), [], asked),
    (error: unknown) =>
      error instanceof StartError &&
      error.message.startsWith(`${file} is ${how}: with a new one `) &&
      error.message.endsWith(
        "; put it back, restore a backup of the folder, or go on with new ones by one start with --accept-data-loss",
      ),
    `${name} ${how} ${isUsed}`,
  );
  const next = await prepare(folder, new FakeClock(), [], { ...asked, acceptLoss: true });
  assert.match(next.loss ?? "", new RegExp(`${name} is ${how}`));
  assert.notDeepStrictEqual(
    [next.ca, next.frontProxy, next.serviceAccount, next.admin.token],
    [first.ca, first.frontProxy, first.serviceAccount, first.admin.token],
  );
  const last = await prepare(folder, new FakeClock(), [], { isUsed: true });
  assert.deepStrictEqual([last.files.size, last.loss], [0, undefined]);
}

void test("a lost file that others rely on is not made anew without a word", async () => {
  const others = ["front-proxy-ca.key", "front-proxy-ca.crt", "admin.token"];
  for (const name of ["ca.key", "ca.crt", "sa.key", ...others]) {
    for (const how of ["missing", "empty"] as const) await expectLoss(name, true, how);
  }
  for (const name of ["ca.key", "front-proxy-ca.key"]) await expectLoss(name, false, "missing");
});

void test("what is made of others is made again, with the same authorities and keys", async () => {
  const folder = temporary();
  const first = await prepare(folder);
  const leaves = ["apiserver", "admin", "front-proxy-client"].flatMap((name) => [`${name}.crt`, `${name}.key`]);
  for (const name of [...leaves, "sa.pub"]) {
    rmSync(join(folder, "pki", name));
    const next = await prepare(folder, new FakeClock(), [], { isUsed: true });
    assert.ok(next.files.has(`pki/${name}`), name);
    assert.deepStrictEqual(
      [next.ca, next.frontProxy.ca, next.serviceAccount],
      [first.ca, first.frontProxy.ca, first.serviceAccount],
    );
  }
});

void test("a first start that was cut short is taken up again", async () => {
  const whole = await prepare(temporary());
  const files = [...whole.files];
  for (let count = 0; count < files.length; count++) {
    const folder = temporary();
    mkdirSync(join(folder, "pki"));
    for (const [path, content] of files.slice(0, count)) writeFileSync(join(folder, path), content);
    const next = await prepare(folder);
    assert.strictEqual(next.loss, undefined);
    const kept = files.slice(0, count).some(([path]) => path === "pki/ca.key");
    assert.strictEqual(next.ca.key === whole.ca.key, kept, `${count} files`);
  }
});
