/** The supervisor of several processes: processes that cannot be made, connections that nobody takes, and the end. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, temporaryFolder } from "../harness.ts";
import { program, runProgram } from "../program/program.ts";
import { isThere, processesOf, ServedProcesses, unsuitable, untilGone } from "./served-processes.ts";

describe("the supervisor of processes", { skip: unsuitable ?? false }, () => {
  test("a process that cannot be made is made later, and holds up no end", async (t) => {
    const node = join(temporaryFolder(), "node");
    copyFileSync(process.execPath, node);
    const served = await ServedProcesses.start(t, { count: 2, node });
    const failures = (): number => served.logged.filter((line) => line.includes("ENOENT")).length;
    const killWithoutNode = async (): Promise<void> => {
      const before = failures();
      renameSync(node, `${node}.gone`);
      served.signal(1, "SIGKILL");
      await eventually(async () => assert.ok(failures() > before + 1));
    };
    await killWithoutNode();
    renameSync(`${node}.gone`, node);
    await served.connectTo(1);
    await killWithoutNode();
    (await served.connect().get("/readyz")).expect(200);
    served.supervisor.kill("SIGTERM");
    assert.equal(await served.exited, 0, served.logged.slice(-5).join("\n"));
  });

  test("a connection that waits for a process which is killed is answered by another one", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2 });
    await served.connectToAll();
    served.signal(1, "SIGSTOP");
    const answers = Array.from({ length: 6 }, () => served.connect().get("/version"));
    let answered = 0;
    for (const answer of answers) void answer.then(() => answered++);
    // The last one waits for the process that stands still.
    await eventually(async () => assert.equal(answered, 5));
    served.signal(1, "SIGKILL");
    for (const answer of await Promise.all(answers)) answer.expect(200);
  });

  test("few connections wait while all processes stand still", async (t) => {
    const flags = ["--max-connections=30", "--max-connections-per-address=20"];
    const served = await ServedProcesses.start(t, { count: 2, flags });
    const { port } = new URL(served.url);
    const descriptors = (): number => readdirSync(`/proc/${served.supervisor.pid}/fd`).length;
    const before = descriptors();
    for (const index of [0, 1]) served.signal(index, "SIGSTOP");
    let closed = 0;
    for (let count = 0; count < 100; count++) {
      const client = connect(Number(port), "127.0.0.1");
      t.after(() => client.destroy());
      client.on("error", () => undefined);
      client.once("close", () => closed++);
      await once(client, "connect");
    }
    await eventually(async () => assert.equal(closed, 80));
    assert.ok(descriptors() <= before + 20, `${before} ${descriptors()}`);
    for (const index of [0, 1]) served.signal(index, "SIGCONT");
    // They have been taken.
    await eventually(async () => assert.ok(descriptors() <= before, `${before} ${descriptors()}`));
  });

  test("counters do not get less while a process is late, or when it was started again", async (t) => {
    const served = await ServedProcesses.start(t, { count: 2 });
    const [a, b] = await served.connectToAll();
    for (let count = 0; count < 5; count++) (await b!.get("/api/v1/podtemplates")).expect(200);
    const page = async (): Promise<readonly [counted: number, missing: number]> => {
      const { text } = (await a!.get("/metrics")).expect(200);
      const counted = /^apiserver_request_total\{verb="LIST",[^}]*resource="podtemplates".*\} (\d+)$/m.exec(text)?.[1];
      return [Number(counted), Number(/^binnacle_processes_missing (\d+)$/m.exec(text)?.[1])];
    };
    assert.deepEqual(await page(), [5, 0]);
    served.signal(1, "SIGSTOP");
    assert.deepEqual(await page(), [5, 1]);
    served.signal(1, "SIGCONT");
    await served.killAndAwait(1);
    assert.deepEqual(await page(), [5, 0]);
    (await (await served.connectTo(1)).get("/api/v1/podtemplates")).expect(200);
    assert.deepEqual(await page(), [6, 0]);
  });

  test("the private folder is made again when the temporary folder was emptied", async (t) => {
    const temporary = temporaryFolder();
    const served = await ServedProcesses.start(t, { count: 2, variables: { TMPDIR: temporary } });
    const [name] = readdirSync(temporary);
    rmSync(join(temporary, name!), { recursive: true });
    await served.killAndAwait(0);
    assert.deepEqual(readdirSync(temporary), [name]);
    assert.equal(statSync(join(temporary, name!)).mode & 0o777, 0o700);
    served.supervisor.kill("SIGTERM");
    assert.equal(await served.exited, 0, served.logged.slice(-5).join("\n"));
    assert.deepEqual(readdirSync(temporary), []);
  });

  test("a temporary folder whose path is too long for a socket is refused", async () => {
    const folder = temporaryFolder();
    const long = join(folder, "x".repeat(100));
    mkdirSync(long);
    const args = ["serve", "--processes=2", "--secure-port=0", "--data-dir=data"];
    const { code, stderr } = await runProgram(args, folder, { TMPDIR: long });
    assert.match(stderr, /^binnacle: \S+ is too long for a socket of the processes: [^\n]*TMPDIR[^\n]*\n$/);
    assert.equal(code, 1);
    assert.deepEqual(readdirSync(long), []);
  });

  test("SIGTERM while a process is being started again ends all in good order", async (t) => {
    for (const index of [1, 0]) {
      const served = await ServedProcesses.start(t, { count: 2 });
      const first = served.pids().get(index)!;
      served.signal(index, "SIGKILL");
      const pids = await eventually(async () => {
        const now = [...served.pids().values()];
        assert.ok(now.length === 2 && !now.includes(first));
        return now;
      });
      served.supervisor.kill("SIGTERM");
      assert.equal(await served.exited, 0, served.logged.slice(-5).join("\n"));
      await untilGone(pids);
    }
  });

  test("a first start that fails ends when its processes have ended", async (t) => {
    const folder = temporaryFolder();
    const args = [...program, "serve", "--processes=3", "--secure-port=0", `--data-dir=${join(folder, "data")}`];
    const supervisor = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    t.after(() => supervisor.kill("SIGKILL"));
    let errors = "";
    supervisor.stderr.on("data", (text: Buffer) => (errors += text.toString()));
    const pids = await eventually(async () => {
      const now = processesOf(supervisor);
      assert.equal(now.size, 3);
      return now;
    });
    process.kill(pids.get(2)!, "SIGKILL");
    const [code] = (await once(supervisor, "exit")) as [number];
    assert.deepEqual(
      [...pids.values()].filter((pid) => isThere(pid)),
      [],
    );
    assert.equal(code, 1);
    await eventually(async () => assert.match(errors, /process 2 has ended before it was ready: SIGKILL/));
  });
});
