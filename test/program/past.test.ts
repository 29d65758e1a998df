/** Commands of the program about the past: changes, get --at, history --diff, undelete of many. */
import assert from "node:assert";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test, type TestContext } from "node:test";
import { runProgram, type Ended, type Serving, serveProgram } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-past-"));
let serving: Serving;
before(async () => {
  serving = await serveProgram(folder, "--data-dir=data", "--history=24h");
});
after(async () => {
  serving.child.kill("SIGTERM");
  await serving.ended;
  rmSync(folder, { recursive: true, force: true });
});

const run = (...args: readonly string[]): Promise<Ended> => runProgram([...args, "--data-dir=data"], folder);

async function done(...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  assert.strictEqual(code, 0, stderr);
  return stdout;
}

/** Applies objects of a namespace. */
async function apply(ns: string, ...objects: readonly object[]): Promise<void> {
  const file = join(folder, `${ns}.json`);
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "List", items: objects }));
  await done("apply", "-f", file, "-n", ns);
}

async function namespace(name: string): Promise<string> {
  const file = join(folder, "namespace.json");
  writeFileSync(file, JSON.stringify({ apiVersion: "v1", kind: "Namespace", metadata: { name } }));
  await done("apply", "-f", file);
  return name;
}

const map = (name: string, v: string, labels: object = {}): object => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, labels },
  data: { v },
});
const secret = (name: string, v: string): object => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name },
  // Nobody owns what the server makes of `stringData`, so that the data are given.
  data: { password: Buffer.from(v).toString("base64") },
});

test("changes shows who changed what as lines, and masks the values of secrets", async () => {
  const ns = await namespace("shop");
  await apply(ns, map("a", "one"), secret("s", "hunter1"));
  await apply(ns, map("a", "two"), secret("s", "hunter2"));
  await done("delete", "cm", "a", "-n", ns);
  const text = await done("changes", "-n", ns, "--since", "10m");
  const [first] = text.split("\n");
  assert.match(first!, /^configmap\/a deleted by \S+ with binnacle, .* version \d+$/);
  assert.match(text, /^-\s+v: one$/m);
  assert.match(text, /^\+\s+v: two$/m);
  assert.match(text, /secret\/s updated by binnacle/);
  assert.match(text, /^-  password: "\*\*\* \(before\)"$/m);
  const [one, two] = ["hunter1", "hunter2"].map((value) => Buffer.from(value).toString("base64"));
  for (const form of ["text", "json", "yaml"]) {
    const shown = await done("changes", "-n", ns, "-o", form);
    assert.ok(!shown.includes(one!) && !shown.includes(two!), form);
  }
  assert.ok((await done("changes", "secrets", "-n", ns, "--show-secrets")).includes(two!));
  const json = JSON.parse(await done("changes", "cm", "-n", ns, "-o", "json")) as { items: { event: string }[] };
  assert.deepStrictEqual(
    json.items.filter(({ event }) => event !== "created").map(({ event }) => event),
    ["deleted", "updated"],
  );
});

test("history --diff shows each version's lines, and get --at the objects as they were", async () => {
  const ns = await namespace("past");
  await apply(ns, map("a", "one"));
  await apply(ns, map("a", "two"), map("b", "two"));
  const text = await done("history", "cm", "a", "-n", ns, "--diff");
  assert.match(text, /updated by binnacle.*\n@@ .*\n(?: .*\n)*- {2}v: one\n\+ {2}v: two\n/);
  const { items } = JSON.parse(await done("history", "cm", "a", "-n", ns, "-o", "json")) as {
    items: { resourceVersion: string }[];
  };
  const version = items[1]!.resourceVersion;
  const table = await done("get", "cm", "-n", ns, "--at", version);
  assert.match(table, /^NAME +DATA +AGE\n/);
  assert.match(table, /^a +1 /m);
  assert.ok(!/^b /m.test(table));
  assert.match(await done("get", "cm", "a", "-n", ns, "--at", version, "-o", "yaml"), /^ {2}v: one$/m);
  const absent = await run("get", "cm", "b", "-n", ns, "--at", version);
  assert.strictEqual(absent.code, 1);
  assert.match(absent.stderr, /"b" not found/);
  assert.match((await run("get", "cm", "-n", ns, "--at", "never")).stderr, /neither a version nor a time/);
});

