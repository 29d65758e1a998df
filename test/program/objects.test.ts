/** Commands of the program on objects: history, undelete, verify, compact, export and import. */
import assert from "node:assert";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, test } from "node:test";
import { KmsPlugin } from "../kms-plugin.ts";
import { type Ended, runProgram, type Serving, serveProgram } from "./program.ts";

const folders: string[] = [];
const running: Serving[] = [];
after(() => {
  // Failed tests leave processes and folders behind.
  for (const { child } of running) child.kill("SIGKILL");
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function temporary(): string {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-objects-"));
  folders.push(folder);
  return folder;
}

interface Body {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly ownerReferences?: readonly { uid: string }[];
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly items?: readonly Body[];
}

/** A server in a folder of its own, with commands that run beside it. */
class ServerFixture {
  readonly folder: string;
  readonly serving: Serving;

  private constructor(folder: string, serving: Serving) {
    this.folder = folder;
    this.serving = serving;
  }

  static async open(...flags: readonly string[]): Promise<ServerFixture> {
    const folder = temporary();
    const serving = await serveProgram(folder, "--data-dir=data", ...flags);
    running.push(serving);
    return new ServerFixture(folder, serving);
  }

  run(...args: readonly string[]): Promise<Ended> {
    return runProgram([...args, "--data-dir=data"], this.folder);
  }

  /** Runs a command that must succeed. Returns its output. */
  async done(...args: readonly string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    assert.strictEqual(code, 0, `${args.join(" ")}: ${stderr}`);
    return stdout;
  }

  async ask(method: string, path: string, body?: unknown, type = "application/json"): Promise<Body> {
    const pem = (name: string): Buffer => readFileSync(join(this.folder, "data/pki", name));
    const options = { method, ca: pem("ca.crt"), cert: pem("admin.crt"), key: pem("admin.key"), agent: false as const };
    const text = await new Promise<string>((resolve, reject) => {
      const request = https.request(
        this.serving.url + path,
        { ...options, headers: { "content-type": type } },
        (response) => {
          let read = "";
          response.on("data", (piece: Buffer) => {
            read += piece.toString();
          });
          response.on("end", () =>
            (response.statusCode ?? 500) < 400 ? resolve(read) : reject(new Error(`${method} ${path}: ${read}`)),
          );
        },
      );
      request.on("error", reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
    return JSON.parse(text) as Body;
  }

  async stop(): Promise<void> {
    this.serving.child.kill("SIGTERM");
    await this.serving.ended;
  }
}

const configMaps = "/api/v1/namespaces/default/configmaps";
const map = (name: string, data: object = {}, metadata: object = {}): object => ({
  metadata: { name, ...metadata },
  data,
});

void test("history shows versions, undelete brings one back, compact drops them, verify finds nothing wrong", async () => {
  const fixture = await ServerFixture.open("--history=24h,64MiB");
  await fixture.ask("POST", `${configMaps}?fieldManager=maker`, map("a", { v: "1" }));
  await fixture.ask(
    "PATCH",
    `${configMaps}/a?fieldManager=changer`,
    { data: { v: "2" } },
    "application/merge-patch+json",
  );
  await fixture.ask("DELETE", `${configMaps}/a`);

  const table = await fixture.done("history", "cm", "a");
  const [head, ...rows] = table.split("\n");
  assert.match(head!, /^VERSION +EVENT +AGE +BY +CHANGED$/);
  assert.match(rows[0]!, /^\d+ +deleted /);
  assert.match(rows[1]!, /^\d+ +updated +\S+ +changer +data\.v$/);
  assert.match(rows[2]!, /^\d+ +created +\S+ +maker +-$/);
  assert.ok(!table.includes("\u001b"), "colours are for terminals");
  const { items } = JSON.parse(await fixture.done("history", "ConfigMap/a", "-o", "json")) as {
    readonly items: readonly { readonly resourceVersion: string; readonly object?: Body }[];
  };
  assert.deepStrictEqual(
    items.map(({ object }) => object?.data),
    [undefined, { v: "2" }, { v: "1" }],
  );
  assert.match(
    await fixture.done("history", "configmaps.", "a", `--version=${items[2]!.resourceVersion}`),
    /^ {2}v: "1"$/m,
  );

  assert.match(await fixture.done("undelete", "configmap", "a", "--dry-run"), /would be restored \(dry run\)/);
  assert.match(
    await fixture.done("undelete", "configmap", "a"),
    /^ConfigMap "a" in default restored, now in version \d+$/m,
  );
  assert.deepStrictEqual((await fixture.ask("GET", `${configMaps}/a`)).data, { v: "2" });
  const again = await fixture.run("undelete", "cm", "a");
  assert.strictEqual(again.code, 1);
  assert.match(again.stderr, /already exists/);
  await fixture.done("undelete", "cm", "a", `--to-version=${items[2]!.resourceVersion}`, "--overwrite");
  assert.deepStrictEqual((await fixture.ask("GET", `${configMaps}/a`)).data, { v: "1" });

  assert.match(
    await fixture.done("compact", "--revision=1000000"),
    /^history before revision \d+ dropped, \d+ bytes given back$/m,
  );
  assert.match(
    await fixture.done("history", "cm", "a", "-o=wide"),
    /^VERSION[^\n]+UID +CHANGED\n\d+[^\n]+\n(?:no version has been dropped|the server keeps versions since)/,
  );
  const busy = await fixture.run("verify");
  assert.strictEqual(busy.code, 1);
  assert.match(busy.stderr, /in use by another process: stop the server, or verify a backup/);
  await fixture.done("backup", "copy.backup");
  await fixture.stop();

  const copy = join(fixture.folder, "copy.backup");
  const before = readFileSync(copy);
  const { code, stdout } = await runProgram(["verify", "copy.backup", "-o=json"], fixture.folder);
  assert.strictEqual(code, 0);
  const report = JSON.parse(stdout) as {
    readonly resources: Readonly<Record<string, number>>;
    readonly problems: unknown[];
  };
  assert.deepStrictEqual(report.problems, []);
  assert.ok(report.resources["configmaps"]! >= 1);
  assert.deepStrictEqual(readFileSync(copy), before);
  assert.match(await fixture.done("verify"), /\nnothing is wrong\n$/);
  assert.match(await fixture.done("compact", "--older-than=0s"), /dropped/);
  await fixture.done("verify");
});

/** Creates a backup of a server with some objects. */
async function backupOf(fixture: ServerFixture): Promise<string> {
  await fixture.ask("POST", configMaps, map("good"));
  await fixture.ask("POST", configMaps, map("bad", { marker: "here" }));
  await fixture.done("backup", "copy.backup");
  await fixture.stop();
  return join(fixture.folder, "copy.backup");
}

void test("verify names what is wrong, object by object, and ends with 1", async () => {
  const fixture = await ServerFixture.open();
  const copy = await backupOf(fixture);
  const damaged = join(fixture.folder, "damaged.backup");
  copyFileSync(copy, damaged);
  const database = new DatabaseSync(damaged);
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE name LIKE 'log%'").all();
  for (const table of tables.map(({ name }) => String(name))) {
    for (const { revision, value } of database.prepare(`SELECT * FROM ${table} WHERE key LIKE '%/bad'`).all()) {
      const bytes = Buffer.from(value as Uint8Array); // the column is declared so
      bytes.write("gone", bytes.indexOf("here"));
      database.prepare(`UPDATE ${table} SET value = ? WHERE revision = ?`).run(bytes, revision!);
    }
  }
  database.close();
  const { code, stdout } = await runProgram(["verify", "damaged.backup"], fixture.folder);
  assert.strictEqual(code, 1);
  assert.match(
    stdout,
    /1 problems:\n {2}\/registry\/core\/configmaps\/default\/bad \(revision \d+\): does not match its checksum\n$/,
  );
  for (const [args, message] of [
    [["verify", "none"], /none is no file/],
    [["verify", "data"], /is a folder: name it with --data-dir/],
    [["verify", "--data-dir=none"], /none is no data folder/],
    [["verify", "a", "b"], /takes one backup/],
    [["verify", "--data-dir=data", "--encryption-provider-config=none"], /cannot read none/],
    [["compact"], /say how much is dropped/],
    [["compact", "--revision=x"], /must be a whole number/],
    [["history", "cm"], /takes a kind and a name/],
    [["undelete", "cm", "a", "--overwrite"], /needs --to-version/],
    [["import"], /takes one file/],
    [["import", "x", "--apply", "--conflict=skip"], /goes without --conflict/],
    [["serve", "--history=soon"], /must be a time, a size, or both/],
    [["serve", "--history=1h", "--storage=memory"], /--history needs --storage=disk/],
    [["serve", "--history=1h", "--compaction-interval=0"], /contradict/],
  ] as const) {
    const ended = await runProgram(args, fixture.folder);
    assert.strictEqual(ended.code, 1, args.join(" "));
    assert.match(ended.stderr, message);
    assert.match(ended.stderr, /^binnacle: [^\n]+\n$/);
  }
});

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boats.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "boats", singular: "boat", kind: "Boat", shortNames: ["bo"] },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};

void test("what one server exports another one imports: definitions first, owners by their new uids", async () => {
  const [from, to] = await Promise.all([
    ServerFixture.open("--api-domain=k8s.io"),
    ServerFixture.open("--api-domain=k8s.io"),
  ]);
  const ns = "/api/v1/namespaces";
  await from.ask("POST", ns, { metadata: { name: "fleet" } });
  await from.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  const boats = "/apis/example.com/v1/namespaces/fleet/boats";
  const boat = { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "b" }, spec: { crew: 3 } };
  const { metadata: owner } = await from.ask("POST", boats, boat);
  const ownerReferences = [{ apiVersion: "example.com/v1", kind: "Boat", name: "b", uid: owner.uid }];
  const inFleet = `${ns}/fleet/configmaps`;
  await from.ask("POST", inFleet, map("log", { k: "v" }, { ownerReferences, labels: { keep: "yes" } }));
  await from.ask("POST", `${ns}/fleet/services`, { metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } });
  await from.ask("PATCH", `${boats}/b/status`, { status: { afloat: true } }, "application/merge-patch+json");

  const text = await from.done("export", "--status");
  assert.ok(!/\n {2}(?:uid|resourceVersion|creationTimestamp|managedFields):/.test(text));
  assert.ok(text.indexOf("kind: CustomResourceDefinition") < text.indexOf("kind: Boat\n"));
  writeFileSync(join(to.folder, "all.yaml"), text);
  assert.match(await to.done("import", "all.yaml", "--dry-run"), /^\d+ created, \d+ skipped \(dry run\)$/m);
  assert.match(await to.done("import", "all.yaml", "--status"), /^\d+ created, \d+ skipped$/m);
  const answer = await to.ask("GET", `${boats}/b`);
  assert.notStrictEqual(answer.metadata.uid, owner.uid);
  assert.deepStrictEqual((answer as unknown as { status: object }).status, { afloat: true });
  const dependent = await to.ask("GET", `${inFleet}/log`);
  assert.strictEqual(dependent.metadata.ownerReferences?.[0]?.uid, answer.metadata.uid);

  assert.match(await to.done("import", "all.yaml"), /^\d+ skipped$/m);
  await to.ask("PATCH", `${inFleet}/log`, { data: { k: "other", more: "x" } }, "application/merge-patch+json");
  const some = await from.done("export", "cm", "svc", "-n", "fleet", "-l", "keep=yes", "-o=json");
  assert.strictEqual(some.trim().split("\n").length, 1);
  writeFileSync(join(to.folder, "some.json"), some);
  const failing = await to.run("import", "some.json", "--conflict=fail", "-o=json");
  assert.strictEqual(failing.code, 1);
  assert.match(
    (JSON.parse(failing.stdout) as { failures: string[] }).failures[0]!,
    /^ConfigMap fleet\/log: is there already$/,
  );
  assert.match(await to.done("import", "some.json", "--apply"), /^1 applied$/m);
  assert.deepStrictEqual((await to.ask("GET", `${inFleet}/log`)).data, { k: "v", more: "x" });
  assert.match(await to.done("import", "some.json", "--conflict=replace"), /^1 replaced$/m);
  assert.deepStrictEqual((await to.ask("GET", `${inFleet}/log`)).data, { k: "v" });

  const broken = `kind: Nothing\napiVersion: x/v1\nmetadata: {name: thing}\n---\n- 1\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: after}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: UPPER}\n`;
  writeFileSync(join(to.folder, "broken.yaml"), broken);
  const { code, stdout, stderr } = await to.run("import", "broken.yaml", "-n", "fleet");
  assert.strictEqual(code, 1);
  assert.match(stdout, /^1 created, 3 failed$/m);
  assert.match(stderr, /^failed: Nothing thing: the server does not serve Nothing of x\/v1$/m);
  assert.match(stderr, /^failed: line 5: is no object$/m);
  assert.match(stderr, /^failed: ConfigMap UPPER: .*Invalid value/m);
  await to.ask("GET", `${inFleet}/after`);
  assert.strictEqual(statSync(join(to.folder, "broken.yaml")).size, broken.length);
  await Promise.all([from.stop(), to.stop()]);
});

void test("owners that come later in the file are found at the end, and those that never come are told", async () => {
  const fixture = await ServerFixture.open();
  const reference = (name: string): object => ({ apiVersion: "v1", kind: "ConfigMap", name, uid: "of-another-server" });
  const objects = [
    map("child", {}, { ownerReferences: [reference("parent"), reference("never")] }),
    map("parent"),
    ...Array.from({ length: 30 }, (_, i) => map(`more-${i}`)),
  ].map((object) => JSON.stringify({ apiVersion: "v1", kind: "ConfigMap", ...object }));
  // The child is created before the parent, since objects that are created at the same time have no order.
  writeFileSync(join(fixture.folder, "objects.json"), objects.join("\n"));
  const { code, stdout, stderr } = await fixture.run("import", "objects.json");
  assert.strictEqual(code, 0, stderr);
  assert.match(stdout, /^32 created$/m);
  assert.match(stderr, /^warning: ConfigMap child has no owner ConfigMap never here, and is made without it$/m);
  const { metadata: parent } = await fixture.ask("GET", `${configMaps}/parent`);
  const { metadata: child } = await fixture.ask("GET", `${configMaps}/child`);
  assert.deepStrictEqual(
    child.ownerReferences?.map(({ uid }) => uid),
    [parent.uid],
  );
  await fixture.stop();
});

interface VerifyReport {
  readonly encrypted: number;
  readonly decrypted: number;
  readonly problems: readonly { readonly key: string; readonly problem: string }[];
  readonly resources: Readonly<Record<string, number>>;
}

const boats = "/apis/example.com/v1/namespaces/default/boats";

/** Writes an encryption configuration with one provider for all resources to a file. */
function encryptionFile(provider: object): string {
  const file = join(temporary(), "encryption.json");
  const resources = [{ resources: ["*.*"], providers: [provider] }];
  const config = { apiVersion: "apiserver.config.k8s.io/v1", kind: "EncryptionConfiguration", resources };
  writeFileSync(file, JSON.stringify(config));
  return file;
}

const encryptionKey = (fill: number): object => {
  const secret = Buffer.alloc(32, fill).toString("base64");
  return { aesgcm: { keys: [{ name: `k${fill}`, secret }] } };
};

/** Creates a store with this configuration, with a custom resource and a config map. */
async function openEncryptedStore(file: string): Promise<ServerFixture> {
  const fixture = await ServerFixture.open("--api-domain=k8s.io", `--encryption-provider-config=${file}`);
  await fixture.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  await fixture.ask("POST", boats, { apiVersion: "example.com/v1", kind: "Boat", metadata: { name: "b" } });
  await fixture.ask("POST", configMaps, map("hidden"));
  await fixture.stop();
  return fixture;
}

async function verifyStore(fixture: ServerFixture, ...args: readonly string[]): Promise<VerifyReport> {
  const { stdout } = await fixture.run("verify", "-o=json", ...args);
  return JSON.parse(stdout) as VerifyReport; // as verify prints it
}

void test("verify counts encrypted objects; with their configuration it checks what is in them", async () => {
  const file = encryptionFile(encryptionKey(1));
  const fixture = await openEncryptedStore(file);
  const unread = await verifyStore(fixture);
  const all = Object.values(unread.resources).reduce((sum, count) => sum + count, 0);
  assert.deepStrictEqual([unread.problems, unread.encrypted, unread.decrypted], [[], all, 0]);
  const read = await verifyStore(fixture, `--encryption-provider-config=${file}`);
  assert.deepStrictEqual([read.problems, read.encrypted, read.decrypted], [[], all, all]);
  assert.strictEqual(read.resources["boats.example.com"], 1);
  assert.match(await fixture.done("verify"), /objects are encrypted, and were not looked into/);
  const output = await fixture.done("verify", `--encryption-provider-config=${file}`);
  assert.match(
    output,
    new RegExp(`^${all} objects are encrypted, ${all} of them could be read\nnothing is wrong$`, "m"),
  );
});

void test("verify finds what is wrong inside of encrypted objects, and names those it cannot decrypt by key", async () => {
  const file = encryptionFile(encryptionKey(1));
  const fixture = await openEncryptedStore(file);
  const other = await verifyStore(fixture, `--encryption-provider-config=${encryptionFile(encryptionKey(2))}`);
  assert.strictEqual(other.decrypted, 0);
  assert.strictEqual(other.problems.length, other.encrypted);
  const hidden = "/registry/core/configmaps/default/hidden";
  const problem = other.problems.find(({ key }) => key === hidden);
  assert.match(
    problem?.problem ?? "",
    /^cannot be decrypted: no matching key was found for the provided AES transformer$/,
  );
  // The same store is read without the rule for config maps: they are reported, all others are read.
  const config = JSON.parse(readFileSync(file, "utf8")) as {
    resources: { resources: string[]; providers: object[] }[];
  };
  config.resources.unshift({ resources: ["configmaps"], providers: [{ identity: {} }] });
  writeFileSync(file, JSON.stringify(config));
  const { code, stdout } = await fixture.run("verify", `--encryption-provider-config=${file}`);
  assert.strictEqual(code, 1);
  const named = `  ${hidden} \\(revision \\d+\\): cannot be decrypted: no matching prefix found$`;
  assert.match(stdout, new RegExp(named, "m"));
  assert.doesNotMatch(stdout, /boats\/default\/b .*cannot/);
});

void test("verify asks a KMS plugin, and says what it could not read without waiting for each when there is none", async () => {
  const plugin = new KmsPlugin();
  await plugin.start();
  const provider = { kms: { apiVersion: "v2", name: "mine", endpoint: `unix://${plugin.socket}`, timeout: "1s" } };
  const flag = `--encryption-provider-config=${encryptionFile(provider)}`;
  try {
    const fixture = await openEncryptedStore(flag.slice(flag.indexOf("=") + 1));
    const read = await verifyStore(fixture, flag);
    assert.deepStrictEqual([read.problems, read.decrypted], [[], read.encrypted]);
    plugin.stop();
    const dead = await verifyStore(fixture, flag);
    assert.deepStrictEqual([dead.problems.length, dead.decrypted], [dead.encrypted, 0]);
    assert.match(dead.problems[0]!.problem, /^cannot be decrypted: failed to decrypt DEK, error: /);
  } finally {
    plugin.stop();
  }
});

void test("what may not be listed is left out of an export, and told", async () => {
  const fixture = await ServerFixture.open();
  await fixture.ask("POST", configMaps, map("a"));
  const role = { metadata: { name: "maps" }, rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }] };
  await fixture.ask("POST", "/apis/rbac.authorization.platform.io/v1/clusterroles", role);
  await fixture.ask("POST", "/apis/rbac.authorization.platform.io/v1/clusterrolebindings", {
    metadata: { name: "maps" },
    roleRef: { apiGroup: "rbac.authorization.platform.io", kind: "ClusterRole", name: "maps" },
    subjects: [{ apiGroup: "rbac.authorization.platform.io", kind: "User", name: "reader" }],
  });
  const kubeconfig = ["kubeconfig", "--user=reader", "--out=reader.kubeconfig", `--server=${fixture.serving.url}`];
  await fixture.done(...kubeconfig);
  const { code, stdout, stderr } = await runProgram(["export", "--kubeconfig=reader.kubeconfig"], fixture.folder);
  assert.strictEqual(code, 1);
  assert.match(stdout, /^ {2}name: a$/m);
  assert.match(stderr, /^warning: left out secrets: secrets is forbidden: User "reader" cannot list/m);
  await fixture.stop();
});

void test("every command about objects says how it is used", async () => {
  const folder = temporary();
  for (const name of ["history", "undelete", "verify", "compact", "export", "import"]) {
    const { code, stdout } = await runProgram([name, "--help"], folder);
    assert.strictEqual(code, 0);
    assert.match(stdout, new RegExp(`Usage: binnacle ${name} `));
    assert.match(stdout, /--data-dir/);
  }
});
