/** Who may do what. The face of all authorizers, and their order. Source: upstream's `authorization/authorizer`. */
import type { Soon } from "#std/soon.ts";
import type { UserInfo } from "#meta/user-info.ts";

/** One action, as rules name it. */
export interface Attributes {
  readonly user: UserInfo;
  /** get, list, watch, create, …; for other paths the lower-case method. Empty for a method no verb belongs to. */
  readonly verb: string;
  readonly isResourceRequest: boolean;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

export type Decision = "allow" | "deny" | "noOpinion";

export interface Verdict {
  readonly decision: Decision;
  /** A sentence for the audit log and, of a refusal, for the client. */
  readonly reason: string;
}

export const noOpinion: Verdict = { decision: "noOpinion", reason: "" };

export interface Authorizer {
  authorize(attributes: Attributes): Soon<Verdict>;
}

/** Asks in order; the first allow or deny is final. Without either, the reasons of all are put together. */
export function union(authorizers: readonly Authorizer[]): Authorizer {
  return {
    authorize: (attributes) => firstDecision(authorizers, attributes, 0, ""),
  };
}

function firstDecision(
  authorizers: readonly Authorizer[],
  attributes: Attributes,
  from: number,
  earlier: string,
): Soon<Verdict> {
  let reasons = earlier;
  for (let i = from; i < authorizers.length; i++) {
    const verdict = authorizers[i]!.authorize(attributes);
    if (verdict instanceof Promise) {
      return verdict.then((late) =>
        late.decision === "noOpinion"
          ? firstDecision(authorizers, attributes, i + 1, joined(reasons, late.reason))
          : late,
      );
    }
    if (verdict.decision !== "noOpinion") return verdict;
    reasons = joined(reasons, verdict.reason);
  }
  return reasons === "" ? noOpinion : { decision: "noOpinion", reason: reasons };
}

function joined(reasons: string, reason: string): string {
  return reason === "" || reasons === "" ? reasons + reason : `${reasons}\n${reason}`;
}
