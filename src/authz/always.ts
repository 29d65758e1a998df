/** The modes AlwaysAllow and AlwaysDeny. Source: upstream's `authorizerfactory`. */
import { allowed, type Authorizer, noOpinion, type Rules } from "./authorizer.ts";

const everything: Rules = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
  incomplete: false,
  errors: [],
};
const nothing: Rules = { resourceRules: [], nonResourceRules: [], incomplete: false, errors: [] };

export const alwaysAllow: Required<Authorizer> = {
  authorize: () => allowed,
  rulesFor: () => everything,
  explain: () => "AlwaysAllow: everybody may do everything",
};

/** Upstream: it has no opinion, so that a later authorizer may still allow. */
export const alwaysDeny: Required<Authorizer> = {
  authorize: () => ({ ...noOpinion, reason: "Everything is forbidden." }),
  rulesFor: () => nothing,
  explain: () => "AlwaysDeny: everything is forbidden",
};
