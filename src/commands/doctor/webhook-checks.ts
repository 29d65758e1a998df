/** Checks of webhooks: whether they can be called, why not, and what that does to the cluster. */
import { X509Certificate } from "node:crypto";
import type { Unstructured } from "#meta/object-meta.ts";
import { shellWord } from "#meta/printed-command.ts";
import type { DoctorCheck, DoctorFinding, ExaminedCluster } from "./finding.ts";
import { listAll, listIfAllowed, placeOf } from "./lists.ts";
import type { Samples } from "./samples.ts";
import { counted, expiry, someOf } from "./words.ts";

export const webhookChecks: readonly DoctorCheck[] = [
  { name: "webhooks", run: webhookObjects },
  { name: "times of webhooks", run: slowCalls },
];

/** The address of a webhook. */
export interface ClientConfig {
  readonly url?: string;
  readonly service?: { readonly namespace: string; readonly name: string };
  readonly caBundle?: string;
}

interface Rule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
}

interface Webhook {
  readonly name: string;
  readonly clientConfig?: ClientConfig;
  readonly failurePolicy?: string;
  readonly rules?: readonly Rule[];
}

/** The services of a cluster, and the time. */
interface Services {
  /** The services as `namespace/name`, with whether something is ready behind each; `undefined`: they cannot be listed. */
  readonly ready: ReadonlyMap<string, boolean> | undefined;
  readonly nowMs: number;
}

/** Reads the services and what is behind them. */
export async function readServices({ cluster, nowMs }: ExaminedCluster): Promise<Services> {
  const [services, endpoints, slices] = await Promise.all([
    listIfAllowed(cluster, "", "services"),
    listIfAllowed(cluster, "", "endpoints"),
    listIfAllowed(cluster, "discovery", "endpointslices"),
  ]);
  const isKnown = endpoints !== undefined || slices !== undefined;
  const withAddresses = readyServices(endpoints ?? [], slices ?? []);
  const isReady = (service: Unstructured): boolean => {
    const { type } = (service["spec"] ?? {}) as { readonly type?: string }; // of a service
    return !isKnown || type === "ExternalName" || withAddresses.has(placeOf(service));
  };
  return { ready: services && new Map(services.map((one) => [placeOf(one), isReady(one)])), nowMs };
}

/** Returns the services behind which something is ready, by Endpoints or by slices of them: servers may lack either. */
export function readyServices(
  endpoints: readonly Unstructured[],
  slices: readonly Unstructured[],
): ReadonlySet<string> {
  interface Subset {
    readonly addresses?: readonly object[] | null;
  }
  interface Endpoint {
    readonly conditions?: { readonly ready?: boolean };
  }
  const ready = new Set<string>();
  for (const one of endpoints) {
    const subsets = (one["subsets"] ?? []) as readonly Subset[]; // of Endpoints
    if (subsets.some(({ addresses }) => (addresses ?? []).length > 0)) ready.add(placeOf(one));
  }
  for (const one of slices) {
    const { namespace, labels } = one.metadata;
    const items = (one["endpoints"] ?? []) as readonly Endpoint[]; // of a slice
    if (!items.some(({ conditions }) => conditions?.ready !== false)) continue;
    ready.add(`${namespace}/${labels?.["kubernetes.io/service-name"] ?? ""}`);
  }
  return ready;
}

/** A reason for which a webhook cannot be called, and what can be done. */
interface Reason {
  readonly what: string;
  readonly next: string;
}

const renew = "Renew its certificate, and write the authority of it to caBundle.";

/** Returns the reasons that can be seen in the configuration. */
export function configReasons(
  { service, caBundle = "" }: ClientConfig = {},
  { ready, nowMs }: Services,
): readonly Reason[] {
  const reasons: Reason[] = [];
  const name = service === undefined ? "" : `${service.namespace}/${service.name}`;
  if (service !== undefined && ready !== undefined && !ready.has(name)) {
    reasons.push({ what: `It calls the service ${name}, which does not exist.`, next: "Install what serves it." });
  } else if (ready?.get(name) === false) {
    reasons.push({
      what: `It calls the service ${name}, behind which nothing is ready: it has no endpoints.`,
      next: "See why the pods of the service do not run.",
    });
  }
  if (caBundle === "") return reasons;
  const until = lastDay(caBundle);
  if (until === undefined) reasons.push({ what: "Its caBundle has no certificate.", next: renew });
  else if (until < nowMs) reasons.push({ what: expiry("The certificate in its caBundle", until, nowMs), next: renew });
  return reasons;
}

