/**
 * The serving certificates of a running server: its own or those of flags. Files of flags are read every minute, so that
 * new ones take effect, and its own every hour, so that no certificate expires while the server runs.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import type { TlsFiles } from "#transport/listener.ts";
import type { KeyPair } from "#std/certificate.ts";
import type { Clock } from "#std/clock.ts";
import type { Log } from "#std/log.ts";
import type { Random } from "#std/random.ts";
import { StartError } from "#std/start-error.ts";
import { type Credentials, prepareCredentials, readAuthorities, readGivenPair } from "../credentials.ts";
import { writePrivate } from "../data-folder.ts";
import { adminKubeconfig } from "../kubeconfig.ts";
import type { GeneralFlags } from "../general-flags.ts";
import type { CredentialFlags } from "./flags.ts";
import { namedFiles, readNamedCertificates } from "./named-certificates.ts";
import { serverTrust, type ServerTrust } from "./server-trust.ts";
import { tlsSettings } from "./tls-settings.ts";
import { watchFiles } from "../watched-file.ts";

/** Returns the options with the files of `--cert-dir`, if that folder has them and no flag names other files. */
export function withCertDir<Options extends CredentialFlags>(options: Options): Options {
  const { certDir, tlsCertFile } = options;
  if (certDir === undefined || tlsCertFile !== undefined) return options;
  const [certificate, key] = [join(certDir, "apiserver.crt"), join(certDir, "apiserver.key")];
  if (!existsSync(certificate) || !existsSync(key)) return options;
  return { ...options, tlsCertFile: certificate, tlsPrivateKeyFile: key };
}

export interface CredentialSources {
  readonly options: CredentialFlags & Pick<GeneralFlags, "bindAddress" | "externalHostname" | "acceptDataLoss">;
  /** The data folder; `undefined` writes nothing. */
  readonly folder: string | undefined;
  /** Whether the folder was used before. If so, the files on which other programs rely must exist. */
  readonly isUsed: boolean;
  /** Whether this process writes the files of the folder; otherwise another one does. */
  readonly isKeeper: boolean;
  readonly clock: Clock;
  readonly random: Random;
}

export interface ServingCredentials {
  readonly credentials: Credentials;
  readonly serving: KeyPair;
  /** Certificates for certain host names. */
  readonly named: ReadonlyMap<string, KeyPair>;
  /** All authorities of client certificates, as PEM. */
  readonly clientCa: string;
  /** All authorities of authenticating proxies, as PEM; empty without any. */
  readonly requestHeaderCa: string;
  readonly trust: ServerTrust;
}

const checkIntervalMs = 3_600_000;
/** The interval in which a process that does not write the files reads them. */
const readIntervalMs = 60_000;

/**
 * Reads the credentials and makes missing ones in memory. Throws `StartError`, also when some are missing or too old that
 * another process writes.
 */
export async function readServingCredentials(sources: CredentialSources): Promise<ServingCredentials> {
  const { options, folder, isUsed, isKeeper, clock, random } = sources;
  const { bindAddress, externalHostname, tlsSan } = options;
  const bound = /^(?:0\.0\.0\.0|::)$/.test(bindAddress) ? [] : [bindAddress];
  const names = [...bound, ...(externalHostname === undefined ? [] : [externalHostname]), ...tlsSan];
  const credentials = await prepareCredentials({
    folder,
    isUsed,
    isKeeper,
    acceptLoss: options.acceptDataLoss,
    names,
    clock,
    random,
  });
  if (!isKeeper && credentials.files.size > 0) {
    const files = [...credentials.files.keys()].join(", ");
    throw new StartError(`process 0, which writes the credentials in ${folder}, has not written ${files}`);
  }
  const given = Object.assign({}, ...givenParts.map(({ read }) => read(options, credentials))) as GivenCredentials;
  return { credentials, ...given };
}

/** The parts that files of flags give; the server has its own serving certificate and authority without them. */
type GivenCredentials = Omit<ServingCredentials, "credentials">;

type ServingOptions = CredentialSources["options"];

