/**
 * Metrics of requests, with kube-apiserver's names, types, buckets and labels.
 *
 * Hot path: recording a request costs one map look-up and four additions on resolved children, and for a write
 * one more of each. Labels are bounded: an
 * unserved group, version or resource, an unknown verb or path never becomes a label value (in CVE-2020-8552 memory
 * grew with every made-up verb).
 */
import { qualifiedResource } from "#meta/group-version.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Counter, Family, Gauge, Histogram, Metrics } from "#std/metrics.ts";
import type { ApiRequest, HandledRequest, Reply, RequestInfo } from "./api-request.ts";

/** The target of a request. */
export type RequestTarget = Pick<RequestInfo, "group" | "version" | "resource" | "subresource">;

interface RequestMetricsOptions {
  readonly metrics: Metrics;
  /**
   * Whether a resource (or subresource) exists; called when a combination of labels is new, and when metrics are shown.
   */
  readonly isServed: (target: RequestTarget) => boolean;
  /** Whether a kind is served. */
  readonly hasKind: (group: string, version: string, kind: string) => boolean;
}

/** Counts the events that one resource sends to watchers, and their sizes. */
export interface WatchMetrics {
  /** Counts `count` sent events of `bytes` bytes each. */
  sent(bytes: number, count: number): void;
}

/** The parts of a request that its labels are made of. */
type LabelledRequest = Pick<ApiRequest, "info" | "url"> & Partial<Pick<ApiRequest, "headers">>;
/** The parts of a request that are counted. */
type RecordedRequest = LabelledRequest & Pick<ApiRequest, "queuedMs" | "webhooksMs" | "bodyBytes" | "isOwn">;

interface Recorder {
  readonly labels: readonly string[];
  readonly codes: Map<number, Counter>;
  readonly duration: Histogram;
  /** The duration without the time in queues and of admission webhooks. */
  readonly sliDuration: Histogram;
  /** The sizes of answers to reads. */
  readonly size: Histogram | undefined;
  /** The sizes of bodies; `undefined` for requests without one, or about what is not served. */
  readonly bodySize: Histogram | undefined;
  /** Counts requests that the server sends itself; made by the first one. */
  own: Counter | undefined;
}

const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
/** The buckets of durations without waiting times. */
const sliBuckets = durationBuckets.filter((seconds) => seconds >= 0.05);
const sizeBuckets = [1000, 10_000, 100_000, 1e6, 1e7, 1e8, 1e9];
/** Source: kube-apiserver, from 50 kB to the limit of bodies. */
const bodySizeBuckets = Array.from({ length: 31 }, (_, i) => 50_000 + i * 100_000);
const eventSizeBuckets = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

const verbLabels: Readonly<Record<string, string>> = {
  get: "GET",
  list: "LIST",
  watch: "WATCH",
  create: "POST",
  update: "PUT",
  patch: "PATCH",
  delete: "DELETE",
  deletecollection: "DELETE",
  post: "POST",
  put: "PUT",
  head: "HEAD",
  options: "OPTIONS",
};

/** The first segments of paths that are counted by path. */
const knownPaths = new Set(["healthz", "livez", "readyz", "metrics", "version", "api", "apis", "openapi"]);

/** The maximum number of cached combinations of labels; a full cache is cleared (counters stay). */
const recorderMax = 5000;

export class RequestMetrics {
  readonly #metrics: Metrics;
  readonly #isServed: (target: RequestTarget) => boolean;
  readonly #recorders = new Map<string, Recorder>();
  readonly #total: Family<Counter>;
  readonly #duration: Family<Histogram>;
  readonly #sliDuration: Family<Histogram>;
  /** The durations of writes by how they want unknown fields treated. */
  readonly #byFieldValidation: ReadonlyMap<string, Histogram>;
  readonly #sizes: Family<Histogram>;
  readonly #bodySizes: Family<Histogram>;
  readonly #bodyTargets: NamedTargets;
  readonly #own: Family<Counter>;
  readonly #ownTargets: NamedTargets;
  readonly #longRunning: Family<Gauge>;
  readonly #watchEvents: Family<Counter>;
  readonly #watchSizes: Family<Histogram>;
  readonly #deprecated: Family<Gauge>;
  readonly #terminations: Family<Counter>;
  /** The number of running requests that only read. */
  readonly readingNow: Gauge;
  /** The number of running requests that may write. */
  readonly mutatingNow: Gauge;
  /** The number of connections that ended during the TLS handshake. */
  readonly handshakeErrors: Counter;

