/** Subresources: their verbs, and 404 for unknown ones. */
import assert from "node:assert/strict";
import { type Answer, patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, gated, suite } from "../harness.ts";

const inBothDomains = suite({ ...gated, runtimeConfig: ["api/all=true"] });

/** The verbs of `status` subresources; below, the served subresources of resources, with their verbs. */
const view = ["GET", "PUT", "PATCH"];
const served: Readonly<Record<string, readonly string[]>> = {
  "namespaces/finalize": ["PUT"],
  "pods/binding": ["POST"],
  "pods/ephemeralcontainers": view,
  "pods/eviction": ["POST"],
  "pods/resize": view,
  "replicationcontrollers/scale": view,
  "serviceaccounts/token": ["POST"],
  "deployments/scale": view,
  "replicasets/scale": view,
  "statefulsets/scale": view,
  "certificatesigningrequests/approval": view,
};
const names =
  "status scale log exec attach portforward proxy proxy/metrics binding eviction ephemeralcontainers resize token approval finalize logs Status status/x unknown".split(
    " ",
  );
const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

interface Resource {
  /** The path of the collection. */
  readonly collection: string;
  readonly name: string;
  /** The names of the subresources that discovery lists. */
  readonly listed: readonly string[];
}

async function resources(api: Api, ns: string): Promise<Resource[]> {
  const groups = (await api.get("/apis")).expect(200).list("groups");
  const versions = groups.flatMap((group) => group.list("versions").map((version) => version.string("groupVersion")));
  const subresources: Resource[] = [];
  for (const base of ["/api/v1", ...versions.map((version) => `/apis/${version}`)]) {
    const rows = (await api.get(base, { literal: true })).expect(200).list("resources");
    for (const row of rows) {
      const name = row.string("name");
      if (name.includes("/")) continue;
      const root = row.at("namespaced") === true ? `${base}/namespaces/${ns}` : base;
      const listed = rows.map((part) => part.string("name")).filter((part) => part.startsWith(`${name}/`));
      subresources.push({
        collection: `${root}/${name}`,
        name,
        listed: listed.map((part) => part.slice(name.length + 1)),
      });
    }
  }
  return subresources;
}

inBothDomains("no subresource that is not served answers in place of its object, with any verb", async (api) => {
  const { ns } = await api.createNamespace();
  const core = `/api/v1/namespaces/${ns}`;
  const container = { name: "c", image: "i", env: [{ name: "password", value: "x" }] };
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
  const answers = [
    await api.post(`${core}/services`, {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "x" },
      spec: { ports: [{ port: 80 }] },
    }),
    await api.post("/api/v1/nodes", { apiVersion: "v1", kind: "Node", metadata: { name: "x" } }),
    await api.post(`${core}/configmaps`, { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "x" } }),
    await api.post(`${core}/serviceaccounts`, { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "x" } }),
    await api.post(`/apis/apps/v1/namespaces/${ns}/deployments`, {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "x" },
      spec: { selector: { matchLabels: { a: "b" } }, template },
    }),
  ];
  for (const answer of answers) answer.expect(201);
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "x" }, spec: { containers: [container] } };
  await eventually(async () => (await api.post(`${core}/pods`, pod)).expect(201));
  const group = `${api.unique("g")}.example.com`;
  (await api.post(crds, definition(group, { scope: "Namespaced" }))).expect(201);
  (await api.post(`/apis/${group}/v1/namespaces/${ns}/widgets`, custom(group, "x"))).expect(201);

  for (const { collection, name, listed } of await resources(api, ns)) {
    const walked = /\/(pods|services|nodes|configmaps|serviceaccounts|deployments|widgets)$/.test(collection);
    for (const part of listed) {
      assert.ok(part === "status" || `${name}/${part}` in served, `discovery lists ${name}/${part}`);
    }
    for (const part of walked ? names : ["log", "proxy", "scale", "status", "unknown"]) {
      const verbs = !listed.includes(part) ? [] : part === "status" ? view : (served[`${name}/${part}`] ?? []);
      for (const method of methods) {
        if (verbs.includes(method) || (method === "HEAD" && verbs.includes("GET"))) continue;
        for (const query of method === "GET" ? ["", "?watch=true", "?limit=1"] : [""]) {
          check(await ask(api, method, `${collection}/x/${part}${query}`));
        }
      }
      if (walked) check(await ask(api, "GET", `${collection.replace("/v1/", "/v1/watch/")}/x/${part}`));
    }
  }
  (await api.get(`${core}/pods/x`)).expect(200);
  (await api.get("/api/v1/nodes/x")).expect(200);
});

