/** `binnacle serve`: errors at the start, its files, and shutdown. */
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import https from "node:https";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { program, runProgram, serveProgram } from "./program.ts";

const folders: string[] = [];
after(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-program-"));
  folders.push(folder);
  return folder;
}

interface Answer {
  readonly code: number;
  readonly text: string;
}

/** Sends a request as the administrator of the folder's server. */
function ask(folder: string, url: string, method: string, path: string, body?: unknown): Promise<Answer> {
  const pem = (name: string): Buffer => readFileSync(join(folder, "data/pki", name));
  const options = { method, ca: pem("ca.crt"), cert: pem("admin.crt"), key: pem("admin.key"), agent: false as const };
  return new Promise((resolve, reject) => {
    const request = https.request(
      url + path,
      { ...options, headers: { "content-type": "application/json" } },
      (response) => {
        let text = "";
        response.on("data", (piece: Buffer) => {
          text += piece.toString();
        });
        response.on("end", () => resolve({ code: response.statusCode ?? 0, text }));
      },
    );
    request.on("error", reject);
    request.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const data = "--data-dir=data";

void test("a start that cannot be says so in one line, ends with 1 and writes nothing [GATE-07, GATE-08, GATE-09]", async () => {
  const folder = temporary();
  writeFileSync(join(folder, "junk"), "junk");
  const taken = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => taken.once("listening", resolve));
  const { port } = taken.address() as AddressInfo; // a TCP server's address is never a text
  const cases: readonly [string[], RegExp][] = [
    [["--no-such-flag"], /unknown flag --no-such-flag/],
    [["--secure-port=x"], /invalid value "x" for --secure-port/],
    [["stray"], /unexpected argument "stray"/],
    [["-o=xml"], /invalid value "xml" for -o/],
    [[`--secure-port=${port}`], /port \d+ of 127\.0\.0\.1 is in use/],
    [["--bind-address=203.0.113.1", "--secure-port=0"], /203\.0\.113\.1 is no address of this machine/],
    [["--tls-cert-file=none.crt", "--tls-private-key-file=none.key"], /cannot read none\.crt: no such file/],
    [["--tls-cert-file=junk", "--tls-private-key-file=junk"], /junk: not a certificate/],
    [["--tls-cert-file=junk"], /must be given together/],
    [["--client-ca-file=junk"], /junk: no certificate in it/],
    [["--token-auth-file=none"], /cannot read none: no such file/],
    [["--token-auth-file=junk"], /token file 'junk' must have at least 3 columns/],
    [["--feature-gates=NoSuchGate=true"], /unrecognized feature gate: NoSuchGate/],
    [["--feature-gates=VolumeAttributesClass=maybe"], /invalid value of VolumeAttributesClass=maybe/],
    [["--feature-gates=APIServingWithRoutine=true,ServerSideApply=false"], /ServerSideApply|APIServingWithRoutine/],
    [["--runtime-config=api/all=false"], /invalid key with only api\/all=false/],
    [
      ["--enable-admission-plugins=PodSecurityPolicy"],
      /invalid value "PodSecurityPolicy" for --enable-admission-plugins/,
    ],
    [["--api-domain=Bad"], /invalid value "Bad" for --api-domain/],
    [["--config=none.yaml"], /cannot read none\.yaml: no such file/],
    [["--data-dir=junk/x"], /cannot use data folder .*junk\/x: a part of its path is not a folder/],
  ];
  const expectRefusal = async ([args, message]: readonly [string[], RegExp]): Promise<void> => {
    const { code, stdout, stderr } = await runProgram(["serve", data, "--secure-port=0", ...args], folder);
    assert.strictEqual(code, 1, args.join(" "));
    assert.strictEqual(stdout, "");
    assert.match(stderr, message);
    assert.match(stderr, /^binnacle: [^\n]+\n$/);
  };
  for (let i = 0; i < cases.length; i += 4) await Promise.all(cases.slice(i, i + 4).map(expectRefusal));
  assert.deepStrictEqual(readdirSync(folder), ["junk"]);
  taken.close();
});

void test("a deprecated flag is taken, and standard error says so [VER-26]", async () => {
  const folder = temporary();
  const flags = ["--default-watch-cache-size=5", "--runtime-config=api/all=false"];
  const { code, stderr } = await runProgram(["serve", "--storage=memory", "--secure-port=0", ...flags], folder);
  assert.strictEqual(code, 1);
  assert.match(stderr, /^binnacle: --default-watch-cache-size is deprecated: /m);
  assert.match(stderr, /^binnacle: --runtime-config: invalid key with only api\/all=false$/m);
});

void test("a first start writes private files, a second is refused beside it, a third reuses them [GEN-02]", async () => {
  const folder = temporary();
  const first = await serveProgram(folder, data);
  const files = readdirSync(join(folder, "data"), { recursive: true, encoding: "utf8" }).sort();
  for (const name of ["admin.kubeconfig", "binnacle.json", "pki/ca.crt", "pki/admin.token", "pki/sa.key"]) {
    assert.ok(files.includes(name), name);
  }
  if (process.platform !== "win32") {
    for (const name of files) assert.strictEqual(statSync(join(folder, "data", name)).mode & 0o077, 0, name);
  }
  assert.ok(readFileSync(first.kubeconfig, "utf8").includes(`server: ${first.url}\n`));
  const created = await ask(folder, first.url, "POST", "/api/v1/namespaces/default/configmaps", {
    metadata: { name: "a" },
  });
  assert.strictEqual(created.code, 201, created.text);

  const second = await runProgram(["serve", data, "--secure-port=0"], folder);
  assert.deepStrictEqual([second.code, second.stdout], [1, ""]);
  assert.match(second.stderr, /^binnacle: [^\n]*in use by another process\n$/);
  const other = await runProgram(["serve", data, "--secure-port=0", "--api-domain=k8s.io"], folder);
  assert.match(other.stderr, /^binnacle: data folder [^\n]* belongs to API domain platform\.io[^\n]*\n$/);

  first.child.kill("SIGTERM");
  assert.strictEqual((await first.ended).code, 0);
  const ca = readFileSync(join(folder, "data/pki/ca.crt"), "utf8");
  const third = await serveProgram(folder, data);
  assert.strictEqual(readFileSync(join(folder, "data/pki/ca.crt"), "utf8"), ca);
  const answer = await ask(folder, third.url, "GET", "/api/v1/namespaces/default/configmaps/a");
  const uid = (text: string): unknown => (JSON.parse(text) as { metadata: { uid: string } }).metadata.uid;
  assert.strictEqual(uid(answer.text), uid(created.text));
  third.child.kill("SIGINT");
  assert.strictEqual((await third.ended).code, 0);
});

void test("a signal makes readiness fail at once while requests still succeed for the delay, unless a second one comes [HEALTH-05]", async () => {
  const folder = temporary();
  const { child, ended, url } = await serveProgram(folder, data, "--storage=memory", "--shutdown-delay-duration=1h");
  assert.strictEqual((await ask(folder, url, "GET", "/readyz")).code, 200);
  child.kill("SIGTERM");
  let ready = await ask(folder, url, "GET", "/readyz");
  while (ready.code === 200) ready = await ask(folder, url, "GET", "/readyz");
  assert.strictEqual(ready.code, 500);
  assert.match(ready.text, /\[-\]shutdown failed: reason withheld/);
  assert.strictEqual((await ask(folder, url, "GET", "/livez")).code, 200);
  assert.strictEqual((await ask(folder, url, "GET", "/api/v1/namespaces")).code, 200);
  // Signals that follow each other quickly count as one.
  const again = setInterval(() => child.kill("SIGTERM"), 100);
  const { code, stderr } = await ended;
  clearInterval(again);
  assert.strictEqual(code, 1, stderr);
  assert.match(stderr, /SIGTERM again: stopping at once/);
});

void test("a watch ends in good order when the server stops, a second signal forces the end", async () => {
  const folder = temporary();
  const server = await serveProgram(folder, data, "--storage=memory");
  const watch = ask(folder, server.url, "GET", "/api/v1/namespaces?watch=true");
  await ask(folder, server.url, "GET", "/api/v1/namespaces");
  server.child.kill("SIGTERM");
  assert.strictEqual((await watch).code, 200);
  assert.strictEqual((await server.ended).code, 0);

  const stubborn = await serveProgram(folder, data, "--storage=memory", "--shutdown-delay-duration=1h");
  stubborn.child.kill("SIGTERM");
  while ((await ask(folder, stubborn.url, "GET", "/readyz")).code === 200);
  // The signal is sent repeatedly: one that follows the first immediately is the same signal.
  const again = setInterval(() => stubborn.child.kill("SIGTERM"), 50);
  const { code, stderr } = await stubborn.ended;
  clearInterval(again);
  assert.strictEqual(code, 1);
  assert.match(stderr, /binnacle: SIGTERM again: stopping at once\n$/);
});

void test("a server in memory writes nothing into the current folder, and ends with the process that started it", async () => {
  const folder = temporary();
  const starter = `
    import { spawn } from "node:child_process";
    const args = [...${JSON.stringify(program)}, "serve", "-o", "json", "--secure-port=0", "--storage=memory"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    child.stdout.once("data", (line) => console.log(JSON.stringify({ ...JSON.parse(line), pid: child.pid })));
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", starter], { cwd: folder });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const { pid, kubeconfig } = JSON.parse(line.toString()) as { pid: number; kubeconfig: string };
  assert.deepStrictEqual(readdirSync(folder), []);
  assert.ok(existsSync(kubeconfig));
  parent.kill("SIGKILL");
  while (isRunning(pid)) await sleep(20);
  assert.ok(!existsSync(kubeconfig));
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

void test("a signal that comes twice at once, from a terminal and from npm, asks for an orderly end", async () => {
  const server = await serveProgram(temporary(), data, "--shutdown-delay-duration=200ms");
  // Two equal signals that wait for a busy process become one.
  server.child.kill("SIGINT");
  server.child.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  assert.strictEqual(code, 0, stderr);
  assert.match(stderr, /"msg":"stopped"/);
});

void test("flags of a configuration file count, those of the command line win", async () => {
  const folder = temporary();
  writeFileSync(join(folder, "c.yaml"), "api-domain: k8s.io\ndata-dir: data\nstorage: disk\nv: 2\n");
  const server = await serveProgram(folder, "--config=c.yaml", "--storage=memory");
  const groups = await ask(folder, server.url, "GET", "/apis");
  assert.match(groups.text, /rbac\.authorization\.k8s\.io/);
  server.child.kill("SIGTERM");
  await server.ended;
  assert.ok(!existsSync(join(folder, "data/store.db")));

  for (const command of [
    ["backup", "no.backup"],
    ["compact", "--older-than=0s"],
  ]) {
    const { code, stderr } = await runProgram([...command, data], folder);
    assert.strictEqual(code, 1);
    assert.match(stderr, /^binnacle: \S+data has no store: its servers kept objects in memory, or in etcd \(.+\)\n$/);
  }
  assert.ok(!existsSync(join(folder, "data/store.db")));
});

void test("a backup is made while the server runs and without it, and restored under the same domain only", async () => {
  const folder = temporary();
  const server = await serveProgram(folder, data);
  await ask(folder, server.url, "POST", "/api/v1/namespaces/default/configmaps", { metadata: { name: "kept" } });
  const online = await runProgram(["backup", "one.backup", data], folder);
  assert.strictEqual(online.code, 0, online.stderr);
  assert.match(online.stdout, /^backup of revision \d+ written to .*one\.backup \(\d+ bytes\)\n$/);
  const again = await runProgram(["backup", "one.backup", data], folder);
  assert.match(again.stderr, /^binnacle: .*one\.backup exists already\n$/);
  server.child.kill("SIGTERM");
  await server.ended;
  const elsewhere = await runProgram(["backup", "no.backup", "--data-dir=none"], folder);
  assert.match(elsewhere.stderr, /^binnacle: .*none is no data folder \(--data-dir\)\n$/);
  const unusable = await runProgram(["backup", "no.backup", "--data-dir=one.backup"], folder);
  assert.match(
    unusable.stderr,
    /^binnacle: cannot use data folder .*one\.backup: a part of its path is not a folder\n$/,
  );
  const offline = await runProgram(["backup", "two.backup", data], folder);
  assert.strictEqual(offline.code, 0, offline.stderr);

  const used = await runProgram(["restore", "one.backup", data], folder);
  assert.strictEqual(used.code, 1);
  assert.match(used.stderr, /^binnacle: [^\n]*exists already[^\n]*\n$/);
  for (const file of ["one.backup", "two.backup"]) {
    rmSync(join(folder, "data"), { recursive: true });
    const restored = await runProgram(["restore", file, data], folder);
    assert.strictEqual(restored.code, 0, restored.stderr);
    const wrong = await runProgram(["serve", data, "--secure-port=0", "--api-domain=k8s.io"], folder);
    assert.match(wrong.stderr, /^binnacle: the store belongs to API domain platform\.io[^\n]*\n$/);
    const next = await serveProgram(folder, data);
    assert.strictEqual((await ask(folder, next.url, "GET", "/api/v1/namespaces/default/configmaps/kept")).code, 200);
    next.child.kill("SIGTERM");
    await next.ended;
  }
});

void test("help and version are printed, unknown commands are refused", async () => {
  const folder = temporary();
  const help = await runProgram(["--help"], folder);
  assert.match(help.stdout, /serve .*\n.*backup FILE/);
  const short = (await runProgram(["serve", "--help"], folder)).stdout;
  assert.match(short, /^ +--storage disk\|memory .*\n(?:.*\n)*Examples:\n(?:.*\n)*.*--help=all prints all flags/m);
  assert.ok(short.split("\n").length < 60, short);
  assert.match((await runProgram(["serve", "--help=all"], folder)).stdout, /Secure serving flags:/);
  assert.match((await runProgram(["version"], folder)).stdout, /^binnacle \d+\.\d+\.\d+\n$/);
  assert.match(
    (await runProgram(["version", "-o", "json"], folder)).stdout,
    /^\{\n  "version": "\d+\.\d+\.\d+"\n\}\n$/,
  );
  for (const word of ["srve", "constructor"]) {
    const { code, stderr } = await runProgram([word], folder);
    assert.strictEqual(code, 1);
    assert.strictEqual(stderr, `binnacle: unknown command "${word}": see binnacle --help\n`);
  }
  assert.deepStrictEqual(readdirSync(folder), []);
});

void test("the help of every command says how it is used, and has an example", async () => {
  const folder = temporary();
  const { stdout } = await runProgram(["--help"], folder);
  const names = Array.from(stdout.matchAll(/^ {2}([a-z-]+) /gm), ([, name]) => name!);
  assert.ok(names.length > 20, stdout);
  for (const name of names) {
    const help = await runProgram([name, "--help"], folder);
    assert.strictEqual(help.code, 0, name);
    assert.match(help.stdout, new RegExp(`^Usage: binnacle ${name}[ \n]`, "m"));
    assert.match(help.stdout, /^Examples:\n {2}.*binnacle /m, name);
  }
});

void test("a start without the last writes is refused in one line that says what to do, and the loss can be accepted", async () => {
  const folder = temporary();
  const first = await serveProgram(folder, data);
  for (const name of ["a", "b"]) {
    const answer = await ask(folder, first.url, "POST", "/api/v1/namespaces/default/configmaps", {
      metadata: { name },
    });
    assert.strictEqual(answer.code, 201, answer.text);
  }
  const list = (text: string): { metadata: { resourceVersion: string } } =>
    JSON.parse(text) as { metadata: { resourceVersion: string } };
  const seen = list((await ask(folder, first.url, "GET", "/api/v1/namespaces/default/configmaps")).text);
  first.child.kill("SIGKILL");
  await first.ended;
  rmSync(join(folder, "data/store.db-wal"));
  const refused = await runProgram(["serve", data, "--secure-port=0"], folder);
  assert.strictEqual(refused.code, 1);
  assert.match(
    refused.stderr,
    /^binnacle: \S+store\.db-wal is missing: the writes after revision \d+ up to \d+ are missing; [^\n]* restore a backup [^\n]* --accept-data-loss\n$/,
  );
  const second = await serveProgram(folder, data, "--accept-data-loss");
  const { metadata } = seen;
  const old = `/api/v1/namespaces/default/configmaps?watch=true&resourceVersion=${metadata.resourceVersion}`;
  const watched = await ask(folder, second.url, "GET", old);
  assert.match(watched.text, /"code":410/);
  second.child.kill("SIGTERM");
  const { stderr } = await second.ended;
  assert.match(stderr, /"level":"?(?:warn|40)"?[^\n]*a loss was accepted/);
});
