/** Who may do what. The face of all authorizers, and their order. Source: upstream's `authorization/authorizer`. */
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
  authorize(attributes: Attributes): Verdict | Promise<Verdict>;
}

/** Asks in order; the first allow or deny is final. Without either, the reasons of all are put together. */
export function union(authorizers: readonly Authorizer[]): Authorizer {
  return {
    async authorize(attributes) {
      let reasons = "";
      for (const authorizer of authorizers) {
        const verdict = await authorizer.authorize(attributes);
        if (verdict.decision !== "noOpinion") return verdict;
        if (verdict.reason !== "") reasons += reasons === "" ? verdict.reason : `\n${verdict.reason}`;
      }
      return reasons === "" ? noOpinion : { decision: "noOpinion", reason: reasons };
    },
  };
}
