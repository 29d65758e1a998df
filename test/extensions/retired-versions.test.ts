/** Field ownership of custom resources when a version of their definition is no longer served, or removed. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import { crds } from "../crds.ts";
import { type Api, domains, suite, temporaryFolder } from "../harness.ts";
import { spawnServer } from "../process.ts";
import { type Converter, startConverter } from "./converter.ts";

const inBothDomains = suite();
let converter: Converter;
before(async () => {
  converter = await startConverter();
});
after(() => converter.stop());

const text = { type: "string" };
const number = { type: "integer" };

interface VersionFields {
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly spec?: object;
  /** The path of the number that the scale of the version shows. */
  readonly replicas?: string;
}

/** The objects of one kind. Each write names its manager. */
class Kind {
  readonly #api: Api;
  readonly #group: string;
  readonly #conversion: object;

  constructor(api: Api, group: string, conversion: object = { strategy: "None" }) {
    this.#api = api;
    this.#group = group;
    this.#conversion = conversion;
  }

  get #definition(): string {
    return `${crds}/owned.${this.#group}`;
  }

  async define(versions: Readonly<Record<string, VersionFields>>): Promise<void> {
    const body = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `owned.${this.#group}` },
      spec: {
        group: this.#group,
        scope: "Namespaced",
        names: { plural: "owned", kind: "Owned" },
        conversion: this.#conversion,
        versions: Object.entries(versions).map(([name, fields]) => version(name, fields)),
      },
    };
    const present = await this.#api.get(this.#definition);
    if (present.status === 404) {
      (await this.#api.post(crds, body)).expect(201);
      return;
    }
    (await this.#api.patch(this.#definition, { spec: body.spec })).expect(200);
  }

  /** Sets the stored versions, as after a migration. */
  async setStoredVersions(...versions: readonly string[]): Promise<void> {
    (await this.#api.patch(`${this.#definition}/status`, { status: { storedVersions: versions } })).expect(200);
  }

  path(of: string, name: string): string {
    return `/apis/${this.#group}/${of}/namespaces/default/owned/${name}`;
  }

  apply(manager: string, of: string, name: string, spec: object, query = ""): Promise<Answer> {
    const body = { apiVersion: `${this.#group}/${of}`, kind: "Owned", metadata: { name }, spec };
    return this.#api.patch(`${this.path(of, name)}?fieldManager=${manager}${query}`, body, patchTypes.apply);
  }

  merge(manager: string, of: string, name: string, patch: object): Promise<Answer> {
    return this.#api.patch(`${this.path(of, name)}?fieldManager=${manager}`, patch);
  }
}

function version(name: string, fields: VersionFields): object {
  const { served = true, storage = false, spec = { foo: text, bar: text, replicas: number }, replicas } = fields;
  const scale = { specReplicasPath: `.spec.${replicas}`, statusReplicasPath: ".status.replicas" };
  return {
    name,
    served,
    storage,
    schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: spec } } } },
    subresources: { status: {}, ...(replicas === undefined ? {} : { scale }) },
  };
}

/** Returns manager, version and fields of each entry, in order. */
function owners(answer: Answer): string[] {
  return (answer.at("metadata.managedFields") === undefined ? [] : answer.list("metadata.managedFields")).map(
    (entry) =>
      `${entry.string("manager")} ${entry.string("apiVersion").replace(/^.*\//, "")} ${JSON.stringify(entry.at("fieldsV1"))}`,
  );
}

const retired = { v1: { served: false }, v2: { storage: true } };

inBothDomains("managers of a version that is no longer served keep their fields", async (api) => {
  const kind = new Kind(api, "retired.example.com");
  await kind.define({ v1: { storage: true } });
  for (const name of ["one", "two"]) (await kind.apply("m1", "v1", name, { foo: "a" })).expect(201);
  await kind.define(retired);
  (await kind.apply("m3", "v2", "two", { bar: "b" })).expect(200);
  assert.deepEqual(owners(await kind.apply("m1", "v2", "one", { foo: "b" })), ['m1 v2 {"f:spec":{"f:foo":{}}}']);
  (await kind.apply("m2", "v2", "two", { foo: "z" })).expectFailure(409, "Conflict", /conflict with "m1"/);
  assert.deepEqual(owners((await kind.merge("m4", "v2", "two", { spec: { bar: "c" } })).expect(200)), [
    'm1 v1 {"f:spec":{"f:foo":{}}}',
    'm4 v2 {"f:spec":{"f:bar":{}}}',
  ]);
  (await kind.apply("m1", "v2", "two", {})).expect(200, { spec: { bar: "c" } });
});

