/**
 * An unmodified `@kubernetes/client-node` controller against this server: reconciliation of custom resources, and
 * recovery after ended watches, its own absence, and a restart of the server. It runs in the domain k8s.io, whose names
 * are built into the library.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { ApiextensionsV1Api, CustomObjectsApi, KubeConfig } from "@kubernetes/client-node";
import { Api, anyServer, eventually, openServer, temporaryFolder, type TestServer } from "../harness.ts";
import { absent, type Fields, present } from "../view.ts";
import { finalizer, group, manager, SiteController, siteDefinition } from "./site-controller.ts";

function configOf(server: TestServer): KubeConfig {
  const config = new KubeConfig();
  config.loadFromString(server.kubeconfig);
  return config;
}

/** A user of the controller in one namespace. */
class User {
  readonly api: Api;
  readonly ns: string;

  constructor(api: Api, ns: string) {
    this.api = api;
    this.ns = ns;
  }

  path(name: string): string {
    return `/apis/${group}/v1/namespaces/${this.ns}/sites/${name}`;
  }

  mapPath(name: string): string {
    return `/api/v1/namespaces/${this.ns}/configmaps/${name}-pages`;
  }

  async sees(name: string, fields: Fields): Promise<void> {
    await eventually(async () => (await this.api.get(this.path(name))).expect(200, fields));
  }

  async seesPages(name: string, data: object): Promise<void> {
    await eventually(async () => (await this.api.get(this.mapPath(name))).expect(200, { data }));
  }

  async create(config: KubeConfig, name: string, spec: object): Promise<void> {
    const coordinates = { group, version: "v1", plural: "sites", namespace: this.ns };
    const body = { apiVersion: `${group}/v1`, kind: "Site", metadata: { name }, spec };
    await config.makeApiClient(CustomObjectsApi).createNamespacedCustomObject({ ...coordinates, body });
  }

  async change(name: string, patch: object): Promise<void> {
    (await this.api.patch(this.path(name), patch)).expect(200);
  }
}

const page = (title: string): string => `<h1>${title}</h1>`;
const ready = "status.conditions[type=Ready]";

