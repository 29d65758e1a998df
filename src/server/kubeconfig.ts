/** The kubeconfig an administrator uses: one cluster, one user with a client certificate, everything embedded. */
import type { KeyPair } from "./credentials.ts";

/** YAML text. `url` is `https://host:port`. */
export function adminKubeconfig(url: string, ca: string, admin: KeyPair): string {
  const data = (pem: string): string => Buffer.from(pem).toString("base64");
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
