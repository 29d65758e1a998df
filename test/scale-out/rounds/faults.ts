/** Faults of a round, chosen by its random numbers: processes that die or stand still, links that are cut, a full etcd. */
import { connect } from "node:http2";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "#std/random.ts";
import type { EtcdCluster } from "../etcd-for-tests.ts";
import type { Relay, Rule } from "../relay.ts";
import type { Servers } from "../server-processes.ts";
import { between, pick } from "./history.ts";

export interface FaultTargets {
  readonly cluster: EtcdCluster;
  readonly servers: Servers;
  readonly relay: Relay;
}

/** A fault that has begun. */
interface Begun {
  readonly label: string;
  /** The longest time in milliseconds for which it lasts. */
  readonly msMax: number;
  undo(): unknown;
}

type Fault = (targets: FaultTargets, random: Random) => Promise<Begun> | Begun;

const names = (prefix: string, random: Random): readonly string[] => {
  const first = between(random, 0, 2);
  return [0, 1, 2].map((step) => `${prefix}${(first + step) % 3}`);
};

/** Holds the bytes of a direction, or ends its connections. */
const cutMode = (random: Random): Rule["mode"] => (random.next() < 0.6 ? "hold" : "reset");

/** Sets the rule of several directions, and takes it back at the end. */
function rule(relay: Relay, label: string, pairs: readonly (readonly [string, string])[], to: Rule): Begun {
  for (const [from, into] of pairs) relay.set(from, into, to.mode, to.delayMs);
  return {
    label: `${label} ${to.mode}${to.delayMs === 0 ? "" : ` ${to.delayMs} ms`}`,
    msMax: 12_000,
    undo: () => {
      for (const [from, into] of pairs) relay.set(from, into, "pass");
    },
  };
}

const both = (a: string, others: readonly string[]): (readonly [string, string])[] =>
  others.flatMap((other) => [[a, other] as const, [other, a] as const]);

const members = ["m0", "m1", "m2"];

const faults: Readonly<Record<string, Fault>> = {
  "kill a server": async ({ servers }, random) => {
    const server = pick(random, servers.all);
    await server.signal("SIGKILL");
    return { label: `kill ${server.name}`, msMax: 3000, undo: () => void server.start() };
  },
  "end a server": async ({ servers }, random) => {
    const server = pick(random, servers.all);
    await server.signal("SIGTERM");
    return { label: `end ${server.name}`, msMax: 1000, undo: () => void server.start() };
  },
  "kill a member": async ({ cluster }, random) => {
    const at = between(random, 0, 2);
    await cluster.members[at]!.signal("SIGKILL");
    return { label: `kill m${at}`, msMax: 6000, undo: () => cluster.members[at]!.start() };
  },
  "stop a server": async ({ servers }, random) => {
    const server = pick(random, servers.all);
    await server.signal("SIGSTOP");
    return { label: `stop ${server.name}`, msMax: 30_000, undo: () => server.signal("SIGCONT") };
  },
  "stop a member": async ({ cluster }, random) => {
    const at = between(random, 0, 2);
    await cluster.members[at]!.signal("SIGSTOP");
    return { label: `stop m${at}`, msMax: 30_000, undo: () => cluster.members[at]!.signal("SIGCONT") };
  },
  "cut a server": ({ relay }, random) => {
    const [server] = names("s", random) as [string];
    return rule(relay, `cut ${server} from all members,`, both(server, members), { mode: cutMode(random), delayMs: 0 });
  },
  "cut a server from a member": ({ relay }, random) => {
    const [server] = names("s", random) as [string];
    const [member] = names("m", random) as [string];
    const to = { mode: cutMode(random), delayMs: 0 };
    return rule(relay, `cut ${server} from ${member},`, both(server, [member]), to);
  },
  "cut a member": ({ relay }, random) => {
    const [member, ...others] = names("m", random) as [string, string, string];
    return rule(relay, `cut ${member} from the others,`, both(member, others), { mode: cutMode(random), delayMs: 0 });
  },
  "cut two members": ({ relay }, random) => {
    const [member, other] = names("m", random) as [string, string];
    const to = { mode: cutMode(random), delayMs: 0 };
    return rule(relay, `cut ${member} from ${other},`, both(member, [other]), to);
  },
  "cut one way": ({ relay }, random) => {
    const [server] = names("s", random) as [string];
    const isDown = random.next() < 0.5;
    const pairs = members.map((member) => (isDown ? ([member, server] as const) : ([server, member] as const)));
    const label = isDown ? `cut members to ${server},` : `cut ${server} to members,`;
    return rule(relay, label, pairs, { mode: "hold", delayMs: 0 });
  },
  "cut members one way": ({ relay }, random) => {
    const [member, ...others] = names("m", random) as [string, string, string];
    const isDown = random.next() < 0.5;
    const pairs = others.map((other) => (isDown ? ([other, member] as const) : ([member, other] as const)));
    return rule(relay, isDown ? `cut others to ${member},` : `cut ${member} to others,`, pairs, {
      mode: "hold",
      delayMs: 0,
    });
  },
  "slow a server": ({ relay }, random) => {
    const [server] = names("s", random) as [string];
    const to: Rule = { mode: "pass", delayMs: between(random, 20, 200) };
    return rule(relay, `slow ${server},`, both(server, members), to);
  },
  "slow a member": ({ relay }, random) => {
    const [member, ...others] = names("m", random) as [string, string, string];
    const to: Rule = { mode: "pass", delayMs: between(random, 20, 100) };
    return rule(relay, `slow ${member},`, both(member, others), to);
  },
  "fill etcd": async ({ cluster }) => {
    await alarm(cluster, 1);
    return { label: "etcd is full", msMax: 4000, undo: () => alarm(cluster, 2) };
  },
};

