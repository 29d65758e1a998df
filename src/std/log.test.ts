/** Logs are JSON for machines and short lines for people. */
import assert from "node:assert";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { openLog } from "./log.ts";

function record(format: "json" | "text", verbosity: number) {
  const lines: string[] = [];
  return { lines, log: openLog({ format, verbosity, write: (line) => lines.push(line) }) };
}

void test("a JSON line has level, time, fields and text", () => {
  const { lines, log } = record("json", 0);
  log.with({ server: "a" }).warn({ code: 7 }, "odd");
  const { time, ...rest } = JSON.parse(lines[0]!) as Record<string, unknown>;
  assert.match(String(time), /^\d{4}-\d\d-\d\dT.*Z$/);
  assert.deepStrictEqual(rest, { level: "warn", server: "a", code: 7, msg: "odd" });
});

void test("a line for people has time, level, text and fields, an error its stack", () => {
  const { lines, log } = record("text", 0);
  log.info({ url: "https://x", text: "two words" }, "serving");
  log.error({ err: new Error("broken") }, "bad");
  assert.match(lines[0]!, /^\d\d:\d\d:\d\d\.\d{3} info {2}serving {2}url=https:\/\/x {2}text="two words"\n$/);
  assert.match(lines[1]!, /^\S+ error bad\n {2}Error: broken\n {6}at /);
});

void test("-v decides from which level on lines are written", () => {
  const cases: readonly [number, string[]][] = [
    [0, ["info"]],
    [3, ["info"]],
    [4, ["info", "debug"]],
    [6, ["info", "debug", "trace"]],
  ];
  for (const [verbosity, levels] of cases) {
    const { lines, log } = record("json", verbosity);
    log.info({}, "x");
    log.debug({}, "x");
    log.trace({}, "x");
    assert.deepStrictEqual(
      lines.map((line) => (JSON.parse(line) as { level: string }).level),
      levels,
    );
    assert.strictEqual(log.enabled("debug"), verbosity >= 4);
  }
});

const logFile = new URL("log.ts", import.meta.url).href;

/** Starts a process that writes two lines when it is told to, and ends, with or without a flush of its log. */
const spawnWriter = (flush: boolean) =>
  spawn(process.execPath, [
    "--conditions=source",
    "--input-type=module",
    "-e",
    `import { openLog } from ${JSON.stringify(logFile)};
     const log = openLog({ format: "json", verbosity: 0 });
     process.stdin.once("data", async () => {
       log.info({}, "first");
       log.info({}, "last");
       ${flush ? "await log.flush();" : ""}
       process.exit(0);
     });`,
  ]);

for (const flush of [true, false]) {
  const how = flush ? "a flush" : "the end of a process";
  void test(`${how} waits for what is written, and not for a reader that is gone`, async () => {
    const read = spawnWriter(flush);
    let text = "";
    read.stderr.on("data", (piece: Buffer) => (text += piece.toString()));
    read.stdin.write("go");
    assert.deepStrictEqual(await once(read, "close"), [0, null]);
    assert.match(text, /"msg":"last"/);

    const unread = spawnWriter(flush);
    await once(unread, "spawn");
    unread.stderr.destroy();
    unread.stdin.write("go");
    assert.deepStrictEqual(await once(unread, "exit"), [0, null]);
  });
}
