/** `binnacle auth can-i`: whether the caller may do something, or everything that the caller may do in a namespace. */
import type { PolicyRule } from "#api/rbac/v1.ts";
import { binnacleFlag, boolean, optional, type Settings, withShort } from "#std/flags.ts";
import { printable } from "#std/printable.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "../command.ts";
import { meantResource } from "../explain/asked-action.ts";
import { clusterFlags, type OpenCluster, withCluster } from "../open-cluster.ts";
import { isStructured } from "../output.ts";
import { printWarnings, tableText, valueText } from "../print.ts";

const flags = {
  ...clusterFlags,
  allNamespaces: withShort(boolean(binnacleFlag("all-namespaces"), false, "Asks about all namespaces at once."), "A"),
  subresource: optional(binnacleFlag("subresource"), "name", "Asks about a subresource, such as log or status."),
  list: boolean(binnacleFlag("list"), false, "Lists everything that is allowed in the namespace."),
  quiet: withShort(boolean(binnacleFlag("quiet"), false, "Prints nothing: the exit code is the answer."), "q"),
  noHeaders: boolean(binnacleFlag("no-headers"), false, "Leaves out the head of the list."),
  output: formFlag(["text", "json", "yaml"], "Yes or no, or the answer of the server."),
};

const help = `Says whether you, or the user of --as, may do something. The exit code is 0 for yes and 1 for no.

Usage: binnacle auth can-i VERB KIND [NAME] [flags]
       binnacle auth can-i VERB KIND/NAME [flags]
       binnacle auth can-i VERB /PATH [flags]
       binnacle auth can-i --list [flags]

  VERB                            get, list, watch, create, update, patch, delete, deletecollection, … or '*'
  KIND                            plural, singular or short name of a kind, also with .GROUP; '*' means all
  -h, --help                      print this

Examples:
  binnacle auth can-i create deployments -n shop
  binnacle auth can-i get pods --subresource=log --as=alice --as-group=dev
  binnacle auth can-i update secrets/token -n shop -q && echo yes
  binnacle auth can-i get /metrics
  binnacle auth can-i --list --as=system:serviceaccount:shop:robot -n shop

`;

/** The paths of the reviews, which servers of every API domain have in these names. */
const apiVersion = "authorization.k8s.io/v1";
const accessPath = `/apis/${apiVersion}/selfsubjectaccessreviews`;
const rulesPath = `/apis/${apiVersion}/selfsubjectrulesreviews`;

interface AccessReview {
  readonly status?: { readonly allowed?: boolean; readonly reason?: string; readonly evaluationError?: string };
}

interface RulesReview {
  readonly status?: {
    readonly resourceRules?: readonly PolicyRule[];
    readonly nonResourceRules?: readonly PolicyRule[];
    readonly incomplete?: boolean;
    readonly evaluationError?: string;
  };
}

/** Runs `binnacle auth can-i`; ends the process with 1 if the answer is no. Rejects with `StartError`. */
export const canI = command(flags, help, async (settings, rest) => {
  if (settings.list === true) {
    if (rest.length > 0) throw new StartError("--list takes no verb and no kind: binnacle auth can-i --list");
    return withCluster(settings, (cluster) => listRules(cluster, settings));
  }
  const [verb = "", what = "", name, ...more] = rest;
  if (verb === "" || what === "" || more.length > 0) {
    throw new StartError("can-i takes a verb and a kind: binnacle auth can-i VERB KIND[/NAME], or --list");
  }
  await withCluster(settings, async (cluster) => {
    const spec = what.startsWith("/")
      ? pathSpec(verb, what, settings)
      : await resourceSpec(cluster, { verb, what, name }, settings);
    const review = await cluster.call<AccessReview>({
      method: "POST",
      path: accessPath,
      body: { apiVersion, kind: "SelfSubjectAccessReview", spec },
    });
    const { output = "text", quiet = false } = settings;
    if (!quiet) process.stdout.write(isStructured(output) ? valueText(output, review) : answerText(review));
    if (review.status?.allowed !== true) process.exitCode = 1;
  });
});

