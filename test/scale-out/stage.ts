/** Members of etcd, servers, and what stands between them, for checks that are programs. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Balancer } from "./balancer.ts";
import { EtcdCluster } from "./etcd-for-tests.ts";
import { Relay } from "./relay.ts";
import { Servers } from "./server-processes.ts";

interface StageOptions {
  readonly members?: 1 | 3;
  /** The number of servers; 3 when left out. */
  readonly servers?: number;
  /** Whether bytes between servers and members pass through a relay that can be told to cut them. */
  readonly hasRelay?: boolean;
  readonly flags?: readonly string[];
  /** The port of the load balancer; a free one when left out. */
  readonly port?: number;
}

export interface Stage {
  readonly cluster: EtcdCluster;
  readonly servers: Servers;
  /** The relay; it passes everything unless it is told otherwise. */
  readonly relay: Relay | undefined;
  readonly balancer: Balancer;
  /** The path of an administrator's kubeconfig, whose server is the load balancer. */
  readonly kubeconfig: string;
  readonly folder: string;
}

/** Runs `work` on a stage, and takes the stage down. */
export async function onStage<T>(options: StageOptions, work: (stage: Stage) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "binnacle-stage-"));
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  try {
    const relay = options.hasRelay === true ? new Relay() : undefined;
    undo.push(() => relay?.stop());
    const through = relay === undefined ? {} : { relay };
    const cluster = await EtcdCluster.start({ members: options.members ?? 3, ...through });
    undo.push(() => cluster.stop());
    const { flags = [], servers: count = 3 } = options;
    const servers = await Servers.start({ cluster, count, flags, ...through });
    undo.push(() => servers.stop());
    const balancer = await Balancer.start(servers.all, options.port);
    undo.push(() => balancer.close());
    const kubeconfig = join(folder, "kubeconfig");
    const own = readFileSync(join(servers.all[0]!.folder, "admin.kubeconfig"), "utf8");
    writeFileSync(kubeconfig, own.replaceAll(/https:\/\/[^"\s]+/g, balancer.url), { mode: 0o600 });
    return await work({ cluster, servers, relay, balancer, kubeconfig, folder });
  } finally {
    for (const step of undo.reverse()) await step();
  }
}
