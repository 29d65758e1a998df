/** Subresources: their verbs, and 404 for unknown ones. */
import assert from "node:assert/strict";
import { type Answer, patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, eventually, gated, suite } from "../harness.ts";

const inBothDomains = suite({ ...gated, runtimeConfig: ["api/all=true"] });

/** The verbs of `status` subresources; below, the served subresources of resources, with their verbs. */
const view = ["GET", "PUT", "PATCH"];
const anything = ["GET", "POST", "PUT", "PATCH", "DELETE"];
const served: Readonly<Record<string, readonly string[]>> = {
  "namespaces/finalize": ["PUT"],
  "nodes/proxy": anything,
  "services/proxy": anything,
  "pods/proxy": anything,
  "pods/log": ["GET"],
  "pods/exec": ["GET", "POST"],
  "pods/attach": ["GET", "POST"],
  "pods/portforward": ["GET", "POST"],
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

/** The messages of proxies, which have no target here. */
const withoutTarget: Readonly<Record<string, string>> = {
  pods: "address not allowed",
  nodes: "no preferred addresses found; known addresses: []",
  services: 'services \\"x\\" not found',
};

function check(answer: Answer): void {
  const [, resource = ""] = /\/(pods|nodes|services)\/x\/proxy\//.exec(answer.title) ?? [];
  const message = withoutTarget[resource];
  const isProxy = message !== undefined && (answer.bytes.length === 0 || answer.bytes.includes(message));
  assert.ok([404, 405].includes(answer.status) || isProxy, `${answer.title} answers ${answer.status}`);
  if (answer.bytes.length === 0 || answer.value === undefined || isProxy) return;
  assert.ok(!answer.bytes.includes("password"), answer.title);
  // A handler that read the object itself would answer that it does not exist.
  if (!answer.title.includes("widgets"))
    assert.doesNotMatch(answer.bytes.toString(), /\\"x\\" not found/, answer.title);
}
