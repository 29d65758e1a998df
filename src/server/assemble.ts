/**
 * Composes a server from its parts: what is served, who may ask, what a write passes, which controllers run. The one
 * place that sees all of it; a first hour of reading starts here.
 */
import type { LocalVersion } from "#controllers/api-services.ts";
import { ensureSystemNamespaces } from "#controllers/system-namespaces.ts";
import { encodePrettyJson } from "#codec/json.ts";
import { encodeYaml } from "#codec/yaml.ts";
import { requestChain } from "#http/chain.ts";

import type { RequestInfo } from "#http/api-request.ts";
import { sizesHere } from "#http/large-requests.ts";
import type { Negotiated } from "#http/negotiation.ts";
import { createPublisher } from "#publication/discovery-and-openapi.ts";
import { recordRequests } from "#http/record-requests.ts";
import { createRouter } from "#http/router.ts";
import type { WatchMetrics } from "#http/request-metrics.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { Status } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { qualifiedResource } from "#meta/group-version.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { Sample } from "#std/metrics.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import { StoredObjects } from "#registry/stored-object.ts";
import { Stores } from "#registry/stores.ts";
import { withComponentStatuses } from "./component-statuses.ts";
import { openAccess } from "./access.ts";
import { serverActions, withActions } from "./actions.ts";
import { handlerParts } from "./handler-parts.ts";
import { LargeRequestThreads } from "./large-requests.ts";
import { kindOptions } from "./credentials/serving-plan.ts";
import { serverAdmission } from "./admission-plugins.ts";
import type { AssembleConfig, Assembled } from "./assemble-config.ts";
import { customResources } from "./custom-resources.ts";
import { controllerClients } from "./controllers/clients.ts";
import { startControllers } from "./controllers.ts";
import { observedAuthorizer } from "./authorization/metrics.ts";
import { debugAccess } from "./authorization/debug-access.ts";
import { hiddenHeaders } from "./authentication/external.ts";
import { inProcessTransport } from "./in-process-transport.ts";
import { externalUrl, issuerDocuments } from "./authentication/service-account-issuer.ts";
import { storeFinder, storeLookups } from "./lookups.ts";
import { withServedParts } from "./served-parts.ts";
import { stoppableTransports } from "./stoppable-transport.ts";
import { NodeFollower } from "./authorization/node-follower.ts";
import { startBootstrapPolicy } from "./authorization/bootstrap-policy.ts";
import { RbacFollower } from "./authorization/rbac.ts";
import { ServiceFollower } from "./services.ts";
import { kubernetesService } from "./kubernetes-service.ts";
import { Fairness } from "./flow-control.ts";

/** Most bytes of a request body. */
const bodyLimitBytes = 3 * 1024 * 1024;

