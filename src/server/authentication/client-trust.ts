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

  /** The authorities of authenticating proxies; `undefined` without a file of authorities. */
  get proxies(): CertificateAuthorities | undefined {
    return this.#proxies;
  }

  /** The certificates of both authorities as PEM. */
  get bundles(): Pick<ServingCredentials, "clientCa" | "requestHeaderCa"> {
    return this.#credentials;
  }

  /** The certificate that identifies this server to aggregated servers when no flag names another one. */
  get frontProxy(): ServingCredentials["credentials"]["frontProxy"] {
    return this.#credentials.credentials.frontProxy;
  }

  /** Uses new authorities. Certificates are validated again, also on open connections. */
  update(credentials: ServingCredentials): void {
    const proxies = proxiesOf(credentials);
    this.#credentials = credentials;
    this.#clients = new CertificateAuthorities(credentials.clientCa);
    this.#proxies = proxies;
  }
}

const proxiesOf = ({ requestHeaderCa }: ServingCredentials): CertificateAuthorities | undefined =>
  requestHeaderCa === "" ? undefined : new CertificateAuthorities(requestHeaderCa);
