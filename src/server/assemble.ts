/**
 * Composes a server in four phases; each phase gets the results of the phases before it: state (objects), access
 * (authentication, authorization), pipeline (request handling), controllers. Start reading here.
 */
import { keepDefaultServiceCidr } from "#controllers/service-cidrs.ts";
import { ensureSystemNamespaces } from "#controllers/system-namespaces.ts";
import type { RequestTarget } from "#http/request-metrics.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { serviceUnavailable } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import { openAccess } from "./access.ts";
import type { AssembleConfig, Assembled } from "./assemble-config.ts";
import { externalUrl } from "./authentication/service-account-issuer.ts";
import { rolesStep, startBootstrapPolicy } from "./authorization/bootstrap-policy.ts";
import { controlledQuotas } from "./controllers/quotas.ts";
import { startControllers } from "./controllers.ts";
import { type ControllerClients, controllerClients } from "./controllers/clients.ts";
import { planIdentity } from "./controllers/identity-controllers.ts";
import { kubernetesService } from "./controllers/kubernetes-service.ts";
import { fairnessStep } from "./flow-control.ts";
import { Loopback } from "./loopback.ts";
import { openPipeline, type Pipeline } from "./pipeline.ts";
import { retriedStep } from "./retried-step.ts";
import { andThen } from "#std/maybe-promise.ts";
import { startSimulation } from "./simulation.ts";
import { addObjectMetrics } from "./object-metrics.ts";
import { openState, type ServerState } from "./state.ts";

export async function assemble(config: AssembleConfig): Promise<Assembled> {
  const { domain, clock, log, plans } = config;
  for (const warning of plans.kinds.gates.warnings) log.warn({}, warning);
  const loopback = new Loopback(clock);
  const ownUsers = new WeakSet<UserInfo>();
  const clients = controllerClients({
    domain,
    users: ownUsers,
    hasRoles: plans.authorization.authorizers.some(({ type }) => type === "RBAC"),
    transport: (user, userAgent) => loopback.transport(user, userAgent),
  });

  const state = openState(config);
  const access = await openAccess(config, state, clients.server, ownUsers);
  const pipeline = await openPipeline(config, state, access, clients.server);
  loopback.serve(config.handlesOwn?.(pipeline.handle) ?? pipeline.handle, ({ namespace, name }) => {
    const leases = state.storeOf("leases.coordination.k8s.io");
    if (leases === undefined) throw serviceUnavailable("this server has no Leases, so nobody can lead");
    return leases.key(namespace, name);
  });
  addObjectMetrics({ ...config, table: pipeline.table, stores: state.stores });
  await pipeline.start();
  await state.start(pipeline.table);
  state.addressObjects?.maintain(clients.server);
  const run = (): Promise<() => Promise<void>> => runControllers(config, state, pipeline, clients);
  const stopControllers = config.firstWork === undefined ? await run() : runLater(config, config.firstWork, run);

  return {
    client: clients.server,
    clientWithin: (term) => clients.within(term).server,
    handle: pipeline.handle,
    knows: (request) => andThen(access.authenticator.authenticate(request), ({ outcome }) => outcome === "user"),
    issuers: access.issuers,
    serves: (target) => isServed(pipeline.table(), target),
    hasKind: (group, version, kind) => pipeline.table().findKind(group, version, kind) !== undefined,
    isSynced: () => state.isSynced() && pipeline.isSynced(),
    ownRequests: () => loopback.running,
    isCaughtUp: () => state.isCaughtUp() && pipeline.isIdle(),
    drain: () => pipeline.drain(),
    async close() {
      access.close();
      pipeline.closeCustomResources();
      await stopControllers();
      await loopback.stop();
      await pipeline.close();
      state.close();
    },
  };
}

