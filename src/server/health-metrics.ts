/** `/metrics/slis`: the results of health checks, for objectives of availability. Source: KEP-3466. */
import type { HandledRequest, Reply } from "#http/api-request.ts";
import type { HealthEndpoint } from "#http/health.ts";
import { plainText } from "#http/plain-text.ts";
import { Metrics } from "#std/metrics.ts";

export interface HealthMetrics {
  /** Records the result of a check for a request to one of the endpoints. */
  observe(endpoint: HealthEndpoint, check: string, isGood: boolean): void;
  /** Answers requests for the metrics; `undefined` for other paths. */
  reply(request: HandledRequest): Reply | undefined;
}

const path = "/metrics/slis";

export function healthMetrics(): HealthMetrics {
  let registry = healthFamilies();
  return {
    observe(endpoint, check, isGood) {
      registry.last.with(check, endpoint).set(isGood ? 1 : 0);
      registry.total.with(check, isGood ? "success" : "error", endpoint).add();
    },
    reply(request) {
      if (request.path !== path) return undefined;
      if (request.method === "DELETE") {
        registry = healthFamilies();
        return { ...plainText(200, "metrics reset\n"), headers: {} };
      }
      const isRead = request.method === "GET" || request.method === "HEAD";
      return {
        code: 200,
        bytes: Buffer.from(isRead ? registry.metrics.print() : ""),
        contentType: "text/plain; version=0.0.4; charset=utf-8; escaping=values",
        compressible: true,
      };
    },
  };
}

function healthFamilies() {
  const metrics = new Metrics();
  const last = metrics.gauge({
    name: "kubernetes_healthcheck",
    help: "[STABLE] 1 for each health check that passed last, 0 for others.",
    labels: ["name", "type"],
  });
  const total = metrics.counter({
    name: "kubernetes_healthchecks_total",
    help: "[STABLE] Health checks that ran, by result.",
    labels: ["name", "status", "type"],
  });
  return { metrics, last, total };
}
