/** `npm run scale-out -- gaps`: the longest time without a successful write when a member or a server fails. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Stage } from "../stage.ts";
import { onStage } from "../stage.ts";
import { type Figure, runProgram } from "./figures.ts";
import { readyMs, SteadyWriter } from "./load.ts";

const usage = `Kills members and servers, and cuts one server from etcd, while clients write through each server.

Usage: npm run scale-out -- gaps [options]`;

/** The time in milliseconds for which a fault lasts. */
const faultMs = 8000;

/** Makes a fault. Returns the longest gap of the writers. */
async function gapDuring(
  writers: readonly SteadyWriter[],
  begin: () => Promise<unknown>,
  end: () => Promise<unknown>,
): Promise<number> {
  const from = performance.now();
  await begin();
  await sleep(faultMs);
  const gap = Math.max(...writers.map((writer) => writer.longestGapMs(from, performance.now())));
  await end();
  return gap;
}

async function measure({ cluster, servers, relay }: Stage, count: number): Promise<readonly Figure[]> {
  const writers = servers.all.map((server) => new SteadyWriter(server, `gap-${server.name}`, 5));
  const gaps: Record<"member" | "server" | "cut", number[]> = { member: [], server: [], cut: [] };
  await sleep(2000);
  for (let at = 0; at < count; at++) {
    const of = at % 3;
    const server = servers.all[of]!;
    const others = writers.filter((_, index) => index !== of);
    const member = cluster.members[of]!;
    const startMember = async (): Promise<void> => {
      member.start();
      await member.ready();
      await sleep(1000);
    };
    gaps.member.push(await gapDuring(writers, () => member.signal("SIGKILL"), startMember));
    const startServer = async (): Promise<void> => {
      await server.start();
      await readyMs(server);
    };
    gaps.server.push(await gapDuring(others, () => server.signal("SIGKILL"), startServer));
    const cut = (mode: "hold" | "pass") => (): Promise<void> => {
      for (const to of ["m0", "m1", "m2"])
        for (const [a, b] of [
          [server.name, to],
          [to, server.name],
        ])
          relay!.set(a!, b!, mode);
      return Promise.resolve();
    };
    gaps.cut.push(await gapDuring(others, cut("hold"), cut("pass")));
    await readyMs(server);
  }
  for (const writer of writers) await writer.stop();
  const worst = (values: readonly number[]): number => Math.max(...values) / 1000;
  return [
    { name: "writes", value: writers.reduce((sum, { written }) => sum + written.length, 0) },
    { name: "longest gap, kill of each member", value: worst(gaps.member), most: 4, unit: " s" },
    { name: "longest gap through the others, kill of a server", value: worst(gaps.server), most: 1, unit: " s" },
    { name: "longest gap through the others, cut of a server", value: worst(gaps.cut), most: 1, unit: " s" },
  ];
}

await runProgram(usage, 3, (count) => onStage({ hasRelay: true }, (stage) => measure(stage, count)));
