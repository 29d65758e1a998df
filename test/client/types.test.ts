/**
 * The types that programs meet: each line below `@ts-expect-error` must not compile, which `npm run check` sees. The
 * functions are not called.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Cluster } from "#client/cluster.ts";
import type { Apply, Draft, Mutable } from "#client/draft.ts";
import { type Container, Deployment, SelfSubjectReview, TokenRequest } from "#client/kinds.ts";

const containers = [{ name: "web", image: "web" }] as const;

const drafts = (): Draft<Deployment>[] => [
  { metadata: { name: "web" }, spec: { template: { spec: { containers } } } },
  { metadata: { generateName: "web-" } },
  // @ts-expect-error: it has no name
  { metadata: { labels: { app: "web" } } },
  // @ts-expect-error: a draft has metadata
  { spec: {} },
  // @ts-expect-error: a field that there is not
  { metadata: { name: "web" }, spec: { replica: 2 } },
  // @ts-expect-error: a number is wanted
  { metadata: { name: "web" }, spec: { replicas: "2" } },
  // @ts-expect-error: a field of a container that there is not
  { metadata: { name: "web" }, spec: { template: { spec: { containers: [{ name: "web", imag: "web" }] } } } },
];

const reviews = (): Draft<SelfSubjectReview>[] => [{}, { metadata: {} }];

const applied = (): Apply<Deployment>[] => [
  { metadata: { name: "web", labels: { app: "web" } }, spec: { replicas: 2 } },
  // @ts-expect-error: what is applied has a name
  { metadata: { generateName: "web-" }, spec: { replicas: 2 } },
  // @ts-expect-error: managers are the server's matter
  { metadata: { name: "web", managedFields: [] } },
  // @ts-expect-error: a field that there is not
  { metadata: { name: "web" }, specs: {} },
];

function writes(read: Deployment, copy: Mutable<Deployment>, container: Container): void {
  copy.spec.replicas = 2;
  copy.spec.template.spec.containers?.push({ name: "log", args: ["-v"], resources: {} });
  copy.metadata.labels = { app: "web" };
  // @ts-expect-error: what is read is not written
  read.spec.replicas = 2;
  // @ts-expect-error: nor are its lists
  read.spec.template.spec.containers?.push(container);
  // @ts-expect-error: a text is wanted
  copy.metadata.labels["app"] = 2;
}

async function calls(cluster: Cluster): Promise<void> {
  const deployments = cluster.kind(Deployment);
  const name: string = (await deployments.get("web")).metadata.name;
  const found = await deployments.find(name);
  // @ts-expect-error: it may not exist
  void found.spec;
  await deployments.patch(name, { merge: { spec: { paused: null } } });
  // @ts-expect-error: a field that there is not
  await deployments.patch(name, { merge: { spec: { pause: null } } });
  // @ts-expect-error: a patch has one form
  await deployments.patch(name, { merge: {}, json: [] });
  const outcome = await deployments.apply({ metadata: { name } });
  // @ts-expect-error: there may be conflicts instead
  void outcome.object.spec;
  if (outcome.conflicts === undefined) void outcome.object.spec;
  // @ts-expect-error: a token request is not read by its name, since it is no kind with a resource
  cluster.kind(TokenRequest);
}

void test("the types of objects that are sent are strict", () => {
  for (const compiled of [drafts, reviews, applied, writes, calls]) assert.equal(typeof compiled, "function");
});
