/** `binnacle create`: makes roles and bindings in the names of the server's API domain. */
import type { PolicyRule, Subject } from "#api/rbac/v1.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { binnacleFlag, list, optional, type Settings } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command } from "./command.ts";
import { collectionPath, type DiscoveredResource } from "./discovery.ts";
import { clusterFlags, type OpenCluster, shownName, withCluster } from "./open-cluster.ts";
import { ObjectReport, outputFlag, outputOf } from "./output.ts";
import { printWarnings } from "./print.ts";
import { dryMark, dryRunFlag, isDry, writeQuery } from "./write-flags.ts";

const flags = {
  ...clusterFlags,
  verb: list(binnacleFlag("verb"), "verb", "Role: a verb that it allows, such as get; '*' for all. May be repeated."),
  resource: list(
    binnacleFlag("resource"),
    "kind",
    "Role: a kind that it is about, also KIND.GROUP and KIND/SUBRESOURCE. May be repeated.",
  ),
  resourceName: list(
    binnacleFlag("resource-name"),
    "name",
    "Role: the only objects that it is about. May be repeated.",
  ),
  nonResourceUrl: list(
    binnacleFlag("non-resource-url"),
    "path",
    "Cluster role: a path that it is about, such as /metrics.",
  ),
  role: optional(binnacleFlag("role"), "name", "Role binding: the role of its namespace that it gives."),
  clusterrole: optional(binnacleFlag("clusterrole"), "name", "Binding: the cluster role that it gives."),
  user: list(binnacleFlag("user"), "name", "Binding: a user who gets the role. May be repeated."),
  group: list(binnacleFlag("group"), "name", "Binding: a group that gets the role. May be repeated."),
  serviceaccount: list(
    binnacleFlag("serviceaccount"),
    "namespace:name",
    "Binding: a service account that gets the role. May be repeated.",
  ),
  dryRun: dryRunFlag,
  output: outputFlag,
};

const help = `Makes a role or a binding. Groups have the names of the server's API domain, and kinds must exist.

Usage: binnacle create role NAME --verb=VERB --resource=KIND [--resource-name=NAME] [flags]
       binnacle create clusterrole NAME --verb=VERB (--resource=KIND | --non-resource-url=PATH) [flags]
       binnacle create rolebinding NAME (--role=NAME | --clusterrole=NAME) [--user=NAME] [flags]
       binnacle create clusterrolebinding NAME --clusterrole=NAME [--user=NAME] [flags]

  -h, --help                      print this

Examples:
  binnacle create role reader -n shop --verb=get,list,watch --resource=pods,pods/log,deploy
  binnacle create rolebinding readers -n shop --role=reader --user=alice --group=dev --serviceaccount=shop:robot
  binnacle create clusterrole scraper --verb=get --non-resource-url=/metrics -o yaml --dry-run
  binnacle create clusterrolebinding ops --clusterrole=cluster-admin --group=ops

`;

type Asked = Settings<typeof flags>;

const kinds = {
  role: "Role",
  clusterrole: "ClusterRole",
  rolebinding: "RoleBinding",
  clusterrolebinding: "ClusterRoleBinding",
} as const;

/** Runs `binnacle create`. Rejects with `StartError`. */
export const create = command(flags, help, async (settings, rest) => {
  const [word = "", name = "", ...more] = rest;
  const kind = Object.hasOwn(kinds, word) ? kinds[word as keyof typeof kinds] : undefined;
  if (kind === undefined || name === "" || more.length > 0) {
    throw new StartError(
      `create takes one of ${Object.keys(kinds).join(", ")} and a name; binnacle apply -f makes objects of other kinds`,
    );
  }
  const report = new ObjectReport(outputOf(settings.output));
  const isDryRun = isDry(settings.dryRun);
  await withCluster(settings, async (cluster) => {
    const group = await cluster.groupOf("rbac.authorization");
    const resource = await cluster.resource(`${word}s.${group}`);
    const content = word.endsWith("binding")
      ? bindingContent(kind, group, settings)
      : { rules: await rulesOf(cluster, kind, settings) };
    const object = await cluster.call<Unstructured>({
      method: "POST",
      path: collectionPath(resource, cluster.namespace) + writeQuery(isDryRun),
      body: { apiVersion: `${group}/${resource.version}`, kind, metadata: { name }, ...content },
    });
    report.add(shownName(resource, name), `created${dryMark(isDryRun)}`, object);
    report.end();
  });
});

