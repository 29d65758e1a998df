/** Groups that are allowed everything before other authorizers are asked: `system:masters`. */
import type { UserInfo } from "#meta/user-info.ts";
import { allowed, type Authorizer, noOpinion } from "./authorizer.ts";

export function privilegedGroups(groups: readonly string[]): Authorizer {
  const isPrivileged = (user: UserInfo): boolean => user.groups.some((group) => groups.includes(group));
  return {
    authorize: ({ user }) => (isPrivileged(user) ? allowed : noOpinion),
    explain: ({ user }) => (isPrivileged(user) ? `members of ${groups.join(", ")} may do everything` : ""),
  };
}
