/** Groups that are allowed everything before other authorizers are asked: `system:masters`. */
import type { UserInfo } from "#meta/user-info.ts";
import { type Authorizer, noOpinion, type Verdict } from "./authorizer.ts";

const allowed: Verdict = { decision: "allow", reason: "" };

export function privilegedGroups(groups: readonly string[]): Authorizer {
  const isPrivileged = (user: UserInfo): boolean => user.groups.some((group) => groups.includes(group));
  return {
    authorize: ({ user }) => (isPrivileged(user) ? allowed : noOpinion),
    explain: ({ user }) => (isPrivileged(user) ? `members of ${groups.join(", ")} may do everything` : ""),
  };
}
