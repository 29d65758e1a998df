/** `binnacle who can`: the users, groups and service accounts that roles allow to do something. */
import { actionWords } from "#authz/access-explanation.ts";
import type { Attributes } from "#authz/authorizer.ts";
import { bindingText, type Grant, reaches, roleText, subjectText } from "#authz/grants.ts";
import { allows, type PreparedRule, ruleResource } from "#authz/rules.ts";
import { groupMasters } from "#meta/user-info.ts";
import { binnacleFlag, boolean, optional, withShort } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { isColoured, printWarnings, tableText, valueText } from "./print.ts";
import { askedAction } from "./explain/asked-action.ts";
import { readGrants } from "./explain/grants.ts";
import { untoldBy } from "./explain/old-servers.ts";

const flags = {
  ...clusterFlags,
  allNamespaces: withShort(
    boolean(binnacleFlag("all-namespaces"), false, "Asks who can do it in any namespace, and shows in which."),
    "A",
  ),
  subresource: optional(binnacleFlag("subresource"), "name", "Asks about a subresource, such as log or status."),
  output: formFlag(["table", "json", "yaml"], "A table, or the same as data."),
};

const help = `Says who can do something: the users, groups and service accounts to whom roles allow it.

Usage: binnacle who can VERB KIND[/NAME] [flags]
       binnacle who can VERB /PATH [flags]

  VERB                            get, list, watch, create, update, patch, delete, deletecollection, …
  KIND                            plural, singular or short name of a kind, also with .GROUP
  -h, --help                      print this

It reads the roles and bindings of the cluster, which takes the right to list them. What other authorizers allow, such
as a webhook, no role says.

Examples:
  binnacle who can delete secrets -n shop
  binnacle who can update deployments/web -n shop
  binnacle who can create pods --subresource=exec -A
  binnacle who can get /metrics

`;

/** Somebody who can, and why. */
interface Holder {
  readonly subject: string;
  /** The namespace in which it is allowed; empty for the whole cluster. */
  readonly namespace: string;
  readonly binding: string;
  readonly role: string;
  /** The names of objects to which it is limited; empty for all objects. */
  readonly only: readonly string[];
}

/** Runs `binnacle who can`. Rejects with `StartError`. */
export const who = command(flags, help, async (settings, [word = "", ...rest]) => {
  if (word !== "can") throw new StartError("ask who can do something: binnacle who can VERB KIND");
  const { output = "table", allNamespaces: isEverywhere = false, subresource = "" } = settings;
  await withCluster(settings, async (cluster) => {
    const action = await askedAction(cluster, { rest, subresource, isEverywhere, command: "who can" });
    const grants = await readGrants(cluster, action.namespace);
    const holders = grants.flatMap((grant) => holdersOf(grant, action, isEverywhere));
    const unknown = await untoldBy(cluster, "who can");
    if (isStructured(output)) {
      process.stdout.write(
        valueText(output, { action: actionWords(action), always: [`Group ${groupMasters}`], holders, unknown }),
      );
      return;
    }
    printWarnings(unknown);
    process.stdout.write(holdersText(holders, action, isColoured(process.stdout)));
  });
});

/** Returns the subjects of a binding that allows the action. */
function holdersOf(grant: Grant, action: Attributes, isEverywhere: boolean): readonly Holder[] {
  if (!isEverywhere && !reaches(grant, action)) return [];
  if (!action.isResourceRequest && grant.namespace !== "") return [];
  const resource = ruleResource(action);
  const allowing = (grant.rules ?? []).filter((rule) => allowsSome(rule, action, resource));
  if (allowing.length === 0) return [];
  const isWhole = allowing.some(({ names: only }) => only === undefined || only.has(action.name));
  const only = isWhole ? [] : [...new Set(allowing.flatMap(({ rule }) => rule.resourceNames ?? []))].sort();
  const { namespace } = grant;
  const rest = { namespace, binding: bindingText(grant), role: roleText(grant), only };
  return grant.subjects.map((subject) => ({ subject: subjectText(subject, namespace), ...rest }));
}

/** Whether a rule allows the action, or for an action without a name, at least for some names. */
const allowsSome = (rule: PreparedRule, action: Attributes, resource: string): boolean =>
  allows(action.name === "" ? { ...rule, names: undefined } : rule, action, resource);

function holdersText(holders: readonly Holder[], action: Attributes, colours: boolean): string {
  const always = `Members of the group ${groupMasters} can always, whatever roles say.\n`;
  if (holders.length === 0) return `No role allows anybody to ${actionWords(action)}.\n${always}`;
  const hasNames = holders.some(({ only }) => only.length > 0);
  const rows = holders.map(({ subject, namespace, binding, role, only }) => [
    subject,
    namespace === "" ? "whole cluster" : namespace,
    ...(hasNames ? [only.length === 0 ? "all" : only.join(", ")] : []),
    binding,
    role,
  ]);
  const head = ["WHO", "WHERE", ...(hasNames ? ["WHICH"] : []), "THROUGH", "ROLE"];
  return `${tableText([head, ...rows.sort(byCells)], colours)}${always}`;
}

const byCells = (one: readonly string[], other: readonly string[]): number =>
  one.join(" ") < other.join(" ") ? -1 : 1;