/** Runs controllers of a store that is complete as soon as there may be work. The returned function stops them. */
function runLater(
  { health, log }: AssembleConfig,
  firstWork: Promise<void>,
  run: () => Promise<() => Promise<void>>,
): () => Promise<void> {
  for (const step of [rolesStep, fairnessStep]) health.startupStep(step)();
  let running: Promise<(() => Promise<void>) | undefined> | undefined;
  let isStopped = false;
  const begin = (): void => {
    if (isStopped) return;
    running = run().catch((error: unknown) => {
      log.error({ error }, "the controllers could not be started");
      return undefined;
    });
  };
  void firstWork.then(begin);
  return async () => {
    isStopped = true;
    await (await running)?.();
  };
}

/** Creates the objects of every cluster, then starts the selected controllers. The returned function stops them. */
async function runControllers(
  config: AssembleConfig,
  { builtIn, fairness, limits, services, addressObjects }: ServerState,
  { localVersions, served, aggregation, table }: Pipeline,
  clients: ControllerClients,
): Promise<() => Promise<void>> {
  const { options, domain, health, plans } = config;
  const { gates } = plans.kinds;
  // The namespaces may exist without being readable.
  const stopNamespaces = await retriedStep(config, "could not make the system namespaces", () =>
    ensureSystemNamespaces(clients.server, domain),
  );
  const serviceCidrs = addressObjects === undefined ? undefined : plans.clusterIps.map(({ text }) => text);
  const stopCidrs = await retriedStep(config, "could not make the default ServiceCIDR", async () => {
    if (serviceCidrs !== undefined) await keepDefaultServiceCidr({ ...config, client: clients.server }, serviceCidrs);
  });
  const [stopPolicy] = await Promise.all([
    startBootstrapPolicy({ ...config, gates, client: clients.server }),
    fairness?.maintain(clients.server, health),
  ]);
  const version = (gate: string, name: string): string =>
    gates.isOn(gate) ? (builtIn.definitions.findLast(({ resource }) => resource === name)?.version ?? "") : "";
  const stopControllers = startControllers({
    ...config,
    credentials: plans.controllerCredentials,
    proxyClient: plans.proxyClient,
    clients,
    url: externalUrl(options, config.url),
    attributesClasses: version("VolumeAttributesClass", "volumeattributesclasses"),
    resourceClaims: version("DynamicResourceAllocation", "resourceclaims"),
    serves: (name) => builtIn.definitions.some(({ resource }) => resource === name),
    hasCandidates: version("CoordinatedLeaderElection", "leasecandidates") !== "",
    scaledKinds: {
      resourceOf: (apiVersion, kind) =>
        Iterator.from(served.list()).find((one) => one.kind === kind && apiVersionOf(one) === apiVersion),
    },
    identity: planIdentity(config),
    migratesStorage: version("StorageVersionMigrator", "storageversionmigrations") !== "",
    kubernetesService: kubernetesService(config, plans.clusterIps),
    serviceCidrs,
    isIncomplete: (service) => services.isIncomplete(service),
    localVersions,
    served,
    kinds: {
      ofResource: (wanted) => table().named(wanted),
      ofKind: ({ group, version, kind }) => table().findKind(group, version, kind),
      hasSelectors: gates.isOn("AuthorizeWithSelectors"),
    },
    checkApi: aggregation.check,
    quotas: controlledQuotas({
      ...config,
      quotas: limits.quotas,
      periodMs: options.resourceQuotaPeriodMs,
      table,
      served,
    }),
  });
  const stopSimulation = await startSimulation({ ...config, clients });
  return async () => {
    stopNamespaces();
    stopCidrs();
    stopPolicy();
    await stopSimulation();
    await stopControllers();
  };
}

/** Whether the resource or subresource of a path exists. Bounds the label values of metrics. */
export function isServed(table: ResourceTable, { group, version, resource, subresource }: RequestTarget): boolean {
  const definition = table.find(group, version, resource);
  if (definition === undefined) return false;
  return subresource === "" || definition.subresources.some(({ name }) => name === subresource);
}
