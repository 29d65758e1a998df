/** The request pipeline: chain, router, handlers, admission, and served resources. The third phase of `assemble.ts`. */
import type { RestClient } from "#client/rest-client.ts";
import type { LocalVersion } from "#controllers/api-services.ts";
import type { ConvertObjects } from "#extensions/conversion-review.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { holdsSecrets } from "#http/confidential.ts";
import { requestChain } from "#http/chain.ts";
import { eventLoopLimits } from "#http/large-requests.ts";
import { recordRequests } from "#http/record-requests.ts";
import type { WatchMetrics } from "#http/request-metrics.ts";
import { createRouter, type RouterOptions } from "#http/router.ts";
import type { HandlerParts } from "#http/scope.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { cborGate } from "#codec/cbor-encoding.ts";
import { createDiscoveryAndOpenApi, usualPaths } from "#publication/discovery-and-openapi.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Access } from "./access.ts";
import { serverActions } from "./actions.ts";
import { serverAdmission } from "./admission.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import { hiddenHeaders } from "./authentication/external.ts";
import { issuerDocuments } from "./authentication/service-account-issuer.ts";
import { debugAccess } from "./authorization/debug-access.ts";
import { observedAuthorizer } from "./authorization/metrics.ts";
import { type Aggregation, openAggregation } from "./aggregation.ts";
import { openConversionWebhooks } from "./conversion-webhooks.ts";
import { handlerParts } from "./handler-parts.ts";
import { isOwnRequest } from "./in-process-transport.ts";
import { LargeRequestThreads } from "./large-requests.ts";
import { openNodes } from "./nodes.ts";
import { RefreshedTable } from "./refreshed-table.ts";
import { pickKindFlags } from "./served-kinds.ts";
import { servedResources } from "./served-resources.ts";
import { openServedTable } from "./served-table.ts";
import type { ServerState } from "./state.ts";
import { zPagePaths } from "./z-pages.ts";

export type Pipeline = Awaited<ReturnType<typeof openPipeline>>;

/** The maximum bytes of a request body. */
const bodyLimitBytes = 3 * 1024 * 1024;

/** Opens the pipeline. `client` writes the objects that admission plugins charge, such as quotas. */
export async function openPipeline(config: AssembleConfig, state: ServerState, access: Access, client: RestClient) {
  const { domain, plans } = config;
  const { authorizer } = access;
  const conversions = openConversionWebhooks(config, state.serviceAddress);
  const own = openTable(config, state, access, conversions.convert);
  const { table } = own;
  const aggregation = openAggregation({ ...config, ...plans, ...state, gates: plans.kinds.gates });
  const nodes = openNodes({ ...config, ...plans, ...state, gates: plans.kinds.gates });
  const served = servedResources(domain, table, aggregation, own.onChange);
  const large = openThreads(config, state);
  const admission = await serverAdmission({
    ...config,
    ...state,
    ...plans.kinds,
    plan: plans.admission,
    authorizer,
    client,
    table,
    served,
  });
  const parts = openHandlers(config, state, access, { table, large, admission: admission.chain, nodes: nodes.access });
  const apiServices = { group: domain.rename("apiregistration.k8s.io"), resource: "apiservices" };
  const refreshed = new RefreshedTable({
    ...config,
    inStep: () => Promise.all([own.inStep(), state.inStep([apiServices])]),
  });
  const route = createRouter({
    parts,
    refresh: () => refreshed.refresh(),
    stores: state.stores,
    versionReader: config.cache,
    table,
    forwarded: aggregation.reply,
    ...routes(config, state, access, { table, aggregation }),
  });
  return {
    /** Never rejects: errors become replies. */
    handle: openChain(config, state, access, { parts, route }),
    table,
    aggregation,
    /** The group versions that this server serves itself, and a way to listen for their changes. */
    localVersions: {
      list: () => localVersions(table(), domain),
      onChange: own.onChange,
    },
    /** The resources that this server and the aggregated servers serve. */
    served,
    start: own.start,
    isSynced: own.isSynced,
    isIdle: own.isIdle,
    /** Shortens the time for which requests wait for other servers, since the server ends. */
    drain() {
      aggregation.drain();
      nodes.drain();
    },
    /** Ends the controller of custom resources and the calls of conversion webhooks. */
    closeCustomResources() {
      own.close();
      conversions.close();
    },
    close(): Promise<void> {
      admission.close();
      aggregation.close();
      nodes.close();
      return large.close();
    },
  };
}

function openTable(config: AssembleConfig, state: ServerState, access: Access, convert: ConvertObjects) {
  const { options, plans } = config;
  const { tables, gates } = plans.kinds;
  const { issuer } = plans.authentication;
  const actions = serverActions({ ...config, ...state, gates, issuer, access });
  const { objectBytesMax, enableGarbageCollector: collectsGarbage } = options;
  return openServedTable({ ...config, ...state, tables, objectBytesMax, collectsGarbage, actions, convert });
}

function openThreads(config: AssembleConfig, { builtIn, stores }: ServerState): LargeRequestThreads {
  const { options, domain } = config;
  return new LargeRequestThreads({
    ...config,
    apiDomain: options.apiDomain,
    kindFlags: pickKindFlags(options),
    bodyLimitBytes,
    objectBytesMax: options.objectBytesMax,
    allocating: builtIn.definitions
      .filter(({ strategy }) => strategy.allocate !== undefined)
      .map(({ group, resource }) => `${group}/${resource}`),
    definitionOf(name) {
      const definition = builtIn.find(domain.rename("apiextensions.k8s.io"), "v1", "customresourcedefinitions");
      return definition === undefined ? undefined : stores.of(definition).peek("", name);
    },
  });
}

