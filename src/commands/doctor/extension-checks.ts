/** Checks of what extends the server: definitions and their conversions, aggregated servers and policies. */
import { ApiError } from "#client/api-error.ts";
import { withQuery } from "#client/pages.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { collectionPath } from "../discovery.ts";
import type { DoctorCheck, DoctorFinding, ExaminedCluster } from "./finding.ts";
import { conditionOf, listAll } from "./lists.ts";
import { type ClientConfig, configReasons, endingSoon, readServices } from "./webhook-checks.ts";

export const extensionChecks: readonly DoctorCheck[] = [
  { name: "definitions", run: brokenDefinitions },
  { name: "aggregated servers", run: unavailableServices },
  { name: "conversion of objects", run: brokenConversions },
  { name: "cost of policies", run: dearPolicies },
];

async function brokenDefinitions({ cluster }: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const definitions = await listAll(cluster, "apiextensions", "customresourcedefinitions");
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
    return findings;
  });
}

interface DefinitionSpec {
  readonly group?: string;
  readonly names?: { readonly plural?: string };
  readonly versions?: readonly { readonly name: string; readonly served: boolean; readonly storage: boolean }[];
  readonly conversion?: { readonly webhook?: { readonly clientConfig?: ClientConfig } };
}

/** The number of versions in which an object is read to see whether it can be converted. */
const readVersionsMax = 3;

/** Looks for definitions whose objects cannot be converted. It reads one object in versions that are not stored. */
async function brokenConversions(examined: ExaminedCluster): Promise<readonly DoctorFinding[]> {
  const { cluster, nowMs } = examined;
  const definitions = await listAll(cluster, "apiextensions", "customresourcedefinitions");
  const converted = definitions.flatMap((definition) => {
    const spec = (definition["spec"] ?? {}) as DefinitionSpec; // of a definition
    const { webhook } = spec.conversion ?? {};
    return webhook === undefined ? [] : [{ definition, spec, webhook }];
  });
  if (converted.length === 0) return [];
  const services = await readServices(examined);
  const findings: DoctorFinding[] = [];
  for (const { definition, spec, webhook } of converted) {
    const { url, service } = webhook.clientConfig ?? {};
    const about = `customresourcedefinition/${definition.metadata.name ?? ""} (conversion)`;
    findings.push(...endingSoon(about, webhook.clientConfig, nowMs));
    const reasons = configReasons(webhook.clientConfig, services);
    const failure = await conversionFailure(examined, spec);
    if (reasons.length === 0 && failure === undefined) continue;
    const address = url ?? (service === undefined ? "none" : `service ${service.namespace}/${service.name}`);
    const otherwise = `See that its conversion webhook runs and can be reached by the server (${address}).`;
    findings.push({
      severity: "problem",
      about,
      what: [...reasons.map(({ what }) => what), ...(failure === undefined ? [] : [failure])].join(" "),
      next: reasons.length === 0 ? otherwise : reasons.map(({ next }) => next).join(" "),
    });
  }
  return findings;
}

/** Returns the failure to read an object in another version than the stored one. */
async function conversionFailure(
  { cluster }: ExaminedCluster,
  { group = "", names = {}, versions = [] }: DefinitionSpec,
): Promise<string | undefined> {
  const { resources } = await cluster.discovered();
  const served = resources.filter((one) => one.group === group && one.resource === names.plural);
  const stored = versions.find(({ storage }) => storage)?.name;
  const inStored = served.find(({ version }) => version === stored);
  if (inStored === undefined) return undefined;
  try {
    const path = withQuery(collectionPath(inStored, ""), "limit=1");
    const { items } = await cluster.call<{ readonly items?: readonly Unstructured[] | null }>({ method: "GET", path });
    const { name, namespace } = items?.[0]?.metadata ?? {};
    if (name === undefined) return undefined;
    for (const resource of served.filter((one) => one !== inStored).slice(0, readVersionsMax)) {
      const failure = await readFailure(cluster, cluster.address(resource, name, namespace).path);
      if (failure !== undefined) {
        const where = namespace === undefined ? "" : ` in ${namespace}`;
        const kept = `Its objects are stored as ${stored} and cannot be read as ${resource.version}, such as ${name}${where}`;
        return `${kept}: ${failure}.`;
      }
    }
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code === 403 ? undefined : `Its objects cannot be listed: ${error.said}.`;
  }
}

async function readFailure(cluster: ExaminedCluster["cluster"], path: string): Promise<string | undefined> {
  try {
    await cluster.find(path);
    return undefined;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return error.code === 403 ? undefined : error.said;
  }
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
