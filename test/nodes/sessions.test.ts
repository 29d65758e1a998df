/** Sessions with nodes from their beginning to their end: the audit log, metrics, and a server that ends. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { Api, type Domain, domains, eventually, file, startsServers, temporaryFolder } from "../harness.ts";
import { connectRaw, type RawConnection } from "../raw.ts";
import { type Cluster, makePod, openCluster } from "./cluster.ts";
import { WebSocketClient } from "./web-socket.ts";

interface Event {
  readonly requestURI: string;
  readonly verb: string;
  readonly stage: string;
  readonly objectRef?: Readonly<Record<string, string>>;
  readonly responseStatus?: { readonly code?: number; readonly message?: string };
  readonly requestObject?: unknown;
  readonly responseObject?: { readonly kind?: string };
}

interface Here {
  readonly api: Api;
  readonly cluster: Cluster;
  readonly ns: string;
  readonly pods: string;
  /** Returns the events about a subresource so far. */
  events(subresource: string): readonly Event[];
}

function sessionTest(title: string, run: (here: Here, t: TestContext) => Promise<void>): void {
  for (const domain of startsServers ? domains : []) {
    test(`${domain}: ${title}`, async (t) => {
      const path = join(temporaryFolder(), "audit.log");
      const settings = { auditPolicyFile: policyFile(domain), auditLogPath: path, maxConnectionBytesPerSec: 100_000 };
      const cluster = await openCluster(domain, { settings });
      const api = new Api(cluster.server);
      t.after(async () => {
        api.close();
        await cluster.close();
      });
      const { ns } = await api.createNamespace();
      await makePod(api, ns, "p", {});
      const events = (subresource: string): readonly Event[] =>
        readFileSync(path, "utf8")
          .split("\n")
          .filter((line) => line !== "")
          .map((line) => JSON.parse(line) as Event)
          .filter(({ objectRef }) => objectRef?.["subresource"] === subresource);
      await run({ api, cluster, ns, pods: `/api/v1/namespaces/${ns}/pods`, events }, t);
    });
  }
}

const policyFile = (domain: Domain): string => {
  const group = domain === "k8s.io" ? "audit.k8s.io" : "audit.platform.io";
  const rules = [{ level: "RequestResponse" }];
  return file("policy.json", JSON.stringify({ apiVersion: `${group}/v1`, kind: "Policy", rules }));
};

const stagesOf = (events: readonly Event[]): string[] =>
  events.map(({ stage, verb, responseStatus }) => `${verb} ${stage} ${responseStatus?.code ?? ""}`.trim());

const longRunning = async (api: Api, subresource: string): Promise<number> => {
  const text = (await api.get("/metrics")).expect(200).bytes.toString();
  const line = text
    .split("\n")
    .find((one) => one.startsWith("apiserver_longrunning_requests{") && one.includes(`subresource="${subresource}"`));
  return line === undefined ? 0 : Number(line.split(" ").at(-1));
};

sessionTest("a session is complete in the audit log and in metrics when it ends", async ({ api, pods, events }) => {
  const path = `${pods}/p/exec?command=cat&stdin=1&stdout=1`;
  for (const protocol of ["v4.channel.k8s.io", "v5.channel.k8s.io"]) {
    const before = events("exec").length;
    const stages = () => stagesOf(events("exec").slice(before));
    const client = await WebSocketClient.open(api, path, protocol);
    client.send(0, "hello");
    await client.until(() => client.on(1).toString() === "hello");
    assert.deepEqual(stages(), ["get RequestReceived", "get ResponseStarted 101"]);
    assert.equal(await longRunning(api, "exec"), 1);
    client.socket.destroy();
    await eventually(async () => assert.equal(stages().at(-1), "get ResponseComplete 101"));
    await eventually(async () => assert.equal(await longRunning(api, "exec"), 0));
    assert.equal(stages().length, 3);
  }
  const [first] = events("exec");
  assert.equal(first!.requestURI, path);
  // The bytes of a session are no object.
  for (const event of events("exec"))
    assert.deepEqual([event.requestObject, event.responseObject], [undefined, undefined]);
});

sessionTest("what a client is answered without a session is in the audit log", async ({ api, pods, events }) => {
  (await api.get(`${pods}/p/log`)).expect(200);
  (await api.get(`${pods}/p/log?container=none`)).expect(400);
  (await api.post(`${pods}/p/attach`, {})).expect(400);
  (await api.get(`${pods}/p/proxy/`)).expect(400);
  (await api.send("GET", `${pods}/p/portforward`, undefined, { as: "alice" })).expect(403);
  await eventually(async () =>
    assert.deepEqual(stagesOf(events("log")), [
      "get RequestReceived",
      "get ResponseStarted 200",
      "get ResponseComplete 200",
      "get RequestReceived",
      "get ResponseStarted 400",
      "get ResponseComplete 400",
    ]),
  );
  assert.equal(events("log").at(-1)!.responseObject?.kind, "Status");
  assert.equal(events("log")[2]!.responseObject, undefined);
  assert.deepEqual(stagesOf(events("attach")).at(-1), "create ResponseComplete 400");
  assert.equal(events("attach").at(-1)!.responseStatus?.message, "Upgrade request required");
  assert.deepEqual(stagesOf(events("proxy")).at(-1), "get ResponseComplete 400");
  assert.deepEqual(stagesOf(events("portforward")).at(-1), "get ResponseComplete 403");
});

const getLog = async ({ server }: Cluster, api: Api, path: string): Promise<RawConnection> => {
  const raw = await connectRaw(api.endpoint, server.ca);
  raw.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin-token\r\n\r\n`);
  return raw;
};

sessionTest("sessions go on for a while when the server ends, and are cut off then", async ({ api, cluster, pods }) => {
  const exec = `${pods}/p/exec?command=head&command=-n1&stdin=1&stdout=1`;
  const finishing = await WebSocketClient.open(api, exec, "v5.channel.k8s.io");
  const staying = await WebSocketClient.open(api, `${pods}/p/exec?command=cat&stdin=1&stdout=1`, "v5.channel.k8s.io");
  const log = await getLog(cluster, api, `${pods}/p/log?follow=true`);
  await log.until("line 1\n");
  await eventually(async () => assert.equal(cluster.kubelet.sessions, 2));
  const closed = cluster.server.close({ keepConnections: true });
  await eventually(() => assert.rejects(connectRaw(api.endpoint, cluster.server.ca)));
  finishing.send(0, "last words\n");
  await finishing.closed();
  assert.equal(finishing.on(1).toString(), "last words\n");
  assert.equal(
    (JSON.parse(finishing.on(3).toString()) as Event["responseObject"] & { status: string }).status,
    "Success",
  );
  await staying.closed();
  assert.equal(staying.on(3).length, 0);
  // A log that was cut off does not end as one that is complete.
  assert.doesNotMatch(await log.closed(), /\r\n0\r\n\r\n$/);
  await closed;
  await eventually(async () => assert.equal(cluster.kubelet.sessions, 0));
});
