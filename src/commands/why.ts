/** `binnacle why`: whether somebody may do something, which rule allows it, or what comes nearest and what would allow it. */
import type { Attributes } from "#authz/authorizer.ts";
import { allows, type PreparedRule, ruleResource } from "#authz/rules.ts";
import { countOf, isElsewhere, otherKind, shortfall, shortfallWords } from "#authz/shortfall.ts";
import { ApiError } from "#client/api-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { groupAuthenticated, type UserInfo } from "#meta/user-info.ts";
import { binnacleFlag, boolean, optional, withShort } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, type OpenCluster, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { valueText } from "./print.ts";
import { actionWords, askedAction } from "./explain/asked-action.ts";
import { bindingText, type Grant, names, reaches, readGrants, roleText, ruleWords } from "./explain/grants.ts";

const flags = {
  ...clusterFlags,
  allNamespaces: withShort(boolean(binnacleFlag("all-namespaces"), false, "Asks about all namespaces at once."), "A"),
  subresource: optional(binnacleFlag("subresource"), "name", "Asks about a subresource, such as log or status."),
  output: formFlag(["text", "json", "yaml"], "Sentences, or the same as data."),
};

const help = `Says why you, or the user of --as, may do something or may not: the rule that allows it, or the rules that come nearest,
what they lack, and the objects that would allow it.

Usage: binnacle why VERB KIND[/NAME] [flags]
       binnacle why VERB /PATH [flags]

  VERB                            get, list, watch, create, update, patch, delete, deletecollection, …
  KIND                            plural, singular or short name of a kind, also with .GROUP
  -h, --help                      print this

The server decides, and roles and bindings explain its decision, which takes the right to list them. The exit code is 0
for allowed and 1 for not allowed.

Examples:
  binnacle why list pods -n shop
  binnacle why delete secrets/token -n shop --as=alice --as-group=dev
  binnacle why get pods --subresource=log --as=system:serviceaccount:shop:robot -n shop
  binnacle why get /metrics --as=alice

`;

/** The names of the reviews, which servers of every API domain have. */
const authorization = "authorization.k8s.io/v1";
const authentication = "authentication.k8s.io/v1";

/** The number of rules that are shown as nearest. */
const nearestMax = 3;

/** A rule of a role that a binding gives to the user. */
interface HeldRule {
  readonly grant: Grant;
  readonly rule: PreparedRule;
}

interface NearRule extends HeldRule {
  readonly lacks: number;
}

interface Decision {
  readonly allowed: boolean;
  /** The server's own words; they may be empty. */
  readonly reason: string;
}

/** Runs `binnacle why`; ends the process with 1 if the action is not allowed. Rejects with `StartError`. */
export const why = command(flags, help, async (settings, rest) => {
  const { output = "text", allNamespaces: isEverywhere = false, subresource = "" } = settings;
  const { as: name, asGroup: groups = [], ...own } = settings;
  if (name === undefined && groups.length > 0)
    throw new StartError("--as-group needs the user who is in the group: add --as USER");
  // The roles are read as the caller, who may know more than the user that is asked about.
  await withCluster(own, async (cluster) => {
    const action = await askedAction(cluster, { rest, subresource, isEverywhere, command: "why" });
    const user = name === undefined ? await callerOf(cluster) : { name, groups: withImplied(name, groups) };
    const attributes = { ...action, user };
    const decision = await decide(cluster, attributes, name === undefined);
    const explanation = explain(await readGrants(cluster, action.namespace), attributes, decision);
    const group = await cluster.groupOf("rbac.authorization");
    const suggestion = decision.allowed ? [] : wouldAllow(attributes, group);
    process.stdout.write(
      isStructured(output)
        ? valueText(output, asData(attributes, decision, explanation, suggestion))
        : asText(attributes, decision, explanation, suggestion),
    );
    if (!decision.allowed) process.exitCode = 1;
  });
});

/** Returns the groups of a user who is asked about, with those that every server adds. */
function withImplied(name: string, groups: readonly string[]): readonly string[] {
  const [, namespace] = /^system:serviceaccount:([^:]+):[^:]+$/.exec(name) ?? [];
  const ofAccount = namespace === undefined ? [] : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
  return [...new Set([...groups, ...ofAccount, ...(name === "system:anonymous" ? [] : [groupAuthenticated])])];
}

