/**
 * The approval annotation that definitions in the project's own API groups need. Source of the messages: upstream's
 * `apihelpers`.
 */
import type { ApiDomain } from "#meta/api-domain.ts";
import { goQuote } from "#meta/field-error.ts";

type ApprovalState = "invalid" | "approved" | "bypassed" | "missing";

interface Approval {
  readonly state: ApprovalState;
  /** The message of the condition, for people. */
  readonly reason: string;
}

/** Whether a group is in the project's domains or their subdomains. */
export function isProtectedGroup(group: string, domain: ApiDomain): boolean {
  return ["k8s.io", "kubernetes.io"].some((name) => {
    const own = domain.rename(name);
    return group === own || group.endsWith(`.${own}`);
  });
}

/** Returns the name of the annotation in the domain. */
export const approvalAnnotation = (domain: ApiDomain): string => domain.rename("api-approved.kubernetes.io");

export function approvalOf(annotations: Readonly<Record<string, string>> | undefined, domain: ApiDomain): Approval {
  const name = approvalAnnotation(domain);
  const value = annotations?.[name] ?? "";
  const see = "see https://github.com/kubernetes/enhancements/pull/1111";
  const must = `protected groups must have approval annotation ${goQuote(name)}`;
  if (value === "") return { state: "missing", reason: `${must}, ${see}` };
  if (value.startsWith("unapproved")) return { state: "bypassed", reason: `not approved: ${goQuote(value)}` };
  if (hasHost(value)) return { state: "approved", reason: `approved in ${value}` };
  return { state: "invalid", reason: `${must} with either a URL or a reason starting with "unapproved", ${see}` };
}

/** Whether Go's parser of request URIs finds a scheme and a host. */
function hasHost(text: string): boolean {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^/?#\s]+/.test(text)) return false;
  // eslint-disable-next-line no-control-regex
  return !/[\u0000-\u0020\u007f]/.test(text) && URL.canParse(text);
}
