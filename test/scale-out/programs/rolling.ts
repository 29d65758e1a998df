/** `npm run scale-out -- rolling`: what clients of client-go see while servers and members are restarted one by one. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { GoModule } from "../../go-program.ts";
import { endWithUs } from "../end-with-us.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, runProgram } from "./figures.ts";
import { readyMs } from "./load.ts";

const usage = `Restarts three servers and three members one after the other, under clients of client-go with its usual retries,
which come through a load balancer.

Usage: npm run scale-out -- rolling [options]`;

async function measure({ cluster, servers, kubeconfig, folder }: Stage, count: number): Promise<readonly Figure[]> {
  const program = join(folder, "steady");
  new GoModule("client-go").build("./steady", program);
  const clients = spawn(program, ["--kubeconfig", kubeconfig], { stdio: ["pipe", "pipe", "ignore"] });
  endWithUs(clients);
  const output = text(clients.stdout);
  await sleep(3000);
  for (let at = 0; at < count; at++) {
    for (const server of servers.all) {
      await server.signal("SIGTERM");
      await server.start();
      await readyMs(server);
      await sleep(1500);
    }
    for (const member of cluster.members) {
      await member.signal("SIGTERM");
      member.start();
      await member.ready();
      await sleep(3000);
    }
  }
  clients.stdin.end();
  const { calls, errors } = JSON.parse(await output) as { calls: number; errors: readonly string[] };
  for (const error of errors.slice(0, 10)) process.stderr.write(`${error}\n`);
  return [
    { name: "restarts", value: 6 * count },
    { name: "successful calls", value: calls },
    { name: "errors", value: errors.length, most: 0 },
  ];
}

const flags = ["--shutdown-delay-duration=2s"];
await runProgram(usage, 1, (count) => onStage({ flags }, (stage) => measure(stage, count)));
