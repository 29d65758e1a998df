/** Several processes behind one port, with their objects in the data folder, whose log process 0 owns. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { StartError } from "#std/start-error.ts";
import { startServer } from "#server/start-server.ts";
import { eventually, file, temporaryFolder } from "../harness.ts";
import { runProgram } from "../program/program.ts";
import { processTests } from "./process-tests.ts";
import { ServedProcesses, unsuitable } from "./served-processes.ts";

describe("processes on a data folder", { skip: unsuitable ?? false }, () => {
  processTests(() => []);

  test("a start that cannot be ends with the message of the process, and writes nothing", async (t) => {
    const folder = temporaryFolder();
    const taken = createServer().listen(0, "127.0.0.1");
    t.after(() => taken.close());
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo; // a TCP server's address is never a text
    const cases: readonly (readonly [string[], RegExp])[] = [
      [["--storage=memory"], /^binnacle: --processes needs a store that processes can share[^\n]*\n$/],
      [["--permit-port-sharing"], /^binnacle: --processes shares the port by itself[^\n]*\n$/],
      [[`--secure-port=${port}`], /^binnacle: port \d+ of 127\.0\.0\.1 is in use by another program[^\n]*\n$/],
      [["--token-auth-file=none"], /^binnacle: cannot read none: no such file[^\n]*\n$/],
    ];
    for (const [args, message] of cases) {
      const { code, stdout, stderr } = await runProgram(
        ["serve", "--processes=2", "--data-dir=data", "--secure-port=0", ...args],
        folder,
      );
      assert.match(stderr, message);
      assert.deepEqual([code, stdout], [1, ""]);
    }
    assert.deepEqual(readdirSync(folder), []);
  });

  test("a server in a program of its own has no processes", async () => {
    await assert.rejects(startServer({ processes: 2, dataDir: join(temporaryFolder(), "data") }), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, /start them with binnacle serve --processes/);
      return true;
    });
  });

  test("the audit log of all processes is one file with whole lines, and has each request", async (t) => {
    const policy = file("policy.yaml", "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n");
    const log = join(temporaryFolder(), "audit.log");
    const served = await ServedProcesses.start(t, {
      count: 2,
      flags: [`--audit-policy-file=${policy}`, `--audit-log-path=${log}`],
    });
    const apis = await served.connectToAll();
    const answers = await Promise.all(
      apis.map(async (api) => {
        const ids: unknown[] = [];
        for (let at = 0; at < 100; at++) ids.push((await api.get("/api/v1/podtemplates")).headers["audit-id"]);
        return ids;
      }),
    );
    await eventually(() => {
      // The last line may be half written at this moment. A process that saw the other one's line half written began
      // a line of its own, which leaves an empty one.
      const lines = readFileSync(log, "utf8").split("\n").slice(0, -1);
      const logged = new Set(lines.filter(Boolean).map((line) => (JSON.parse(line) as { auditID: string }).auditID));
      for (const id of answers.flat()) assert.ok(logged.has(String(id)));
      return Promise.resolve();
    });
  });

  test("process 0 encrypts what any process writes, and any process reads it, also after a restart", async (t) => {
    const key = Buffer.alloc(32, 7).toString("base64");
    const config = file(
      "encryption.yaml",
      `apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources: [{ resources: [secrets], providers: [{ aesgcm: { keys: [{ name: k, secret: ${key} }] } }] }]
`,
    );
    const served = await ServedProcesses.start(t, { count: 2, flags: [`--encryption-provider-config=${config}`] });
    const apis = await served.connectToAll();
    const { secrets } = await apis[0]!.createNamespace();
    const text = "aVeryLongSecretTextThatNobodyMayFind";
    for (const [at, api] of apis.entries())
      (await api.post(secrets, { metadata: { name: `s${at}` }, stringData: { text } })).expect(201);
    await served.killAndAwait(0);
    await served.killAndAwait(1);
    for (const api of await served.connectToAll())
      for (const at of [0, 1])
        (await api.get(`${secrets}/s${at}`)).expect(200, { "data.text": Buffer.from(text).toString("base64") });
    served.supervisor.kill("SIGTERM");
    await served.exited;
    const stored = readFileSync(join(served.dataDir, "store.db")).toString("latin1");
    assert.ok(stored.includes("k8s:enc:aesgcm:v1:k:"));
    assert.ok(!stored.includes(Buffer.from(text).toString("base64")) && !stored.includes(text));
  });

  test("the processes share the files of a folder, which are for their owner only and stay as they are", async (t) => {
    const first = await ServedProcesses.start(t, { count: 2 });
    const names = readdirSync(first.dataDir, { recursive: true, encoding: "utf8" });
    for (const name of names) assert.equal(statSync(join(first.dataDir, name)).mode & 0o077, 0, name);
    const credentials = names.filter((name) => name.startsWith("pki/"));
    const textsOf = (): readonly string[] => credentials.map((name) => readFileSync(join(first.dataDir, name), "utf8"));
    const before = textsOf();
    await first.killAndAwait(0);
    await first.killAndAwait(1);
    assert.deepEqual(textsOf(), before);
    first.supervisor.kill("SIGTERM");
    assert.equal(await first.exited, 0);
    // One process serves the same folder afterwards.
    const again = await ServedProcesses.start(t, { count: 1, dataDir: first.dataDir });
    (await again.connect().get("/readyz")).expect(200);
    assert.ok(existsSync(join(first.dataDir, "store.db")));
  });

  test("all processes together give an address and a node port once, also while the owner of the log is killed", async (t) => {
    const flags = ["--service-cluster-ip-range=10.0.0.0/24", "--service-node-port-range=30000-30199"];
    const served = await ServedProcesses.start(t, { count: 3, flags });
    const apis = await served.connectToAll();
    const services = "/api/v1/namespaces/default/services";
    let count = 0;
    let given = 0;
    let isOver = false;
    const work = apis.slice(1).flatMap((api) =>
      Array.from({ length: 3 }, async () => {
        while (!isOver && count < 150) {
          const spec = { type: "NodePort", ports: [{ port: 80 }] };
          const answer = await api.post(services, { metadata: { name: `s-${count++}` }, spec });
          if (answer.status === 201) given++;
          else assert.ok([503, 504].includes(answer.status), answer.title);
        }
      }),
    );
    await eventually(async () => assert.ok(given >= 20));
    await served.killAndAwait(0);
    const before = given;
    await eventually(async () => assert.ok(given >= before + 20 || count >= 150));
    isOver = true;
    await Promise.all(work);
    const items = (await apis[1]!.get("/api/v1/services")).expect(200).list("items");
    assert.ok(items.length > given);
    const distinct = (values: readonly unknown[]): void =>
      assert.equal(new Set(values).size, values.length, `given once: ${values.join(" ")}`);
    distinct(items.map((item) => item.string("spec.clusterIP")));
    distinct(items.flatMap((item) => item.at("spec.ports.0.nodePort") ?? []));
  });

  test("a write that changes nothing stores a value with the new key, through any process", async (t) => {
    const rotation = (names: readonly string[]): string =>
      JSON.stringify({
        apiVersion: "apiserver.config.k8s.io/v1",
        kind: "EncryptionConfiguration",
        resources: [
          {
            resources: ["secrets"],
            providers: [
              {
                secretbox: {
                  keys: names.map((name) => ({ name, secret: Buffer.alloc(32, name).toString("base64") })),
                },
              },
            ],
          },
        ],
      });
    const config = file("encryption.json", rotation(["key1"]));
    const served = await ServedProcesses.start(t, { count: 2, flags: [`--encryption-provider-config=${config}`] });
    const api = await served.connectTo(1);
    const { secrets } = await api.createNamespace();
    const created = (await api.post(secrets, { metadata: { name: "s" }, data: { a: "c2VjcmV0" } })).expect(201);
    const putBack = async (): Promise<string> => {
      const { value } = (await api.get(`${secrets}/s`)).expect(200);
      return (await api.put(`${secrets}/s`, value)).expect(200).string("metadata.resourceVersion");
    };
    const first = created.string("metadata.resourceVersion");
    assert.equal(await putBack(), first);
    writeFileSync(config, rotation(["key2", "key1"]));
    await served.killAndAwait(0);
    const second = await eventually(async () => {
      const version = await putBack();
      assert.notEqual(version, first);
      return version;
    });
    assert.equal(await putBack(), second);
    (await (await served.connectTo(0)).get(`${secrets}/s`)).expect(200, { "data.a": "c2VjcmV0" });
  });
});