/** Begins and ends faults, one after the other, until the signal. Tells what it does by `said`. */
export async function runFaults(
  targets: FaultTargets,
  random: Random,
  signal: AbortSignal,
  said: (text: string) => void,
): Promise<void> {
  const wait = (ms: number): Promise<unknown> => sleep(ms, undefined, { signal }).catch(() => undefined);
  while (!signal.aborted) {
    await wait(between(random, 200, 2500));
    if (signal.aborted) return;
    const begun = await faults[pick(random, Object.keys(faults))]!(targets, random);
    // Most faults are short; some last as long as they may.
    const ms = Math.round(300 + (begun.msMax - 300) * random.next() ** 2);
    said(`${begun.label} for ${ms} ms`);
    await wait(ms);
    await begun.undo();
  }
}

/** Ends all faults: everything runs, everything passes, and etcd has room. */
export async function healAll({ cluster, servers, relay }: FaultTargets): Promise<void> {
  relay.passAll();
  await Promise.all([...cluster.members, ...servers.all].map((one) => one.signal("SIGCONT")));
  for (const member of cluster.members) member.start();
  await Promise.all(cluster.members.map((member) => member.ready()));
  await alarm(cluster, 2);
  await Promise.all(servers.all.map((server) => server.start()));
}

/** Raises the alarm that etcd has no room (1), or takes it back (2). Tries all members until one has done it. */
async function alarm(cluster: EtcdCluster, action: 1 | 2): Promise<void> {
  // AlarmRequest { action, memberID: 1, alarm: NOSPACE }, after the five bytes before each message.
  const frame = Buffer.from([0, 0, 0, 0, 6, 0x08, action, 0x10, 1, 0x18, 1]);
  for (let at = 0; ; at++) {
    const endpoint = cluster.endpoints[at % cluster.endpoints.length]!;
    if (await callGrpc(endpoint, "/etcdserverpb.Maintenance/Alarm", frame)) return;
    // A fault need not begin when no member can do it.
    if (action === 1 && at >= cluster.endpoints.length) return;
    await sleep(200);
  }
}

function callGrpc(endpoint: string, path: string, frame: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const session = connect(endpoint);
    const end = (isDone: boolean): void => {
      clearTimeout(timer);
      session.destroy();
      resolve(isDone);
    };
    const timer = setTimeout(() => end(false), 3000);
    session.on("error", () => end(false));
    const stream = session.request({
      ":method": "POST",
      ":path": path,
      "content-type": "application/grpc",
      te: "trailers",
    });
    stream.on("error", () => end(false));
    stream.on("trailers", (trailers) => end(trailers["grpc-status"] === "0"));
    stream.resume();
    stream.end(frame);
  });
}