  constructor({ metrics, isServed, hasKind }: RequestMetricsOptions) {
    this.#metrics = metrics;
    this.#isServed = isServed;
    const targetLabels = ["group", "version", "resource", "subresource", "scope", "component"];
    const servedOnly = (before: number) => servedAlone(before, isServed, () => this.#recorders.clear());
    this.#total = metrics.counter({
      name: "apiserver_request_total",
      help: "[STABLE] Requests, by verb, dry run, target and code of the answer.",
      labels: ["verb", "dry_run", ...targetLabels, "code"],
      ...servedOnly(2),
    });
    this.#duration = metrics.histogram({
      name: "apiserver_request_duration_seconds",
      help: "[STABLE] Time until requests are answered, by verb, dry run and target.",
      labels: ["verb", "dry_run", ...targetLabels],
      buckets: durationBuckets,
      ...servedOnly(2),
    });
    this.#sliDuration = metrics.histogram({
      name: "apiserver_request_sli_duration_seconds",
      help: "Time that requests take, without that in queues and of admission webhooks, by verb and target.",
      labels: ["verb", ...targetLabels],
      buckets: sliBuckets,
      former: { name: "apiserver_request_slo_duration_seconds", deprecated: { minor: 27, stability: "alpha" } },
      ...servedOnly(1),
    });
    this.#byFieldValidation = fieldValidations(metrics);
    this.#sizes = metrics.histogram({
      name: "apiserver_response_sizes",
      help: "[STABLE] Bytes of answers, by verb and target.",
      labels: ["verb", ...targetLabels],
      buckets: sizeBuckets,
      ...servedOnly(1),
    });
    const forget = () => this.#recorders.clear();
    this.#bodyTargets = new NamedTargets(isServed, forget);
    this.#bodySizes = bodySizes(metrics, this.#bodyTargets);
    this.#ownTargets = new NamedTargets(isServed, forget);
    this.#own = ownRequests(metrics, this.#ownTargets);
    const inflight = metrics.gauge({
      name: "apiserver_current_inflight_requests",
      help: "[STABLE] Requests being worked on now, by kind.",
      labels: ["request_kind"],
    });
    this.readingNow = inflight.with("readOnly");
    this.mutatingNow = inflight.with("mutating");
    this.#longRunning = metrics.gauge({
      name: "apiserver_longrunning_requests",
      help: "[STABLE] Watches and sessions that go on now, by verb and target.",
      labels: ["verb", ...targetLabels],
      ...servedOnly(1),
    });
    const watches = watchFamilies(metrics, hasKind);
    this.#watchEvents = watches.events;
    this.#watchSizes = watches.sizes;
    this.#deprecated = metrics.gauge({
      name: "apiserver_requested_deprecated_apis",
      help: "[STABLE] 1 for each deprecated API that clients have used, with the release that removes it.",
      labels: ["group", "version", "resource", "subresource", "removed_release"],
      ...servedOnly(0),
    });
    this.#terminations = metrics.counter({
      name: "apiserver_request_terminations_total",
      help: "Requests that the server ended to protect itself.",
      labels: ["verb", "dry_run", ...targetLabels, "code"],
      ...servedOnly(2),
    });
    this.handshakeErrors = handshakeErrors(metrics);
  }

  /** Counts a request that has been answered. `bytes` is the length of the body; watches count none. */
  record(request: RecordedRequest, code: number, seconds: number, bytes: number): void {
    const recorder = this.#recorder(request);
    let counter = recorder.codes.get(code);
    if (counter === undefined) {
      counter = this.#total.with(...recorder.labels, String(code));
      recorder.codes.set(code, counter);
    }
    counter.add();
    recorder.duration.observe(seconds);
    const othersMs = (request.queuedMs ?? 0) + (request.webhooksMs ?? 0);
    recorder.sliDuration.observe(Math.max(0, seconds - othersMs / 1000));
    if (isWrite(request.info)) this.#byFieldValidation.get(fieldValidationOf(request.url))?.observe(seconds);
    recorder.size?.observe(bytes);
    if (request.bodyBytes !== undefined) recorder.bodySize?.observe(request.bodyBytes);
    if (request.isOwn === true) (recorder.own ??= this.#ownCounter(recorder.labels)).add();
  }

  #ownCounter([verb, , group, version, resource, subresource]: readonly string[]): Counter {
    // The labels of a recorder have all of them.
    const target = { group: group!, version: version!, resource: resource!, subresource: subresource! };
    if (target.resource !== "") this.#ownTargets.add(target.resource, target);
    return this.#own.with(verb!, target.resource, target.subresource);
  }

  /** Counts a request that was refused to protect the server (429, or a time-out). */
  terminated(request: LabelledRequest, code: number): void {
    this.#terminations.with(...this.#recorder(request).labels, String(code)).add();
  }

  /** Returns the gauge of long-running requests of this sort: add 1 now and -1 at the end. */
  longRunning(request: LabelledRequest): Gauge {
    const [verb, , ...target] = this.#recorder(request).labels;
    return this.#longRunning.with(verb!, ...target);
  }

  /** Returns the metrics of watches of a kind, which must be served: the labels are taken as they come. */
  watch(group: string, version: string, kind: string): WatchMetrics {
    const events = this.#watchEvents.with(group, version, kind);
    const sizes = this.#watchSizes.with(group, version, kind);
    return {
      sent(bytes, count) {
        events.add(count);
        for (let i = 0; i < count; i++) sizes.observe(bytes);
      },
    };
  }

  /** Marks a deprecated version as still in use. */
  requestedDeprecated(info: RequestInfo, removedRelease: string): void {
    this.#deprecated.with(info.group, info.version, info.resource, info.subresource, removedRelease).set(1);
  }

  /** Answers `/metrics`; `undefined` for other paths. `complete` returns the whole page for that of this process. */
  reply(request: HandledRequest, complete?: (own: string) => Promise<string>): MaybePromise<Reply> | undefined {
    if (request.path !== "/metrics") return undefined;
    return andThen(complete?.(this.#metrics.print()) ?? this.#metrics.print(), (page) => ({
      code: 200,
      bytes: Buffer.from(page),
      contentType: "text/plain; version=0.0.4; charset=utf-8; escaping=values",
      compressible: true,
    }));
  }

  #recorder(request: LabelledRequest): Recorder {
    const { info } = request;
    const verb = verbOf(request);
    const dryRun = info.verb !== "get" && request.url.includes("dryRun=All") ? "All" : "";
    const scope = scopeOf(info);
    const target = info.isResourceRequest
      ? `${info.group}/${info.version}/${info.resource}/${info.subresource}`
      : info.path;
    const key = `${info.verb} ${verb} ${dryRun} ${scope} ${target}`;
    return this.#recorders.get(key) ?? this.#makeRecorder(key, info, [verb, dryRun, scope]);
  }

  #makeRecorder(key: string, info: RequestInfo, [verb, dryRun, scope]: readonly [string, string, string]): Recorder {
    const target = this.#targetLabels(info, scope);
    const labels = [verb, dryRun, ...target];
    const recorder: Recorder = {
      labels,
      codes: new Map(),
      duration: this.#duration.with(...labels),
      sliDuration: this.#sliDuration.with(verb, ...target),
      size: readVerbs.has(verb) ? this.#sizes.with(verb, ...target) : undefined,
      bodySize: bodyVerbs.has(info.verb) && verb !== connect && target[2] !== "" ? this.#bodySizeOf(info) : undefined,
      own: undefined,
    };
    if (this.#recorders.size >= recorderMax) this.#recorders.clear();
    this.#recorders.set(key, recorder);
    return recorder;
  }

  #bodySizeOf({ group, version, resource, subresource, verb }: RequestInfo): Histogram {
    const name = qualifiedResource({ group, resource });
    this.#bodyTargets.add(name, { group, version, resource, subresource });
    return this.#bodySizes.with(name, verb === "deletecollection" ? "delete_collection" : verb);
  }

  /** Returns the labels: group, version, resource, subresource, scope, component. */
  #targetLabels(info: RequestInfo, scope: string): readonly string[] {
    if (info.isResourceRequest) {
      if (!this.#isServed(info)) return ["", "", "", "", scope, "apiserver"];
      return [info.group, info.version, info.resource, info.subresource, scope, "apiserver"];
    }
    const first = info.path.split("/", 2)[1] ?? "";
    return ["", "", "", knownPaths.has(first) ? `/${first}` : "", "", ""];
  }
}

