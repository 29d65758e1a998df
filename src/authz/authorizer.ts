/**
 * The interface of authorizers, and the union that asks them in order. Source: upstream's `authorization/authorizer`.
 */
import type { PolicyRule } from "#api/rbac/v1.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import type { FieldRequirement, LabelRequirement } from "#meta/selector.ts";
import type { RequestAttributes } from "#meta/request-attributes.ts";
import type { UserInfo } from "#meta/user-info.ts";

/** The attributes of one action, as rules name them. */
export interface Attributes extends RequestAttributes {
  readonly user: UserInfo;
  /** The field selector of a list, watch or deletecollection. Absent when there is none or it cannot be parsed. */
  readonly fieldSelector?: readonly FieldRequirement[];
  readonly labelSelector?: readonly LabelRequirement[];
}

export type Decision = "allow" | "deny" | "noOpinion";

export interface Verdict {
  readonly decision: Decision;
  /** A sentence for the audit log and, if it refuses, for the client. */
  readonly reason: string;
  /** Errors of the evaluation, which reviews show. */
  readonly error?: string;
}

/** The maximum timeout of a webhook. */
export const webhookTimeoutMaxMs = 30_000;

export const allowed: Verdict = { decision: "allow", reason: "" };
export const noOpinion: Verdict = { decision: "noOpinion", reason: "" };

/** The rules of a user in a namespace that an authorizer can list. */
export interface Rules {
  readonly resourceRules: readonly PolicyRule[];
  readonly nonResourceRules: readonly PolicyRule[];
  /** Whether there may be more rules. */
  readonly incomplete: boolean;
  readonly errors: readonly string[];
}

export interface Authorizer {
  authorize(attributes: Attributes): MaybePromise<Verdict>;
  /** Lists rules for reviews. Left out when this authorizer cannot list rules. */
  rulesFor?(user: UserInfo, namespace: string): Rules;
  /** Explains a decision in a sentence for users with permission. Left out when the verdict's reason is enough. */
  explain?(attributes: Attributes): string;
}

/** Asks in order; the first allow or deny is final. Without either, the reasons of all are joined. */
export function union(authorizers: readonly Authorizer[]): Required<Authorizer> {
  return {
    authorize: (attributes) => firstDecision(authorizers, attributes, 0, "", ""),
    rulesFor(user, namespace) {
      const all = authorizers.flatMap((one) => one.rulesFor?.(user, namespace) ?? []);
      return {
        resourceRules: all.flatMap(({ resourceRules }) => resourceRules),
        nonResourceRules: all.flatMap(({ nonResourceRules }) => nonResourceRules),
        incomplete: all.some(({ incomplete }) => incomplete),
        errors: all.flatMap(({ errors }) => errors),
      };
    },
    explain: (attributes) =>
      authorizers
        .map((one) => one.explain?.(attributes) ?? "")
        .filter((text) => text !== "")
        .join("; "),
  };
}

function firstDecision(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  from: number,
  earlier: string,
  errors: string,
): MaybePromise<Verdict> {
  let reasons = earlier;
  for (let i = from; i < authorizers.length; i++) {
    const verdict = authorizers[i]!.authorize(attributes);
    if (isLate(verdict)) {
      return verdict.then((late) =>
        late.decision === "noOpinion"
          ? firstDecision(
              authorizers,
              attributes,
              i + 1,
              joinTexts(reasons, late.reason),
              joinTexts(errors, late.error),
            )
          : late,
      );
    }
    if (verdict.decision !== "noOpinion") return verdict;
    reasons = joinTexts(reasons, verdict.reason);
    errors = joinTexts(errors, verdict.error);
  }
  if (reasons === "" && errors === "") return noOpinion;
  return { decision: "noOpinion", reason: reasons, ...(errors === "" ? {} : { error: errors }) };
}

function joinTexts(texts: string, text = ""): string {
  return text === "" || texts === "" ? texts + text : `${texts}\n${text}`;
}
