/**
 * Gives expressions access to an authorizer. Evaluation cannot wait, so a check without an answer throws `Pending`
 * (`pending.ts`) and the evaluation is repeated. A check costs 350,000 units, so an evaluation makes at most three
 * checks, and is repeated at most three times.
 */
import type { UserInfo } from "#meta/user-info.ts";
import { isLate, type MaybePromise } from "#std/maybe-promise.ts";
import {
  authorizerValue,
  type CheckAttributes,
  type CheckedResource,
  type CheckVerdict,
} from "./library/authorizer.ts";
import { Pending } from "./pending.ts";
import type { Opaque } from "./values.ts";

export type { CheckAttributes, CheckedResource, CheckVerdict } from "./library/authorizer.ts";

/** The checks of all expressions of one request. Each distinct check is sent to the authorizer once. */
export class AuthorizationChecks {
  readonly #authorize: (attributes: CheckAttributes) => MaybePromise<CheckVerdict>;
  readonly #answers = new Map<string, CheckVerdict>();

  constructor(authorize: (attributes: CheckAttributes) => MaybePromise<CheckVerdict>) {
    this.#authorize = authorize;
  }

  /** Returns the value of the variable `authorizer`. */
  authorizer(user: UserInfo): Opaque {
    return authorizerValue(user, (attributes) => this.#check(attributes));
  }

  /** Returns the value of the variable `authorizer.requestResource`. */
  requestResource(user: UserInfo, resource: CheckedResource): Opaque {
    return authorizerValue(user, (attributes) => this.#check(attributes)).ofResource(resource);
  }

  #check(attributes: CheckAttributes): CheckVerdict {
    const key = JSON.stringify(attributes);
    const cached = this.#answers.get(key);
    if (cached !== undefined) return cached;
    const answer = this.#authorize(attributes);
    if (isLate(answer)) throw new Pending(answer.then((verdict) => this.#answers.set(key, verdict)));
    this.#answers.set(key, answer);
    return answer;
  }
}
