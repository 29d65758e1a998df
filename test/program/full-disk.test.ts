/**
 * A server on a disk that fills up: a small tmpfs, if it can be mounted. `src/storage/sqlite.test.ts` tests the same
 * without one.
 */
import assert from "node:assert";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import https from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runProgram, type Serving, serveProgram } from "./program.ts";

const folder = mkdtempSync(join(tmpdir(), "binnacle-full-"));
const disk = join(folder, "disk");
mkdirSync(disk);
const isMounted =
  process.platform === "linux" && spawnSync("mount", ["-t", "tmpfs", "-o", "size=24m", "tmpfs", disk]).status === 0;
let server: Serving | undefined;
after(async () => {
  server?.child.kill("SIGKILL");
  await server?.ended;
  if (isMounted) spawnSync("umount", [disk]);
  rmSync(folder, { recursive: true, force: true });
});

const data = "--data-dir=disk/data";
const configMaps = "/api/v1/namespaces/default/configmaps";

interface Answer {
  readonly code: number;
  readonly body: { readonly message?: string; readonly reason?: string; readonly items?: readonly unknown[] };
  readonly text: string;
}

function ask(url: string, method: string, path: string, object?: unknown): Promise<Answer> {
  const pki = (name: string): Buffer => readFileSync(join(disk, "data/pki", name));
  return new Promise((resolve, reject) => {
    const options = { method, ca: pki("ca.crt"), cert: pki("admin.crt"), key: pki("admin.key"), agent: false };
    const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
    const request = https.request(url + path, { ...options, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (piece: string) => {
        text += piece;
      });
      response.on("end", () => {
        const isJson = response.headers["content-type"]?.startsWith("application/json") === true;
        resolve({ code: response.statusCode!, text, body: isJson ? (JSON.parse(text) as Answer["body"]) : {} });
      });
    });
    request.on("error", reject);
    request.end(object === undefined ? undefined : JSON.stringify(object));
  });
}

const data100 = { data: { filler: "x".repeat(100 * 1024) } };

const filler = (name: string, kibibytes: number): unknown => ({
  metadata: { name },
  data: { filler: "x".repeat(kibibytes * 1024) },
});

/** Creates config maps until one is refused. Returns the refusal and the names of the others. */
async function fill(url: string, prefix: string, kibibytes: number): Promise<{ refusal: Answer; names: string[] }> {
  const names: string[] = [];
  for (let i = 0; i < 500; i++) {
    const name = `${prefix}-${i}`;
    const answer = await ask(url, "POST", configMaps, filler(name, kibibytes));
    if (answer.code !== 201) return { refusal: answer, names };
    names.push(name);
  }
  return assert.fail("the disk did not become full");
}

const skip = isMounted ? false : "no file system can be mounted here";

test("on a full disk reads and deletions go on, writes are refused in words, and come back when there is room", {
  skip,
}, async () => {
  const hog = join(disk, "hog");
  writeFileSync(hog, Buffer.alloc(4 * 1024 * 1024));
  server = await serveProgram(folder, data);
  // The deletion of this object needs a write before the last one.
  const held = { metadata: { name: "held", finalizers: ["example.com/hold"] } };
  assert.strictEqual((await ask(server.url, "POST", configMaps, held)).code, 201);
  // This object is the same, but is handled in a thread.
  const large = { metadata: { name: "large", finalizers: ["example.com/a", "example.com/b"] }, ...data100 };
  assert.strictEqual((await ask(server.url, "POST", configMaps, large)).code, 201);
  const { refusal, names } = await fill(server.url, "a", 200);
  assert.deepStrictEqual([refusal.code, refusal.body.reason], [500, "InternalError"]);
  const message =
    /no space left on the disk of data folder \S+disk\/data \(\d+ of 24 MiB free\): only deletions are possible/;
  assert.match(refusal.body.message!, message);
  const ready = await ask(server.url, "GET", "/readyz?verbose");
  assert.strictEqual(ready.code, 500);
  assert.match(ready.text, /\[-\]storage failed/);
  assert.strictEqual((await ask(server.url, "GET", "/livez")).code, 200);

  const copied = await runProgram(["backup", join(disk, "copy.backup"), data], folder);
  assert.strictEqual(copied.code, 1);
  assert.match(copied.stderr, /the backup failed: no space left on the disk of \S+copy\.backup \(500 from \S+\)\n$/);
  assert.deepStrictEqual(readdirSync(disk).toSorted(), ["data", "hog"], "nothing is left of it");

  // Another file takes the remaining space, and the process is killed.
  const fillUp = (): void => {
    for (let size = 1024 * 1024; size >= 1024; size /= 2) {
      try {
        for (;;) writeFileSync(hog, Buffer.alloc(size), { flag: "a" });
      } catch {
        // Smaller pieces may fit.
      }
    }
  };
  fillUp();
  server.child.kill("SIGKILL");
  await server.ended;
  // The server starts on the same port, because there is no space for another kubeconfig.
  server = await serveProgram(folder, data, `--secure-port=${server.port}`);
  const listed = await ask(server.url, "GET", configMaps);
  assert.strictEqual(listed.code, 200);
  assert.ok(listed.body.items!.length >= names.length + 1, "all that was acknowledged");
  assert.strictEqual((await ask(server.url, "GET", "/readyz")).code, 500);
  assert.match((await ask(server.url, "POST", configMaps, filler("b", 200))).body.message!, message);

  rmSync(hog);
  let answer = await ask(server.url, "POST", configMaps, filler("back", 1));
  for (let i = 0; i < 200 && answer.code !== 201; i++)
    answer = await ask(server.url, "POST", configMaps, filler("back", 1));
  assert.strictEqual(answer.code, 201, answer.text);

  // Deletions free space without help.
  const again = await fill(server.url, "c", 200);
  assert.match(again.refusal.body.message!, message);
  assert.strictEqual((await ask(server.url, "DELETE", `${configMaps}/held`)).code, 200);
  assert.strictEqual((await ask(server.url, "DELETE", `${configMaps}/large`)).code, 200);
  for (const finalizers of [["example.com/a"], null]) {
    const step = await ask(server.url, "PATCH", `${configMaps}/large`, { metadata: { finalizers } });
    assert.strictEqual(step.code, 200, step.text);
  }
  assert.strictEqual((await ask(server.url, "GET", `${configMaps}/large`)).code, 404);
  for (const name of [...names, ...again.names]) {
    assert.strictEqual((await ask(server.url, "DELETE", `${configMaps}/${name}`)).code, 200, name);
  }
  answer = await ask(server.url, "POST", configMaps, filler("last", 200));
  for (let i = 0; i < 500 && answer.code !== 201; i++)
    answer = await ask(server.url, "POST", configMaps, filler("last", 200));
  assert.strictEqual(answer.code, 201, answer.text);
  assert.strictEqual((await ask(server.url, "GET", "/readyz")).code, 200);
  server.child.kill("SIGTERM");
  const { code, stderr } = await server.ended;
  assert.strictEqual(code, 0, stderr);
  assert.ok(!stderr.includes("unexpectedly"), stderr);
  assert.ok(existsSync(join(disk, "data/store.reserve")));
});
