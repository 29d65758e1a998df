/** TokenReview: authenticates a token for another program. Source: upstream's `registry/authentication/tokenreview`. */
import type { TokenReview, TokenReviewStatus } from "#api/authentication/v1.ts";
import type { Action } from "#meta/action.ts";
import { badRequest } from "#meta/status-error.ts";
import { addAuthenticatedGroup } from "./authenticator.ts";
import type { TokenAuthenticator } from "./bearer-token.ts";
import { reviewedUser } from "./self-subject-review.ts";

/**
 * Makes the action. `tokens` are all kinds that this server knows; `audiences` are its own, for reviews that name none.
 */
export function tokenReview(tokens: TokenAuthenticator, audiences: readonly string[]): Action {
  return async ({ object, admit }) => {
    const review = object as TokenReview; // decoded by its schema
    const { token = "", audiences: asked = [] } = review.spec;
    const answered = (status: TokenReviewStatus): TokenReview => ({ ...review, status });
    if (token === "") throw badRequest("token is required for TokenReview in authentication");
    await admit(object);
    const wanted = asked.length > 0 ? asked : audiences;
    // Upstream: the token passes through a header, where only the first word counts; it is empty after a space.
    const word = token.trimEnd().split(" ", 1)[0]!;
    const answer = await tokens.authenticateToken(word, wanted);
    if (answer.outcome !== "user") {
      const reason = answer.outcome === "refused" ? answer.reason : "";
      return answered({ user: {}, error: errorOf(reason) });
    }
    const user = reviewedUser(addAuthenticatedGroup(answer.user));
    return answered({ authenticated: true, user, audiences: answer.audiences ?? audiences });
  };
}

/**
 * Returns the error of a refusal. Upstream: the first of two chains knows only the server's own token, and its error
 * comes first.
 */
function errorOf(reason: string): string {
  return reason === "" ? "invalid bearer token" : `[invalid bearer token, ${reason}]`;
}
