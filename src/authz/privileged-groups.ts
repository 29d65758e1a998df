/** Groups that may do everything, before any other authorizer is asked: `system:masters`. */
import { type Authorizer, noOpinion, type Verdict } from "./authorizer.ts";

const allowed: Verdict = { decision: "allow", reason: "" };

export function privilegedGroups(groups: readonly string[]): Authorizer {
  return {
    authorize: ({ user }) => (user.groups.some((group) => groups.includes(group)) ? allowed : noOpinion),
  };
}
