/** The panels of the dashboard: what is asked of Prometheus, and what a person reads from it. */

interface Query {
  /** The query; `$job` stands for the jobs that are chosen on the dashboard. */
  readonly expr: string;
  /** The name of each line, with labels in braces. */
  readonly legend: string;
}

export interface Panel {
  readonly title: string;
  /** A sentence that says how to read the panel. */
  readonly about: string;
  /** The unit, as Grafana names it. */
  readonly unit: "reqps" | "s" | "short" | "bytes" | "percentunit" | "ops";
  readonly queries: readonly Query[];
}

/** A row of panels under a title. */
export interface PanelRow {
  readonly title: string;
  readonly panels: readonly Panel[];
}

const own = 'job=~"$job"';
const calls = `${own},verb!~"WATCH|CONNECT"`;

/** Returns the query of a quantile of a histogram of seconds, for each value of the labels. */
const quantile = (share: number, name: string, selector: string, labels: string): string =>
  `histogram_quantile(${share}, sum(rate(${name}_bucket{${selector}}[5m])) by (le, ${labels}))`;

export const rows: readonly PanelRow[] = [
  {
    title: "Requests",
    panels: [
      {
        title: "Requests by verb",
        about: "All requests that were answered, each second.",
        unit: "reqps",
        queries: [{ expr: `sum(rate(apiserver_request_total{${own}}[5m])) by (verb)`, legend: "{{verb}}" }],
      },
      {
        title: "Refused and failed requests",
        about: "Codes of 400 and more: 409 and 404 are usual for controllers, 429 and 500 are not.",
        unit: "reqps",
        queries: [
          { expr: `sum(rate(apiserver_request_total{${own},code=~"[45].."}[5m])) by (code)`, legend: "{{code}}" },
        ],
      },
      {
        title: "Time of requests, 99th percentile",
        about: "All but one of a hundred requests are answered within this time; watches are left out.",
        unit: "s",
        queries: [{ expr: quantile(0.99, "apiserver_request_duration_seconds", calls, "verb"), legend: "{{verb}}" }],
      },
      {
        title: "Slowest resources, 99th percentile",
        about: "The ten resources whose requests take longest, without the time of webhooks and of waiting in a queue.",
        unit: "s",
        queries: [
          {
            expr: `topk(10, ${quantile(0.99, "apiserver_request_sli_duration_seconds", calls, "resource")})`,
            legend: "{{resource}}",
          },
        ],
      },
    ],
  },
  {
    title: "Load",
    panels: [
      {
        title: "Requests in flight",
        about: "Requests that are worked on, and those that wait for a seat.",
        unit: "short",
        queries: [
          { expr: `sum(apiserver_current_inflight_requests{${own}}) by (request_kind)`, legend: "{{request_kind}}" },
          {
            expr: `sum(apiserver_flowcontrol_current_inqueue_requests{${own}}) by (priority_level)`,
            legend: "waiting in {{priority_level}}",
          },
        ],
      },
      {
        title: "Seats in use by priority level",
        about: "A level that uses all its seats makes its requests wait, and then refuses them.",
        unit: "percentunit",
        queries: [
          {
            expr:
              `sum(apiserver_flowcontrol_current_executing_seats{${own}}) by (priority_level)` +
              ` / sum(apiserver_flowcontrol_current_limit_seats{${own}}) by (priority_level)`,
            legend: "{{priority_level}}",
          },
        ],
      },
      {
        title: "Open watches",
        about: "The ten resources with most watches.",
        unit: "short",
        queries: [
          {
            expr: `topk(10, sum(apiserver_longrunning_requests{${own},verb="WATCH"}) by (resource))`,
            legend: "{{resource}}",
          },
        ],
      },
      {
        title: "Event loop",
        about: "The share of time in which the process computes. Requests wait when it is near 100 %.",
        unit: "percentunit",
        queries: [{ expr: `nodejs_eventloop_utilization{${own}}`, legend: "{{instance}}" }],
      },
    ],
  },
  {
    title: "Admission",
    panels: [
      {
        title: "Time of webhooks, 99th percentile",
        about: "Each write waits for the webhooks that are about it.",
        unit: "s",
        queries: [
          {
            expr: quantile(0.99, "apiserver_admission_webhook_admission_duration_seconds", own, "name"),
            legend: "{{name}}",
          },
        ],
      },
      {
        title: "Webhooks that failed and were passed over",
        about: "Calls that did not get an answer, of webhooks whose failures are ignored.",
        unit: "ops",
        queries: [
          {
            expr: `sum(rate(apiserver_admission_webhook_fail_open_count{${own}}[5m])) by (name)`,
            legend: "{{name}}",
          },
        ],
      },
    ],
  },
  {
    title: "Storage",
    panels: [
      {
        title: "Objects",
        about: "The ten kinds with most objects.",
        unit: "short",
        queries: [{ expr: `topk(10, max(apiserver_storage_objects{${own}}) by (resource))`, legend: "{{resource}}" }],
      },
      {
        title: "Time of a commit, 99th percentile",
        about: "The time until a write is on disk. It is empty for servers that keep objects in etcd.",
        unit: "s",
        queries: [
          { expr: quantile(0.99, "binnacle_storage_commit_duration_seconds", own, "instance"), legend: "{{instance}}" },
        ],
      },
      {
        title: "Work queues of controllers",
        about: "Keys that wait for a controller. A number that only grows means that it does not keep up.",
        unit: "short",
        queries: [{ expr: `sum(workqueue_depth{${own}}) by (name)`, legend: "{{name}}" }],
      },
    ],
  },
  {
    title: "Process",
    panels: [
      {
        title: "Memory",
        about: "The memory of the process, and of that the heap in use.",
        unit: "bytes",
        queries: [
          { expr: `process_resident_memory_bytes{${own}}`, legend: "{{instance}}" },
          { expr: `nodejs_heap_size_used_bytes{${own}}`, legend: "heap of {{instance}}" },
        ],
      },
      {
        title: "CPU",
        about: "Cores in use, threads included.",
        unit: "short",
        queries: [{ expr: `rate(process_cpu_seconds_total{${own}}[5m])`, legend: "{{instance}}" }],
      },
      {
        title: "Open files",
        about: "The share of the files and connections that the process may have.",
        unit: "percentunit",
        queries: [{ expr: `process_open_fds{${own}} / process_max_fds{${own}}`, legend: "{{instance}}" }],
      },
    ],
  },
];