const ask = (api: Api, method: string, path: string): Promise<Answer> =>
  api.send(method, path, method === "GET" || method === "HEAD" || method === "DELETE" ? undefined : {}, {
    literal: true,
    ...(method === "PATCH" ? { type: patchTypes.merge } : {}),
  });

function check(answer: Answer): void {
  const [, part = ""] = /\/pods\/x\/(log|exec|attach|portforward|proxy)\b/.exec(answer.title) ?? [];
  const message = part === "proxy" ? "address not allowed" : "pod x does not have a host assigned";
  const isOfPod =
    part === "log"
      ? answer.status === 204 && answer.bytes.length === 0
      : part !== "" && answer.status === 400 && (answer.bytes.length === 0 || answer.bytes.includes(message));
  assert.ok([404, 405].includes(answer.status) || isOfPod, `${answer.title} answers ${answer.status}`);
  if (answer.bytes.length === 0 || answer.value === undefined) return;
  assert.ok(!answer.bytes.includes("password"), answer.title);
  // A handler that read the object itself would answer that it does not exist.
  if (!answer.title.includes("widgets"))
    assert.doesNotMatch(answer.bytes.toString(), /\\"x\\" not found/, answer.title);
}

inBothDomains(
  "logs of a pod, and connections to it, are answered as before a node is asked, and then refused",
  async (api) => {
    const { ns } = await api.createNamespace();
    const pods = `/api/v1/namespaces/${ns}/pods`;
    const make = (name: string, spec: object): object => ({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name },
      spec: { containers: [{ name: "c", image: "i" }], ...spec },
    });
    await eventually(async () => (await api.post(pods, make("waiting", {}))).expect(201));
    (await api.post(pods, make("placed", { nodeName: "n1" }))).expect(201);
    const address = { status: { podIP: "10.1.2.3", podIPs: [{ ip: "10.1.2.3" }] } };
    const [one, two] = ["d", "e"].map((name) => ({ name, image: "i" }));
    (
      await api.post(pods, make("several", { containers: [one, two], initContainers: [{ name: "a", image: "i" }] }))
    ).expect(201);
    const parts = ["log", "log?container=c&follow=true", "exec?command=ls", "attach", "portforward", "proxy"];
    for (const part of parts) {
      const [name = ""] = part.split("?");
      const waiting = await api.get(`${pods}/waiting/${part}`);
      if (name === "log") assert.equal(waiting.expect(204).bytes.length, 0);
      else {
        const message = name === "proxy" ? "address not allowed" : "pod waiting does not have a host assigned";
        waiting.expectFailure(400, "BadRequest", message);
      }
      (await api.get(`${pods}/none/${part}`)).expectFailure(404, "NotFound", 'pods "none" not found');
    }
    for (const part of ["log", "exec", "attach"]) {
      const choice = "a container name must be specified for pod several, choose one of: [a d e]";
      (await api.get(`${pods}/several/${part}`)).expectFailure(400, "BadRequest", choice);
      (await api.get(`${pods}/several/${part}?container=e`)).expect(part === "log" ? 204 : 400);
      const unknown = "container z is not valid for pod placed";
      (await api.get(`${pods}/placed/${part}?container=z`)).expectFailure(400, "BadRequest", unknown);
    }
    (await api.get(`${pods}/placed/proxy`)).expectFailure(400, "BadRequest", "address not allowed");
    (await api.patch(`${pods}/placed/status`, address)).expect(200);
    for (const part of parts) {
      const [name = ""] = part.split("?");
      const placed = `pod placed is on a node, and this server reaches no nodes: ${name} is not possible`;
      const details = { name: "placed", kind: `pods/${name}` };
      (await api.get(`${pods}/placed/${part}`)).expectFailure(404, "NotFound", placed, { details });
    }
    (await api.get(`${pods}/p1/logs`)).expectFailure(
      404,
      "NotFound",
      "the server could not find the requested resource",
    );
    const listed = (await api.get("/api/v1"))
      .expect(200)
      .list("resources")
      .map((row) => row.string("name"));
    for (const part of ["log", "exec", "attach", "portforward", "proxy"]) assert.ok(!listed.includes(`pods/${part}`));
    for (const part of ["status", "ephemeralcontainers"]) assert.ok(listed.includes(`pods/${part}`), part);
  },
);
