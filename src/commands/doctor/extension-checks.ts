/** Checks of what extends the server: definitions, aggregated servers, webhooks and policies. */
import { X509Certificate } from "node:crypto";
import type { Unstructured } from "#meta/object-meta.ts";
import type { DoctorCheck, DoctorFinding, ExaminedCluster } from "./finding.ts";
import { conditionOf, listAll } from "./lists.ts";
import { counted } from "./words.ts";

export const extensionChecks: readonly DoctorCheck[] = [
  { name: "definitions", run: brokenDefinitions },
  { name: "aggregated servers", run: unavailableServices },
  { name: "webhooks", run: webhookObjects },
  { name: "calls of webhooks", run: failingCalls },
  { name: "cost of policies", run: dearPolicies },
];

async function brokenDefinitions({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const definitions = await listAll(cluster, "apiextensions", "customresourcedefinitions");
  const services = await serviceNames(cluster);
  return definitions.flatMap((definition): DoctorFinding[] => {
    const about = `customresourcedefinition/${definition.metadata.name ?? ""}`;
    const findings: DoctorFinding[] = [];
    const names = conditionOf(definition, "NamesAccepted");
    if (names?.status === "False") {
      const what = `Its names are taken: ${names.message ?? names.reason ?? ""}`;
      findings.push({
        severity: "problem",
        about,
        what,
        next: "Choose other names, or delete the definition that has them.",
      });
    }
    const schema = conditionOf(definition, "NonStructuralSchema");
    if (schema?.status === "True") {
      const what = `Its schema is not structural: ${schema.message ?? ""}`;
      findings.push({
        severity: "warning",
        about,
        what,
        next: "Correct the schema: defaults, pruning and apply need it.",
      });
    }
    const { conversion } = (definition["spec"] ?? {}) as {
      readonly conversion?: { readonly webhook?: { readonly clientConfig?: ClientConfig } };
    }; // of a definition
    if (conversion?.webhook !== undefined) {
      findings.push(
        ...clientConfigFindings(`${about} (conversion)`, conversion.webhook.clientConfig, { services, nowMs }),
      );
    }
    return findings;
  });
}

async function unavailableServices({ cluster }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const services = await listAll(cluster, "apiregistration", "apiservices");
  return services.flatMap((service): DoctorFinding[] => {
    const available = conditionOf(service, "Available");
    if (available === undefined || available.status === "True") return [];
    return [
      {
        severity: "problem",
        about: `apiservice/${service.metadata.name ?? ""}`,
        what: `Its server does not answer: ${available.message ?? available.reason ?? "no reason is given"}`,
        next: "Start the server behind it, or delete the APIService: namespaces cannot be deleted while it fails.",
      },
    ];
  });
}

/** The address of a webhook. */
interface ClientConfig {
  readonly url?: string;
  readonly service?: { readonly namespace: string; readonly name: string };
  readonly caBundle?: string;
}

interface Surroundings {
  /** The services of the cluster as `namespace/name`. */
  readonly services: ReadonlySet<string>;
  readonly nowMs: number;
}

async function serviceNames(cluster: ExaminedCluster["cluster"]): Promise<ReadonlySet<string>> {
  const services = await listAll(cluster, "", "services");
  return new Set(services.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
}

async function webhookObjects({ cluster, nowMs }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  interface Webhook {
    readonly name: string;
    readonly clientConfig?: ClientConfig;
  }
  const kinds = ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"];
  const services = await serviceNames(cluster);
  const objects = await Promise.all(kinds.map((plural) => listAll(cluster, "admissionregistration", plural)));
  return objects.flat().flatMap((object) => {
    const { webhooks } = object as Unstructured & { readonly webhooks?: readonly Webhook[] | null };
    return (webhooks ?? []).flatMap(({ name, clientConfig }) =>
      clientConfigFindings(`webhook ${name} of ${object.metadata.name ?? ""}`, clientConfig, { services, nowMs }),
    );
  });
}

const soonMs = 30 * 24 * 3_600_000;

function clientConfigFindings(
  about: string,
  { service, caBundle }: ClientConfig = {},
  { services, nowMs }: Surroundings,
): readonly DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  if (service !== undefined && !services.has(`${service.namespace}/${service.name}`)) {
    findings.push({
      severity: "problem",
      about,
      what: `It calls the service ${service.namespace}/${service.name}, which does not exist.`,
      next: "Install what serves it, or delete its configuration: until then requests that it selects are refused, unless its failure policy is Ignore.",
    });
  }
  if (caBundle !== undefined && caBundle !== "") {
    const until = lastDay(caBundle);
    const next = "Renew the certificates of the webhook and write the new caBundle.";
    if (until === undefined)
      findings.push({ severity: "problem", about, what: "Its caBundle has no certificate.", next });
    else if (until - nowMs < soonMs)
      findings.push(expiry(about, "The certificate in its caBundle", until, nowMs, next));
  }
  return findings;
}

/** Returns a finding about a certificate that expires soon or has expired. */
export function expiry(about: string, which: string, untilMs: number, nowMs: number, next: string): DoctorFinding {
  const day = new Date(untilMs).toISOString().slice(0, 16).replace("T", " ");
  return untilMs < nowMs
    ? { severity: "problem", about, what: `${which} expired at ${day} UTC.`, next }
    : { severity: "warning", about, what: `${which} expires at ${day} UTC.`, next };
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

/** The mean time from which a webhook is slow, in seconds. */
const slowSeconds = 1;

function failingCalls({ metrics }: ExaminedCluster): readonly DoctorFinding[] {
  const findings: DoctorFinding[] = [];
  const failed = metrics.sumBy(
    "apiserver_admission_webhook_rejection_count",
    "name",
    ({ labels }) => labels["error_type"] === "calling_webhook_error",
  );
  for (const [name, count] of failed) {
    if (count === 0) continue;
    findings.push({
      severity: "problem",
      about: `webhook ${name}`,
      what: `${counted(count, "request")} ${count === 1 ? "was" : "were"} refused because it could not be called.`,
      next: "See that it runs, that its service has endpoints, and that its caBundle is that of its certificate.",
    });
  }
  for (const [name, count] of metrics.sumBy("apiserver_admission_webhook_fail_open_count", "name")) {
    if (count === 0) continue;
    const what = `${counted(count, "request")} went on without it, since it could not be called and its failure policy is Ignore.`;
    findings.push({ severity: "warning", about: `webhook ${name}`, what, next: "See that it runs." });
  }
  for (const { labels, value } of metrics.of("binnacle_admission_webhook_circuit_open")) {
    if (value === 0) continue;
    findings.push({
      severity: "problem",
      about: `webhook ${labels["name"] ?? ""}`,
      what: "Its circuit breaker is open: it failed so often that the server does not call it for some seconds at a time.",
      next: "See that it runs; the server tries it again by itself.",
    });
  }
  const seconds = metrics.sumBy("apiserver_admission_webhook_admission_duration_seconds_sum", "name");
  const calls = metrics.sumBy("apiserver_admission_webhook_admission_duration_seconds_count", "name");
  for (const [name, sum] of seconds) {
    const mean = sum / Math.max(1, calls.get(name) ?? 0);
    if (mean < slowSeconds) continue;
    const what = `A call takes ${mean.toFixed(1)} s on average, and the requests that it selects take so much longer.`;
    findings.push({
      severity: "warning",
      about: `webhook ${name}`,
      what,
      next: "Make it faster, or narrow its rules and selectors.",
    });
  }
  return findings;
}

/** The mean time of a check from which a policy is told, in seconds. */
const dearPolicySeconds = 0.005;

function dearPolicies({ metrics }: ExaminedCluster): readonly DoctorFinding[] {
  const seconds = metrics.sumBy("apiserver_validating_admission_policy_check_duration_seconds_sum", "policy");
  const checks = metrics.sumBy("apiserver_validating_admission_policy_check_duration_seconds_count", "policy");
  return [...seconds].flatMap(([policy, sum]): DoctorFinding[] => {
    const mean = sum / Math.max(1, checks.get(policy) ?? 0);
    if (mean < dearPolicySeconds) return [];
    const what = `A check takes ${(mean * 1000).toFixed(1)} ms on average.`;
    return [
      {
        severity: "warning",
        about: `policy ${policy}`,
        what,
        next: "Narrow its match constraints, or simplify its expressions.",
      },
    ];
  });
}
