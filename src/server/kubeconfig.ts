/** Kubeconfigs, as YAML: the administrator's, and the one that says of the cluster what anybody may know. */
import type { KeyPair } from "./credentials.ts";

const data = (pem: string): string => Buffer.from(pem).toString("base64");

/** A cluster and nobody: for those who join. Its name is empty, as upstream's tools make it. */
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
export function adminKubeconfig(url: string, ca: string, admin: KeyPair): string {
  return `apiVersion: v1
kind: Config
current-context: binnacle
clusters:
- name: binnacle
  cluster:
    server: ${url}
    certificate-authority-data: ${data(ca)}
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
