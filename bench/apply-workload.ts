/**
 * Server-side apply by two managers in turn, on one Deployment for each connection. They share no field, and each apply
 * changes two values. The Deployment is paused, so that the controllers of a peer have nothing to do.
 */
import { closedLoop } from "./closed-loop.ts";
import { requestBytes } from "./connection.ts";
import type { PreparedWorkload, Workload } from "./suite.ts";
import { Client, dropNamespace, makeNamespace, type Target } from "./target.ts";

export const applyWorkload: Workload = { name: "apply-16", prepare };

const connections = 16;
const applyType = "application/apply-patch+yaml";
const managers = ["bench-app", "bench-sidecar"] as const;

/** The configuration of each manager for the `count`-th apply. */
const intents = [
  (name: string, count: number): string =>
    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"${name}","labels":{"app":"bench"},"annotations":{"app.example.com/revision":"${count}"}},` +
    '"spec":{"replicas":2,"paused":true,"selector":{"matchLabels":{"app":"bench"}},"template":{"metadata":{"labels":{"app":"bench"}},"spec":{"containers":[' +
    `{"name":"app","image":"registry.example.com/app:${count}","ports":[{"name":"http","containerPort":8080}],` +
    '"env":[{"name":"MODE","value":"production"},{"name":"LEVEL","value":"info"}],"resources":{"requests":{"cpu":"100m","memory":"64Mi"}}}]}}}}',
  (name: string, count: number): string =>
    `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"${name}","annotations":{"sidecar.example.com/revision":"${count}"}},` +
    '"spec":{"template":{"metadata":{"annotations":{"sidecar.example.com/injected":"true"}},"spec":{"terminationGracePeriodSeconds":45,"containers":[' +
    `{"name":"sidecar","image":"registry.example.com/sidecar:${count}","ports":[{"name":"metrics","containerPort":9090}],` +
    '"env":[{"name":"TARGET","value":"app"}]}]}}}}',
] as const;

async function prepare(target: Target): Promise<PreparedWorkload> {
  const namespace = await makeNamespace(target, "apply");
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const turns = new Array<number>(connections).fill(0);
  const next = (worker: number): Buffer => {
    const turn = turns[worker]!++;
    const name = `app-${worker}`;
    const path = `${deployments}/${name}?fieldManager=${managers[turn % 2]}&force=true`;
    return requestBytes("PATCH", path, target.token, intents[turn % 2]!(name, turn), applyType);
  };
  return {
    async measure(seconds) {
      const measured = await closedLoop(target, { name: applyWorkload.name, connections, seconds, next });
      await checkOwners(target, `${deployments}/app-0`);
      return measured;
    },
    async clean() {
      const client = await Client.open(target);
      await client.send("DELETE", deployments);
      client.close();
      await dropNamespace(target, namespace);
    },
  };
}

/** Checks that both containers exist and that each manager owns its part; otherwise the figures are meaningless. */
async function checkOwners(target: Target, path: string): Promise<void> {
  const client = await Client.open(target);
  const text = await client.send("GET", path);
  client.close();
  const { metadata, spec } = JSON.parse(text) as DeploymentView; // a Deployment, of our server or of another one
  const owners = metadata.managedFields.filter(({ operation }) => operation === "Apply").map(({ manager }) => manager);
  const containers = spec.template.spec.containers.map(({ name }) => name);
  if (owners.toSorted().join() !== managers.join() || containers.toSorted().join() !== "app,sidecar")
    throw new Error(`${target.name}: the Deployment has containers ${containers.join()} and owners ${owners.join()}`);
}

interface DeploymentView {
  readonly metadata: { readonly managedFields: readonly { readonly manager: string; readonly operation: string }[] };
  readonly spec: {
    readonly template: { readonly spec: { readonly containers: readonly { readonly name: string }[] } };
  };
}
