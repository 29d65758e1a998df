/** Certificates are renewed while the server runs. */
import assert from "node:assert";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { fakeAuthority, type Issued } from "#authn/fake-authority.ts";
import type { TlsFiles } from "#transport/listener.ts";
import { FakeClock } from "#std/fake-clock.ts";
import { silentLog } from "#std/log.ts";
import { seededRandom } from "#std/random.ts";
import { resolveOptions, type ServerSettings } from "../options.ts";
import { keepRenewed, readServingCredentials, withCertDir, writeCredentials } from "./serving.ts";

const root = mkdtempSync(join(tmpdir(), "binnacle-serving-"));
after(() => rmSync(root, { recursive: true, force: true }));

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const url = "https://127.0.0.1:1";

async function startServing(name: string, settings: ServerSettings = {}, clock = new FakeClock()) {
  const folder = join(root, name);
  const sources = {
    options: resolveOptions(settings),
    folder,
    isUsed: false,
    isKeeper: true,
    clock,
    random: seededRandom(2),
  } as const;
  const current = await readServingCredentials(sources);
  writeCredentials(folder, url, current);
  const used: TlsFiles[] = [];
  const stop = keepRenewed(sources, { url, current, log: silentLog, use: (files) => used.push(files) });
  return { folder, clock, current, used, stop };
}

/** Advances the clock hour by hour, and lets the work of each hour finish. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= hourMs) {
    clock.advance(hourMs);
    await setImmediate();
  }
}

void test("a certificate near its end is replaced, on disk, in the kubeconfig and for new connections", async () => {
  const first = await startServing("a");
  first.stop();
  const later = new FakeClock(first.clock.now() + 330 * dayMs);
  const { folder, clock, current, used, stop } = await startServing("a", {}, later);
  assert.strictEqual(current.serving.certificate, first.current.serving.certificate);
  await pass(clock, dayMs);
  assert.strictEqual(used.length, 0);
  await pass(clock, 10 * dayMs);
  assert.strictEqual(used.length, 1);
  assert.notStrictEqual(used[0]!.cert, current.serving.certificate);
  assert.strictEqual(readFileSync(join(folder, "pki/apiserver.crt"), "utf8"), used[0]!.cert);
  const admin = readFileSync(join(folder, "pki/admin.crt"));
  assert.ok(readFileSync(join(folder, "admin.kubeconfig"), "utf8").includes(admin.toString("base64")));
  stop();
  await pass(clock, 400 * dayMs);
  assert.strictEqual(used.length, 1);
});

void test("a given certificate file that changed takes effect, one that became unreadable does not", async () => {
  const other = await readServingCredentials({
    options: resolveOptions(),
    folder: undefined,
    isUsed: false,
    isKeeper: true,
    clock: new FakeClock(),
    random: seededRandom(3),
  });
  const [cert, key] = [join(root, "given.crt"), join(root, "given.key")];
  const { ca, admin, serving } = other.credentials;
  writeFileSync(cert, ca.certificate);
  writeFileSync(key, ca.key);
  const { folder, clock, used, stop } = await startServing("b", { tlsCertFile: cert, tlsPrivateKeyFile: key });
  writeFileSync(cert, "half a fi");
  await pass(clock, hourMs);
  writeFileSync(cert, admin.certificate);
  await pass(clock, hourMs);
  assert.strictEqual(used.length, 0);
  writeFileSync(cert, serving.certificate);
  writeFileSync(key, serving.key);
  await pass(clock, hourMs);
  assert.deepStrictEqual(
    used.map((files) => files.cert),
    [serving.certificate],
  );
  // The kubeconfig now contains the new authority.
  const kubeconfig = readFileSync(join(folder, "admin.kubeconfig"), "utf8");
  assert.ok(kubeconfig.includes(Buffer.from(serving.certificate).toString("base64")));
  stop();
});

/** Advances the clock by a minute until a condition holds, since files are read in the background. */
async function passUntil(clock: FakeClock, isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    clock.advance(minuteMs);
    await setImmediate();
  }
}

const certificateOf = async (name: string): Promise<Issued> =>
  (await fakeAuthority()).issue({ usage: "server", commonName: name, hosts: [`${name}.example.com`] });

void test("changed certificates of flags take effect within a minute, each by itself, also in memory", async () => {
  const folder = mkdtempSync(join(root, "minutely-"));
  const write = (name: string, { certificate, key }: Issued): string[] => {
    writeFileSync(join(folder, `${name}.crt`), certificate);
    writeFileSync(join(folder, `${name}.key`), key);
    return [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  };
  const [cert = "", key = ""] = write("given", await certificateOf("given"));
  const sni = write("sni", await certificateOf("sni"));
  const clock = new FakeClock();
  const options = resolveOptions({ tlsCertFile: cert, tlsPrivateKeyFile: key, tlsSniCertKey: [sni.join(",")] });
  const sources = {
    options,
    folder: undefined,
    isUsed: false,
    isKeeper: true,
    clock,
    random: seededRandom(2),
  } as const;
  const current = await readServingCredentials(sources);
  const used: TlsFiles[] = [];
  const problems: string[] = [];
  const log = { ...silentLog, error: (_fields: object, message: string) => void problems.push(message) };
  const stop = keepRenewed(sources, { url, current, log, use: (files) => used.push(files) });
  const other = await certificateOf("other");
  write("sni", other);
  await passUntil(clock, () => used.length > 0);
  assert.deepStrictEqual([...used[0]!.named!.keys()], ["other", "other.example.com"]);
  assert.strictEqual(used[0]!.named!.get("other.example.com")!.certificate, other.certificate);
  assert.strictEqual(used[0]!.cert, current.serving.certificate);
  writeFileSync(sni[0]!, "half a fi");
  await passUntil(clock, () => problems.includes("certificates could not be renewed"));
  write("given", other);
  await passUntil(clock, () => used.length > 1);
  assert.strictEqual(used[1]!.cert, other.certificate);
  assert.deepStrictEqual([...used[1]!.named!.keys()], ["other", "other.example.com"]);
  assert.strictEqual(used.length, 2);
  stop();
});

void test("a folder of certificates is used when it has both files and no others are given", () => {
  const certDir = mkdtempSync(join(root, "certs-"));
  const chooseCertificate = (settings: ServerSettings = {}): unknown =>
    withCertDir(resolveOptions({ certDir, ...settings })).tlsCertFile;
  writeFileSync(join(certDir, "apiserver.crt"), "certificate");
  assert.strictEqual(chooseCertificate(), undefined);
  writeFileSync(join(certDir, "apiserver.key"), "key");
  assert.strictEqual(chooseCertificate(), join(certDir, "apiserver.crt"));
  assert.strictEqual(chooseCertificate({ tlsCertFile: "other.crt", tlsPrivateKeyFile: "other.key" }), "other.crt");
});

void test("a key that is lost while the server runs is not made anew, whatever the start accepted", async () => {
  const { folder, clock, current, used, stop } = await startServing("lost", { acceptDataLoss: true });
  rmSync(join(folder, "pki/ca.key"));
  await pass(clock, 2 * hourMs);
  assert.equal(used.length, 0);
  assert.ok(!existsSync(join(folder, "pki/ca.key")));
  assert.equal(readFileSync(join(folder, "pki/ca.crt"), "utf8"), current.credentials.ca.certificate);
  stop();
});
