/**
 * Simulated workloads: controllers, a scheduler and a kubelet that give workloads pods with states, without running
 * anything. They are a program of the client library, with a user of its own. `docs/simulation.md` says what they do.
 */
import { connect, type Cluster } from "#client/cluster.ts";
import { LeadershipLostError, run } from "#client/controllers.ts";
import type { LeaseTimes } from "#client/leader-election.ts";
import { ClusterRole, ClusterRoleBinding, Lease, StorageClass } from "#client/kinds.ts";
import type { Transport } from "#client/transport.ts";
import { timeToMs } from "#meta/time.ts";
import { type Clock, pause } from "#std/clock.ts";
import { cronJobController } from "./cron-jobs.ts";
import { daemonSetController } from "./daemon-sets.ts";
import { deploymentController } from "./deployments.ts";
import { jobController } from "./jobs.ts";
import { kubeletController } from "./kubelet.ts";
import { loadBalancerController } from "./load-balancers.ts";
import { keepNode, renewalMs } from "./node.ts";
import { nodeName, simulationDomain, type SimulationParts } from "./parts.ts";
import { replicaSetController } from "./replica-sets.ts";
import { rulesIn, simulationUser } from "./rights.ts";
import { schedulerController } from "./scheduler.ts";
import { statefulSetController } from "./stateful-sets.ts";
import { claimController, volumeController } from "./volumes.ts";

interface SimulationOptions extends SimulationParts {
  /** Returns the way to the server as a user, with the rights of its roles. */
  transport(user: string): Transport;
  /** The way to the server as somebody who may give rights, and classes of volumes. */
  readonly administrator: Transport;
  readonly clock: Clock;
  readonly log: { info(fields: object, message: string): void; warn(fields: object, message: string): void };
  /** The times of the lease where several servers share a store, of which one simulates. */
  readonly leaseTimes: LeaseTimes | undefined;
}

/** The field manager of everything that the simulation writes. */
const manager = "simulated-workloads";

/**
 * Opens a simulation. `start` prepares the cluster and runs it, and may be called again after a failure; `close` ends it. It
 * does not run where a kube-controller-manager works on the same objects, and the log says so.
 */
export async function openSimulation(options: SimulationOptions) {
  const { transport, administrator, clock, domain, log } = options;
  const admin = await connect({ transport: administrator, manager, clock });
  const cluster = await connect({ transport: transport(simulationUser), manager, clock });
  const stop = new AbortController();
  let running: Promise<unknown> | undefined;
  return {
    async start() {
      if (await isTaken(admin, options)) return;
      await giveRights(admin, options);
      await keepNode(cluster, domain);
      if (stop.signal.aborted) return;
      running = Promise.all([simulate(cluster, options, stop.signal), keepOn(cluster, options, stop)]);
      log.info({ node: nodeName, readyAfterMs: options.readyAfterMs }, "workloads are simulated: no containers run");
    },
    async close() {
      stop.abort();
      await running;
      await Promise.all([cluster.close(), admin.close()]);
    },
  };
}

const controllersOf = (parts: SimulationParts) => [
  schedulerController(),
  kubeletController(parts),
  replicaSetController(parts),
  deploymentController(parts),
  statefulSetController(parts),
  daemonSetController(),
  jobController(parts),
  cronJobController(parts),
  claimController(parts),
  volumeController(),
  loadBalancerController(),
];

/** Runs the controllers until the signal is aborted: at once, or whenever this server holds the lease. */
async function simulate(cluster: Cluster, options: SimulationOptions, signal: AbortSignal): Promise<void> {
  const { leaseTimes, domain, log } = options;
  const failed = (err: unknown, place: object): void => log.warn({ err, ...place }, "a step of the simulation failed");
  const lease = leaseTimes === undefined ? undefined : `${domain.rename("kube-system")}/${manager}`;
  const settings = { lease, leaseTimes, signal, failed, grace: "1s" };
  while (!signal.aborted)
    await run(cluster, settings, controllersOf(options)).catch((error: unknown) => {
      if (!(error instanceof LeadershipLostError)) throw error;
    });
}

/** Keeps the node until the signal is aborted, which happens when a kube-controller-manager comes. */
async function keepOn(cluster: Cluster, options: SimulationOptions, stop: AbortController): Promise<void> {
  const { clock, domain, log } = options;
  for (;;) {
    await pause(clock, renewalMs, stop.signal);
    if (stop.signal.aborted) return;
    const renewed = isTaken(cluster, options).then((is) => (is ? stop.abort() : keepNode(cluster, domain)));
    await renewed.catch((err: unknown) => log.warn({ err }, "the simulated node could not be renewed"));
  }
}

/** Whether a kube-controller-manager works on the objects, by its lease. The log says so then. */
async function isTaken(cluster: Cluster, { clock, domain, log }: SimulationOptions): Promise<boolean> {
  const lease = await cluster.kind(Lease).find("kube-controller-manager", { in: domain.rename("kube-system") });
  const { holderIdentity: holder = "", renewTime = "", leaseDurationSeconds = 0 } = lease?.spec ?? {};
  const endMs = (timeToMs(renewTime, "micro") ?? 0) + leaseDurationSeconds * 1000;
  if (endMs <= clock.now() || holder === "") return false;
  log.warn({ holder }, "workloads are not simulated: a kube-controller-manager works on these objects");
  return true;
}

/** Gives the user of the simulation its rights, and the cluster a class of volumes that can be had. */
async function giveRights(admin: Cluster, { domain }: SimulationOptions): Promise<void> {
  const metadata = { name: simulationUser };
  const apiGroup = domain.rename("rbac.authorization.k8s.io");
  const roleRef = { apiGroup, kind: "ClusterRole", name: simulationUser };
  const subjects = [{ apiGroup, kind: "User", name: simulationUser }];
  await admin.kind(ClusterRole).apply({ metadata, rules: rulesIn(domain) }, { force: true });
  await admin.kind(ClusterRoleBinding).apply({ metadata, roleRef, subjects }, { force: true });
  const classes = await Array.fromAsync(admin.kind(StorageClass).list());
  if (classes.some(({ metadata: { name } }) => name !== "simulated")) return;
  const annotations = { [domain.rename("storageclass.kubernetes.io/is-default-class")]: "true" };
  const simulated = { metadata: { name: "simulated", annotations }, provisioner: simulationDomain };
  await admin.kind(StorageClass).apply(simulated, { force: true });
}
