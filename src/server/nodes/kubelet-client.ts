/** The certificate that this server shows to kubelets, and the authorities of theirs. */
import type { KeyPair } from "#std/certificate.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import { readAuthorities, readGivenPair } from "../credentials.ts";
import { watchFiles } from "../watched-file.ts";
import type { NodeFlags } from "./flags.ts";

export interface KubeletClient {
  /** The authorities of their certificates, as PEM; `undefined`: any certificate is accepted. */
  readonly ca: string | undefined;
  /** Returns the current certificate and key; `undefined` without one. */
  current(): KeyPair | undefined;
  /** Reads certificate and key again when the files change, until the returned function is called. */
  follow(clock: Clock, log: Log): () => void;
}

/** Throws `StartError` for files that cannot be read or do not belong together. */
export function readKubeletClient(options: NodeFlags): KubeletClient {
  const { kubeletClientCertificate: file, kubeletClientKey: keyFile, kubeletCertificateAuthority } = options;
  const ca = kubeletCertificateAuthority === undefined ? undefined : readAuthorities(kubeletCertificateAuthority);
  if (file === undefined || keyFile === undefined) {
    return { ca, current: () => undefined, follow: () => () => undefined };
  }
  let current = readGivenPair(file, keyFile);
  const read = (): void => {
    current = readGivenPair(file, keyFile);
  };
  return {
    ca,
    current: () => current,
    follow: (clock, log) =>
      watchFiles([file, keyFile], clock, read, (error, name) =>
        log.error({ error, file: name }, "the certificate for kubelets stays as it was"),
      ),
  };
}
