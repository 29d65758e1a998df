/**
 * What server-side apply costs by itself: two managers of a Deployment in turn, the same again, and lists and crowds of
 * managers of a size that nobody should have. Alone: `node --conditions=source bench/apply.bench.ts`.
 */
import { applyFields, type FieldApply } from "#apply/server-side-apply.ts";
import { checkApplied } from "#apply/check-applied.ts";
import type { OwnedObject } from "#apply/managed-fields.ts";
import { loadDefinitions } from "#api/definitions.ts";
import { decodeApplied } from "#codec/applied-body.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { decodeTyped } from "#schema/typed.ts";

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
    this.live = decodeTyped(schema, result.object, { keys: 0, unknown: false }) as OwnedObject; // a Deployment is one
  }
}

/** Microseconds, the best of five rounds. */
function time(run: (at: number) => void, count: number): number {
  let best = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5; round++) {
    const start = performance.now();
    for (let at = 0; at < count; at++) run(round * count + at);
    best = Math.min(best, ((performance.now() - start) / count) * 1000);
  }
  return best;
}

const show = (name: string, us: number): void => {
  console.log(`${name.padEnd(44)}${us.toFixed(us < 10 ? 2 : 0).padStart(10)} us`);
};

const two = new Deployed();
show(
  "two managers of a Deployment in turn",
  time((at) => two.apply(at % 2 === 0 ? "a" : "b", at % 2 === 0 ? app(at) : sidecar(at)), 2000),
);
const same = app(0);
two.apply("a", same);
show(
  "the same again",
  time(() => two.apply("a", same), 2000),
);
const crowd = new Deployed();
crowd.apply("m", same);
for (let at = 0; at < 1000; at++) crowd.apply(`m${at}`, same);
show(
  "a change, one of 1,000 managers",
  time((at) => crowd.apply("m", app(at)), 20),
);
const items = 100_000;
const many = new Deployed();
show(
  "100,000 items, made",
  time(() => {
    many.live = undefined;
    many.apply("a", deployment([{ name: "app", image: "i", env: envOf(items) }]));
  }, 1),
);
const halves = [0, 1].map((half) => envOf(items).filter((_, at) => at % 2 === half));
show(
  "100,000 items, half of them changed",
  time((at) => many.apply("a", deployment([{ name: "app", image: "i", env: halves[at % 2]! }])), 1),
);
