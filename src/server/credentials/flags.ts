/** Flags of certificates: the serving certificate, TLS, and the authorities of clients and of the server. */
import { binnacleFlag, choice, list, optional, type OptionsOf, texts } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import { namedFilesMistake } from "./named-certificates.ts";

const secure = (name: string) => [name, "Secure serving"] as const;

export const credentialFlags = {
  tlsSan: list(
    binnacleFlag("tls-san"),
    "names",
    "More host names and addresses for the serving certificate made at start.",
    (name) => (/^[A-Za-z0-9*_.:-]{1,253}$/.test(name) ? undefined : "must be a host name or an address"),
  ),
  certDir: optional(
    secure("cert-dir"),
    "folder",
    "Folder whose apiserver.crt and apiserver.key are used where --tls-cert-file is not given. Nothing is written to it.",
  ),
  tlsCertFile: optional(
    secure("tls-cert-file"),
    "file",
    "Serving certificate (PEM, with its chain). Made at start when not given.",
  ),
  tlsPrivateKeyFile: optional(secure("tls-private-key-file"), "file", "Key of --tls-cert-file (PEM)."),
  tlsSniCertKey: texts(
    secure("tls-sni-cert-key"),
    "cert,key[:names]",
    "Certificate and key files for clients that ask for one of the names, *.example.com among them; may be given several times. Default: the names in the certificate.",
    namedFilesMistake,
  ),
  tlsMinVersion: choice(
    secure("tls-min-version"),
    "VersionTLS12",
    ["VersionTLS12", "VersionTLS13"],
    "Oldest TLS version accepted.",
  ),
  tlsCipherSuites: list(
    secure("tls-cipher-suites"),
    "names",
    "Cipher suites for TLS 1.2 by their IANA names. Default: those of kube-apiserver.",
  ),
  clientCaFile: optional(
    ["client-ca-file", "Authentication"],
    "file",
    "Certificates (PEM) whose client certificates are trusted, beside the server's own.",
  ),
  requestheaderClientCaFile: optional(
    ["requestheader-client-ca-file", "Authentication"],
    "file",
    "Certificates (PEM) of authenticating proxies, whose request headers name the user.",
  ),
  rootCaFile: optional(
    ["root-ca-file", "Controllers"],
    "file",
    "Certificates (PEM) by which programs in pods know the server, and kubeconfigs when --tls-cert-file is given. Default: the root in that file, or what is nearest to it; else the server's own authority.",
  ),
};

export type CredentialFlags = OptionsOf<typeof credentialFlags>;

/** Throws `StartError` for a certificate without its key, or a key without its certificate. */
export function checkServingFiles({ tlsCertFile, tlsPrivateKeyFile }: CredentialFlags): void {
  if ((tlsCertFile === undefined) === (tlsPrivateKeyFile === undefined)) return;
  throw new StartError("--tls-cert-file and --tls-private-key-file must be given together");
}
