/**
 * The cost of priority and fairness for a request that gets a seat at once: schema, flow, work estimate, seats and
 * their return. To run it alone: `node --conditions=source bench/fairness.bench.ts`.
 */
import { bootstrapFlowControl } from "#api/bootstrap-flow-control.ts";
import { FlowControl } from "#flowcontrol/flow-control.ts";
import { FlowMetrics } from "#flowcontrol/flow-metrics.ts";
import { WatchCounts } from "#flowcontrol/watch-counts.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { systemClock } from "#std/clock.ts";
import { Metrics } from "#std/metrics.ts";
import { bestOf } from "./in-process.ts";
import { runAlone } from "./report.ts";
import type { Run, Suite } from "./suite.ts";

export const fairnessSuite: Suite = {
  name: "fairness",
  about: "a request that finds a seat at once; no server",
  rows: {
    "fair-get": "a read of one object by somebody whom the last schemas are for",
    "fair-list": "a list, with a look at how much there is",
    "fair-update": "a write, with a look at who watches",
    "fair-exempt": "a read by an administrator",
  },
  workloads: [],
  measure,
};

const count = 300_000;

async function measure(run: Run): Promise<void> {
  const watches = new WatchCounts();
  const bootstrap = bootstrapFlowControl(kubernetesDomain);
  const metrics = new FlowMetrics(new Metrics());
  const work = { watches, objects: () => 50 };
  const control = new FlowControl({ clock: systemClock, metrics, seats: 600, bootstrap, work });
  for (const object of bootstrap.levels) control.setLevel(object.metadata.name ?? "", object);
  for (const object of bootstrap.schemas) control.setSchema(object.metadata.name ?? "", object);
  watches.began({ ...target("watch"), name: "" }, "/");
  const row = (name: string, verb: string, groups: readonly string[]): Promise<void> => {
    const request = {
      user: { name: groups[0]!, groups },
      info: target(verb),
      url: "/api/v1/namespaces/a/configmaps/b",
    };
    return run.row(name, () => bestOf(name, count, () => control.claim(request).queued.end()));
  };
  await row("fair-get", "get", ["system:authenticated"]);
  await row("fair-list", "list", ["system:authenticated"]);
  await row("fair-update", "update", ["system:authenticated"]);
  await row("fair-exempt", "get", ["system:masters", "system:authenticated"]);
}

const target = (verb: string) => ({
  isResourceRequest: true,
  path: "/api/v1/namespaces/a/configmaps/b",
  verb,
  group: "",
  version: "v1",
  resource: "configmaps",
  subresource: "",
  namespace: "a",
  name: verb === "list" ? "" : "b",
});

if (import.meta.main) await runAlone(fairnessSuite);
