/** The parts of a user's credentials as one source. */
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import type { Credential, CredentialSource } from "../connection-settings.ts";
import type { CertificateWithKey } from "./parts.ts";

/** A part of the credential: a text, or the content of files. */
export interface Part<T> {
  /** Returns the value; the same object as long as it does not change. */
  readonly read: () => MaybePromise<T>;
  /** Whether `read` will return another value than the last time. */
  readonly hasChanged: () => boolean;
}

interface UserParts {
  readonly token?: Part<string>;
  readonly certificate?: Part<CertificateWithKey>;
  readonly plugin?: CredentialSource;
}

interface Given {
  readonly token: string | undefined;
  readonly certificate: CertificateWithKey | undefined;
  /** The answer of the plugin. */
  readonly answer: Credential | undefined;
  readonly credential: Credential;
}

export class UserCredentials implements CredentialSource {
  readonly #parts: UserParts;
  #last: Given | undefined;

  constructor(parts: UserParts) {
    this.#parts = parts;
  }

  current(signal?: AbortSignal): MaybePromise<Credential> {
    const { token, certificate, plugin } = this.#parts;
    return andThen(token?.read(), (text) =>
      andThen(certificate?.read(), (pair) =>
        andThen(plugin?.current(signal), (answer) => this.#combine(text, pair, answer)),
      ),
    );
  }

  rejected(credential: Credential): boolean {
    if (this.#last === undefined) return false;
    const { answer, credential: last } = this.#last;
    if (last !== credential) return true;
    const { token, certificate, plugin } = this.#parts;
    if (plugin !== undefined && answer !== undefined) return plugin.rejected(answer);
    return [token?.hasChanged(), certificate?.hasChanged()].includes(true);
  }

  #combine(
    token: string | undefined,
    certificate: CertificateWithKey | undefined,
    answer: Credential | undefined,
  ): Credential {
    const last = this.#last;
    const isSame = last?.token === token && last?.certificate === certificate && last?.answer === answer;
    if (last !== undefined && isSame) return last.credential;
    const credential = {
      ...answer,
      ...(token === undefined ? {} : { token }),
      ...(certificate === undefined ? {} : { certificate }),
    };
    this.#last = { token, certificate, answer, credential };
    return credential;
  }
}
