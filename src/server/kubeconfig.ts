/** Kubeconfigs: the administrator's, other users', and the public one of `cluster-info`. */
import type { KeyPair } from "#std/certificate.ts";

const data = (pem: string): string => Buffer.from(pem).toString("base64");

/** A cluster without a user, for machines that join. Its name is empty, as upstream's tools write it. */
export function publicKubeconfig(url: string, ca: string): string {
  return `apiVersion: v1
kind: Config
clusters:
- name: ""
  cluster:
    server: ${url}
    certificate-authority-data: ${data(ca)}
contexts: null
current-context: ""
preferences: {}
users: null
`;
}

/** One cluster, one user with a client certificate, everything embedded. `url` is `https://host:port`. */
export function adminKubeconfig(
  url: string,
  { ca, serverName }: Pick<ClientConfigOptions, "ca" | "serverName">,
  admin: KeyPair,
): string {
  const trust =
    (ca === undefined ? "" : `\n    certificate-authority-data: ${data(ca)}`) +
    (serverName === undefined ? "" : `\n    tls-server-name: ${serverName}`);
  return `apiVersion: v1
kind: Config
current-context: binnacle
clusters:
- name: binnacle
  cluster:
    server: ${url}${trust}
contexts:
- name: binnacle
  context:
    cluster: binnacle
    user: admin
users:
- name: admin
  user:
    client-certificate-data: ${data(admin.certificate)}
    client-key-data: ${data(admin.key)}
`;
}

export type ClientCredentials = KeyPair | { readonly token: string };

interface ClientConfigOptions {
  /** `https://host:port`. */
  readonly url: string;
  /** PEM; the machine's authorities when undefined. */
  readonly ca: string | undefined;
  /** Name in the server's certificate when it is not the host of the URL. */
  readonly serverName: string | undefined;
  /** Skips verification of the server's certificate. */
  readonly insecure: boolean;
  readonly user: string;
  /** The namespace of commands that name none. */
  readonly namespace: string | undefined;
  readonly credentials: ClientCredentials;
}

/** A kubeconfig of one user with embedded credentials, to be printed as YAML or JSON. */
export function clientConfig(options: ClientConfigOptions): object {
  const { url, ca, serverName, insecure, user, namespace, credentials } = options;
  const cluster = {
    server: url,
    ...(ca === undefined ? {} : { "certificate-authority-data": data(ca) }),
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    ...(insecure ? { "insecure-skip-tls-verify": true } : {}),
  };
  const shown =
    "token" in credentials
      ? { token: credentials.token }
      : {
          "client-certificate-data": data(credentials.certificate),
          "client-key-data": data(credentials.key),
        };
  const context = { cluster: "binnacle", user, ...(namespace === undefined ? {} : { namespace }) };
  return {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "binnacle",
    clusters: [{ name: "binnacle", cluster }],
    contexts: [{ name: "binnacle", context }],
    users: [{ name: user, user: shown }],
  };
}
