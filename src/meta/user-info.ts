/** The user of a request, as authenticators return it. */

export interface UserInfo {
  readonly name: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export const groupAuthenticated = "system:authenticated";
export const groupUnauthenticated = "system:unauthenticated";
export const groupMasters = "system:masters";
export const userAnonymous = "system:anonymous";
