/** The request pipeline: chain, router, handlers, admission, and served resources. The third phase of `assemble.ts`. */
import type { RestClient } from "#client/rest-client.ts";
import type { LocalVersion } from "#controllers/api-services.ts";
import type { ServedResources } from "#controllers/garbage-collector.ts";
import type { ApiRequest, Reply } from "#http/api-request.ts";
import { holdsSecrets } from "#http/confidential.ts";
import { requestChain } from "#http/chain.ts";
import { eventLoopLimits } from "#http/large-requests.ts";
import { recordRequests } from "#http/record-requests.ts";
import type { WatchMetrics } from "#http/request-metrics.ts";
import { createRouter, type RouterOptions } from "#http/router.ts";
import type { HandlerParts } from "#http/scope.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { createDiscoveryAndOpenApi } from "#publication/discovery-and-openapi.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { ResourceTable } from "#registry/resource-table.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Access } from "./access.ts";
import { serverActions, withActions } from "./actions.ts";
import { serverAdmission } from "./admission-plugins.ts";
import type { AssembleConfig } from "./assemble-config.ts";
import { hiddenHeaders } from "./authentication/external.ts";
import { issuerDocuments } from "./authentication/service-account-issuer.ts";
import { debugAccess } from "./authorization/debug-access.ts";
import { observedAuthorizer } from "./authorization/metrics.ts";
import { type Aggregation, openAggregation } from "./aggregation.ts";
import { withComponentStatuses } from "./component-statuses.ts";
import { openConversionWebhooks } from "./conversion-webhooks.ts";
import { kindOptions } from "./credentials/serving-plan.ts";
import { customResources } from "./custom-resources.ts";
import { handlerParts } from "./handler-parts.ts";
import { LargeRequestThreads } from "./large-requests.ts";
import { servedResources } from "./served-resources.ts";
import { withServedParts } from "./served-parts.ts";
import type { ServerState } from "./state.ts";

export interface Pipeline {
  /** Never rejects: errors are replies. */
  handle(request: ApiRequest): MaybePromise<Reply>;
  /** The served resources. */
  table(): ResourceTable;
  /** Versions of groups that this server answers for itself, and who hears when there are others. */
  readonly localVersions: { list(): Iterable<LocalVersion>; onChange(changed: () => void): void };
  /** The resources that this server and those behind it serve. */
  readonly served: ServedResources;
  readonly aggregation: Aggregation;
  /** Serves the custom resources that are defined. */
  start(): Promise<void>;
  /** Whether they are in step with the store. */
  isSynced(): boolean;
  /** The server is about to end: what waits for others does not for long. */
  drain(): void;
  /** Ends what runs by itself, threads last. */
  closeCustomResources(): void;
  close(): Promise<void>;
}

/** Most bytes of a request body. */
const bodyLimitBytes = 3 * 1024 * 1024;

/** `client` writes what admission charges. */
export async function openPipeline(
  config: AssembleConfig,
  state: ServerState,
  access: Access,
  client: RestClient,
): Promise<Pipeline> {
  const own = openTable(config, state, access);
  const { table } = own;
  const aggregation = openAggregation(config, state);
  const served = servedResources(config.domain, table, aggregation, own.onChange);
  const large = openThreads(config, state);
  const admission = await serverAdmission(config, state, { authorizer: access.authorizer, client, table, served });
  const parts = openHandlers(config, state, access, { table, large, admission: admission.chain });
  const route = createRouter({
    parts,
    stores: state.stores,
    past: config.cache,
    table,
    forwarded: aggregation.reply,
    ...routes(config, state, access, { table, aggregation }),
  });
  return {
    handle: openChain(config, state, access, { parts, route }),
    table,
    aggregation,
    localVersions: {
      list: () => localVersions(table(), config.domain),
      onChange: own.onChange,
    },
    served,
    start: own.start,
    isSynced: own.isSynced,
    drain: () => aggregation.drain(),
    closeCustomResources: own.close,
    close() {
      admission.close();
      aggregation.close();
      return large.close();
    },
  };
}