function answerText({ status = {} }: AccessReview): string {
  const { allowed = false, reason = "", evaluationError = "" } = status;
  if (allowed) return "yes\n";
  return `${["no", reason, evaluationError]
    .filter((text) => text !== "")
    .map(printable)
    .join(" - ")}\n`;
}

function pathSpec(verb: string, path: string, { subresource }: Settings<typeof flags>): object {
  if (subresource !== undefined) throw new StartError("--subresource is for kinds: a path has none");
  return { nonResourceAttributes: { verb, path } };
}

interface Question {
  readonly verb: string;
  readonly what: string;
  readonly name: string | undefined;
}

async function resourceSpec(
  cluster: OpenCluster,
  { verb, what, name }: Question,
  { allNamespaces = false, subresource }: Settings<typeof flags>,
): Promise<object> {
  const slash = what.indexOf("/");
  if (slash >= 0 && name !== undefined) throw new StartError("name the object once: KIND/NAME or KIND NAME");
  const word = slash < 0 ? what : what.slice(0, slash);
  const objectName = slash < 0 ? name : what.slice(slash + 1);
  const { group, resource, namespaced } = await meantResource(cluster, word);
  if (!namespaced && cluster.isNamespaceGiven) printWarnings([`${resource} are not in namespaces`]);
  return {
    resourceAttributes: {
      verb,
      group,
      resource,
      ...(subresource === undefined ? {} : { subresource }),
      ...(objectName === undefined ? {} : { name: objectName }),
      ...(allNamespaces || !namespaced ? {} : { namespace: cluster.namespace }),
    },
  };
}

async function listRules(cluster: OpenCluster, settings: Settings<typeof flags>): Promise<void> {
  const { output = "text", noHeaders = false } = settings;
  const body = { apiVersion, kind: "SelfSubjectRulesReview", spec: { namespace: cluster.namespace } };
  const review = await cluster.call<RulesReview>({ method: "POST", path: rulesPath, body });
  const { incomplete = false, evaluationError = "" } = review.status ?? {};
  if (incomplete) printWarnings([`the list may be incomplete${evaluationError === "" ? "" : `: ${evaluationError}`}`]);
  process.stdout.write(isStructured(output) ? valueText(output, review) : rulesText(review, noHeaders));
}

const head = ["Resources", "Non-Resource URLs", "Resource Names", "Verbs"];

/** Returns a table with a row for each resource and list of names, whose verbs are joined. */
function rulesText({ status = {} }: RulesReview, noHeaders: boolean): string {
  const { resourceRules = [], nonResourceRules = [] } = status;
  const rows = new Map<string, { cells: readonly string[]; verbs: Set<string> }>();
  const add = (cells: readonly string[], verbs: readonly string[] | null): void => {
    const key = JSON.stringify(cells);
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { cells, verbs: new Set(verbs) });
    else for (const verb of verbs ?? []) row.verbs.add(verb);
  };
  for (const { apiGroups = [], resources = [], resourceNames = [], verbs } of resourceRules) {
    for (const group of apiGroups) {
      for (const resource of resources) {
        add([group === "" ? resource : `${resource}.${group}`, "[]", `[${resourceNames.join(" ")}]`], verbs);
      }
    }
  }
  for (const { nonResourceURLs = [], verbs } of nonResourceRules) {
    for (const url of nonResourceURLs) add(["", `[${url}]`, "[]"], verbs);
  }
  const sorted = Array.from(rows.values()).sort((a, b) => (a.cells.join(" ") < b.cells.join(" ") ? -1 : 1));
  const lines = sorted.map(({ cells, verbs }) => [...cells, `[${Array.from(verbs).join(" ")}]`]);
  return tableText(noHeaders ? lines : [head, ...lines], false);
}
