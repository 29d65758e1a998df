/** The settings of a connection: the address of a server and the identity of the client. A kubeconfig is read to these settings. */
import type { MaybePromise } from "#std/maybe-promise.ts";

export interface ConnectionSettings {
  /** The URL of the server, `https:` or `http:`. Its path is the prefix of the path of every request. */
  readonly server: URL;
  readonly tls: TlsSettings;
  /** The proxy of all connections: `http:`, `https:` or `socks5:`. If absent, the usual variables of the environment decide. */
  readonly proxy?: URL;
  /** The user that requests are made as, in place of the caller's own. */
  readonly impersonate?: Impersonation;
  readonly credentials: CredentialSource;
  /** Whether answers may be compressed. */
  readonly compress: boolean;
  /** The namespace of requests that name none. */
  readonly namespace: string;
}

interface TlsSettings {
  /** Returns the authorities that sign the server's certificate, as PEM; they may change. Absent: those of the system. */
  readonly ca?: () => MaybePromise<string>;
  /** The name that the server's certificate must have, if it is not the host of the URL. */
  readonly serverName?: string;
  /** Whether any certificate of the server is accepted. */
  readonly insecure: boolean;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** The proof of identity for one request. Both parts may be present; with neither the caller is anonymous. */
export interface Credential {
  readonly token?: string;
  /** The client certificate, with intermediates, and its key, as PEM. */
  readonly certificate?: { readonly cert: string; readonly key: string };
}

export interface CredentialSource {
  /**
   * Returns the credential for the next request. Reads files or runs a plugin again when that is due; one run serves
   * all callers that wait. Rejects with an error that says in one line what to do.
   */
  current(signal?: AbortSignal): MaybePromise<Credential>;
  /** Reports that the server answered 401 to this credential. Returns whether another one may be tried. */
  rejected(credential: Credential): boolean;
}
