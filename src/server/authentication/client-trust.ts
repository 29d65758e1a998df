/** The current certificate authorities of clients and of authenticating proxies. */
import { CertificateAuthorities } from "#authn/certificate-authorities.ts";
import type { ServingCredentials } from "../credentials/serving.ts";

export class ClientTrust {
  #clients: CertificateAuthorities;
  #proxies: CertificateAuthorities | undefined;
  #credentials: ServingCredentials;

  constructor(credentials: ServingCredentials) {
    this.#credentials = credentials;
    this.#clients = new CertificateAuthorities(credentials.clientCa);
    this.#proxies = proxiesOf(credentials);
  }

  get clients(): CertificateAuthorities {
    return this.#clients;
  }

  /** `undefined` when there is no such file. */
  get proxies(): CertificateAuthorities | undefined {
    return this.#proxies;
  }

  /** The certificates of both, PEM. */
  get bundles(): Pick<ServingCredentials, "clientCa" | "requestHeaderCa"> {
    return this.#credentials;
  }

  /** The certificate by which aggregated servers know this one, when no flag names another. */
  get frontProxy(): ServingCredentials["credentials"]["frontProxy"] {
    return this.#credentials.credentials.frontProxy;
  }

  /** Validates certificates again, also on open connections. */
  update(credentials: ServingCredentials): void {
    const proxies = proxiesOf(credentials);
    this.#credentials = credentials;
    this.#clients = new CertificateAuthorities(credentials.clientCa);
    this.#proxies = proxies;
  }
}

const proxiesOf = ({ requestHeaderCa }: ServingCredentials): CertificateAuthorities | undefined =>
  requestHeaderCa === "" ? undefined : new CertificateAuthorities(requestHeaderCa);