const soonMs = 30 * 24 * 3_600_000;

/** Returns a warning about a certificate that ends soon. */
export function endingSoon(about: string, { caBundle = "" }: ClientConfig = {}, nowMs: number): DoctorFinding[] {
  const until = caBundle === "" ? undefined : lastDay(caBundle);
  if (until === undefined || until < nowMs || until - nowMs >= soonMs) return [];
  const what = expiry("The certificate in its caBundle", until, nowMs);
  return [{ severity: "warning", about, what, next: renew }];
}

/** Returns the latest end of the certificates in a bundle; `undefined` where there is none. */
function lastDay(caBundle: string): number | undefined {
  const text = Buffer.from(caBundle, "base64").toString("latin1");
  const ends = [...text.matchAll(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g)].flatMap(([pem]) => {
    try {
      return [new X509Certificate(pem).validToDate.getTime()];
    } catch {
      return [];
    }
  });
  return ends.length === 0 ? undefined : Math.max(...ends);
}

/** The reasons by what the metrics of Binnacle call them. */
const callReasons: Readonly<Record<string, Reason>> = {
  certificate_expired: { what: "Its certificate has expired, or is not valid yet.", next: renew },
  unknown_authority: {
    what: "Its certificate is not signed by the authority in its caBundle.",
    next: "Write the authority of its certificate to caBundle.",
  },
  wrong_name: {
    what: "Its certificate is for another name than that by which it is called.",
    next: "Give it a certificate for the name by which it is called.",
  },
  refused: { what: "Nothing accepts connections at its address.", next: "Start it, or correct its address." },
  no_such_host: { what: "The host of its address is not known.", next: "Correct its address." },
  timeout: { what: "It did not answer in time.", next: "See why it hangs or is too slow." },
  answer: { what: "Its answer was an error, or could not be used.", next: "See its log." },
};

const unknownReason: Reason = {
  what: "It could not be called.",
  next: "See that it runs, and that its caBundle is that of its certificate.",
};

/** The numbers of calls that failed, by webhook. */
interface Failures {
  /** The numbers of refused requests. */
  readonly refused: ReadonlyMap<string, number>;
  /** The numbers of requests that went on, by the failure policy. */
  readonly passed: ReadonlyMap<string, number>;
  /** The webhooks that are left alone for a while. */
  readonly silent: ReadonlySet<string>;
  /** Returns the reasons for which calls failed. */
  reasonsOf(name: string): readonly Reason[];
}

function failuresOf(metrics: Samples): Failures {
  const problems = metrics.of("binnacle_admission_webhook_failures_total").filter(({ value }) => value > 0);
  return {
    refused: metrics.sumBy(
      "apiserver_admission_webhook_rejection_count",
      "name",
      ({ labels }) => labels["error_type"] === "calling_webhook_error",
    ),
    passed: metrics.sumBy("apiserver_admission_webhook_fail_open_count", "name"),
    silent: new Set(
      metrics
        .of("binnacle_admission_webhook_circuit_open")
        .flatMap(({ labels, value }) => (value === 0 ? [] : [labels["name"] ?? ""])),
    ),
    reasonsOf: (name) => {
      const kinds = new Set(
        problems.filter(({ labels }) => labels["name"] === name).map(({ labels }) => labels["problem"] ?? ""),
      );
      return [...kinds].map((kind) => callReasons[kind] ?? unknownReason);
    },
  };
}

