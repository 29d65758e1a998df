/** `npm run scale-out -- definitions-in-force`: definitions made on one server, and used on the others at once. */
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, quantile, runProgram } from "./figures.ts";
import { lateWaits } from "./late-waits.ts";

const usage = `Makes definitions on three servers, and creates an object on each other server as soon as it is answered.

Usage: npm run scale-out -- definitions-in-force [options]`;

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/** The time after which a call counts as one without an answer, on a busy machine as well. */
const timeoutMs = 60_000;

const definition = (group: string, at: number) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `thing${at}s.${group}` },
  spec: {
    group,
    scope: "Cluster",
    names: { plural: `thing${at}s`, singular: `thing${at}`, kind: `Thing${at}`, listKind: `Thing${at}List` },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
});

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  const clients = servers.all.map((server) => new Http2Client(server));
  const tookMs: number[] = [];
  let failed = 0;
  let unusable = 0;
  for (let at = 0; at < count; at++) {
    const group = `g${at % 50}.example.com`;
    const begin = performance.now();
    const made = await clients[at % 3]!.call(definitions, { method: "POST", body: definition(group, at), timeoutMs });
    tookMs.push(performance.now() - begin);
    if (made.status !== 201) failed++;
    const path = `/apis/${group}/v1/thing${at}s`;
    const others = clients.filter((_, index) => index !== at % 3);
    const used = await Promise.all(
      others.map((client, index) =>
        client.call(path, {
          method: "POST",
          body: { apiVersion: `${group}/v1`, kind: `Thing${at}`, metadata: { name: `x${index}` } },
          timeoutMs,
        }),
      ),
    );
    unusable += used.filter(({ status }) => status !== 201).length;
  }
  const gaveUp = await lateWaits(clients);
  for (const client of clients) client.close();
  return [
    { name: "definitions", value: count },
    { name: "not made", value: failed, most: 0 },
    { name: "objects refused by another server", value: unusable, most: 0 },
    { name: "writes that gave up waiting", value: gaveUp, most: 0 },
    { name: "creation, half take", value: quantile(tookMs, 0.5), unit: " ms" },
    { name: "creation, 99 % take", value: quantile(tookMs, 0.99), unit: " ms" },
  ];
}

await runProgram(usage, 1000, (count) => onStage({}, (stage) => measure(stage, count)));
