/** The current certificate authorities of clients and of authenticating proxies. */
import { CertificateAuthorities } from "#authn/certificate-authorities.ts";
import type { ServingCredentials } from "../credentials/serving.ts";

export class ClientTrust {
  #clients: CertificateAuthorities;
  #proxies: CertificateAuthorities | undefined;

  constructor(credentials: ServingCredentials) {
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

  /** Validates certificates again, also on open connections. */
  update(credentials: ServingCredentials): void {
    const proxies = proxiesOf(credentials);
    this.#clients = new CertificateAuthorities(credentials.clientCa);
    this.#proxies = proxies;
  }
}

const proxiesOf = ({ requestHeaderCa }: ServingCredentials): CertificateAuthorities | undefined =>
  requestHeaderCa === "" ? undefined : new CertificateAuthorities(requestHeaderCa);
