/**
 * The aggregation layer: forwards requests for group versions of other servers, adds their resources to discovery and
 * OpenAPI, and checks their availability. Source: upstream's `kube-aggregator`.
 */
import type { FeatureGates } from "#api/feature-gates.ts";
import { type FindServiceAddress, hostPort } from "#egress/service-address.ts";
import type { AggregatedApi, AggregatedApis } from "#extensions/aggregated-apis.ts";
import type { HandledRequest, Reply } from "#http/api-request.ts";
import { forwardRequest, identityHeaders, unavailable } from "#http/forward-request.ts";
import { groupMasters } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { Metrics } from "#std/metrics.ts";
import type { AggregationIndex } from "./aggregation/aggregation-index.ts";
import { ask, Backends } from "./aggregation/backends.ts";
import { AggregatedDocuments } from "./aggregation/documents.ts";
import type { ProxyClient } from "./aggregation/proxy-client.ts";
import { type ConsoleFlags, servesConsole } from "./console/flags.ts";
import type { GeneralFlags } from "./general-flags.ts";
import type { ServerParts } from "./server-parts.ts";

interface AggregationParts extends Pick<ServerParts, "domain" | "clock" | "log" | "metrics" | "egress"> {
  readonly options: ConsoleFlags & Pick<GeneralFlags, "requestTimeoutMs" | "bindAddress">;
  readonly gates: Pick<FeatureGates, "isOn">;
  readonly proxyClient: ProxyClient;
  readonly aggregation: AggregationIndex;
  readonly serviceAddress: FindServiceAddress;
}

export type Aggregation = ReturnType<typeof openAggregation>;

const checkMs = 5_000;
/** The maximum time in milliseconds for which requests wait for other servers while this server ends. */
const drainMs = 5_000;
const checker = { name: "system:kube-aggregator", groups: [groupMasters] };

export function openAggregation(parts: AggregationParts) {
  const { options, domain, clock, log, metrics, gates, aggregation: index, serviceAddress } = parts;
  const { apis } = index;
  const backends = new Backends({
    clock,
    serviceAddress,
    tunnel: parts.egress.cluster,
    credentials: () => parts.proxyClient.current(),
  });
  const listeners: (() => void)[] = [];
  const published = (): void => listeners.forEach((changed) => changed());
  const documents = new AggregatedDocuments({ apis, backends, domain, clock, log, published });
  index.changed = (name) => {
    if (apis.findByName(name) === undefined) backends.forget(name);
    documents.changed(name);
  };
  for (const { name } of apis.all()) documents.changed(name);
  const forwarding = {
    clock,
    headMs: options.requestTimeoutMs,
    sendsUid: gates.isOn("RemoteRequestHeaderUID"),
    isolatesPages: servesConsole(options),
  };
  observeAvailability(metrics, apis);
  /** The requests that wait for the head of an answer. */
  const waiting = new Set<HandledRequest>();
  let stopDraining: (() => void) | undefined;
  return {
    /** Returns the answer of another server; `undefined` when this server answers the request itself. */
    reply(request: HandledRequest): MaybePromise<Reply> | undefined {
      if (apis.size === 0) return undefined;
      const api = apiOf(apis, request);
      if (api === undefined) return undefined;
      if (!api.isAvailable) return unavailable();
      request.seats?.slow();
      waiting.add(request);
      return backends
        .of(api)
        .then(
          (backend) => forwardRequest(request, backend, forwarding),
          // The service, or its address, no longer exists.
          unavailable,
        )
        .finally(() => waiting.delete(request));
    },
    /** Returns the versions for discovery and OpenAPI, as a new array after every change. */
    versions: () => documents.versions,
    /** Adds a listener for changes of the versions. */
    onChange: (changed: () => void) => void listeners.push(changed),
    /** Returns the reason why the server of an APIService is not available; `undefined` when it is available. */
    async check(name: string, signal: AbortSignal) {
      const api = apis.findByName(name);
      if (api === undefined) return "the APIService has changed";
      return problemOf(api, backends, { clock, signal });
    },
    /** Gives up the requests that other servers do not begin to answer within a few seconds, since this server ends. */
    drain() {
      stopDraining = clock.after(drainMs, () => {
        for (const request of waiting) request.abort(new Error("this server ends"));
      });
    },
    close() {
      stopDraining?.();
      index.changed = undefined;
      documents.close();
      backends.close();
    },
  };
}

function observeAvailability(metrics: Metrics, apis: AggregatedApis): void {
  metrics.observable(
    {
      name: "aggregator_unavailable_apiservice",
      help: "1 for each APIService that is not available, 0 for others.",
      type: "gauge",
      labels: ["name"],
    },
    () => Array.from(apis.all(), ({ name, isAvailable }) => ({ labels: [name], value: isAvailable ? 0 : 1 })),
  );
}

/** Returns the API that answers for a path: of resources, of discovery, or of its OpenAPI documents. */
function apiOf(apis: AggregatedApis, { info, path }: HandledRequest): AggregatedApi | undefined {
  if (info.isResourceRequest) return info.apiPrefix === "apis" ? apis.find(info.group, info.version) : undefined;
  const parts = path.replace(/^\/+/, "").split("/");
  if (parts[0] === "apis") return parts.length >= 3 ? apis.find(parts[1]!, parts[2]!) : undefined;
  if (parts[0] !== "openapi" || parts[1] !== "v3" || parts[2] !== "apis" || parts.length !== 5) return undefined;
  return apis.find(parts[3]!, parts[4]!);
}

/**
 * Returns the reason why an API is not available. As upstream, any status code of success means that it is available.
 */
async function problemOf(
  api: AggregatedApi,
  backends: Backends,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): Promise<string | undefined> {
  const path = `/apis/${api.group}/${api.version}`;
  let url = path;
  try {
    const backend = await backends.of(api);
    url = `https://${hostPort(backend.address)}${path}`;
    const question = {
      path,
      // Each check opens a new connection, because clients of a server that has come back do so too.
      isAlone: true,
      headers: ["Accept", "application/json", ...identityHeaders(checker, false)],
      timeoutMs: checkMs,
      signal,
    };
    const { code } = await ask(backend, question, clock);
    if (code >= 200 && code < 300) return undefined;
    backend.forwarder.retire();
    return `failing or missing response from ${url}: bad status from ${url}: ${code}`;
  } catch (error) {
    const { message } = error as Error; // all of these are errors
    return url === path ? message : `failing or missing response from ${url}: Get "${url}": ${message}`;
  }
}