test("undelete brings back all that have a label, tells what fails, and goes on", async () => {
  const ns = await namespace("gone");
  const web = { app: "web" };
  await apply(ns, map("a", "1", web), map("b", "1", web), map("c", "1", web), map("d", "1"));
  await done("delete", "cm", "a", "b", "c", "d", "-n", ns);
  await apply(ns, map("b", "new", web));
  const quota = {
    apiVersion: "v1",
    kind: "ResourceQuota",
    metadata: { name: "q" },
    spec: { hard: { "count/secrets": "0" } },
  };
  await apply(ns, quota);
  const dry = await done("undelete", "cm", "-l", "app=web", "--since", "1h", "-n", ns, "--dry-run");
  assert.deepStrictEqual(
    dry
      .trim()
      .split("\n")
      .map((line) => line.slice(0, 13)),
    ['ConfigMap "a"', 'ConfigMap "c"'],
  );
  const restored = await done("undelete", "cm", "-l", "app=web", "-n", ns);
  assert.match(restored, /^ConfigMap "a" in gone restored.*\nConfigMap "c" in gone restored/);
  // One of the names is there, and one never was.
  const some = await run("undelete", "cm", "b", "d", "never", "-n", ns);
  assert.strictEqual(some.code, 1);
  assert.match(some.stdout, /^ConfigMap "d" in gone restored/);
  assert.match(some.stderr, /"b" already exists/);
  assert.match(some.stderr, /"never" not found/);
  assert.match((await run("undelete", "cm", "-n", ns)).stderr, /takes names or labels/);
});

/** Starts a server in front of the one of the tests that has all its paths, but for those of the history. */
async function withoutHistory(t: TestContext): Promise<string> {
  const pki = (name: string): Buffer => readFileSync(join(folder, "data/pki", name));
  const admin = { cert: pki("admin.crt"), key: pki("admin.key"), ca: pki("ca.crt") };
  const agent = new https.Agent({ ...admin, keepAlive: true });
  const proxy = https.createServer({ cert: pki("apiserver.crt"), key: pki("apiserver.key") }, (request, answer) => {
    if (request.url?.startsWith("/binnacle/") === true) {
      answer.writeHead(404, { "content-type": "text/plain" }).end("404 page not found\n");
      return;
    }
    const { accept = "application/json" } = request.headers;
    const asked = https.get(`${serving.url}${request.url}`, { agent, headers: { accept } }, (given) => {
      answer.writeHead(given.statusCode ?? 502, { "content-type": given.headers["content-type"] ?? "" });
      given.pipe(answer);
    });
    asked.once("error", () => answer.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => {
    proxy.closeAllConnections();
    proxy.close();
    agent.destroy();
  });
  return `--server=https://127.0.0.1:${(proxy.address() as AddressInfo).port}`; // a TCP server's address is no text
}

test("a server without history: changes tells what the objects say and what it cannot know, the others what they need", async (t) => {
  const ns = await namespace("other");
  await apply(ns, map("a", "one"));
  const server = await withoutHistory(t);
  const { code, stdout, stderr } = await run("changes", "cm", "-n", ns, "--since", "1h", server);
  assert.strictEqual(code, 0, stderr);
  assert.match(stdout, /^configmap\/a changed by binnacle \(Apply\), /m);
  assert.match(stderr, /keeps no history: deletions, and values before a change, cannot be known/);
  for (const args of [
    ["history", "cm", "a"],
    ["get", "cm", "--at", "1m"],
    ["get", "cm", "a", "--at", "1m"],
    ["undelete", "cm", "a"],
    ["undelete", "cm", "-l", "a=b"],
  ]) {
    const ended = await run(...args, "-n", ns, server);
    assert.strictEqual(ended.code, 1);
    assert.match(ended.stderr, /needs the history of a Binnacle server/, args.join(" "));
  }
});
