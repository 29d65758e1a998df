/** Kubeconfigs of the administrator and of other users, and the public kubeconfig of `cluster-info`. */
import type { KeyPair } from "#std/certificate.ts";

const data = (pem: string): string => Buffer.from(pem).toString("base64");

/** Returns a cluster without a user, for machines that join. Its name is empty, as upstream's tools write it. */
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

/** Returns one cluster and one user with a client certificate, everything embedded. `url` is `https://host:port`. */
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
  /** The URL as `https://host:port`. */
  readonly url: string;
  /** The trusted certificates as PEM; `undefined` for the machine's authorities. */
  readonly ca: string | undefined;
  /** A name in the server's certificate; `undefined` for the host of the URL. */
  readonly serverName: string | undefined;
  /** The proxy on the way to the server. */
  readonly proxy: URL | undefined;
  /** Whether the server's certificate is accepted without verification. */
  readonly insecure: boolean;
  readonly user: string;
  /** The namespace of commands that do not name one. */
  readonly namespace: string | undefined;
  readonly credentials: ClientCredentials;
}

/** Returns a kubeconfig of one user with embedded credentials, to be printed as YAML or JSON. */
export function clientConfig(options: ClientConfigOptions): object {
  const { url, ca, serverName, insecure, proxy, user, namespace, credentials } = options;
  const cluster = {
    server: url,
    ...(ca === undefined ? {} : { "certificate-authority-data": data(ca) }),
    ...(serverName === undefined ? {} : { "tls-server-name": serverName }),
    ...(proxy === undefined ? {} : { "proxy-url": proxy.href }),
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
