/** `npm run scale-out -- rights`: rights that are taken away on one server, and asked for on the others at once. */
import { Http2Client } from "../http2-client.ts";
import { onStage, type Stage } from "../stage.ts";
import { type Figure, quantile, runProgram } from "./figures.ts";
import { lateWaits } from "./late-waits.ts";

const usage = `Takes a right away on one of three servers and uses it on the others at once, and the same with its return.

Usage: npm run scale-out -- rights [options]`;

const accounts = "/api/v1/namespaces/default/serviceaccounts";
const bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
const secrets = "/api/v1/namespaces/default/secrets";

const binding = {
  metadata: { name: "reader" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
  subjects: [{ kind: "ServiceAccount", name: "reader", namespace: "default" }],
};

async function tokenOf(client: Http2Client): Promise<string> {
  await client.call(accounts, { method: "POST", body: { metadata: { name: "reader" } } });
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const { text } = await client.call(`${accounts}/reader/token`, { method: "POST", body });
  return (JSON.parse(text) as { readonly status: { readonly token: string } }).status.token;
}

async function measure({ servers }: Stage, count: number): Promise<readonly Figure[]> {
  const admins = servers.all.map((server) => new Http2Client(server));
  const token = await tokenOf(admins[0]!);
  const readers = servers.all.map((server) => new Http2Client(server, token));
  const tookMs: number[] = [];
  let stillAllowed = 0;
  let stillRefused = 0;
  let failed = 0;
  for (let at = 0; at < count; at++) {
    const others = readers.filter((_, index) => index !== at % 3);
    const ask = (): Promise<readonly number[]> =>
      Promise.all(others.map(async (reader) => (await reader.call(secrets)).status));
    const admin = admins[at % 3]!;
    const given = await admin.call(bindings, { method: "POST", body: binding });
    stillRefused += (await ask()).filter((status) => status !== 200).length;
    const begin = performance.now();
    const taken = await admin.call(`${bindings}/reader`, { method: "DELETE" });
    tookMs.push(performance.now() - begin);
    stillAllowed += (await ask()).filter((status) => status !== 403).length;
    if (given.status !== 201 || taken.status !== 200) failed++;
  }
  const gaveUp = await lateWaits(admins);
  for (const client of [...admins, ...readers]) client.close();
  return [
    { name: "rights given and taken away", value: count },
    { name: "failed writes", value: failed, most: 0 },
    { name: "writes that gave up waiting", value: gaveUp, most: 0 },
    { name: "allowed after the end", value: stillAllowed, most: 0 },
    { name: "refused after the beginning", value: stillRefused, most: 0 },
    { name: "taking away, half take", value: quantile(tookMs, 0.5), unit: " ms" },
    { name: "taking away, 99 % take", value: quantile(tookMs, 0.99), unit: " ms" },
  ];
}

await runProgram(usage, 1000, (count) => onStage({}, (stage) => measure(stage, count)));
