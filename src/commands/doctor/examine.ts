/** All checks of `binnacle doctor`, and what they found. */
import { ApiError } from "#client/api-error.ts";
import { StartError } from "#std/start-error.ts";
import type { OpenCluster } from "../open-cluster.ts";
import { allMetadata, unreadTexts } from "../explain/all-metadata.ts";
import { untoldBy } from "../explain/old-servers.ts";
import { extensionChecks } from "./extension-checks.ts";
import type { DoctorCheck, DoctorFinding, ExaminedCluster } from "./finding.ts";
import { objectChecks } from "./object-checks.ts";
import { Samples } from "./samples.ts";
import { serverChecks } from "./server-checks.ts";
import { webhookChecks } from "./webhook-checks.ts";

const checks: readonly DoctorCheck[] = [...serverChecks, ...extensionChecks, ...webhookChecks, ...objectChecks];

/** A finding, with the title of the check that found it. */
interface Found extends DoctorFinding {
  readonly check: string;
}

export interface Report {
  readonly findings: readonly Found[];
  readonly checks: readonly string[];
  /** Sentences about things that could not be looked at. */
  readonly unread: readonly string[];
}

/** Looks at a cluster. `nowMs` is the time by which ages are counted. */
export async function examine(cluster: OpenCluster, nowMs: number): Promise<Report> {
  const unread: string[] = [];
  const found = await allMetadata(cluster, "");
  const examined: ExaminedCluster = { cluster, found, metrics: await readMetrics(cluster, unread), nowMs };
  const findings: Found[] = [];
  for (const check of checks) {
    try {
      for (const one of await check.run(examined)) findings.push({ check: check.name, ...one });
    } catch (error) {
      if (!(error instanceof StartError || error instanceof ApiError)) throw error;
      unread.push(`${check.name}: ${error.message}`);
    }
  }
  const bySeverity = (one: DoctorFinding, other: DoctorFinding): number =>
    Number(one.severity === "warning") - Number(other.severity === "warning");
  // A definition whose objects cannot be read is a finding.
  const isFound = (kind: string): boolean =>
    findings.some(({ about }) => about.startsWith(`customresourcedefinition/${kind} `));
  unread.unshift(
    ...(await untoldBy(cluster, "doctor")),
    ...unreadTexts(found.unread.filter(({ kind }) => !isFound(kind))),
  );
  return { findings: findings.sort(bySeverity), checks: checks.map(({ name }) => name), unread };
}

async function readMetrics(cluster: OpenCluster, unread: string[]): Promise<Samples> {
  try {
    return new Samples(
      (await cluster.rest.bytes({ method: "GET", path: "/metrics", accept: "text/plain" })).toString(),
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    unread.push(`metrics: ${error.said}`);
    return new Samples(undefined);
  }
}