export async function assemble(config: AssembleConfig): Promise<Assembled> {
  const { options, domain, backend, clock, random, log, requestMetrics } = config;
  const { tables, gates } = config.plan;
  const withStatuses = withComponentStatuses(() => backend.failure?.message ?? backend.full?.message);
  const withPosts = withActions(
    serverActions(() => ({ ...config, access, lookups, storeOf: storeFinder(builtIn, stores, domain.rename) }), domain),
    domain,
  );
  const rbac = new RbacFollower({ domain, backend, clock, log });
  const nodesAct = config.authorization.authorizers.some(({ type }) => type === "Node");
  const nodes = new NodeFollower({ domain, backend, clock, log, needed: nodesAct });
  const services = new ServiceFollower({
    ...config,
    clusterIps: config.plan.clusterIps,
    nodePorts: options.serviceNodePortRange,
  });
  const objects = new StoredObjects();
  const stores = new Stores({ backend, objects, clock, random, objectBytesMax: options.objectBytesMax });
  const fairness = options.enablePriorityAndFairness
    ? new Fairness({ ...config, table: () => table(), stores })
    : undefined;
  const builtIn = new ResourceTable(
    config.plan.table.definitions
      .map((definition) => withServedParts(withPosts(withStatuses(definition))))
      .map((definition) => nodes.waiting(rbac.waiting(services.waiting(definition))))
      .map((definition) => fairness?.waiting(definition) ?? definition),
    1,
  );
  for (const warning of gates.warnings) log.warn({}, warning);

  let tableChanged = (): void => undefined;
  const custom = customResources({
    tables,
    builtIn: builtIn.definitions,
    domain,
    backend,
    objects,
    clock,
    random,
    log,
    objectBytesMax: options.objectBytesMax,
    changed: () => tableChanged(),
  });
  const table = (): ResourceTable => custom?.table ?? builtIn;
  const lookups = storeLookups(builtIn, stores, domain.rename);
  const ownUsers = new WeakSet<UserInfo>();
  const access = await openAccess({
    ...config,
    lookups,
    client: () => clients.server,
    ownUsers,
    rbacIndex: rbac.index,
    nodeGraph: nodes.graph,
  });
  const { authenticator, authorizer } = access;
  const admission = await serverAdmission({
    domain,
    lookups,
    authorizer,
    rbacIndex: rbac.index,
    clock,
    random,
    gate: gates.isOn,
    enabled: options.enableAdmissionPlugins,
    disabled: options.disableAdmissionPlugins,
  });
  const documents = issuerDocuments(config.issuer, options, config.url);
  if (documents.problem !== undefined) log.info({ reason: documents.problem }, "no discovery documents are served");
  const publisher = createPublisher({ domain, tables, definitions: () => table().definitions });
  const large = new LargeRequestThreads({
    options: kindOptions(options),
    bodyLimitBytes,
    objectBytesMax: options.objectBytesMax,
    allocating: builtIn.definitions
      .filter(({ strategy }) => strategy.allocate !== undefined)
      .map(({ group, resource }) => `${group}/${resource}`),
    clock,
    backend,
    definitionOf(name) {
      const definition = builtIn.find(domain.rename("apiextensions.k8s.io"), "v1", "customresourcedefinitions");
      return definition === undefined ? undefined : stores.of(definition).peek("", name);
    },
  });
  const parts = handlerParts({
    tables,
    gates,
    table,
    domain,
    clock,
    random,
    backend,
    objects,
    admission,
    authorizer,
    sizes: sizesHere(config.largeBytes),
    large,
    bodyLimitBytes,
    minRequestTimeoutMs: options.minRequestTimeoutSeconds * 1000,
    observeWatch: watchObserver(requestMetrics.watch.bind(requestMetrics)),
  });
  const explainAccess = debugAccess(authorizer);
  const route = createRouter({
    parts,
    stores,
    table,
    deprecated: (info, removedRelease) => requestMetrics.requestedDeprecated(info, removedRelease),
    other: (request) =>
      config.endpoints(request) ??
      explainAccess(request) ??
      fairness?.reply(request) ??
      documents.reply(request) ??
      publisher.reply(request),
    unknown: (path) => publisher.unknown(path),
  });

  const handle = requestChain({
    domain,
    clock,
    random,
    log,
    negotiator: parts.negotiator,
    encodeStatus,
    authenticator,
    isIdentityHeader: hiddenHeaders(options),
    authorizer,
    requestAuthorizer: observedAuthorizer(authorizer, config.metrics, clock),
    requestTimeoutMs: options.requestTimeoutMs,
    requestsInFlightMax: options.maxRequestsInflight,
    mutatingRequestsInFlightMax: options.maxMutatingRequestsInflight,
    fairness,
    observeInFlight(reads, writes) {
      requestMetrics.readingNow.set(reads);
      requestMetrics.mutatingNow.set(writes);
    },
    goAwayChance: options.goawayChance,
    corsAllowedOrigins: options.corsAllowedOrigins.map((text) => new RegExp(text)),
    observe: recordRequests(requestMetrics, clock, log),
    ...config.audit,
    route,
  });

  config.metrics.observed(
    {
      name: "apiserver_storage_objects",
      help: "Number of stored objects at the time of the scrape split by kind.",
      type: "gauge",
      labels: ["resource"],
    },
    () => storedObjects(table().definitions, stores),
  );

  const transports = stoppableTransports();
  const clients = controllerClients({
    domain,
    users: ownUsers,
    hasRoles: config.authorization.authorizers.some(({ type }) => type === "RBAC"),
    transport: (user, userAgent) =>
      transports.of(inProcessTransport({ handle, user, userAgent, now: () => clock.now() })),
  });
  const client = clients.server;
  await custom?.start();
  await Promise.all([
    rbac.start(builtIn, stores),
    nodes.start(builtIn, stores),
    services.start(builtIn, stores),
    fairness?.start(builtIn),
  ]);
  await ensureSystemNamespaces(client, domain);
  const [stopPolicy] = await Promise.all([
    startBootstrapPolicy({ client, domain, gate: gates.isOn, clock, log, health: config.health }),
    fairness?.maintain(client, config.health),
  ]);
  const attributesClasses = builtIn.definitions.find(({ resource }) => resource === "volumeattributesclasses");
  const stopControllers = startControllers({
    clients,
    clock,
    domain,
    log,
    random,
    credentials: config.controllerCredentials,
    signingDurationMs: options.clusterSigningDurationMs,
    legacyTokenPeriodMs: options.legacyTokenPeriodMs,
    url: externalUrl(options, config.url),
    selected: options.controllers,
    attributesClasses: gates.isOn("VolumeAttributesClass") ? (attributesClasses?.version ?? "") : "",
    kubernetesService: kubernetesService(options, config.plan.clusterIps, config.url),
    isIncomplete: (service) => services.allocator.isIncomplete(service),
    localVersions: {
      list: () => localVersions(table(), domain),
      onChange(changed) {
        tableChanged = changed;
      },
    },
  });
  return {
    handle,
    serves: (info) => isServed(table(), info),
    async close() {
      stopPolicy();
      access.close();
      custom?.close();
      await stopControllers();
      await transports.stop();
      await large.close();
      rbac.close();
      services.close();
      fairness?.close();
      nodes.close();
    },
  };
}

