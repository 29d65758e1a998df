/** The identity providers of a server, and their answers; signing in itself is loaded with the first click. */

/** A provider, as the server tells of it. */
export interface Provider {
  readonly issuer: string;
  readonly clientId: string;
  readonly authorizationEndpoint: string;
  readonly scope: string;
  /** Whether an answer that does not name the issuer is not the provider's. */
  readonly namesIssuer: boolean;
}

/** The end of a sign-in: the provider, whom it named, and until when. */
export interface ProviderToken {
  readonly provider: Provider;
  /** The claim `sub`, which is another one for each user of the provider. */
  readonly subject: string;
  /** The end of the token by the clock of this machine. */
  readonly expiresMs: number;
}

/** The name of the channel on which a window that comes back from a provider tells the page how it ended. */
export const signInChannel = "binnacle-sign-in";

/** The answer of a provider, as the window that came back has it. */
export interface ProviderAnswer {
  readonly state: string;
  readonly code: string;
  readonly issuer: string;
  readonly error: string;
  readonly description: string;
}

/** The answer of a page to the window whose answer it waited for. */
export interface AnswerTaken {
  readonly taken: string;
}

/** Reads the answer of a provider out of the query of an address; `undefined` if there is none. */
export function readProviderAnswer(search: string): ProviderAnswer | undefined {
  const query = new URLSearchParams(search);
  const part = (name: string): string => query.get(name) ?? "";
  const answer = {
    state: part("state"),
    code: part("code"),
    issuer: part("iss"),
    error: part("error"),
    description: part("error_description"),
  };
  return answer.state !== "" && (answer.code !== "" || answer.error !== "") ? answer : undefined;
}
