/**
 * ABAC: a file with one JSON policy per line; the first match allows. Source: upstream's `pkg/auth/authorizer/abac` and
 * the conversions of `abac.authorization.kubernetes.io` (`v1beta1`, and lines without a version).
 */
import type { PolicyRule } from "#api/rbac/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { groupAuthenticated, type UserInfo } from "#meta/user-info.ts";
import { isObject } from "#std/is-object.ts";
import { allowed, type Attributes, type Authorizer, noOpinion, type Verdict } from "./authorizer.ts";
import { matchesUrl } from "./rules.ts";

/**
 * The policy of one line. Empty strings match nothing; `*` matches everything, and as a subject every authenticated
 * user.
 */
export interface Policy {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

/** The maximum number of lines, and of bytes in them. */
const linesMax = 100_000;

/** Reads a policy file. Throws an `Error` that names line and fault. */
export function readPolicies(text: string, domain: ApiDomain): readonly Policy[] {
  const lines = text.split("\n");
  if (lines.length > linesMax) throw new Error(`more than ${linesMax} lines`);
  return lines.flatMap((line, at) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    try {
      return [readPolicy(trimmed, domain)];
    } catch (error) {
      throw new Error(`line ${at + 1}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
    }
  });
}

function readPolicy(line: string, domain: ApiDomain): Policy {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Error("not JSON");
  }
  if (!isObject(value)) throw new Error("not an object");
  const { apiVersion, kind } = value;
  if (apiVersion === undefined && kind === undefined) return readUnversioned(value);
  const wanted = domain.rename("abac.authorization.kubernetes.io/v1beta1");
  if (apiVersion !== wanted || kind !== "Policy") throw new Error(`must be of kind Policy in ${wanted}`);
  const spec = value["spec"] ?? {};
  if (!isObject(spec)) throw new Error("spec: must be an object");
  const policy = fieldsOf(spec, "spec.");
  const matchesAll = policy.user === "*" || policy.group === "*";
  return matchesAll ? { ...policy, user: "", group: groupAuthenticated } : policy;
}

/** Reads a policy without a version. Upstream: omitted fields of such a line match everything. */
function readUnversioned(value: Readonly<Record<string, unknown>>): Policy {
  const policy = fieldsOf(value, "");
  const { user, group, namespace, resource } = policy;
  const matchesAll = (user === "" && group === "") || user === "*" || group === "*";
  return {
    ...policy,
    user: matchesAll ? "" : user,
    group: matchesAll ? groupAuthenticated : group,
    apiGroup: "*",
    namespace: namespace === "" ? "*" : namespace,
    resource: resource === "" ? "*" : resource,
    nonResourcePath: namespace === "" && resource === "" ? "*" : "",
  };
}

function fieldsOf(value: Readonly<Record<string, unknown>>, path: string): Policy {
  const read = (name: string): string => {
    const text = value[name] ?? "";
    if (typeof text !== "string") throw new Error(`${path}${name}: must be a string`);
    return text;
  };
  const isReadonly = value["readonly"] ?? false;
  if (typeof isReadonly !== "boolean") throw new Error(`${path}readonly: must be true or false`);
  return {
    user: read("user"),
    group: read("group"),
    readonly: isReadonly,
    apiGroup: read("apiGroup"),
    resource: read("resource"),
    namespace: read("namespace"),
    nonResourcePath: read("nonResourcePath"),
  };
}

const unmatched: Verdict = { ...noOpinion, reason: "No policy matched." };

export function abac(policies: readonly Policy[]): Required<Authorizer> {
  // A policy for a user and a group is indexed by its user.
  const byUser = Map.groupBy(
    policies.filter(({ user }) => user !== ""),
    ({ user }) => user,
  );
  const byGroup = Map.groupBy(
    policies.filter(({ user, group }) => user === "" && group !== ""),
    ({ group }) => group,
  );
  const concerning = function* (user: UserInfo): Iterable<Policy> {
    for (const policy of byUser.get(user.name) ?? []) {
      if (policy.group === "" || user.groups.includes(policy.group)) yield policy;
    }
    for (const group of user.groups) yield* byGroup.get(group) ?? [];
  };
  return {
    authorize(attributes) {
      for (const policy of concerning(attributes.user)) if (fits(policy, attributes)) return allowed;
      return unmatched;
    },
    rulesFor(user, namespace) {
      const there = [...concerning(user)].filter((policy) => [namespace, "*"].includes(policy.namespace));
      return {
        resourceRules: there.filter(({ resource }) => resource !== "").map(resourceRule),
        nonResourceRules: there.filter(({ nonResourcePath }) => nonResourcePath !== "").map(pathRule),
        incomplete: false,
        errors: [],
      };
    },
    explain(attributes) {
      for (const policy of concerning(attributes.user)) {
        if (fits(policy, attributes)) return `ABAC: allowed by the policy ${JSON.stringify(policy)}`;
      }
      return "ABAC: no policy matched";
    },
  };
}

function fits(policy: Policy, attributes: Attributes): boolean {
  const { verb } = attributes;
  if (policy.readonly && !readVerbs.includes(verb)) return false;
  if (!attributes.isResourceRequest) {
    return policy.nonResourcePath !== "" && matchesUrl([policy.nonResourcePath], attributes.path);
  }
  const { namespace, resource, apiGroup } = policy;
  return (
    (namespace === "*" || namespace === attributes.namespace) &&
    (resource === "*" || resource === attributes.resource) &&
    (apiGroup === "*" || apiGroup === attributes.group)
  );
}

const readVerbs: readonly string[] = ["get", "list", "watch"];
const verbsOf = (policy: Policy): readonly string[] => (policy.readonly ? readVerbs : ["*"]);

const resourceRule = (policy: Policy): PolicyRule => ({
  verbs: verbsOf(policy),
  apiGroups: [policy.apiGroup],
  resources: [policy.resource],
});

const pathRule = (policy: Policy): PolicyRule => ({
  verbs: verbsOf(policy),
  nonResourceURLs: [policy.nonResourcePath],
});
