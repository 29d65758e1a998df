/**
 * Flags of kube-apiserver that this server takes without effect, so that command lines made for it start: they are about
 * parts of etcd, of other servers, of profiles and of the log that are not here. The log names those that are given.
 */
import { boolean, choice, deprecated, duration, type Flag, inert, integer, list, optional } from "#std/flags.ts";

const etcd = (name: string) => [name, "Etcd"] as const;
const features = (name: string) => [name, "Features"] as const;
const generic = (name: string) => [name, "Generic"] as const;
const logs = (name: string) => [name, "Logs"] as const;
const misc = (name: string) => [name, "Misc"] as const;

const whole = { min: 0, max: 2 ** 31 - 1 };
const second = 1000;

const noProfiles = "there is no /debug/pprof";
const noPeers = "there is no other server to ask";
const oneStream = "the log is one stream that is written at once";
const going = "a later release of Kubernetes has no such flag";

const former = <T>(flag: Flag<T>, why: string): Flag<T> => deprecated(inert(flag, why), going);

/** A flag that cannot be switched off. */
function always(flag: Flag<boolean>): Flag<boolean> {
  return {
    ...flag,
    check(value, refuse) {
      if (value === false) throw refuse("cannot be false");
      return flag.check(value, refuse);
    },
  };
}

const ofEtcd = {
  etcdServersOverrides: inert(
    list(etcd("etcd-servers-overrides"), "overrides", "Servers of etcd by resource."),
    "all objects are in the same etcd",
  ),
  etcdCountMetricPollPeriodMs: inert(
    duration(etcd("etcd-count-metric-poll-period"), 60 * second, "Time between counts of objects."),
    "objects are counted when the metric is read",
  ),
  storageBackend: inert(
    choice(etcd("storage-backend"), "etcd3", ["etcd3"], "Kind of storage."),
    "--etcd-servers decides where objects are kept",
  ),
  storageMediaType: inert(
    choice(
      etcd("storage-media-type"),
      "application/json",
      ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"],
      "Form of stored objects.",
    ),
    "objects are stored as JSON",
  ),
  storageInitializationTimeoutMs: inert(
    duration(generic("storage-initialization-timeout"), 60 * second, "Time after which the server is ready anyway."),
    "the server starts when the objects are in memory",
  ),
};

const ofServers = {
  peerCaFile: inert(optional(generic("peer-ca-file"), "file", "Authority of other servers' certificates."), noPeers),
  peerAdvertiseIp: inert(optional(generic("peer-advertise-ip"), "ip", "Address for other servers."), noPeers),
  peerAdvertisePort: inert(optional(generic("peer-advertise-port"), "port", "Port for other servers."), noPeers),
  emulatedVersion: inert(
    list(generic("emulated-version"), "versions", "Version whose API is served.", (text) =>
      /^(?:kube=)?1\.32$/.test(text) ? undefined : "must be kube=1.32",
    ),
    "there is one version",
  ),
  permitAddressSharing: inert(
    boolean(generic("permit-address-sharing"), false, "Do not wait for connections of an earlier server to end."),
    "it never waits for them",
  ),
  shutdownWatchTerminationGracePeriodMs: inert(
    duration(generic("shutdown-watch-termination-grace-period"), 0, "Time for watches at the end."),
    "watches end with the server",
  ),
  aggregatorRejectForwardingRedirect: inert(
    always(boolean(misc("aggregator-reject-forwarding-redirect"), true, "Refuse redirects of aggregated servers.")),
    "they are always refused",
  ),
};

const ofTools = {
  profiling: inert(boolean(features("profiling"), true, "Serve profiles."), noProfiles),
  contentionProfiling: inert(boolean(features("contention-profiling"), false, "Profile locks."), noProfiles),
  logFlushFrequencyMs: inert(duration(logs("log-flush-frequency"), 5 * second, "Time between writes."), oneStream),
  logJsonSplitStream: inert(boolean(logs("log-json-split-stream"), false, "Write errors apart, as JSON."), oneStream),
  logJsonInfoBufferSize: inert(optional(logs("log-json-info-buffer-size"), "size", "Buffer of messages."), oneStream),
  logTextSplitStream: inert(boolean(logs("log-text-split-stream"), false, "Write errors apart, as text."), oneStream),
  logTextInfoBufferSize: inert(optional(logs("log-text-info-buffer-size"), "size", "Buffer of messages."), oneStream),
  vmodule: inert(list(logs("vmodule"), "pattern=N,...", "Verbosity by source file."), "-v holds for all files"),
};

const formerFlags = {
  cloudProvider: former(
    choice(misc("cloud-provider"), "external", ["external"], "Who runs what belongs to a cloud."),
    "nothing here belongs to a cloud",
  ),
  cloudConfig: former(
    optional(misc("cloud-config"), "file", "Settings of a cloud."),
    "nothing here belongs to a cloud",
  ),
  enableLogsHandler: former(boolean(misc("enable-logs-handler"), true, "Serve /logs."), "there is no /logs"),
  kubeletPort: former(
    integer(misc("kubelet-port"), 10_250, whole, "Port of kubelets that name none."),
    "nodes name their port",
  ),
  kubeletReadOnlyPort: former(
    integer(misc("kubelet-read-only-port"), 10_255, whole, "Second port of kubelets."),
    "it is not used",
  ),
  apiserverCount: former(integer(misc("apiserver-count"), 1, { ...whole, min: 1 }, "Number of servers."), "it is one"),
};

export const inertFlags = { ...ofEtcd, ...ofServers, ...ofTools, ...formerFlags };
