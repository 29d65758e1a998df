/** SelfSubjectReview: returns the caller's user. Source: upstream's `registry/authentication/selfsubjectreview`. */
import type { SelfSubjectReview, SelfSubjectReviewStatus } from "#api/authentication/v1.ts";
import type { Action } from "#meta/action.ts";
import { timestampOf } from "#meta/time.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";

export function selfSubjectReview(clock: Clock): Action {
  return async ({ context, object, admit }) => {
    await admit(object);
    const review: SelfSubjectReview = {
      ...(object.kind === undefined ? {} : { kind: object.kind }),
      ...(object.apiVersion === undefined ? {} : { apiVersion: object.apiVersion }),
      metadata: { creationTimestamp: timestampOf(clock.now()) },
      status: { userInfo: reviewedUser(context.user) },
    };
    return review;
  };
}

/** Returns a user in the form of the API. */
export function reviewedUser({ name, uid = "", groups, extra = {} }: UserInfo): SelfSubjectReviewStatus["userInfo"] {
  const sorted = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1));
  return {
    ...(name === "" ? {} : { username: name }),
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(sorted.length === 0 ? {} : { extra: Object.fromEntries(sorted) }),
  };
}