/** Returns a rule for each group of the kinds, as kubectl does, or one for paths. */
async function rulesOf(
  cluster: OpenCluster,
  kind: string,
  { verb: verbs = [], resource = [], resourceName: resourceNames = [], nonResourceUrl: nonResourceURLs = [] }: Asked,
): Promise<readonly PolicyRule[]> {
  if (verbs.length === 0) throw new StartError("say what is allowed: --verb=get,list");
  if (nonResourceURLs.length > 0) {
    if (kind === "Role") throw new StartError("--non-resource-url is for cluster roles: paths are in no namespace");
    if (resource.length > 0) throw new StartError("a role is about kinds or about paths here: make two of them");
    return [{ verbs, nonResourceURLs }];
  }
  if (resource.length === 0) throw new StartError("say what the role is about: --resource=pods");
  const byGroup = new Map<string, string[]>();
  for (const word of resource) {
    const [name = "", ...part] = word.split("/");
    const found = await resourceFor(cluster, name);
    const full = [found.resource, ...part].join("/");
    byGroup.set(found.group, [...(byGroup.get(found.group) ?? []), full]);
    const isUnknown = (verb: string): boolean => verb !== "*" && part.length === 0 && !knows(found, verb);
    for (const verb of verbs.filter(isUnknown)) printWarnings([`${full} have no verb ${verb}`]);
  }
  return Array.from(byGroup, ([group, resources]) => ({
    verbs,
    apiGroups: [group],
    resources,
    ...(resourceNames.length === 0 ? {} : { resourceNames }),
  }));
}

type NamedResource = Pick<DiscoveredResource, "group" | "resource" | "verbs">;

async function resourceFor(cluster: OpenCluster, word: string): Promise<NamedResource> {
  return word === "*" ? { group: "*", resource: "*", verbs: [] } : cluster.resource(word);
}

/** Verbs that no resource lists, since they are no requests. */
const otherVerbs = ["use", "bind", "escalate", "impersonate", "approve", "sign", "attest"];

const knows = ({ resource, verbs }: NamedResource, verb: string): boolean =>
  resource === "*" || verbs.includes(verb) || otherVerbs.includes(verb);

function bindingContent(kind: string, group: string, asked: Asked): object {
  const { role, clusterrole, user = [], group: groups = [], serviceaccount = [] } = asked;
  if (kind === "ClusterRoleBinding" && role !== undefined) {
    throw new StartError("a cluster role binding gives a cluster role: --clusterrole=NAME");
  }
  if ((role === undefined) === (clusterrole === undefined)) {
    const choice = kind === "RoleBinding" ? "--role=NAME or --clusterrole=NAME, one of them" : "--clusterrole=NAME";
    throw new StartError(`say which role is given: ${choice}`);
  }
  const subjects: readonly Subject[] = [
    ...user.map((name) => ({ apiGroup: group, kind: "User", name })),
    ...groups.map((name) => ({ apiGroup: group, kind: "Group", name })),
    ...serviceaccount.map(accountOf),
  ];
  const named = role === undefined ? { kind: "ClusterRole", name: clusterrole } : { kind: "Role", name: role };
  return { roleRef: { apiGroup: group, ...named }, subjects };
}

function accountOf(text: string): Subject {
  const [namespace = "", name = "", ...more] = text.split(":");
  if (namespace === "" || name === "" || more.length > 0) {
    throw new StartError(`invalid value ${JSON.stringify(text)} for --serviceaccount: must be NAMESPACE:NAME`);
  }
  return { kind: "ServiceAccount", namespace, name };
}
