/** The flags of commands that read or fill an etcd by themselves, and the line that shows how far they are. */
import { readGiven } from "#server/given-files.ts";
import { etcdFlags } from "#server/store.ts";
import type { EncryptionFile } from "#server/verify-store.ts";
import { systemClock } from "#std/clock.ts";
import { binnacleFlag, optional, type Settings } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";
import type { EtcdAddress } from "#storage/copy.ts";

const { etcdServers, etcdPrefix, etcdCafile, etcdCertfile, etcdKeyfile } = etcdFlags;

/** Flags that say how an etcd is reached, as those of the server. */
export const etcdAccessFlags = { etcdPrefix, etcdCafile, etcdCertfile, etcdKeyfile };

/** The same, with the flag that names the etcd. */
export const etcdAddressFlags = {
  etcdServers: { ...etcdServers, help: "Members of an etcd (scheme://host:port) to read in place of a data folder." },
  ...etcdAccessFlags,
};

/** The flag for stores with encrypted values. */
export const encryptionFlag = optional(
  binnacleFlag("encryption-provider-config"),
  "file",
  "The server's file of that name: encrypted values are decrypted, and checked or encrypted anew.",
);

/** Throws `StartError` for a file that cannot be read. */
export const encryptionFile = (file: string | undefined): EncryptionFile | undefined =>
  file === undefined ? undefined : { file, text: readGiven(file) };

/** Whether a text names an etcd. */
export const isEtcd = (location: string): boolean => /^(?:https?|unix):\/\//.test(location);

/** Returns the etcd with these members. Throws `StartError`. */
export function etcdAddress(endpoints: readonly string[], settings: Settings<typeof etcdAccessFlags>): EtcdAddress {
  const { etcdPrefix: prefix = etcdPrefix.default, etcdCafile: authority } = settings;
  const { etcdCertfile: certificate, etcdKeyfile: key } = settings;
  if ((certificate === undefined) !== (key === undefined))
    throw new StartError("--etcd-certfile and --etcd-keyfile must be given together");
  return {
    endpoints,
    prefix,
    tls: {
      ...(authority === undefined ? {} : { authority }),
      ...(certificate === undefined ? {} : { certificate }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

/** Throws `StartError` when flags of etcd are given without an etcd. */
export function refuseEtcdFlags(settings: Settings<typeof etcdAccessFlags>): void {
  for (const [name, { name: flag }] of Object.entries(etcdAccessFlags)) {
    if (name in settings) throw new StartError(`--${flag} needs an etcd (--etcd-servers)`);
  }
}

const progressMs = 200;

/** Shows on a terminal how far a command is. */
export class ProgressLine {
  readonly #isShown = process.stderr.isTTY;
  #shownAt = Number.NEGATIVE_INFINITY;

  show(text: string): void {
    if (!this.#isShown) return;
    const now = systemClock.monotonic();
    if (now - this.#shownAt < progressMs) return;
    this.#shownAt = now;
    process.stderr.write(`\r\u001b[K${text}`);
  }

  end(): void {
    if (this.#isShown) process.stderr.write("\r\u001b[K");
  }
}
