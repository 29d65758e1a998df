/** `binnacle certificate`: approves or denies requests for certificates. */
import { isObject } from "#std/is-object.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { timestampOf } from "#meta/time.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, boolean, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command } from "./command.ts";
import { clusterFlags, type ObjectAddress, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { ObjectReport, outputFlag, outputOf } from "./output.ts";
import { writeQuery } from "./write-flags.ts";

const flags = {
  ...clusterFlags,
  reason: text(binnacleFlag("reason"), "BinnacleCommand", "word", "The reason that the condition gives, one word."),
  message: text(
    binnacleFlag("message"),
    "decided with binnacle certificate",
    "sentence",
    "The message that the condition gives.",
  ),
  force: boolean(binnacleFlag("force"), false, "Writes the condition again if it is there already."),
  output: outputFlag,
};

const help = `Approves or denies requests for certificates. A decision cannot be taken back.

Usage: binnacle certificate approve NAME... [flags]
       binnacle certificate deny NAME... [flags]

  NAME                            name of a CertificateSigningRequest
  -h, --help                      print this

Examples:
  binnacle get csr
  binnacle certificate approve alice
  binnacle certificate deny mallory --reason=Unknown --message='nobody knows mallory'

`;

const decisions = { approve: "Approved", deny: "Denied" } as const;
const done = { approve: "approved", deny: "denied" } as const;

/** Runs `binnacle certificate`. Rejects with `StartError`. */
export const certificate = command(flags, help, async (settings, rest) => {
  const [verb, ...names] = rest;
  if ((verb !== "approve" && verb !== "deny") || names.length === 0) {
    throw new StartError("certificate takes a decision and names: binnacle certificate approve|deny NAME...");
  }
  const report = new ObjectReport(outputOf(settings.output));
  const { reason = flags.reason.default, message = flags.message.default, force = false } = settings;
  await withCluster(settings, async (cluster) => {
    const group = await cluster.groupOf("certificates");
    const resource = await cluster.resource(`certificatesigningrequests.${group}`);
    for (const name of names) {
      const address = cluster.address(resource, name);
      const condition = { type: decisions[verb], status: "True", reason, message };
      report.add(shownName(resource, name), done[verb], await decide(cluster, address, condition, force));
    }
    report.end();
  });
});

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** Writes the condition, unless it is there. A request that somebody has changed meanwhile is refused by the server. */
async function decide(
  cluster: OpenCluster,
  { path }: ObjectAddress,
  condition: Condition,
  force: boolean,
): Promise<Unstructured> {
  const request = await cluster.call<Unstructured>({ method: "GET", path });
  const status = isObject(request["status"]) ? request["status"] : {};
  const conditions: readonly unknown[] = Array.isArray(status["conditions"]) ? status["conditions"] : [];
  const isSame = (one: unknown): boolean => isObject(one) && one["type"] === condition.type;
  const present = conditions.find(isSame);
  if (present !== undefined && !force) return request;
  const lastUpdateTime = timestampOf(systemClock.now());
  const decided = { ...(isObject(present) ? present : {}), ...condition, lastUpdateTime };
  return cluster.call<Unstructured>({
    method: "PUT",
    path: `${path}/approval${writeQuery(false)}`,
    body: { ...request, status: { ...status, conditions: [...conditions.filter((one) => !isSame(one)), decided] } },
  });
}