function openHandlers(
  config: AssembleConfig,
  { objects }: ServerState,
  { authorizer }: Access,
  { table, ...own }: Required<Pick<HandlerParts, "large" | "admission" | "nodes">> & { table(): ResourceTable },
): HandlerParts {
  const { options, domain, clock, random, cache, requestMetrics, plans, peers } = config;
  return handlerParts({
    ...plans.kinds,
    table,
    domain,
    clock,
    random,
    cache,
    ...own,
    objects,
    authorizer,
    sizes: eventLoopLimits(config.largeBytes),
    bodyLimitBytes,
    isConfidential: (definition) => holdsSecrets(definition) || config.encrypts(definition.storage),
    minRequestTimeoutMs: options.minRequestTimeoutSeconds * 1000,
    endOfService: config.endOfService,
    ...(peers === undefined
      ? {}
      : { inForce: (written) => (isOwnRequest(written.request) ? [] : peers.warningsOf(written)) }),
    observeWatch: watchObserver(requestMetrics.watch.bind(requestMetrics)),
  });
}

/** Returns the handlers of paths that are not resources. */
function routes(
  config: AssembleConfig,
  { fairness }: ServerState,
  { authorizer }: Access,
  { table, aggregation }: { table(): ResourceTable; readonly aggregation: Aggregation },
): Pick<RouterOptions, "deprecated" | "other" | "unknown"> {
  const { options, log, requestMetrics, plans } = config;
  const { isOn } = plans.kinds.gates;
  const documents = issuerDocuments(plans.authentication.issuer, options, config.url);
  if (documents.problem !== undefined) log.info({ reason: documents.problem }, "no discovery documents are served");
  const published = createDiscoveryAndOpenApi({
    ...config,
    tables: plans.kinds.tables,
    cbor: isOn(cborGate),
    enums: isOn("OpenAPIEnums"),
    storageHashes: isOn("StorageVersionHash"),
    otherPaths: [...usualPaths, ...zPagePaths(isOn)],
    issuer: documents.problem === undefined,
    definitions: () => table().definitions,
    remote: aggregation.versions,
  });
  const explainAccess = debugAccess(authorizer);
  return {
    deprecated: (info, removedRelease) => requestMetrics.requestedDeprecated(info, removedRelease),
    other: (request) =>
      config.endpoints(request) ??
      explainAccess(request) ??
      fairness?.reply(request) ??
      documents.reply(request) ??
      published.reply(request),
    unknown: (path) => published.unknown(path),
  };
}

function openChain(
  config: AssembleConfig,
  { fairness }: ServerState,
  { authenticator, authorizer }: Access,
  { parts, route }: { readonly parts: HandlerParts; readonly route: (request: ApiRequest) => MaybePromise<Reply> },
): (request: ApiRequest) => MaybePromise<Reply> {
  const { options, clock, log, metrics, plans, requestMetrics } = config;
  return requestChain({
    ...config,
    ...config.auditFilters,
    clock: config.connectionClock,
    negotiator: parts.negotiator,
    authenticator,
    isIdentityHeader: hiddenHeaders(options),
    authorizer,
    requestAuthorizer: observedAuthorizer(authorizer, metrics, clock),
    requestTimeoutMs: options.requestTimeoutMs,
    requestsInFlightMax: options.maxRequestsInflight,
    mutatingRequestsInFlightMax: options.maxMutatingRequestsInflight,
    fairness,
    observeInFlight(reads, writes) {
      requestMetrics.readingNow.set(reads);
      requestMetrics.mutatingNow.set(writes);
    },
    goAwayChance: options.goawayChance,
    closesUnauthenticated: plans.kinds.gates.isOn("UnauthenticatedHTTP2DOSMitigation"),
    corsAllowedOrigins: options.corsAllowedOrigins.map((text) => new RegExp(text)),
    observe: recordRequests(requestMetrics, clock, log),
    route,
  });
}

/** The priorities of APIServices for groups of custom resources. */
const customPriorities = { groupPriorityMinimum: 1000, versionPriority: 100 };

/** Yields the group versions that this server serves itself: all but the group of APIService, as upstream. */
function* localVersions({ definitions }: ResourceTable, domain: ApiDomain): Iterable<LocalVersion> {
  const own = domain.rename("apiregistration.k8s.io");
  for (const { group, version, custom } of definitions) {
    if (group === own) continue;
    if (custom === undefined) yield { group, version, management: "onstart" };
    else yield { group, version, management: "true", priorities: customPriorities };
  }
}

/** Returns the counter of watch events by kind. The metric's child is looked up once for each kind. */
function watchObserver(
  metricsOf: (group: string, version: string, kind: string) => WatchMetrics,
): (definition: ResourceDefinition, events: number, bytes: number) => void {
  const metricsByDefinition = new WeakMap<ResourceDefinition, WatchMetrics>();
  return (definition, events, bytes) => {
    if (events === 0) return;
    let metrics = metricsByDefinition.get(definition);
    if (metrics === undefined) {
      metrics = metricsOf(definition.group, definition.version, definition.kind);
      metricsByDefinition.set(definition, metrics);
    }
    metrics.sent(bytes / events, events);
  };
}
