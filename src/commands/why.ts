/** `binnacle why`: whether somebody may do something, which rule allows it, or what comes nearest and what would allow it. */
import {
  type AccessExplanation,
  actionWords,
  explainAccess,
  type HeldRule,
  withImplied,
  wouldAllow,
} from "#authz/access-explanation.ts";
import type { Attributes } from "#authz/authorizer.ts";
import { bindingText, roleText, ruleWords } from "#authz/grants.ts";
import { ruleResource } from "#authz/rules.ts";
import { shortfallWords } from "#authz/shortfall.ts";
import { ApiError } from "#client/api-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { binnacleFlag, boolean, optional, withShort } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { command, formFlag } from "./command.ts";
import { clusterFlags, type OpenCluster, withCluster } from "./open-cluster.ts";
import { isStructured } from "./output.ts";
import { valueText } from "./print.ts";
import { askedAction } from "./explain/asked-action.ts";
import { rbacGroup, readGrants } from "./explain/grants.ts";
import { untoldBy } from "./explain/old-servers.ts";

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
    const attributes = { ...action, user: user ?? nobody };
    const decision = await decide(cluster, attributes, name === undefined);
    const answer: Answer = { attributes, decision, ...(await explain(cluster, attributes, decision)) };
    process.stdout.write(isStructured(output) ? valueText(output, asData(answer)) : asText(answer));
    if (!decision.allowed) process.exitCode = 1;
  });
});

/** The user of a caller whom the server does not name. */
const nobody: UserInfo = { name: "", groups: [] };

/** A decision with all that is known of its reasons. */
interface Answer {
  readonly attributes: Attributes;
  readonly decision: Decision;
  /** `undefined` where it cannot be said. */
  readonly explanation: AccessExplanation | undefined;
  /** The objects that would allow the action. */
  readonly suggestion: readonly Unstructured[];
  /** Sentences about what cannot be known. */
  readonly unknown: readonly string[];
}

/** Explains a decision as far as the server and the rights of the caller let it. */
async function explain(
  cluster: OpenCluster,
  attributes: Attributes,
  { allowed }: Decision,
): Promise<Pick<Answer, "explanation" | "suggestion" | "unknown">> {
  const untold = await untoldBy(cluster, "why");
  if (attributes.user === nobody) {
    const unnamed = "which rule decides is not known, since the server does not say who you are, as before 1.28";
    return {
      explanation: undefined,
      suggestion: [],
      unknown: [...untold, `${unnamed}: name yourself with --as and --as-group`],
    };
  }
  try {
    const suggestion = allowed ? [] : wouldAllow(attributes, await rbacGroup(cluster));
    try {
      const grants = await readGrants(cluster, attributes.namespace);
      return { explanation: explainAccess(grants, attributes, allowed), suggestion, unknown: untold };
    } catch (error) {
      if (!(error instanceof StartError)) throw error;
      return { explanation: undefined, suggestion, unknown: [...untold, error.message] };
    }
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    return { explanation: undefined, suggestion: [], unknown: [...untold, error.message] };
  }
}

/** Returns who asks; `undefined` where the server does not say it. */
async function callerOf(cluster: OpenCluster): Promise<UserInfo | undefined> {
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
    // Clusters may take away the right to ask it.
    if (!(error instanceof ApiError) || (error.code !== 404 && error.code !== 403)) throw error;
    return undefined;
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
  const reviewsPath = `/apis/${authorization}/${kind.toLowerCase()}s`;
  const body = { apiVersion: authorization, kind, spec: { ...who, ...action } };
  const review = await cluster.call<Review>({ method: "POST", path: reviewsPath, body }).catch((error: unknown) => {
    if (!(error instanceof ApiError) || error.code !== 404) throw error;
    throw new StartError(`the server answers no questions about access: it has no ${authorization}`, { cause: error });
  });
  const { allowed = false, reason = "", evaluationError = "" } = review.status ?? {};
  return { allowed, reason: [reason, evaluationError].filter((text) => text !== "").join("; ") };
}

const heldData = ({ grant, rule }: HeldRule): object => ({
  binding: bindingText(grant),
  role: roleText(grant),
  rule: rule.rule,
});

function asData({ attributes, decision: { allowed, reason }, explanation, suggestion, unknown }: Answer): object {
  const { allowing = [], nearest = [], dangling = [] } = explanation ?? {};
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
    unknown,
  };
}

function asText({ attributes, decision, explanation, suggestion, unknown }: Answer): string {
  const who = attributes.user === nobody ? "You" : JSON.stringify(attributes.user.name);
  const lines = [`${who} ${decision.allowed ? "may" : "may not"} ${actionWords(attributes)}.`];
  if (explanation === undefined && decision.reason !== "") lines.push(`  The server's reason: ${decision.reason}`);
  if (explanation !== undefined) lines.push(...explanationLines(attributes, decision, explanation));
  if (decision.allowed && attributes.isResourceRequest && writes.has(attributes.verb)) {
    lines.push(
      "  A quota, a webhook or a policy may refuse it all the same, and then the error names it: binnacle doctor",
    );
  }
  for (const text of unknown) lines.push(`  Not known: ${text}`);
  const isRefusedOtherwise = explanation !== undefined && explanation.allowing.length > 0;
  if (suggestion.length > 0 && !isRefusedOtherwise) {
    lines.push("", "These objects would allow it (binnacle apply -f -):", "");
    return `${lines.join("\n")}\n${suggestion.map((object) => `---\n${valueText("yaml", object)}`).join("")}`;
  }
  return `${lines.join("\n")}\n`;
}

/** The verbs of writes, which are checked after the rights. */
const writes: ReadonlySet<string> = new Set(["create", "update", "patch", "delete", "deletecollection"]);

function explanationLines(
  attributes: Attributes,
  { allowed, reason }: Decision,
  { allowing, nearest, bindings, dangling }: AccessExplanation,
): readonly string[] {
  const lines: string[] = [];
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
  }
  return lines;
}

function bindingsText(bindings: number, { namespace, user }: Attributes): string {
  const where = namespace === "" ? "" : ` or of namespace ${namespace}`;
  const groups = user.groups.length === 0 ? "" : ` (groups: ${user.groups.join(", ")})`;
  if (bindings === 0) return `No binding of the cluster${where} names this user${groups}.`;
  return `${bindings} ${bindings === 1 ? "binding" : "bindings"} of the cluster${where} ${bindings === 1 ? "names" : "name"} this user${groups}, and no rule allows it.`;
}
