/** The rules by which Prometheus tells that a server needs somebody. */

interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: "critical" | "warning";
  readonly summary: string;
  /** The first step for whoever is told. */
  readonly next: string;
}

const calls = 'verb!~"WATCH|CONNECT"';

const rules: readonly AlertRule[] = [
  {
    alert: "BinnacleGone",
    expr: "absent(kubernetes_build_info{})",
    for: "5m",
    severity: "critical",
    summary: "No server gives metrics.",
    next: "Look whether it runs, and with binnacle health whether it is ready.",
  },
  {
    alert: "BinnacleStoreFailed",
    expr: "max(binnacle_storage_failed{}) by (job, instance) > 0",
    for: "0m",
    severity: "critical",
    summary: "The store of {{ $labels.instance }} takes no writes.",
    next: "Its log says why: a full disk, or a file that cannot be written.",
  },
  {
    alert: "BinnacleErrors",
    expr:
      'sum(rate(apiserver_request_total{code=~"5.."}[5m])) by (job)' +
      " / sum(rate(apiserver_request_total{}[5m])) by (job) > 0.01",
    for: "10m",
    severity: "critical",
    summary: "{{ $value | humanizePercentage }} of the requests of {{ $labels.job }} fail.",
    next: "The log and binnacle doctor say what fails.",
  },
  {
    alert: "BinnacleSlow",
    expr: `histogram_quantile(0.99, sum(rate(apiserver_request_sli_duration_seconds_bucket{${calls}}[5m])) by (le, job, verb)) > 1`,
    for: "10m",
    severity: "warning",
    summary: "{{ $labels.verb }} requests of {{ $labels.job }} take {{ $value | humanizeDuration }}.",
    next: "See the panels Load and Admission: a full event loop, long queues, or slow webhooks.",
  },
  {
    alert: "BinnacleBusy",
    expr: "nodejs_eventloop_utilization{} > 0.9",
    for: "15m",
    severity: "warning",
    summary: "{{ $labels.instance }} computes without a pause.",
    next: "Find who sends most requests, or serve with more processes (--processes).",
  },
  {
    alert: "BinnacleRequestsWait",
    expr: "sum(apiserver_flowcontrol_current_inqueue_requests{}) by (job, priority_level) > 0",
    for: "10m",
    severity: "warning",
    summary: "Requests of the level {{ $labels.priority_level }} wait for seats.",
    next: "See which users send them; flow schemas give others seats of their own.",
  },
  {
    alert: "BinnacleWebhookFails",
    expr: "sum(rate(apiserver_admission_webhook_fail_open_count{}[10m])) by (job, name) > 0",
    for: "10m",
    severity: "warning",
    summary: "The webhook {{ $labels.name }} fails, and is passed over.",
    next: "binnacle doctor says how it fails.",
  },
  {
    alert: "BinnacleQueueGrows",
    expr: "min_over_time(workqueue_depth{}[15m]) > 100",
    for: "15m",
    severity: "warning",
    summary: "The controller {{ $labels.name }} of {{ $labels.instance }} does not keep up.",
    next: "Its log says whether it fails; workqueue_retries_total counts failures.",
  },
  {
    alert: "BinnacleClientCertificatesExpire",
    expr: "histogram_quantile(0.01, sum(rate(apiserver_client_certificate_expiration_seconds_bucket{}[5m])) by (le, job)) < 604800",
    for: "1h",
    severity: "warning",
    summary: "A client of {{ $labels.job }} comes with a certificate that ends within a week.",
    next: "The audit log says who it is; binnacle kubeconfig makes a new one.",
  },
  {
    alert: "BinnacleFewFiles",
    expr: "process_open_fds{} / process_max_fds{} > 0.8",
    for: "10m",
    severity: "warning",
    summary:
      "{{ $labels.instance }} has {{ $value | humanizePercentage }} of the files and connections that it may have.",
    next: "Raise its limit (LimitNOFILE of the unit), or find who opens connections.",
  },
];

/** Returns the file of rules as the value of its YAML. */
export const alertRules = (): object => ({
  groups: [
    {
      name: "binnacle",
      rules: rules.map(({ severity, summary, next, ...rule }) => ({
        ...rule,
        labels: { severity },
        annotations: { summary, description: next },
      })),
    },
  ],
});