/** Returns who asks. Rejects with `StartError` where the server does not say it. */
async function callerOf(cluster: OpenCluster): Promise<UserInfo> {
  interface Review {
    readonly status?: { readonly userInfo?: { readonly username?: string; readonly groups?: readonly string[] } };
  }
  try {
    const review = await cluster.call<Review>({
      method: "POST",
      path: `/apis/${authentication}/selfsubjectreviews`,
      body: { apiVersion: authentication, kind: "SelfSubjectReview" },
    });
    const { username = "", groups = [] } = review.status?.userInfo ?? {};
    return { name: username, groups };
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 404) throw error;
    throw new StartError(
      "the server does not say who you are, as before 1.28: name the user with --as and --as-group",
      {
        cause: error,
      },
    );
  }
}

/** Asks the server, which decides by all of its authorizers. */
async function decide(cluster: OpenCluster, attributes: Attributes, isOwn: boolean): Promise<Decision> {
  interface Review {
    readonly status?: { readonly allowed?: boolean; readonly reason?: string; readonly evaluationError?: string };
  }
  const { user, isResourceRequest, verb, path, group, resource, subresource, name, namespace } = attributes;
  const action = isResourceRequest
    ? { resourceAttributes: { verb, group, resource, subresource, name, namespace } }
    : { nonResourceAttributes: { verb, path } };
  const kind = isOwn ? "SelfSubjectAccessReview" : "SubjectAccessReview";
  const who = isOwn ? {} : { user: user.name, groups: user.groups };
  const review = await cluster.call<Review>({
    method: "POST",
    path: `/apis/${authorization}/${kind.toLowerCase()}s`,
    body: { apiVersion: authorization, kind, spec: { ...who, ...action } },
  });
  const { allowed = false, reason = "", evaluationError = "" } = review.status ?? {};
  return { allowed, reason: [reason, evaluationError].filter((text) => text !== "").join("; ") };
}

interface Explanation {
  /** The rules that allow it. */
  readonly allowing: readonly HeldRule[];
  /** The rules that come nearest to it, the nearest first; those that lack everything are left out. */
  readonly nearest: readonly NearRule[];
  /** The number of bindings of the user that count for the action. */
  readonly bindings: number;
  /** Bindings of the user whose role does not exist. */
  readonly dangling: readonly Grant[];
}

function explain(grants: readonly Grant[], attributes: Attributes, { allowed }: Decision): Explanation {
  const own = grants.filter(
    (grant) =>
      reaches(grant, attributes) && grant.subjects.some((subject) => names(subject, grant.namespace, attributes)),
  );
  const resource = ruleResource(attributes);
  const held = own.flatMap((grant) => (grant.rules ?? []).map((rule) => ({ grant, rule })));
  const allowing = held.filter(({ grant, rule }) => counts(grant, attributes) && allows(rule, attributes, resource));
  const worst = attributes.isResourceRequest ? 3 : 2;
  const near = held
    .map((one): NearRule => ({ ...one, lacks: shortfall(one.rule, attributes, resource) }))
    .filter(({ lacks }) => lacks !== otherKind && lacks !== 0 && countOf(lacks) < worst)
    .sort((one, other) => distance(one) - distance(other));
  return {
    allowing,
    nearest: allowed || allowing.length > 0 ? [] : near.slice(0, nearestMax),
    bindings: own.length,
    dangling: own.filter(({ rules }) => rules === undefined),
  };
}

/** Returns how far a rule is from allowing the action: a rule for the same resource is nearer. */
const distance = ({ lacks }: NearRule): number => countOf(lacks) * 2 + (isElsewhere(lacks) ? 1 : 0);

/** Whether rules of a binding count: those for paths do in cluster bindings alone. */
const counts = ({ namespace }: Grant, { isResourceRequest }: Attributes): boolean =>
  isResourceRequest || namespace === "";

