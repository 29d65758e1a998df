/**
 * Server-side apply: two managers of a Deployment in turn, in process and through the whole server; in process also
 * very long lists and very many managers. To run it alone, after a build: `node --conditions=source
 * bench/apply.bench.ts`.
 */
import { applyFields, type FieldApply } from "#apply/server-side-apply.ts";
import { checkApplied } from "#apply/check-applied.ts";
import type { OwnedObject } from "#apply/managed-fields.ts";
import { loadDefinitions } from "#api/definitions.ts";
import { decodeApplied } from "#codec/applied-body.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { decodeTyped } from "#schema/typed.ts";
import { applyWorkload } from "./apply-workload.ts";
import { bestOf } from "./in-process.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import { measureWorkloads, type Run, type Suite } from "./suite.ts";

export const applySuite: Suite = {
  name: "apply",
  about: "server-side apply",
  rows: {
    "apply-16": "two managers of a Deployment in turn, one for each of 16 connections",
    "apply-alone": "the same without a server: decoding, merging, ownership",
    "apply-same": "the same body again, without a server",
    "apply-1000-managers": "a change by one of 1,000 managers, without a server",
    "apply-100000-items": "an object with a list of 100,000 items, without a server",
    "apply-100000-items-half": "half of these items replaced by the other half, without a server",
  },
  workloads: [applyWorkload],
  measure,
};

const schema = loadDefinitions(kubernetesDomain).schemaOf({ group: "apps", version: "v1", kind: "Deployment" })!; // a kind of 1.32

const envOf = (count: number): object[] => Array.from({ length: count }, (_, at) => ({ name: `e${at}` }));
const deployment = (containers: object[], spec: object = {}): Buffer =>
  Buffer.from(
    JSON.stringify({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "one", labels: { app: "load" } },
      spec: {
        selector: { matchLabels: { app: "load" } },
        template: { metadata: { labels: { app: "load" } }, spec: { containers } },
        ...spec,
      },
    }),
  );
const app = (count: number): Buffer =>
  deployment(
    [
      {
        name: "app",
        image: `registry.example.com/app:${count}`,
        ports: [{ name: "http", containerPort: 8080 }],
        env: [{ name: "MODE", value: "production" }],
        resources: { requests: { cpu: "100m", memory: "64Mi" } },
      },
    ],
    { replicas: 2, paused: true },
  );
const sidecar = (count: number): Buffer =>
  deployment([{ name: "sidecar", image: `registry.example.com/sidecar:${count}`, ports: [{ containerPort: 9090 }] }]);

class Deployed {
  live: OwnedObject | undefined;

  apply(manager: string, body: Buffer): void {
    const { value } = decodeApplied(body, "Warn");
    if (checkApplied(schema, value) !== undefined) throw new Error("the body does not fit");
    const apply: FieldApply = {
      live: this.live,
      applied: value,
      apiVersion: "apps/v1",
      subresource: "",
      manager,
      force: true,
      now: "2026-01-01T00:00:00Z",
      lastAppliedAnnotation: "kubectl.kubernetes.io/last-applied-configuration",
      schemaFor: () => schema,
    };
    const result = applyFields(apply);
    if (!result.ok) throw new Error(result.conflicts.message);
    if (result.object === this.live) return;
    this.live = decodeTyped(schema, result.object, { keys: 0, unknown: false }) as OwnedObject; // a Deployment has managed fields
  }
}

async function measure(run: Run): Promise<void> {
  if (run.isWanted(applyWorkload.name)) {
    const server = await startServer();
    try {
      await measureWorkloads(run, server, [applyWorkload]);
    } finally {
      await server.stop();
    }
  }
  const row = (name: string, count: number, call: (at: number) => void): Promise<void> =>
    run.row(name, () => bestOf(name, count, call));
  const two = new Deployed();
  await row("apply-alone", 2000, (at) => two.apply(at % 2 === 0 ? "a" : "b", at % 2 === 0 ? app(at) : sidecar(at)));
  const same = app(0);
  two.apply("a", same);
  await row("apply-same", 2000, () => two.apply("a", same));
  await run.row("apply-1000-managers", () => {
    const crowd = new Deployed();
    crowd.apply("m", same);
    for (let at = 0; at < 1000; at++) crowd.apply(`m${at}`, same);
    return bestOf("apply-1000-managers", 20, (at) => crowd.apply("m", app(at)));
  });
  const many = new Deployed();
  const items = envOf(100_000);
  const deploymentWith = (env: object[]): Buffer => deployment([{ name: "app", image: "i", env }]);
  await row("apply-100000-items", 1, () => {
    many.live = undefined;
    many.apply("a", deploymentWith(items));
  });
  const halves = [0, 1].map((half) => items.filter((_, at) => at % 2 === half));
  await row("apply-100000-items-half", 1, (at) => many.apply("a", deploymentWith(halves[at % 2]!)));
}

if (import.meta.main) await runAlone(applySuite);