/** What this server answers for itself. Upstream: all but the group of the APIService objects. */
function* localVersions({ definitions }: ResourceTable, domain: ApiDomain): Iterable<LocalVersion> {
  const own = domain.rename("apiregistration.k8s.io");
  for (const { group, version, origin } of definitions) {
    if (group !== own) yield { group, version, isCustom: origin === "custom" };
  }
}

function encodeStatus(status: Status, { mediaType, pretty }: Negotiated): Buffer {
  if (mediaType === "application/yaml") return encodeYaml(status);
  return pretty ? encodePrettyJson(status) : Buffer.from(`${JSON.stringify(status)}\n`);
}

/** Whether the path names something there is; bounds the labels of metrics. */
export function isServed(table: ResourceTable, info: RequestInfo): boolean {
  const definition = table.find(info.group, info.version, info.resource);
  if (definition === undefined) return false;
  return info.subresource === "" || definition.subresources.some(({ name }) => name === info.subresource);
}

/** A sample per place in the store; several versions share one. */
function storedObjects(definitions: readonly ResourceDefinition[], stores: Stores): Sample[] {
  const places = new Map<string, ResourceDefinition>();
  for (const definition of definitions) {
    if (definition.stored) places.set(qualifiedResource(definition.storage), definition);
  }
  return [...places].map(([name, definition]) => ({ labels: [name], value: stores.of(definition).count() }));
}

/** Counts watch events by kind, with the metric's child looked up once a kind. */
function watchObserver(
  metricsOf: (group: string, version: string, kind: string) => WatchMetrics,
): (definition: ResourceDefinition, events: number, bytes: number) => void {
  const known = new WeakMap<ResourceDefinition, WatchMetrics>();
  return (definition, events, bytes) => {
    if (events === 0) return;
    let metrics = known.get(definition);
    if (metrics === undefined) {
      metrics = metricsOf(definition.group, definition.version, definition.kind);
      known.set(definition, metrics);
    }
    metrics.sent(bytes / events, events);
  };
}
