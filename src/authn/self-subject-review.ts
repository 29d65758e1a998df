/** SelfSubjectReview: who the caller is. Source: upstream's `registry/authentication/selfsubjectreview`. */
import type { Action } from "#meta/action.ts";
import { timestamp } from "#meta/time.ts";
import type { UserInfo } from "#meta/user-info.ts";
import type { Clock } from "#std/clock.ts";

export function selfSubjectReview(clock: Clock): Action {
  return async ({ context, object, admitted }) => {
    await admitted(object);
    return {
      ...(object.kind === undefined ? {} : { kind: object.kind }),
      ...(object.apiVersion === undefined ? {} : { apiVersion: object.apiVersion }),
      metadata: { creationTimestamp: timestamp(clock.now()) },
      status: { userInfo: reviewedUser(context.user) },
    };
  };
}

/** A user as the API shows one. */
export function reviewedUser({ name, uid = "", groups, extra = {} }: UserInfo): object {
  const keys = Object.keys(extra).sort();
  return {
    username: name,
    ...(uid === "" ? {} : { uid }),
    ...(groups.length === 0 ? {} : { groups }),
    ...(keys.length === 0 ? {} : { extra: Object.fromEntries(keys.map((key) => [key, extra[key]])) }),
  };
}