async function webhookObjects(examined: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const { cluster, metrics, nowMs } = examined;
  const services = await readServices(examined);
  const failures = failuresOf(metrics);
  const kinds = ["validatingwebhookconfiguration", "mutatingwebhookconfiguration"];
  const findings: DoctorFinding[] = [];
  const seen = new Set<string>();
  for (const kind of kinds) {
    for (const object of await listAll(cluster, "admissionregistration", `${kind}s`)) {
      const configuration = `${kind}/${object.metadata.name ?? ""}`;
      const { webhooks } = object as Unstructured & { readonly webhooks?: readonly Webhook[] | null }; // of these kinds
      for (const webhook of webhooks ?? []) {
        seen.add(webhook.name);
        const about = `webhook ${webhook.name} of ${configuration}`;
        const reasons = configReasons(webhook.clientConfig, services);
        findings.push(...endingSoon(about, webhook.clientConfig, nowMs));
        findings.push(...failingWebhook(about, configuration, { webhook, reasons, failures }));
      }
    }
  }
  // The configurations may be hidden from the caller; the metrics tell of their webhooks.
  for (const name of new Set([...failures.refused.keys(), ...failures.passed.keys()])) {
    if (seen.has(name)) continue;
    findings.push(
      ...failingWebhook(`webhook ${name}`, "its configuration", { webhook: { name }, reasons: [], failures }),
    );
  }
  return findings;
}

interface ExaminedWebhook {
  readonly webhook: Webhook;
  /** The reasons that its configuration shows. */
  readonly reasons: readonly Reason[];
  readonly failures: Failures;
}

/** Returns the finding about a webhook that cannot be called, with all that is known of it. */
function failingWebhook(
  about: string,
  configuration: string,
  { webhook, reasons: seen, failures }: ExaminedWebhook,
): readonly DoctorFinding[] {
  const { name, failurePolicy, rules = [] } = webhook;
  const refused = failures.refused.get(name) ?? 0;
  const passed = failures.passed.get(name) ?? 0;
  if (seen.length === 0 && refused === 0 && passed === 0) return [];
  // A fault of the configuration is the cause of failed calls, so their reason says nothing more.
  const known = seen.length > 0 ? seen : failures.reasonsOf(name);
  const reasons = known.length > 0 ? known : [unknownReason];
  const isIgnored = failurePolicy === "Ignore";
  const effect = [
    ...(rules.length === 0 ? [] : [`It is asked about ${someOf(rules.map(ruleText))}.`]),
    ...(refused === 0 ? [] : [`${wereText(refused)} refused for that since the server started.`]),
    ...(passed === 0 ? [] : [`${wereText(passed)} let through without it.`]),
    ...(failures.silent.has(name)
      ? ["It failed so often that the server leaves it alone for some seconds at a time (its circuit breaker is open)."]
      : []),
  ];
  const meanwhile = isIgnored
    ? []
    : [`Until then set its failurePolicy to Ignore, or: binnacle delete ${shellWord(configuration)}`];
  return [
    {
      severity: isIgnored ? "warning" : "problem",
      about,
      what: [...new Set(reasons.map(({ what }) => what)), ...effect].join(" "),
      next: [...new Set(reasons.map(({ next }) => next)), ...(configuration.includes("/") ? meanwhile : [])].join(" "),
    },
  ];
}

const wereText = (count: number): string => `${counted(count, "request")} ${count === 1 ? "was" : "were"}`;

/** Returns a rule in words, such as `create of pods`. */
function ruleText({ operations = [], resources = [] }: Rule): string {
  const what = resources.includes("*") || resources.includes("*/*") ? "everything" : resources.join(", ");
  return operations.includes("*")
    ? `all writes of ${what}`
    : `${operations.map((one) => one.toLowerCase()).join(", ")} of ${what}`;
}

/** The mean time from which a webhook is slow, in seconds. */
const slowSeconds = 1;

function slowCalls({ metrics }: ExaminedCluster): readonly DoctorFinding[] {
  const seconds = metrics.sumBy("apiserver_admission_webhook_admission_duration_seconds_sum", "name");
  const calls = metrics.sumBy("apiserver_admission_webhook_admission_duration_seconds_count", "name");
  return [...seconds].flatMap(([name, sum]): DoctorFinding[] => {
    const mean = sum / Math.max(1, calls.get(name) ?? 0);
    if (mean < slowSeconds) return [];
    return [
      {
        severity: "warning",
        about: `webhook ${name}`,
        what: `A call takes ${mean.toFixed(1)} s on average, and the requests that it is asked about take so much longer.`,
        next: "Make it faster, or narrow its rules and selectors.",
      },
    ];
  });
}