test("k8s.io: a controller on @kubernetes/client-node reconciles custom resources from creation to deletion", async (t) => {
  const server = await anyServer("k8s.io");
  const config = configOf(server);
  const api = new Api(server);
  const controller = new SiteController(config);
  const user = new User(api, (await api.createNamespace()).ns);
  const definitions = config.makeApiClient(ApiextensionsV1Api);
  try {
    const definition = await definitions.createCustomResourceDefinition({ body: siteDefinition });
    assert.equal(definition.spec.names.kind, "Site");
    await eventually(async () => (await api.get(`/apis/${group}/v1/sites`)).expect(200));
    await controller.start();

    await t.test("each object gets its finalizer, its dependent and its status", async () => {
      await user.create(config, "one", { title: "One", paths: ["/", "/about"] });
      await user.create(config, "two", { title: "Two" });
      await user.sees("one", {
        "metadata.finalizers": [finalizer],
        "metadata.generation": 1,
        spec: { title: "One", paths: ["/", "/about"], replicas: 1 },
        "status.observedGeneration": 1,
        "status.pages": 2,
        [`${ready}.status`]: "True",
        [`${ready}.reason`]: "Published",
        [`${ready}.lastTransitionTime`]: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/,
        "metadata.managedFields[subresource=status].manager": manager,
        "metadata.managedFields[subresource=status].fieldsV1.f:status.f:conditions": present,
      });
      await user.sees("two", { "status.pages": 1, [`${ready}.message`]: "1 pages" });
      await user.seesPages("one", { "page.": page("One"), "page.about": page("One") });
      (await api.get(user.mapPath("one"))).expect(200, {
        "metadata.ownerReferences.0.name": "one",
        "metadata.managedFields.length": 1,
        "metadata.managedFields.0.manager": manager,
        "metadata.managedFields.0.operation": "Apply",
      });
      assert.deepEqual([...controller.registered].toSorted(), [
        [`${user.ns}/one`, "One"],
        [`${user.ns}/two`, "Two"],
      ]);
    });

    await t.test("a change of an object becomes a change of what depends on it", async () => {
      const before = (await api.get(user.path("one"))).string(`${ready}.lastTransitionTime`);
      await user.change("one", { spec: { paths: ["/", "/contact"] } });
      await user.sees("one", {
        "metadata.generation": 2,
        "status.observedGeneration": 2,
        [`${ready}.observedGeneration`]: 2,
        [`${ready}.lastTransitionTime`]: before,
      });
      // Applying again removes the page that is no longer applied.
      await user.seesPages("one", { "page.": page("One"), "page.contact": page("One") });
      await user.seesPages("two", { "page.": page("Two") });
    });

    await t.test(
      "fields that others write into the dependent are kept or reset, and a deleted dependent is created again",
      async () => {
        (await api.patch(user.mapPath("one"), { data: { notes: "mine", "page.contact": "defaced" } })).expect(200);
        await user.seesPages("one", { "page.": page("One"), "page.contact": page("One"), notes: "mine" });
        await user.change("one", { spec: { paths: ["/"] } });
        await user.seesPages("one", { "page.": page("One"), notes: "mine" });
        (await api.delete(user.mapPath("two"))).expect(200);
        await user.seesPages("two", { "page.": page("Two") });
      },
    );

    await t.test("the controller makes up for changes while it was away", async () => {
      await controller.stop();
      await user.change("one", { spec: { title: "Uno" } });
      await user.create(config, "three", { title: "Three", paths: [] });
      (await api.delete(user.path("two"))).expect(200, {
        "metadata.deletionTimestamp": present,
        "metadata.finalizers": [finalizer],
      });
      await user.sees("one", { "metadata.generation": 4, "status.observedGeneration": 3 });
      await controller.start();
      await user.sees("one", { "status.observedGeneration": 4 });
      await user.seesPages("one", { "page.": page("Uno"), notes: "mine" });
      await user.sees("three", { [`${ready}.status`]: "False", [`${ready}.reason`]: "NoPages" });
      await eventually(async () => (await api.get(user.path("two"))).expect(404));
      (await api.get(user.mapPath("two"))).expect(404);
    });

    await t.test("deleted objects stay until the controller has cleaned up", async () => {
      const watch = await api.watch(`/apis/${group}/v1/namespaces/${user.ns}/sites?fieldSelector=metadata.name%3Done`);
      for (const name of ["one", "three"]) (await api.delete(user.path(name))).expect(200);
      const events = await watch.until((event) => event.type === "DELETED");
      assert.deepEqual(
        events.map((event) => event.type),
        ["ADDED", "MODIFIED", "DELETED"],
      );
      events[1]!.has({ "object.metadata.deletionTimestamp": present, "object.metadata.finalizers": [finalizer] });
      await eventually(async () => (await api.get(user.path("three"))).expect(404));
      for (const name of ["one", "three"]) (await api.get(user.mapPath(name))).expect(404);
      assert.equal(controller.registered.size, 0);
    });

    await controller.stop();
    // Concurrent writers may get conflicts; no other error is allowed.
    assert.deepEqual(
      controller.failures.filter((failure) => !/HTTP-Code: 409/.test(failure)),
      [],
    );
    await definitions.deleteCustomResourceDefinition({ name: siteDefinition.metadata!.name! });
    await eventually(async () => (await api.get(`/apis/${group}/v1`)).expect(404));
  } finally {
    await controller.stop();
    api.close();
    await server.close();
  }
});

const skip = process.env["TEST_SERVER"] === undefined ? {} : { skip: "needs servers with options of its own" };

test("k8s.io: its informers go on when the server ends their watches, and when it starts again", skip, async () => {
  const settings = { minRequestTimeoutSeconds: 1, storage: "disk", dataDir: join(temporaryFolder(), "data") } as const;
  let server = await openServer("k8s.io", settings);
  const config = configOf(server);
  const controller = new SiteController(config);
  const { port } = server.endpoint;
  try {
    let api = new Api(server);
    let user = new User(api, (await api.createNamespace()).ns);
    await config.makeApiClient(ApiextensionsV1Api).createCustomResourceDefinition({ body: siteDefinition });
    await controller.start();
    await user.create(config, "one", { title: "One" });
    await user.sees("one", { "status.observedGeneration": 1 });

    await eventually(() => Promise.resolve(assert.ok(controller.connections >= 6)));
    await user.change("one", { spec: { title: "Two" } });
    await user.seesPages("one", { "page.": page("Two") });

    const { ns } = user;
    await server.close();
    server = await openServer("k8s.io", { ...settings, securePort: port });
    api = new Api(server);
    user = new User(api, ns);
    await user.sees("one", { "metadata.generation": 2 });
    await user.change("one", { spec: { title: "Three", paths: ["/", "/more"] } });
    await user.create(config, "other", { title: "Other" });
    await user.seesPages("one", { "page.": page("Three"), "page.more": page("Three") });
    await user.sees("one", { "status.observedGeneration": 3 });
    await user.sees("other", { "status.observedGeneration": 1, "status.pages": 1 });
    for (const name of ["one", "other"]) {
      (await api.delete(user.path(name))).expect(200);
      await eventually(async () => (await api.get(user.path(name))).expect(404));
    }
    assert.equal(controller.registered.size, 0);
    (await api.get(user.mapPath("one"))).expect(404, { data: absent });
  } finally {
    await controller.stop();
    await server.close();
  }
});