/** Parts of the credentials that are read together. A file that cannot be used leaves the other parts up to date. */
const givenParts: readonly {
  /** Returns the files of flags. */
  files(options: ServingOptions): readonly (string | undefined)[];
  /** Throws `StartError`. */
  read(options: ServingOptions, own: Credentials): Partial<GivenCredentials>;
}[] = [
  {
    files: ({ tlsCertFile, tlsPrivateKeyFile, rootCaFile }) => [tlsCertFile, tlsPrivateKeyFile, rootCaFile],
    read(options, { ca, serving }) {
      const { tlsCertFile, tlsPrivateKeyFile } = options;
      const isGiven = tlsCertFile !== undefined && tlsPrivateKeyFile !== undefined;
      return {
        serving: isGiven ? readGivenPair(tlsCertFile, tlsPrivateKeyFile) : serving,
        trust: serverTrust(options, ca.certificate),
      };
    },
  },
  {
    files: ({ tlsSniCertKey }) => namedFiles(tlsSniCertKey),
    read: ({ tlsSniCertKey }) => ({ named: readNamedCertificates(tlsSniCertKey) }),
  },
  {
    files: ({ clientCaFile, requestheaderClientCaFile }) => [clientCaFile, requestheaderClientCaFile],
    read({ clientCaFile, requestheaderClientCaFile }, { ca }) {
      const authorities = (file: string | undefined): string => (file === undefined ? "" : readAuthorities(file));
      return {
        clientCa: ca.certificate + authorities(clientCaFile),
        requestHeaderCa: authorities(requestheaderClientCaFile),
      };
    },
  },
];

/** Returns the TLS settings of the listener. Throws `StartError` for an unknown cipher suite. */
export function tlsFiles(
  options: CredentialFlags,
  { serving, named, clientCa, requestHeaderCa }: ServingCredentials,
): TlsFiles {
  return {
    key: serving.key,
    cert: serving.certificate,
    ...(options.tlsSniCertKey.length === 0 ? {} : { named }),
    clientCa: clientCa + requestHeaderCa,
    ...tlsSettings(options),
  };
}

/** Writes the new files and the kubeconfig. Throws `StartError`. */
export function writeCredentials(folder: string, url: string, { credentials, trust }: ServingCredentials): void {
  for (const [path, content] of credentials.files) writePrivate(folder, path, content);
  writePrivate(folder, "admin.kubeconfig", adminKubeconfig(url, trust, credentials.admin));
}

interface Renewal {
  readonly url: string;
  readonly current: ServingCredentials;
  readonly log: Log;
  /** Uses the files for new connections, and the authorities at once. */
  use(files: TlsFiles, next: ServingCredentials): void;
}

/** Reads the files of flags every minute and the server's own every hour, until the returned function is called. */
export function keepRenewed(sources: CredentialSources, renewal: Renewal): () => void {
  const { options, folder, isKeeper, clock } = sources;
  const { log, url } = renewal;
  const intervalMs = isKeeper ? checkIntervalMs : readIntervalMs;
  let { current } = renewal;
  function take(next: ServingCredentials): void {
    const isTrusted = next.trust.ca === current.trust.ca && next.trust.serverName === current.trust.serverName;
    if (folder !== undefined && isKeeper && (next.credentials.files.size > 0 || !isTrusted))
      writeCredentials(folder, url, next);
    const isSame =
      isTrusted &&
      next.serving.certificate === current.serving.certificate &&
      isDeepStrictEqual(next.named, current.named) &&
      next.clientCa === current.clientCa &&
      next.requestHeaderCa === current.requestHeaderCa &&
      next.credentials.frontProxy.client.certificate === current.credentials.frontProxy.client.certificate;
    if (isSame) return;
    renewal.use(tlsFiles(options, next), next);
    current = next;
    log.info({}, "certificates renewed");
  }
  const failed = (error: unknown): void => log.error({ error }, "certificates could not be renewed");
  const stops = givenParts.map(({ files, read }) =>
    watchFiles(
      files(options).filter((file) => file !== undefined),
      clock,
      () => {
        // The files that the start or an earlier renewal has written are not written again.
        const credentials = { ...current.credentials, files: new Map<string, string>() };
        take({ ...current, credentials, ...read(options, credentials) });
      },
      failed,
    ),
  );
  // A server without a folder keeps the certificates that it made.
  let cancel = folder === undefined ? undefined : clock.after(intervalMs, check);
  let isStopped = false;
  function check(): void {
    cancel = clock.after(intervalMs, check);
    void renew().catch(failed);
  }
  async function renew(): Promise<void> {
    // A loss is never accepted while the server runs.
    const asNow = { ...sources, options: { ...options, acceptDataLoss: false }, isUsed: true };
    const next = await readServingCredentials(asNow);
    if (isStopped) return;
    take(next);
  }
  return () => {
    isStopped = true;
    cancel?.();
    for (const stop of stops) stop();
  };
}
