#!/usr/bin/env node
/**
 * A credential plugin for tests. The variable PLUGIN_FOLDER names a folder: the plugin appends what it was given to the
 * file `runs`, a line of JSON, and prints the file `answer`. It waits while there is a file `wait`, reads a line of its
 * standard input if it may, and ends with the code in the file `code`.
 */
import { appendFileSync, existsSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isatty } from "node:tty";

const folder = process.env["PLUGIN_FOLDER"];
const variables = ["KUBERNETES_EXEC_INFO", "PLATFORM_EXEC_INFO"].filter((name) => process.env[name] !== undefined);

function readLine() {
  const bytes = Buffer.alloc(100);
  try {
    return bytes.toString("utf8", 0, readSync(0, bytes)).trim();
  } catch (error) {
    return error.code;
  }
}

process.on("SIGTERM", () => {
  appendFileSync(join(folder, "runs"), `${JSON.stringify({ ended: "SIGTERM" })}\n`);
  if (!existsSync(join(folder, "stubborn"))) process.exit(143);
});

const run = {
  pid: process.pid,
  variables,
  info: variables.map((name) => JSON.parse(process.env[name]))[0],
  args: process.argv.slice(2),
  configured: process.env["CONFIGURED"],
  path: process.argv[1],
  terminal: isatty(0),
  typed: existsSync(join(folder, "ask")) ? readLine() : undefined,
};
appendFileSync(join(folder, "runs"), `${JSON.stringify(run)}\n`);
while (existsSync(join(folder, "wait"))) await sleep(10);
process.stdout.write(readFileSync(join(folder, "answer")));
if (existsSync(join(folder, "code"))) {
  process.stderr.write("the plugin says why\n");
  process.exitCode = Number(readFileSync(join(folder, "code"), "utf8"));
}
