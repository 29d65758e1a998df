/** The current certificate authorities of clients and of authenticating proxies. */
import { CertificateAuthorities } from "#authn/certificate-authorities.ts";
import type { Credentials } from "../credentials.ts";
import type { ServingCredentials } from "../credentials/serving.ts";

/** The parts of credentials that say who is trusted. */
interface TrustSources extends Pick<ServingCredentials, "clientCa" | "requestHeaderCa"> {
  readonly credentials: Pick<Credentials, "frontProxy">;
}

export class ClientTrust {
  #clients: CertificateAuthorities;
  #proxies: CertificateAuthorities | undefined;
  #credentials: TrustSources;

  constructor(credentials: TrustSources) {
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
  get bundles(): Omit<TrustSources, "credentials"> {
    return this.#credentials;
  }

  /** The certificate that identifies this server to aggregated servers when no flag names another one. */
  get frontProxy(): Credentials["frontProxy"] {
    return this.#credentials.credentials.frontProxy;
  }

  /** Uses new authorities. Certificates are validated again, also on open connections. */
  update(credentials: TrustSources): void {
    const proxies = proxiesOf(credentials);
    this.#credentials = credentials;
    this.#clients = new CertificateAuthorities(credentials.clientCa);
    this.#proxies = proxies;
  }
}

const proxiesOf = ({ requestHeaderCa }: TrustSources): CertificateAuthorities | undefined =>
  requestHeaderCa === "" ? undefined : new CertificateAuthorities(requestHeaderCa);
