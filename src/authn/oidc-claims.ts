/**
 * Maps the claims of a verified token to a user. Each rule is a function of the claims, made from a claim name or from
 * an expression; the caller compiles expressions.
 */
import type { UserInfo } from "#meta/user-info.ts";
import { textClaim } from "./jwt.ts";

export type Claims = Readonly<Record<string, unknown>>;

/** Thrown for a token whose claims give no user; the message is for the log. */
export class ClaimError extends Error {
  constructor(message: string) {
    super(`oidc: ${message}`);
    this.name = "ClaimError";
  }
}

/** Functions that make the parts of a user; all but `username` may be left out. Each throws `ClaimError`. */
export interface ClaimRules {
  username(claims: Claims): string;
  groups?(claims: Claims): readonly string[];
  uid?(claims: Claims): string;
  readonly extra: readonly { readonly key: string; values(claims: Claims): readonly string[] }[];
  readonly claimChecks: readonly ((claims: Claims) => void)[];
  readonly userChecks: readonly ((user: UserInfo) => void)[];
}

/** Makes the user of the claims. Throws `ClaimError`. */
export function userOfClaims(rules: ClaimRules, claims: Claims): UserInfo {
  for (const check of rules.claimChecks) check(claims);
  const name = rules.username(claims);
  if (name === "") throw new ClaimError("the user name is empty");
  const groups = rules.groups?.(claims) ?? [];
  const uid = rules.uid?.(claims) ?? "";
  const extra = rules.extra
    .map(({ key, values }): [string, readonly string[]] => [key, values(claims)])
    .filter(([, values]) => values.length > 0);
  const user: UserInfo = {
    name,
    ...(uid === "" ? {} : { uid }),
    groups,
    ...(extra.length === 0 ? {} : { extra: Object.fromEntries(extra) }),
  };
  for (const check of rules.userChecks) check(user);
  return user;
}

/** Makes the user name of a claim. The claim `email` does not count if the provider says that it was not verified. */
export function usernameFromClaim(claim: string, prefix: string): (claims: Claims) => string {
  return (claims) => {
    const name = requiredText(claims, claim);
    if (claim === "email" && Object.hasOwn(claims, "email_verified") && claims["email_verified"] !== true) {
      throw new ClaimError("email not verified");
    }
    return prefix + name;
  };
}

/**
 * Makes the groups of a claim, which is a text or a list of texts; a token without the claim has no groups. In the list,
 * null is an empty text.
 */
export function groupsFromClaim(claim: string, prefix: string): (claims: Claims) => readonly string[] {
  return (claims) => {
    const value = Object.hasOwn(claims, claim) ? claims[claim] : undefined;
    if (value === undefined || value === null) return [];
    const list: unknown = Array.isArray(value) ? value.map((one: unknown) => one ?? "") : value;
    return texts(list, `claim ${JSON.stringify(claim)}`).map((group) => prefix + group);
  };
}

export function uidFromClaim(claim: string): (claims: Claims) => string {
  return (claims) => requiredText(claims, claim);
}

export function requiredClaim(claim: string, wanted: string): (claims: Claims) => void {
  return (claims) => {
    if (requiredText(claims, claim) !== wanted) {
      throw new ClaimError(`required claim ${JSON.stringify(claim)} has another value than ${JSON.stringify(wanted)}`);
    }
  };
}

/** Returns the text of a claim; null is an empty text. */
function requiredText(claims: Claims, claim: string): string {
  const value = Object.hasOwn(claims, claim) && claims[claim] === null ? "" : textClaim(claims, claim);
  if (value === undefined) throw new ClaimError(`claim ${JSON.stringify(claim)} is missing or no text`);
  return value;
}

/** Returns a list of texts. Throws `ClaimError` for a value that is neither a text nor a list of texts. */
export function texts(value: unknown, what: string): readonly string[] {
  if (typeof value === "string") return [value];
  if (Array.isArray(value) && value.every((one) => typeof one === "string")) return value;
  throw new ClaimError(`${what} is neither a text nor a list of texts`);
}