inBothDomains("the same where a webhook converts, with other fields in each version", async (api) => {
  const kind = new Kind(api, "retired-hook.example.com", { strategy: "Webhook", webhook: converter.webhook });
  const v1 = { spec: { host: text, port: text, text } };
  const v2 = { spec: { address: text, text } };
  await kind.define({ v1: { ...v1, storage: true } });
  (await kind.apply("m1", "v1", "one", { host: "h", port: "1" })).expect(201);
  await kind.define({ v1: { ...v1, served: false }, v2: { ...v2, storage: true } });
  (await kind.apply("m2", "v2", "one", { address: "i:2" })).expectFailure(409, "Conflict", /conflicts? with "m1"/);
  assert.deepEqual(owners((await kind.merge("m4", "v2", "one", { spec: { text: "t" } })).expect(200)), [
    'm1 v1 {"f:spec":{"f:host":{},"f:port":{}}}',
    'm4 v2 {"f:spec":{"f:text":{}}}',
  ]);
  assert.deepEqual(owners((await kind.apply("m1", "v2", "one", { address: "j:3" })).expect(200)), [
    'm1 v2 {"f:spec":{"f:address":{}}}',
    'm4 v2 {"f:spec":{"f:text":{}}}',
  ]);
});

inBothDomains("a large object, handled in another thread, keeps managers of such a version, too", async (api) => {
  const kind = new Kind(api, "retired-large.example.com");
  await kind.define({ v1: { storage: true } });
  const bar = "x".repeat(100_000);
  (await kind.apply("m1", "v1", "one", { foo: "a", bar })).expect(201);
  await kind.define(retired);
  (await kind.apply("m2", "v2", "one", { foo: "z" })).expectFailure(409, "Conflict", /conflict with "m1"/);
  (await kind.apply("m1", "v2", "one", { bar })).expect(200, { spec: { bar } });
});

inBothDomains("the scale knows where a version that is no longer served keeps its number", async (api) => {
  const kind = new Kind(api, "retired-scale.example.com");
  const spec = { size: number, replicas: number, foo: text };
  await kind.define({ v1: { storage: true, spec, replicas: "size" } });
  (await kind.apply("m1", "v1", "one", { size: 1, replicas: 1, foo: "a" })).expect(201);
  await kind.define({
    v1: { served: false, spec, replicas: "size" },
    v2: { storage: true, spec, replicas: "replicas" },
  });
  (await api.patch(`${kind.path("v2", "one")}/scale?fieldManager=m2`, { spec: { replicas: 5 } })).expect(200);
  const answer = (await api.get(kind.path("v2", "one"))).expect(200, { spec: { size: 1, replicas: 5, foo: "a" } });
  assert.deepEqual(owners(answer), [
    'm1 v1 {"f:spec":{"f:foo":{},"f:replicas":{}}}',
    'm2 v2 {"f:spec":{"f:replicas":{}}}',
  ]);
});

inBothDomains(
  "a version that its definition no longer has fails an apply; an update forgets all managers",
  async (api) => {
    const kind = new Kind(api, "gone.example.com");
    await kind.define({ v1: { storage: true } });
    for (const name of ["one", "two"]) (await kind.apply("m1", "v1", name, { foo: "a" })).expect(201);
    await kind.define(retired);
    (await kind.apply("m2", "v2", "one", { bar: "b" })).expect(200);
    await kind.setStoredVersions("v2");
    await kind.define({ v2: { storage: true } });
    for (const manager of ["m1", "m2"]) {
      (await kind.apply(manager, "v2", "one", { foo: "b" }, "&force=true")).expect(500, {
        message: "request to convert CR to an invalid group/version: gone.example.com/v1",
      });
    }
    assert.deepEqual(owners((await kind.merge("m4", "v2", "one", { spec: { bar: "c" } })).expect(200)), []);
    (await kind.apply("m1", "v2", "one", { foo: "b" })).expectFailure(409, "Conflict", /before-first-apply/);
    (await kind.apply("m1", "v2", "one", { foo: "b" }, "&force=true")).expect(200);
  },
);

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";

for (const domain of domains) {
  test(`${domain}: managers of a built-in version that is switched off are forgotten by the next write`, {
    skip,
  }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const path = (version: string, manager: string): string =>
      `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers/h?fieldManager=${manager}`;
    const scaler = (apiVersion: string, maxReplicas: number): object => ({
      apiVersion: `autoscaling/${apiVersion}`,
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { maxReplicas, scaleTargetRef: { kind: "Deployment", name: "x" } },
    });
    const first = await spawnServer({ domain, dataDir, storage: "disk" });
    (await first.api.patch(path("v1", "m1"), scaler("v1", 3), patchTypes.apply)).expect(201);
    await first.stop();
    const flags = ["--runtime-config=autoscaling/v1=false"];
    const { api, stop } = await spawnServer({ domain, dataDir, storage: "disk", flags });
    const applied = (await api.patch(path("v2", "m2"), scaler("v2", 5), patchTypes.apply)).expect(200);
    assert.deepEqual(owners(applied), [
      'm2 v2 {"f:spec":{"f:maxReplicas":{},"f:scaleTargetRef":{"f:kind":{},"f:name":{}}}}',
    ]);
    await stop();
  });
}
