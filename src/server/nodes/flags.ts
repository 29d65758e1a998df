/** Flags of connections to nodes. */
import { duration, integer, list, optional, type OptionsOf } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";

const misc = (name: string) => [name, "Misc"] as const;

export const nodeFlags = {
  kubeletClientCertificate: optional(
    misc("kubelet-client-certificate"),
    "file",
    "Certificate (PEM) that this server shows to kubelets. Default: none.",
  ),
  kubeletClientKey: optional(misc("kubelet-client-key"), "file", "Key of --kubelet-client-certificate (PEM)."),
  kubeletCertificateAuthority: optional(
    misc("kubelet-certificate-authority"),
    "file",
    "Authorities (PEM) of the certificates of kubelets. Default: their certificates are not checked.",
  ),
  kubeletPreferredAddressTypes: list(
    misc("kubelet-preferred-address-types"),
    "types",
    "Types of addresses of nodes, the preferred one first. Default: Hostname,InternalDNS,InternalIP,ExternalDNS,ExternalIP.",
  ),
  kubeletTimeoutMs: duration(
    misc("kubelet-timeout"),
    5_000,
    "Time in which a kubelet must accept a connection, and show its certificate.",
  ),
  maxConnectionBytesPerSec: integer(
    misc("max-connection-bytes-per-sec"),
    0,
    { min: 0, max: Number.MAX_SAFE_INTEGER },
    "Bytes that pass per second through each session with a node, in each direction; 0 for any number.",
  ),
};

export type NodeFlags = OptionsOf<typeof nodeFlags>;

const usualAddressTypes = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/** Returns the types of addresses, the preferred one first. */
export const preferredAddressTypes = ({ kubeletPreferredAddressTypes: given }: NodeFlags): readonly string[] =>
  given.length === 0 ? usualAddressTypes : given;

/** Throws `StartError` for a certificate without its key, or a key without its certificate. */
export function checkKubeletFiles({ kubeletClientCertificate, kubeletClientKey }: NodeFlags): void {
  if ((kubeletClientCertificate === undefined) === (kubeletClientKey === undefined)) return;
  throw new StartError("--kubelet-client-certificate and --kubelet-client-key must be given together");
}
