/** The interface of authenticators, and functions that combine them. */
import { andThen, isLate, type MaybePromise } from "#std/maybe-promise.ts";
import { groupAuthenticated, groupUnauthenticated, type UserInfo, userAnonymous } from "#meta/user-info.ts";

/** The part of a request that authenticators read. */
export interface RequestCredentials {
  /** The headers; names are in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Returns every value of a header that may repeat, in order; `name` is in lower case. */
  headerValues(name: string): readonly string[];
  readonly path: string;
  /** The subject of the certificate that the TLS layer verified. */
  readonly clientCertificate: VerifiedCertificate | undefined;
  /**
   * The reason why the certificate that the client showed was not verified; empty when it was, or when there is none.
   */
  readonly clientCertificateProblem: string;
  /** Warnings for the client, such as why a header was ignored. */
  readonly warnings: string[];
}

export interface VerifiedCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** DER of the leaf certificate. */
  readonly raw: Buffer;
  /** DER of the intermediate certificates that the client sent. */
  readonly issuers: readonly Buffer[];
}

/**
 * The result of an authenticator. `none`: there are no credentials of this kind, ask the next. `refused`: the
 * credentials are invalid; `reason` is for the log, never for the client.
 */
export type Authentication =
  | {
      readonly outcome: "user";
      readonly user: UserInfo;
      /**
       * The requested audiences that the token has; absent when the method knows no audiences and the user is one of
       * this server.
       */
      readonly audiences?: readonly string[];
      /** Annotations for the audit event of the request. */
      readonly annotations?: Readonly<Record<string, string>>;
      /** Warnings for the client about the credentials that it used. */
      readonly warnings?: readonly string[];
    }
  | { readonly outcome: "none" }
  | { readonly outcome: "refused"; readonly reason: string };

export const noCredentials: Authentication = { outcome: "none" };

export interface Authenticator {
  authenticate(credentials: RequestCredentials): MaybePromise<Authentication>;
}

/**
 * Asks the authenticators in order; the first that knows the user decides, even after refusals. If none does, a refusal
 * stands. Source: upstream's `authentication/request/union`.
 */
export function union(authenticators: readonly Authenticator[]): Authenticator {
  return {
    authenticate: (credentials) => firstUser(authenticators, (one) => one.authenticate(credentials)),
  };
}

/** Asks in order until one knows the user. Returns `refused` with all reasons if none did and some refused. */
export function firstUser<T>(
  asked: readonly T[],
  ask: (one: T) => MaybePromise<Authentication>,
  from = 0,
  reasons: readonly string[] = [],
): MaybePromise<Authentication> {
  for (let i = from; i < asked.length; i++) {
    const answer = ask(asked[i]!);
    if (isLate(answer)) {
      return answer.then((late) =>
        late.outcome === "user" ? late : firstUser(asked, ask, i + 1, withReason(reasons, late)),
      );
    }
    if (answer.outcome === "user") return answer;
    reasons = withReason(reasons, answer);
  }
  return reasons.length === 0 ? noCredentials : { outcome: "refused", reason: reasons.join(", ") };
}

function withReason(reasons: readonly string[], answer: Authentication): readonly string[] {
  return answer.outcome === "refused" ? [...reasons, answer.reason] : reasons;
}

/** Adds the group `system:authenticated` to users of `inner`, except the anonymous user. */
export function withAuthenticatedGroup(inner: Authenticator): Authenticator {
  const answers = new WeakMap<UserInfo, Authentication & { readonly outcome: "user" }>();
  return {
    authenticate: (credentials) =>
      andThen(inner.authenticate(credentials), (answer) => {
        if (answer.outcome !== "user") return answer;
        // Authenticators that cache their users return the same object again.
        let added = answers.get(answer.user);
        if (added === undefined) {
          added = { outcome: "user", user: addAuthenticatedGroup(answer.user) };
          answers.set(answer.user, added);
        }
        return answer.annotations === undefined ? added : { ...added, annotations: answer.annotations };
      }),
  };
}

/** Returns the user with the group `system:authenticated`, unless it is anonymous. */
export function addAuthenticatedGroup(user: UserInfo): UserInfo {
  const hasGroup = user.groups.includes(groupAuthenticated) || user.groups.includes(groupUnauthenticated);
  return hasGroup || user.name === userAnonymous ? user : { ...user, groups: [...user.groups, groupAuthenticated] };
}

/**
 * Makes requests without credentials `system:anonymous`; those with invalid credentials stay refused. With `paths`,
 * only requests for exactly these paths may be anonymous. Source: upstream's `authentication/request/anonymous`.
 */
export function orAnonymous(inner: Authenticator, paths: readonly string[] = []): Authenticator {
  const allowed = new Set(paths);
  return {
    authenticate: (credentials) =>
      andThen(inner.authenticate(credentials), (answer) =>
        answer.outcome !== "none" || (allowed.size > 0 && !allowed.has(credentials.path)) ? answer : anonymous,
      ),
  };
}

const anonymous: Authentication = {
  outcome: "user",
  user: { name: userAnonymous, groups: [groupUnauthenticated] },
};

/** Whether a user is anonymous, by name or by group. */
export function isAnonymous(user: UserInfo): boolean {
  return user.name === userAnonymous || user.groups.includes(groupUnauthenticated);
}
