/** `npm run scale-out -- leader`: the writes of controllers whose server stood still until another one led. */
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Http2Client } from "../http2-client.ts";
import { type ServerProcess, textOf } from "../server-processes.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, runProgram } from "./figures.ts";

const usage = `Creates namespaces, whose controllers write to them, and again and again stops the leader until another server
leads. No object may be created by the controllers of a server that does not hold the Lease.

Usage: npm run scale-out -- leader [options]`;

const lease = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const leaseName = "binnacle-controllers";

interface Lease {
  readonly metadata: { readonly resourceVersion: string };
  readonly spec: { readonly holderIdentity?: string };
}

interface Holding {
  readonly revision: number;
  readonly holder: string;
}

/** Follows who holds the Lease. */
class Holders {
  readonly all: Holding[] = [];
  readonly #client: Http2Client;
  #isClosed = false;

  constructor(server: ServerProcess) {
    this.#client = new Http2Client(server);
    void this.#run();
  }

  get present(): string {
    return this.all.at(-1)?.holder ?? "";
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const from = this.all.at(-1)?.revision ?? 0;
      const path = `${lease}?watch=true&fieldSelector=metadata.name%3D${leaseName}&resourceVersion=${from}`;
      try {
        let rest = "";
        for await (const piece of this.#client.open(path).setEncoding("utf8") as AsyncIterable<string>) {
          const lines = (rest + piece).split("\n");
          rest = lines.pop() ?? "";
          for (const line of lines) this.#add((JSON.parse(line) as { object: Lease }).object);
        }
      } catch {
        await sleep(100);
      }
    }
  }

  #add({ metadata, spec }: Lease): void {
    const revision = Number(metadata.resourceVersion);
    this.all.push({ revision, holder: spec.holderIdentity ?? "" });
  }

  /** Returns who held the Lease when a revision was written. */
  at(revision: number): string | undefined {
    return this.all.findLast((holding) => holding.revision < revision)?.holder;
  }

  close(): void {
    this.#isClosed = true;
    this.#client.close();
  }
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly responseStatus?: { readonly code: number };
  readonly responseObject?: { readonly metadata?: { readonly resourceVersion?: string } };
}

/** Returns the answers to creations by the controllers of a server: the revision, or 0 when it was refused. */
function creationsOf(server: ServerProcess): number[] {
  const lines = textOf(join(server.folder, "audit.log")).split("\n");
  // The last line may not be whole yet.
  return lines.slice(0, -1).flatMap((line) => {
    const { verb, user, responseStatus, responseObject } = JSON.parse(line) as AuditEvent;
    const isOfController = /^system:(?:serviceaccount:kube-system:|kube-controller-manager$)/.test(user.username);
    if (verb !== "create" || !isOfController) return [];
    const isDone = responseStatus?.code === 201;
    return isDone ? [Number(responseObject?.metadata?.resourceVersion)] : responseStatus?.code === 503 ? [0] : [];
  });
}

/** The names under which a server takes part in elections, from its log. */
const identitiesOf = (server: ServerProcess): ReadonlySet<string> =>
  new Set([...server.logged.matchAll(/"identity":"([^"]+)"/g)].map(([, identity]) => identity!));

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  const still = servers.all[0]!;
  const holders = new Holders(still);
  let isOver = false;
  const creating = [0, 1, 2, 3].map(async (id) => {
    const clients = servers.all.map((server) => new Http2Client(server));
    for (let at = 0; !isOver; at++) {
      const body = { metadata: { name: `l-${id}-${at}` } };
      await clients[at % 3]!.call("/api/v1/namespaces", { method: "POST", body, timeoutMs: 2000 }).catch(() =>
        sleep(20),
      );
      await sleep(10);
    }
    for (const client of clients) client.close();
  });
  let takeovers = 0;
  const created = (): number => servers.all.reduce((sum, one) => sum + creationsOf(one).filter(Boolean).length, 0);
  while (created() < count || takeovers < count / 1000) {
    const leader = servers.all.find((server) => identitiesOf(server).has(holders.present));
    await sleep(3000);
    // The server that tells who leads goes on.
    if (leader === undefined || leader === still) {
      if (leader === still) await handOver(still);
      continue;
    }
    const before = holders.present;
    await leader.signal("SIGSTOP");
    while (holders.present === before || holders.present === "") await sleep(50);
    await sleep(1000);
    await leader.signal("SIGCONT");
    takeovers++;
    await sleep(2000);
  }
  isOver = true;
  await Promise.all(creating);
  await sleep(1000);
  const wrong = servers.all.flatMap((server) => {
    const own = identitiesOf(server);
    return creationsOf(server).filter((revision) => {
      const holder = holders.at(revision);
      // Nobody was told who led before the first answer.
      return revision > 0 && holder !== undefined && !own.has(holder);
    });
  });
  holders.close();
  const refused = servers.all.flatMap(creationsOf).filter((revision) => revision === 0).length;
  return [
    { name: "objects that controllers created", value: created() },
    { name: "leaders that stood still until another led", value: takeovers },
    { name: "creations of deposed leaders that were refused", value: refused },
    { name: "creations of deposed leaders", value: wrong.length, most: 0 },
  ];
}

/** Ends a leader, so that another server leads. */
async function handOver(server: ServerProcess): Promise<void> {
  await server.signal("SIGTERM");
  await server.start();
}

const policy = join(tmpdir(), `binnacle-audit-policy-${process.pid}.yaml`);
writeFileSync(
  policy,
  JSON.stringify({
    apiVersion: "audit.k8s.io/v1",
    kind: "Policy",
    omitStages: ["RequestReceived"],
    rules: [
      { level: "RequestResponse", verbs: ["create"], userGroups: ["system:serviceaccounts:kube-system"] },
      { level: "RequestResponse", verbs: ["create"], users: ["system:kube-controller-manager"] },
      { level: "None" },
    ],
  }),
);
const flags = [`--audit-policy-file=${policy}`, "--audit-log-path={folder}/audit.log"];
await runProgram(usage, 10_000, (count) => onStage({ flags }, (stage) => measure(stage, count)));