/** Returns the role and the binding that would allow exactly the action. */
function wouldAllow(attributes: Attributes, group: string): readonly Unstructured[] {
  const { user, isResourceRequest, verb, path, name, namespace } = attributes;
  const rule = isResourceRequest
    ? {
        apiGroups: [attributes.group],
        resources: [ruleResource(attributes)],
        // The name of an object that is not there yet is not known when the server decides.
        ...(name === "" || verb === "create" ? {} : { resourceNames: [name] }),
        verbs: [verb],
      }
    : { nonResourceURLs: [path], verbs: [verb] };
  const isLocal = namespace !== "";
  const thing = isResourceRequest ? ruleResource(attributes).replaceAll("/", "-") : "path";
  const roleName = `${verb}-${thing}`.replaceAll("*", "all");
  const metadata = { name: roleName, ...(isLocal ? { namespace } : {}) };
  const kind = isLocal ? "Role" : "ClusterRole";
  const apiVersion = `${group}/v1`;
  return [
    { apiVersion, kind, metadata, rules: [rule] },
    {
      apiVersion,
      kind: `${kind}Binding`,
      metadata,
      roleRef: { apiGroup: group, kind, name: roleName },
      subjects: [subjectOf(user, group)],
    },
  ];
}

function subjectOf({ name }: UserInfo, apiGroup: string): object {
  const [, namespace, account] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name) ?? [];
  return account === undefined
    ? { apiGroup, kind: "User", name }
    : { kind: "ServiceAccount", namespace, name: account };
}

const heldData = ({ grant, rule }: HeldRule): object => ({
  binding: bindingText(grant),
  role: roleText(grant),
  rule: rule.rule,
});

function asData(
  attributes: Attributes,
  { allowed, reason }: Decision,
  { allowing, nearest, dangling }: Explanation,
  suggestion: readonly Unstructured[],
): object {
  const resource = ruleResource(attributes);
  return {
    user: { name: attributes.user.name, groups: attributes.user.groups },
    action: actionWords(attributes),
    allowed,
    reason,
    allowing: allowing.map(heldData),
    nearest: nearest.map((one) => ({ ...heldData(one), lacks: shortfallWords(one.lacks, attributes, resource) })),
    missingRoles: dangling.map((grant) => ({ binding: bindingText(grant), role: roleText(grant) })),
    wouldAllow: suggestion,
  };
}

function asText(
  attributes: Attributes,
  { allowed, reason }: Decision,
  { allowing, nearest, bindings, dangling }: Explanation,
  suggestion: readonly Unstructured[],
): string {
  const who = JSON.stringify(attributes.user.name);
  const lines = [`${who} ${allowed ? "may" : "may not"} ${actionWords(attributes)}.`];
  for (const { grant, rule } of allowing) {
    lines.push(`  ${bindingText(grant)} gives ${roleText(grant)}, which allows: ${ruleWords(rule.rule)}`);
  }
  if (allowed && allowing.length === 0) {
    lines.push(
      `  No role says so. The server's reason: ${reason === "" ? "it gives none; members of system:masters may do everything" : reason}`,
    );
  }
  if (!allowed && allowing.length > 0) {
    lines.push(
      `  Roles would allow it, but another authorizer of the server refuses it${reason === "" ? "." : `: ${reason}`}`,
    );
  }
  if (!allowed && allowing.length === 0) {
    lines.push(`  ${bindingsText(bindings, attributes)}`);
    const resource = ruleResource(attributes);
    for (const { grant, rule, lacks } of nearest) {
      lines.push(
        `  Near: ${bindingText(grant)} gives ${roleText(grant)}: ${ruleWords(rule.rule)}`,
        `        It lacks the ${shortfallWords(lacks, attributes, resource).join(" and the ")}.`,
      );
    }
    for (const grant of dangling) lines.push(`  ${bindingText(grant)} names ${roleText(grant)}, which does not exist.`);
    lines.push("", "These objects would allow it (binnacle apply -f -):", "");
    return `${lines.join("\n")}\n${suggestion.map((object) => `---\n${valueText("yaml", object)}`).join("")}`;
  }
  return `${lines.join("\n")}\n`;
}

function bindingsText(bindings: number, { namespace, user }: Attributes): string {
  const where = namespace === "" ? "" : ` or of namespace ${namespace}`;
  const groups = user.groups.length === 0 ? "" : ` (groups: ${user.groups.join(", ")})`;
  if (bindings === 0) return `No binding of the cluster${where} names this user${groups}.`;
  return `${bindings} ${bindings === 1 ? "binding" : "bindings"} of the cluster${where} ${bindings === 1 ? "names" : "name"} this user${groups}, and no rule allows it.`;
}