const connect = "CONNECT";
const apply = "APPLY";
/** The labels of requests whose answers are measured. */
const readVerbs = new Set(["GET", "LIST", "WATCH"]);
/** Subresources of the core group by which another server answers; no other kind has one of these names there. */
const connections = new Set(["attach", "exec", "log", "portforward", "proxy"]);

/** Returns the label of a request's verb, which says more than its method. */
function verbOf({ info, headers }: LabelledRequest): string {
  if (info.isResourceRequest && info.group === "" && connections.has(info.subresource)) return connect;
  if (info.verb === "patch" && headers?.["content-type"]?.startsWith("application/apply-patch") === true) return apply;
  return verbLabels[info.verb] ?? "other";
}

/** The verbs whose bodies are counted. */
const bodyVerbs = new Set(["create", "update", "patch", "delete", "deletecollection"]);

/** The targets behind the names that a label has, for metrics whose labels do not say the whole target. */
class NamedTargets {
  readonly #byName = new Map<string, RequestTarget>();
  readonly #isServed: RequestMetricsOptions["isServed"];
  readonly #dropped: () => void;

  /** `dropped` is called when a part of the family was dropped. */
  constructor(isServed: RequestMetricsOptions["isServed"], dropped: () => void) {
    this.#isServed = isServed;
    this.#dropped = dropped;
  }