/** The table of built-in kinds with their behaviour, and custom kinds. */
function openTable(config: AssembleConfig, state: ServerState, access: Access) {
  const { cache, domain, serving, options } = config;
  const conversions = openConversionWebhooks(config, state);
  const withStatuses = withComponentStatuses(() => cache.failure?.message ?? cache.full?.message);
  const withPosts = withActions(
    serverActions({ ...config, access, lookups: state.lookups, storeOf: state.storeOf }),
    domain,
  );
  const builtIn = new ResourceTable(
    state.builtIn.definitions.map((definition) => withServedParts(withPosts(withStatuses(definition)))),
    1,
  );
  const listeners: (() => void)[] = [];
  const custom = customResources({
    ...config,
    tables: serving.tables,
    builtIn: builtIn.definitions,
    objects: state.objects,
    objectBytesMax: options.objectBytesMax,
    convert: conversions.convert,
    changed: () => listeners.forEach((changed) => changed()),
  });
  return {
    table: (): ResourceTable => custom?.table ?? builtIn,
    onChange(listener: () => void): void {
      listeners.push(listener);
    },
    start: async (): Promise<void> => custom?.start(),
    isSynced: (): boolean => custom?.isSynced ?? true,
    close(): void {
      custom?.close();
      conversions.close();
    },
  };
}

function openThreads({ options, clock, cache, domain }: AssembleConfig, state: ServerState): LargeRequestThreads {
  const { builtIn, stores } = state;
  return new LargeRequestThreads({
    options: kindOptions(options),
    bodyLimitBytes,
    objectBytesMax: options.objectBytesMax,
    allocating: builtIn.definitions
      .filter(({ strategy }) => strategy.allocate !== undefined)
      .map(({ group, resource }) => `${group}/${resource}`),
    clock,
    cache,
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
  more: Pick<HandlerParts, "large" | "admission"> & { table(): ResourceTable },
): HandlerParts {
  const { options, requestMetrics } = config;
  const { tables, gates } = config.serving;
  return handlerParts({
    ...config,
    ...more,
    tables,
    gates,
    objects,
    authorizer,
    sizes: eventLoopLimits(config.largeBytes),
    bodyLimitBytes,
    isConfidential: (definition) => holdsSecrets(definition) || config.encrypts(definition.storage),
    minRequestTimeoutMs: options.minRequestTimeoutSeconds * 1000,
    observeWatch: watchObserver(requestMetrics.watch.bind(requestMetrics)),
  });
}

/** The handlers of non-resource paths. */
function routes(
  config: AssembleConfig,
  { fairness }: ServerState,
  { authorizer }: Access,
  { table, aggregation }: { table(): ResourceTable; readonly aggregation: Aggregation },
): Pick<RouterOptions, "deprecated" | "other" | "unknown"> {
  const { options, domain, log, requestMetrics, serving } = config;
  const documents = issuerDocuments(config.issuer, options, config.url);
  if (documents.problem !== undefined) log.info({ reason: documents.problem }, "no discovery documents are served");
  const published = createDiscoveryAndOpenApi({
    domain,
    tables: serving.tables,
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
  const { options, domain, clock, random, log, metrics, requestMetrics } = config;
  return requestChain({
    domain,
    clock,
    random,
    log,
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
    corsAllowedOrigins: options.corsAllowedOrigins.map((text) => new RegExp(text)),
    observe: recordRequests(requestMetrics, clock, log),
    ...config.audit,
    route,
  });
}

/** APIServices of custom resources get these. */
const customPriorities = { groupPriorityMinimum: 1000, versionPriority: 100 };

/** The group versions that this server serves itself. Upstream: all but the group of APIService. */
function* localVersions({ definitions }: ResourceTable, domain: ApiDomain): Iterable<LocalVersion> {
  const own = domain.rename("apiregistration.k8s.io");
  for (const { group, version, routes } of definitions) {
    if (group === own) continue;
    if (routes === "installed") yield { group, version, management: "onstart" };
    else yield { group, version, management: "true", priorities: customPriorities };
  }
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
