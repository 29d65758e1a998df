/**
 * Creates over 64 connections, with and without admission policies. To run it alone, after a build: `node
 * --conditions=source bench/policies.bench.ts`.
 */
import { createLoop } from "./closed-loop.ts";
import { runAlone } from "./report.ts";
import { startServer } from "./server-process.ts";
import { measureWorkloads, type PreparedWorkload, type Suite, type Workload } from "./suite.ts";
import { Client, dropNamespace, makeNamespace, type Target, uniqueSuffix } from "./target.ts";

const connections = 64;
const policyCount = 20;
const createsMax = 60_000;

const workload = (name: string, hasPolicies: boolean): Workload => ({
  name,
  prepare: (target) => prepare(target, name, hasPolicies),
});

const workloads = [workload("create-64", false), workload("create-64-policies", true)];

export const policiesSuite: Suite = {
  name: "policies",
  about: "admission policies, through the whole server",
  rows: {
    "create-64": `POST of a ConfigMap of 1 KB over ${connections} connections, without policies`,
    "create-64-policies": `the same with ${policyCount} ValidatingAdmissionPolicies, of which 2 match`,
  },
  workloads,
  async measure(run) {
    const server = await startServer();
    try {
      await measureWorkloads(run, server, workloads);
    } finally {
      await server.stop();
    }
  },
};

const filler = "x".repeat(860);
const configMap = (label: string, name: string, mode = "on"): string =>
  `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}","labels":{"bench":"${label}"}},"data":{"mode":"${mode}","filler":"${filler}"}}`;

async function prepare(target: Target, name: string, hasPolicies: boolean): Promise<PreparedWorkload> {
  const namespace = await makeNamespace(target, "policies");
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const label = uniqueSuffix();
  if (hasPolicies) await enforce(target, label, path);
  return {
    measure: (seconds) =>
      createLoop(target, {
        name,
        connections,
        seconds,
        operationsMax: createsMax,
        path,
        object: (object) => configMap(label, object),
      }),
    async clean() {
      if (hasPolicies) await dropPolicies(target, label);
      await dropNamespace(target, namespace);
    },
  };
}

const rule = (apiGroups: readonly string[], resources: readonly string[]): object => ({
  apiGroups,
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources,
});

/**
 * Returns the match constraints of a policy: two policies match these config maps, three match others, and the rest
 * match other resources.
 */
function constraints(at: number, label: string): object {
  if (at >= 5) return { resourceRules: [rule(["apps"], ["deployments", "statefulsets"]), rule([""], ["pods"])] };
  const labelValue = at < 2 ? label : `other-${at}`;
  return {
    objectSelector: { matchLabels: { bench: labelValue } },
    resourceRules: [rule([""], ["configmaps", "secrets"])],
  };
}

function policy(domain: string, label: string, at: number): { policy: string; binding: string } {
  const apiVersion = `admissionregistration.${domain}/v1`;
  const name = `bench-${label}-${at}`;
  const isAboutMaps = at < 5;
  const spec = {
    matchConstraints: constraints(at, label),
    matchConditions: [{ name: "no-exemption", expression: "!has(object.metadata.annotations)" }],
    variables: [{ name: "data", expression: isAboutMaps ? "object.data" : "object.spec" }],
    validations: [
      {
        expression: isAboutMaps ? "variables.data.mode in ['on', 'off']" : "has(variables.data.replicas)",
        messageExpression: "'not allowed: ' + object.metadata.name",
      },
      {
        expression: isAboutMaps ? "variables.data.all(k, size(k) < 64)" : "variables.data.replicas < 10",
        message: "too much",
      },
    ],
  };
  const bound = { policyName: name, validationActions: ["Deny"] };
  return {
    policy: JSON.stringify({ apiVersion, kind: "ValidatingAdmissionPolicy", metadata: { name }, spec }),
    binding: JSON.stringify({
      apiVersion,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: bound,
    }),
  };
}

const policies = (domain: string): string => `/apis/admissionregistration.${domain}/v1/validatingadmissionpolicies`;
const bindings = (domain: string): string =>
  `/apis/admissionregistration.${domain}/v1/validatingadmissionpolicybindings`;

const retryMs = 50;
const giveUpMs = 20_000;

/** Creates the policies, and waits until those that match are in force. */
async function enforce(target: Target, label: string, path: string): Promise<void> {
  const client = await Client.open(target);
  for (let at = 0; at < policyCount; at++) {
    const registration = policy(target.domain, label, at);
    await client.send("POST", policies(target.domain), registration.policy);
    await client.send("POST", bindings(target.domain), registration.binding);
  }
  const began = performance.now();
  for (;;) {
    const { code, text } = await client.ask("POST", `${path}?dryRun=All`, configMap(label, "wrong", "sideways"));
    if (code === 422) break;
    if (performance.now() - began > giveUpMs) throw new Error(`the policies do nothing: ${code} ${text.slice(0, 300)}`);
    await new Promise((resolve) => setTimeout(resolve, retryMs));
  }
  client.close();
}

async function dropPolicies(target: Target, label: string): Promise<void> {
  const client = await Client.open(target);
  for (let at = 0; at < policyCount; at++) {
    await client.send("DELETE", `${bindings(target.domain)}/bench-${label}-${at}`);
    await client.send("DELETE", `${policies(target.domain)}/bench-${label}-${at}`);
  }
  client.close();
}

if (import.meta.main) await runAlone(policiesSuite);
