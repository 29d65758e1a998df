/**
 * Pods of 4 KB: the server's work on one of them, and creates through the whole server with the admission plugins that
 * need no configuration. To run it alone, after a build: `node --conditions=source bench/pods.bench.ts`.
 */
import { loadDefinitions } from "#api/definitions.ts";
import { compareObjects } from "#apply/typed-fields.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { decodeJson } from "#codec/json.ts";
import { builtInDefinitions } from "#kinds/built-in.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import { testContext } from "#meta/context-for-tests.ts";
import { printFieldError } from "#meta/field-error.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import { ByteBudget } from "#schema/json-values.ts";
import { postLoop } from "./closed-loop.ts";
import { bestOf } from "./in-process.ts";
import { podNamespaceObjects, podOf, podServerFlags } from "./pod-workload.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import { measureWorkloads, type PreparedWorkload, type Suite, type Workload } from "./suite.ts";
import { Client, dropNamespace, makeNamespace, type Target } from "./target.ts";

const streams = 16;

const createsMax = 40_000;

const workloads: readonly Workload[] = [{ name: "create-pod", prepare: prepareCreates }];

export const podsSuite: Suite = {
  name: "pods",
  about: "pods of 4 KB",
  rows: {
    "check-pod": "decoding, defaults and validation of one; no server",
    "fields-pod": "the set of its fields for managedFields; no server",
    "parse-pod": "JSON.parse of its text, for comparison; no server",
    "create-pod": `POST over ${streams} streams of an HTTP/2 connection, under a LimitRange and a ResourceQuota; a peer needs ${podServerFlags.join(" ")}`,
  },
  workloads,
  flags: podServerFlags,
  async measure(run) {
    const text = podOf("pod-1");
    const definition = podDefinition();
    const bytes = Buffer.from(text);
    await run.row("check-pod", () => bestOf("check-pod", 20_000, () => checkPod(definition, bytes)));
    await run.row("fields-pod", () => {
      const pods = Array.from({ length: 50 }, () => checkPod(definition, bytes));
      return bestOf("fields-pod", 20_000, (at) =>
        compareObjects(definition.schema, undefined, pods[at % pods.length]!),
      );
    });
    await run.row("parse-pod", () => bestOf("parse-pod", 20_000, () => JSON.parse(text)));
    if (!run.isWanted("create-pod")) return;
    const server = await startServer(undefined, [], podServerFlags);
    try {
      await measureWorkloads(run, server, workloads);
    } finally {
      await server.stop();
    }
  },
};

function podDefinition(): ResourceDefinition {
  const tables = loadDefinitions(kubernetesDomain);
  const gates = new Set(tables.gates.filter((gate) => gate.default).map(({ name }) => name));
  const [definition] = builtInDefinitions(
    tables,
    {
      domain: kubernetesDomain,
      gate: (name) => gates.has(name),
      allowsPrivileged: true,
      eventTtlSeconds: 3600,
      now: Date.now,
      decodeJson: (text) => decodeJson(Buffer.from(text)).value,
    },
    ({ kubernetesGroup, kind }) => kubernetesGroup === "" && kind === "Pod",
  );
  if (definition === undefined) throw new Error("there is no kind Pod");
  return definition;
}

const unbounded = new ByteBudget(Number.POSITIVE_INFINITY, () => new Error("there is no bound"));

/** Does what a create does with a body before admission and storage. Returns the pod. */
function checkPod(definition: ResourceDefinition, bytes: Buffer): Unstructured {
  const { decoder, strategy } = definition;
  const attributes = { context: testContext(), subresource: "", dryRun: false };
  const body = { bytes, encoding: jsonEncoding, gvk: definition, fieldValidation: "Strict" as const };
  const decoded = decoder.decodeBody({ ...body, room: () => unbounded }).object;
  const full = strategy.defaults?.(decoded) ?? decoded;
  const prepared = strategy.prepareForCreate?.(full, attributes) ?? full;
  const findings = strategy.validate?.(prepared, attributes) ?? [];
  if (findings.length > 0) throw new Error(`the pod is invalid: ${printFieldError(findings[0]!)}`);
  strategy.warningsOnCreate?.(prepared, attributes);
  return prepared;
}

async function prepareCreates(target: Target): Promise<PreparedWorkload> {
  const namespace = await makeNamespace(target, "pods");
  const at = `/api/v1/namespaces/${namespace}`;
  const client = await Client.open(target);
  const send = (path: string, object: object): Promise<string> =>
    client.send("POST", `${at}/${path}`, JSON.stringify({ apiVersion: "v1", ...object }));
  for (const { path, object } of podNamespaceObjects) await send(path, object);
  await client.ask(
    "POST",
    `${at}/serviceaccounts`,
    '{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}',
  );
  client.close();
  let serial = 0;
  return {
    // The pods stay until the end, since a quota is counted again after deletions.
    measure: (seconds) =>
      postLoop(target, `${at}/pods`, {
        name: "create-pod",
        streams,
        seconds,
        operationsMax: createsMax,
        body: () => podOf(`pod-${serial++}`),
      }),
    async clean() {
      const after = await Client.open(target);
      // A server that needs more than its time for so many pods is asked again.
      while ((await after.ask("DELETE", `${at}/pods?gracePeriodSeconds=0`)).code === 504);
      after.close();
      await dropNamespace(target, namespace);
    },
  };
}

if (import.meta.main) await runAlone(podsSuite);