  add(name: string, target: RequestTarget): void {
    this.#byName.set(name, target);
  }

  /** Returns the options of a family that drops names whose target is not served any more; `at` is their label. */
  servedOnly(at: number) {
    return {
      isThere: (values: readonly string[]): boolean => {
        const target = this.#byName.get(values[at] ?? "");
        return target === undefined || this.#isServed(target);
      },
      dropped: (): void => {
        for (const [name, target] of this.#byName) if (!this.#isServed(target)) this.#byName.delete(name);
        this.#dropped();
      },
    };
  }
}

const ownRequests = (metrics: Metrics, targets: NamedTargets): Family<Counter> =>
  metrics.counter({
    name: "apiserver_selfrequest_total",
    help: "Requests that the server sent itself, by verb and target.",
    labels: ["verb", "resource", "subresource"],
    ...targets.servedOnly(1),
  });

const bodySizes = (metrics: Metrics, targets: NamedTargets): Family<Histogram> =>
  metrics.histogram({
    name: "apiserver_request_body_size_bytes",
    help: "Bytes of the bodies of requests, by resource and verb.",
    labels: ["resource", "verb"],
    buckets: bodySizeBuckets,
    ...targets.servedOnly(0),
  });

const fieldValidations = (metrics: Metrics): ReadonlyMap<string, Histogram> => {
  const family = metrics.histogram({
    name: "field_validation_request_duration_seconds",
    help: "Time that writes take, by their parameter fieldValidation.",
    labels: ["field_validation"],
    buckets: sliBuckets,
  });
  return new Map(["", "Ignore", "Strict", "Warn", "invalid"].map((value) => [value, family.with(value)]));
};

const isWrite = ({ verb, isResourceRequest }: RequestInfo): boolean =>
  isResourceRequest && (verb === "create" || verb === "update" || verb === "patch");

const fieldValidation = /[?&]fieldValidation=([^&]*)/;

/** Returns the label of a write. Nearly all writes have no such parameter, or one of the known values. */
function fieldValidationOf(url: string): string {
  const [, value = ""] = url.includes("fieldValidation=") ? (fieldValidation.exec(url) ?? []) : [];
  return /^(?:Ignore|Strict|Warn)?$/.test(value) ? value : "invalid";
}

const handshakeErrors = (metrics: Metrics): Counter =>
  metrics
    .counter({
      name: "apiserver_tls_handshake_errors_total",
      help: "Connections whose TLS handshake failed.",
    })
    .with();

/** Makes the metrics of watch events; those of kinds that are no longer served are dropped. */
function watchFamilies(metrics: Metrics, hasKind: RequestMetricsOptions["hasKind"]) {
  const labels = ["group", "version", "kind"];
  const isThere = ([group = "", version = "", kind = ""]: readonly string[]): boolean => hasKind(group, version, kind);
  return {
    events: metrics.counter({
      name: "apiserver_watch_events_total",
      help: "Events sent to watches, by kind.",
      labels,
      isThere,
    }),
    sizes: metrics.histogram({
      name: "apiserver_watch_events_sizes",
      help: "Bytes of watch events, by kind.",
      labels,
      buckets: eventSizeBuckets,
      isThere,
    }),
  };
}

/**
 * Drops the metrics of custom resources that are no longer served. `before` is the number of labels before the group;
 * requests that are not about a resource have no version.
 */
const servedAlone = (before: number, isServed: RequestMetricsOptions["isServed"], dropped: () => void) => ({
  isThere(values: readonly string[]): boolean {
    const [group = "", version = "", resource = "", subresource = ""] = values.slice(before, before + 4);
    return version === "" || isServed({ group, version, resource, subresource });
  },
  dropped,
});

/** Returns the scope of a request in upstream's words: one object, a namespace, or the cluster. */
function scopeOf(info: RequestInfo): string {
  // A list of the object that a selector names is one of its collection.
  if ((info.name !== "" && info.verb !== "list") || info.verb === "create") return "resource";
  if (info.namespace !== "") return "namespace";
  return info.isResourceRequest ? "cluster" : "";
}
