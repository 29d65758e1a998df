/** Flags of a store on etcd. Their names and meanings are those of kube-apiserver. */
import { duration, integer, list, optional, type OptionsOf, text } from "#std/flags.ts";
import { StartError } from "#std/start-error.ts";

const etcd = (name: string) => [name, "Etcd"] as const;
const second = 1000;

export const etcdFlags = {
  etcdServers: list(
    etcd("etcd-servers"),
    "urls",
    "Members of etcd (scheme://host:port) that keep the objects, instead of a folder. Several servers may share them.",
    (url) =>
      /^(?:https?:\/\/[^/\s]+|unix:\/\/\S+)\/?$/.test(url) ? undefined : "must be http://, https:// or unix://",
  ),
  etcdCafile: optional(etcd("etcd-cafile"), "file", "Certificates (PEM) of the authority that signed etcd's."),
  etcdCertfile: optional(etcd("etcd-certfile"), "file", "Client certificate (PEM) for etcd."),
  etcdKeyfile: optional(etcd("etcd-keyfile"), "file", "Key of --etcd-certfile (PEM)."),
  etcdPrefix: text(etcd("etcd-prefix"), "/registry", "path", "Beginning of all keys in etcd."),
  etcdCompactionIntervalMs: duration(
    etcd("etcd-compaction-interval"),
    300 * second,
    "How often the history in etcd is compacted; 0 for never.",
  ),
  etcdHealthcheckTimeoutMs: duration(
    etcd("etcd-healthcheck-timeout"),
    2 * second,
    "How long etcd may take to answer until /livez and /healthz fail.",
  ),
  etcdReadycheckTimeoutMs: duration(
    etcd("etcd-readycheck-timeout"),
    2 * second,
    "How long etcd may take to answer until /readyz fails.",
  ),
  etcdDbMetricPollIntervalMs: duration(
    etcd("etcd-db-metric-poll-interval"),
    30 * second,
    "How often etcd is asked for the size of its database; 0 for never.",
  ),
  leaseReuseDurationSeconds: integer(
    etcd("lease-reuse-duration-seconds"),
    60,
    { min: 1, max: 2 ** 31 - 1 },
    "Longest time in seconds for which objects that expire share a lease of etcd.",
  ),
};

/** Throws `StartError` for settings that a store on etcd cannot have. */
export function checkEtcd(options: OptionsOf<typeof etcdFlags> & { readonly history: unknown }): void {
  const { etcdServers, etcdCertfile, etcdKeyfile, history } = options;
  if ((etcdCertfile === undefined) !== (etcdKeyfile === undefined)) {
    throw new StartError("--etcd-certfile and --etcd-keyfile must be given together");
  }
  if (etcdServers.length > 0 && history !== undefined) {
    throw new StartError("--history needs a store in the data folder: etcd keeps what it has not compacted");
  }
}
