/**
 * What an authorizer is to expressions, whose evaluation does not wait. A check that has no answer at once ends the
 * evaluation; `withAnswers` waits for the answer, keeps it, and evaluates again. A check costs 350,000 units, so an
 * evaluation makes three at most and is repeated no more often.
 *
 * The end is thrown, as that of a budget: an error as a value could be taken in by `||`, and a wrong result be the answer.
 */
import type { UserInfo } from "#meta/user-info.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import {
  authorizerValue,
  type CheckAttributes,
  type CheckedResource,
  type CheckVerdict,
} from "./library/authorizer.ts";
import type { Opaque } from "./values.ts";

export type { CheckAttributes, CheckedResource, CheckVerdict } from "./library/authorizer.ts";

/** Thrown out of an evaluation. */
class Pending extends Error {
  readonly key: string;
  readonly answer: Promise<CheckVerdict>;

  constructor(key: string, answer: Promise<CheckVerdict>) {
    super("an authorization check has no answer yet");
    this.key = key;
    this.answer = answer;
  }
}

/** The checks of all expressions of one request. Each is sent to the authorizer once. */
export class AuthorizationChecks {
  readonly #authorize: (attributes: CheckAttributes) => MaybePromise<CheckVerdict>;
  readonly #answers = new Map<string, CheckVerdict>();

  constructor(authorize: (attributes: CheckAttributes) => MaybePromise<CheckVerdict>) {
    this.#authorize = authorize;
  }

  /** The value of the variable `authorizer`. */
  authorizer(user: UserInfo): Opaque {
    return authorizerValue(user, (attributes) => this.#check(attributes));
  }

  /** The value of the variable `authorizer.requestResource`. */
  requestResource(user: UserInfo, resource: CheckedResource): Opaque {
    return authorizerValue(user, (attributes) => this.#check(attributes)).ofResource(resource);
  }

  /** What `evaluate` returns, which may use these values; a promise if an answer has to be waited for. */
  withAnswers<Result>(evaluate: () => Result): MaybePromise<Result> {
    try {
      return evaluate();
    } catch (error) {
      if (!(error instanceof Pending)) throw error;
      return this.#afterAnswer(error, evaluate);
    }
  }

  async #afterAnswer<Result>({ key, answer }: Pending, evaluate: () => Result): Promise<Result> {
    this.#answers.set(key, await answer);
    return this.withAnswers(evaluate);
  }

  #check(attributes: CheckAttributes): CheckVerdict {
    const key = JSON.stringify(attributes);
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = this.#authorize(attributes);
    if (answer instanceof Promise) throw new Pending(key, answer);
    this.#answers.set(key, answer);
    return answer;
  }
}
