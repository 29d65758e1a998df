/** Metrics of a store on etcd. Their names, labels and buckets are those of kube-apiserver. */
import type { Metrics } from "#std/metrics.ts";
import { anyType, type EtcdObserver } from "#storage/etcd.ts";
import { addSizeMetric } from "../process-metrics.ts";

const requestSeconds = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** Makes the metrics, which the store reports. */
export function etcdObserver(metrics: Metrics): EtcdObserver {
  const labels = ["operation", "type"];
  const seconds = metrics.histogram({
    name: "etcd_request_duration_seconds",
    help: "Time until etcd has answered a request, by what was asked for and the resource.",
    labels,
    buckets: requestSeconds,
  });
  const requests = metrics.counter({
    name: "etcd_requests_total",
    help: "Requests to etcd, by what was asked for and the resource.",
    labels,
  });
  const errors = metrics.counter({
    name: "etcd_request_errors_total",
    help: "Requests to etcd that failed or had no answer, by what was asked for and the resource.",
    labels,
  });
  const leases = metrics
    .histogram({
      name: "etcd_lease_object_counts",
      help: "Objects that were attached to one lease of etcd.",
      buckets: [10, 50, 100, 500, 1000, 2500, 5000],
    })
    .with();
  // One watch follows all resources.
  const bookmarks = metrics
    .gauge({
      name: "etcd_bookmark_counts",
      help: "Notes of etcd that tell how far it has come without a change.",
      labels: ["resource"],
    })
    .with(anyType);
  let bytes: number | undefined;
  addSizeMetric(metrics, "Bytes of etcd's database on disk, at the last look.", () =>
    bytes === undefined ? [] : [{ labels: ["etcd-0"], value: bytes }],
  );
  return {
    request(kind, type, duration, isDone) {
      seconds.with(kind, type).observe(duration);
      requests.with(kind, type).add();
      if (!isDone) errors.with(kind, type).add();
    },
    leaseUsed: (writes) => leases.observe(writes),
    progressed: () => bookmarks.add(1),
    sized: (present) => (bytes = present),
  };
}
