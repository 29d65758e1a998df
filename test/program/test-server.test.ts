/** `binnacle test-server`: its line of JSON, its control paths, and its end. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { Pool } from "undici";
import { temporaryFolder } from "../harness.ts";
import { runProgram } from "./program.ts";

const program = [fileURLToPath(new URL("../../bin/binnacle.ts", import.meta.url)), "test-server"];
const command = ["--conditions=source", ...program];

interface Printed {
  readonly url: string;
  readonly token: string;
  readonly ca: string;
  readonly caFile: string;
  readonly kubeconfigFile: string;
  readonly control: string;
}

async function startProgram(t: TestContext): Promise<{ child: ChildProcess; printed: Printed }> {
  const child = spawn(process.execPath, command, { stdio: ["pipe", "pipe", "inherit"], cwd: temporaryFolder() });
  t.after(() => child.kill("SIGKILL"));
  return { child, printed: await readLine(child) };
}

async function readLine(child: ChildProcess): Promise<Printed> {
  const [line] = (await once(createInterface({ input: child.stdout! }), "line")) as [string];
  return JSON.parse(line) as Printed; // what the program prints
}

type Ask = (
  what: string,
  body?: unknown,
) => Promise<{ readonly code: number; readonly answer: Record<string, unknown> }>;

/** Returns a function that makes requests as programs in other languages do, with nothing but the printed values. */
function asker(t: TestContext, { url, ca, token }: Printed): Ask {
  const pool = new Pool(url, { connect: { ca } });
  t.after(() => pool.close());
  return async (what, body) => {
    const [method = "", path = ""] = what.split(" ");
    const answer = await pool.request({
      method: method as "GET", // or another method
      path: path.replace(url, ""),
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return { code: answer.statusCode, answer: (await answer.body.json()) as Record<string, unknown> };
  };
}

void test("one line says everything, and the control paths do what the functions do", async (t) => {
  const { child, printed } = await startProgram(t);
  const { url, control, kubeconfigFile, caFile } = printed;
  assert.equal(readFileSync(caFile, "utf8"), printed.ca);
  assert.ok(readFileSync(kubeconfigFile, "utf8").includes(url));
  const ask = asker(t, printed);
  const maps = "/api/v1/namespaces/default/configmaps";
  const create = async (name: string): Promise<number> => (await ask(`POST ${maps}`, { metadata: { name } })).code;
  const codeOf = async (name: string): Promise<number> => (await ask(`GET ${maps}/${name}`)).code;

  assert.equal(await create("one"), 201);
  const { snapshot } = (await ask(`POST ${control}snapshot`)).answer;
  assert.equal(await create("two"), 201);
  assert.deepEqual(await ask(`POST ${control}restore`, { snapshot }), { code: 200, answer: {} });
  assert.deepEqual([await codeOf("one"), await codeOf("two")], [200, 404]);
  assert.equal((await ask(`POST ${control}restore`, { snapshot: "9" })).code, 400);

  const fault = { match: { resource: "configmaps", verb: "get" }, fault: { answer: 503 } };
  assert.equal((await ask(`POST ${control}faults`, fault)).code, 200);
  assert.equal(await codeOf("one"), 503);
  assert.equal((await ask(`POST ${control}faults`, { fault: { answer: 1 } })).code, 400);
  assert.equal((await ask(`DELETE ${control}faults`)).code, 200);
  const { requests } = (await ask(`GET ${control}requests`)).answer as { requests: { verb: string; code: number }[] };
  assert.deepEqual(
    requests.map(({ verb, code }) => `${verb} ${code}`),
    ["create 201", "create 201", "get 200", "get 404", "get 503"],
  );

  const before = (await ask(`GET ${control}clock`)).answer["now"] as string;
  const after = (await ask(`POST ${control}clock`, { advance: "24h" })).answer["now"] as string;
  assert.ok(Date.parse(after) - Date.parse(before) >= 86_400_000);
  assert.deepEqual((await ask(`POST ${control}drop-watches`)).answer, { dropped: 0 });
  for (const what of ["POST compact", "POST settled", "POST reset"]) {
    assert.deepEqual(await ask(what.replace(" ", ` ${control}`)), { code: 200, answer: {} });
  }
  assert.equal(await codeOf("one"), 404);
  assert.ok(Array.isArray((await ask(`GET ${control}logs`)).answer["lines"]));
  assert.equal((await ask(`GET ${control}unknown`)).code, 404);

  const other = asker(t, { ...printed, token: "another" });
  assert.equal((await other(`POST ${control}reset`)).code, 403);

  child.stdin!.end();
  assert.deepEqual(await once(child, "exit"), [0, null]);
  assert.ok(!existsSync(kubeconfigFile) && !existsSync(caFile));
});

void test("it ends with its parent, also when its input stays open", async (t) => {
  const starter = `
    const { spawn } = await import("node:child_process");
    const child = spawn(process.execPath, ${JSON.stringify(command)}, { stdio: ["inherit", "inherit", "inherit"] });
    console.error(child.pid);
  `;
  const parent = spawn(process.execPath, ["--input-type=module", "-e", starter], {
    stdio: ["pipe", "pipe", "pipe"],
    cwd: temporaryFolder(),
  });
  const [pid] = (await once(parent.stderr, "data")) as [Buffer];
  t.after(() => {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // The process has ended, as it should.
    }
  });
  const { kubeconfigFile } = await readLine(parent);
  parent.kill("SIGKILL");
  // The server holds the output open for as long as it runs.
  await once(parent.stdout, "close");
  assert.ok(!existsSync(kubeconfigFile));
});

void test("an input that is closed from the start, and flags that make no sense, are told in one line", async () => {
  const closed = await runProgram(["test-server"], temporaryFolder());
  assert.match(closed.stderr, /^binnacle: standard input closed before the test server was ready: [^\n]+\n$/);
  assert.equal(closed.code, 1);
  const disk = await runProgram(["test-server", "--storage=disk"], temporaryFolder());
  assert.match(disk.stderr, /^binnacle: a test server is always in memory: [^\n]+\n$/);
  assert.match(
    (await runProgram(["test-server", "--help"], temporaryFolder())).stdout,
    /Ends when its standard input closes/,
  );
});
