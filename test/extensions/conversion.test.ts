/** Conversion webhooks: versions with different fields, permitted changes of a webhook, and its failures. */
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { type Answer, patchTypes } from "../client.ts";
import { crds } from "../crds.ts";
import { type Api, suite } from "../harness.ts";
import { absent } from "../view.ts";
import { type Converter, startConverter } from "./converter.ts";

const inBothDomains = suite();
let converter: Converter;
before(async () => {
  converter = await startConverter();
});
after(() => converter.stop());

const text = { type: "string" };
const version = (name: string, storage: string, spec: object): object => ({
  name,
  served: true,
  storage: name === storage,
  schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: spec } } } },
  subresources: { status: {} },
});

const definition = (group: string, storage: string, webhook: object): object => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `ports.${group}` },
  spec: {
    group,
    scope: "Namespaced",
    names: { plural: "ports", kind: "Port" },
    conversion: { strategy: "Webhook", webhook },
    versions: [
      version("v1", storage, { host: text, port: text, text }),
      version("v2", storage, { address: text, text, extra: { ...text, default: "x" } }),
    ],
  },
});

/** The ports of a group. */
class Ports {
  readonly api: Api;
  readonly group: string;

  private constructor(api: Api, group: string) {
    this.api = api;
    this.group = group;
  }

  static async define(api: Api, group: string, webhook: object = converter.webhook): Promise<Ports> {
    const answer = (await api.post(crds, definition(group, "v1", webhook))).expect(201);
    assert.equal(answer.headers["warning"], undefined);
    return new Ports(api, group);
  }

  get definition(): string {
    return `${crds}/ports.${this.group}`;
  }

  path(of: string, name = ""): string {
    return `/apis/${this.group}/${of}/namespaces/default/ports${name === "" ? "" : `/${name}`}`;
  }

  object(of: string, name: string, spec: object, metadata: object = {}): object {
    return { apiVersion: `${this.group}/${of}`, kind: "Port", metadata: { name, ...metadata }, spec };
  }

  post(of: string, name: string, spec: object, metadata: object = {}): Promise<Answer> {
    return this.api.post(this.path(of), this.object(of, name, spec, metadata));
  }

  /** Stores an object for which the webhook makes a mistake. */
  async mistaken(mistake: string): Promise<void> {
    const annotations = { converter: mistake };
    (await this.post("v1", mistake, { host: "h", port: "1" }, { annotations })).expect(201);
  }
}

inBothDomains("objects are written in one version and read in another by way of the webhook", async (api) => {
  const ports = await Ports.define(api, "both.example.com");
  (await ports.post("v2", "a", { address: "h:1" })).expect(201, { "spec.address": "h:1", "spec.host": absent });
  (await api.get(ports.path("v1", "a"))).expect(200, {
    apiVersion: "both.example.com/v1",
    spec: { host: "h", port: "1" },
  });
  (await ports.post("v1", "b", { host: "i", port: "2" })).expect(201);
  // Upstream does not add defaults to the objects that a webhook returned.
  (await api.get(ports.path("v2", "b"))).expect(200, { spec: { address: "i:2" } });
  (await api.get(ports.path("v2"))).expect(200, {
    kind: "PortList",
    apiVersion: "both.example.com/v2",
    "items.0.apiVersion": "both.example.com/v2",
    "items.0.spec": { address: "h:1" },
    "items.1.spec": { address: "i:2" },
  });
  (await api.get(ports.path("v2"), { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" })).expect(200, {
    "rows.1.object.apiVersion": "meta.k8s.io/v1",
  });
  (await api.patch(ports.path("v2", "a"), { spec: { address: "j:3" } }, patchTypes.merge)).expect(200, {
    "spec.address": "j:3",
  });
  (await api.get(ports.path("v1", "a"))).expect(200, { spec: { host: "j", port: "3" }, "metadata.generation": 2 });
  const applied = ports.object("v2", "a", { address: "k:4" });
  (await api.patch(`${ports.path("v2", "a")}?fieldManager=m&force=true`, applied, patchTypes.apply)).expect(200);
  (await api.get(ports.path("v1", "a"))).expect(200, { spec: { host: "k", port: "4" } });
  (await api.delete(ports.path("v2", "a"))).expect(200);
  (await api.get(ports.path("v1", "a"))).expect(404);
});

inBothDomains("a manager owns in its version what another version calls otherwise", async (api) => {
  const ports = await Ports.define(api, "owned.example.com");
  const managersOf = async (): Promise<string> =>
    (await api.get(ports.path("v1", "a")))
      .expect(200)
      .list("metadata.managedFields")
      .map((entry) => {
        const fields = JSON.stringify((entry.value as { fieldsV1: Record<string, unknown> }).fieldsV1["f:spec"]);
        return `${entry.string("manager")} ${fields}`;
      })
      .sort()
      .join("; ");
  const apply = (of: string, manager: string, spec: object): Promise<Answer> =>
    api.patch(`${ports.path(of, "a")}?fieldManager=${manager}`, ports.object(of, "a", spec), patchTypes.apply);
  (await apply("v1", "one", { host: "h", port: "1" })).expect(201);
  (await apply("v2", "two", { address: "h:1" })).expect(200);
  assert.equal(await managersOf(), 'one {"f:host":{},"f:port":{}}; two {"f:address":{}}');
  (await apply("v2", "two", { address: "h:2" })).expect(409, {
    message: 'Apply failed with 1 conflict: conflict with "one": .spec.port',
  });
  (await apply("v2", "two&force=true", { address: "h:2" })).expect(200);
  assert.equal(await managersOf(), 'one {"f:host":{}}; two {"f:address":{}}');
  (await apply("v1", "one", { host: "h", port: "1" })).expect(409, {
    message: 'Apply failed with 1 conflict: conflict with "two": .spec.address',
  });
  // Another kind of write takes over the fields that it changes, in every version.
  (await api.patch(`${ports.path("v1", "a")}?fieldManager=three`, { spec: { port: "3" } }, patchTypes.merge)).expect(
    200,
  );
  assert.equal(await managersOf(), 'one {"f:host":{}}; three {"f:port":{}}');
  // A manager that applies another version keeps its fields.
  (await apply("v2", "one&force=true", { address: "h:4" })).expect(200);
  assert.equal(await managersOf(), 'one {"f:address":{}}');
});

inBothDomains("ownership that cannot be converted refuses an apply, and is dropped by other writes", async (api) => {
  const ports = await Ports.define(api, "disowned.example.com");
  const annotate = (of: string, spec: object): object =>
    ports.object(of, "a", spec, { annotations: { converter: "failed" } });
  const apply = (of: string, manager: string, body: object): Promise<Answer> =>
    api.patch(`${ports.path(of, "a")}?fieldManager=${manager}`, body, patchTypes.apply);
  (await apply("v2", "one", ports.object("v2", "a", { address: "h:1" }))).expect(201);
  (await apply("v1", "two", annotate("v1", { text: "x" }))).expect(500, {
    message: /^conversion webhook for disowned\.example\.com\/v1, Kind=Port failed: I do not want to$/,
  });
  const annotation = { metadata: { annotations: { converter: "failed" } } };
  const written = await api.patch(ports.path("v1", "a"), annotation, patchTypes.merge);
  written.expect(200, { "metadata.managedFields": absent });
  (await apply("v1", "two", annotate("v1", { text: "x" }))).expect(200);
  // A field cannot be owned in the other version, which does not have it, although the webhook left it in the object.
  (await api.patch(ports.path("v1", "a"), { metadata: { annotations: { converter: null } } }, patchTypes.merge)).expect(
    200,
  );
  (await apply("v2", "three", ports.object("v2", "a", { extra: "y" }))).expect(500, {
    message: /\.spec\.extra: field not declared in schema$/,
  });
});

inBothDomains("a watch shows initial objects and events in its version", async (api) => {
  const ports = await Ports.define(api, "watched.example.com");
  (await ports.post("v1", "a", { host: "h", port: "1" })).expect(201);
  const watch = await api.watch(`${ports.path("v2")}?resourceVersion=0`);
  (await watch.next()).has({
    type: "ADDED",
    "object.apiVersion": "watched.example.com/v2",
    "object.spec": { address: "h:1" },
  });
  (await api.patch(ports.path("v1", "a"), { spec: { port: "2" } }, patchTypes.merge)).expect(200);
  (await ports.post("v1", "b", { host: "i", port: "3" })).expect(201);
  (await watch.next()).has({ type: "MODIFIED", "object.spec": { address: "h:2" } });
  (await watch.next()).has({ type: "ADDED", "object.spec": { address: "i:3" } });
  (await api.delete(ports.path("v1", "a"))).expect(200);
  (await watch.next()).has({ type: "DELETED", "object.apiVersion": "watched.example.com/v2" });
  await ports.mistaken("failed");
  (await watch.next()).has({ type: "ERROR", "object.code": 500 });
});

inBothDomains("selectors see what the webhook returned", async (api) => {
  const ports = await Ports.define(api, "selected.example.com");
  await ports.mistaken("labels");
  (await ports.post("v1", "plain", { host: "h", port: "1" })).expect(201);
  const names = async (of: string): Promise<unknown> =>
    (await api.get(`${ports.path(of)}?labelSelector=converted%3Dyes`))
      .expect(200)
      .list("items")
      .map((item) => item.at("metadata.name"));
  assert.deepEqual(await names("v1"), []);
  assert.deepEqual(await names("v2"), ["labels"]);
});

inBothDomains("the stored version is changed, objects are migrated, and the old version goes", async (api) => {
  const ports = await Ports.define(api, "moved.example.com");
  (await ports.post("v1", "a", { host: "h", port: "1" })).expect(201);
  const definitionSpec = (of: string): object =>
    (definition(ports.group, of, converter.webhook) as { spec: object }).spec;
  (await api.patch(ports.definition, { spec: definitionSpec("v2") }, patchTypes.merge)).expect(200, {
    "status.storedVersions": ["v1", "v2"],
  });
  (await api.get(ports.path("v2", "a"))).expect(200, { spec: { address: "h:1" } });
  (await api.get(ports.path("v1", "a"))).expect(200, { spec: { host: "h", port: "1" } });
  const old = (await api.get(ports.path("v2", "a"))).expect(200);
  // A write of an unchanged object stores it in the new version.
  const migrated = (await api.put(ports.path("v2", "a"), old.value)).expect(200);
  assert.notEqual(migrated.at("metadata.resourceVersion"), old.at("metadata.resourceVersion"));
  (await api.patch(`${ports.definition}/status`, { status: { storedVersions: ["v2"] } }, patchTypes.merge)).expect(200);
  const [, only] = (definitionSpec("v2") as { versions: object[] }).versions;
  (await api.patch(ports.definition, { spec: { versions: [only] } }, patchTypes.merge)).expect(200);
  (await api.get(ports.path("v2", "a"))).expect(200, { spec: { address: "h:1", extra: "x" } });
  (await api.get(ports.path("v1", "a"))).expect(404);
});

inBothDomains("a webhook changes labels and annotations, and no other metadata", async (api) => {
  const ports = await Ports.define(api, "metadata.example.com");
  await ports.mistaken("labels");
  (await api.get(ports.path("v2", "labels"))).expect(200, { "metadata.labels": { converted: "yes" } });
  await ports.mistaken("others");
  const stored = (await api.get(ports.path("v1", "others"))).expect(200);
  (await api.get(ports.path("v2", "others"))).expect(200, {
    "metadata.finalizers": absent,
    "metadata.resourceVersion": stored.at("metadata.resourceVersion"),
  });
  await ports.mistaken("unknown");
  (await api.get(ports.path("v2", "unknown"))).expect(200, { spec: { address: "h:1" } });
});

const problems: Readonly<Record<string, string>> = {
  failed: "failed: I do not want to",
  silent: "failed: response.result.status was 'Failure', not 'Success'",
  fewer: "returned 0 objects, expected 1",
  none: "failed: no response provided",
  version:
    "returned invalid object at index 0: invalid groupVersion (expected GROUP/v2, received other.example.com/v9)",
  kind: "returned invalid object at index 0: invalid kind (expected Port, received Other)",
  name: "returned invalid object: must have the same name: name != other",
  nothing: "returned invalid object: must have the same name: nothing != ",
  null: "returned invalid object at index 0: it is no object",
  "bad-labels": 'returned invalid metadata: metadata.labels: Invalid value: "a b"',
  code: 'failed: an error on the server ("broken") has prevented the request from succeeding',
  garbage: "failed: the answer of the webhook is no JSON object",
  redirect: "failed: the server responded with the status code 307",
};

inBothDomains("a mistake of the webhook is told, and the stored version goes on", async (api) => {
  const ports = await Ports.define(api, "mistakes.example.com");
  for (const [mistake, problem] of Object.entries(problems)) {
    await ports.mistaken(mistake);
    const { message } = (await api.get(ports.path("v2", mistake))).expect(500).value as { message: string };
    const wanted = `conversion webhook for ${ports.group}/v1, Kind=Port ${problem.replace("GROUP", ports.group)}`;
    assert.ok(message.startsWith(wanted), `${mistake}: ${message}`);
    (await api.get(ports.path("v1", mistake))).expect(200);
    (await api.delete(ports.path("v1", mistake))).expect(200);
  }
  await ports.mistaken("other-uid");
  const { message } = (await api.get(ports.path("v2", "other-uid"))).expect(500).value as { message: string };
  assert.match(message, /failed: expected response\.uid="[-0-9a-f]+", got "other"$/);
});

inBothDomains("writes in a version that cannot be converted store nothing, dry runs neither", async (api) => {
  const ports = await Ports.define(api, "refused.example.com");
  const annotations = { converter: "failed" };
  for (const query of ["", "?dryRun=All"]) {
    const answer = await api.post(
      ports.path("v2") + query,
      ports.object("v2", "a", { address: "h:1" }, { annotations }),
    );
    answer.expect(500, { message: `conversion webhook for ${ports.group}/v2, Kind=Port failed: I do not want to` });
  }
  (await api.get(ports.path("v1", "a"))).expect(404);
});

inBothDomains(
  "without its webhook a kind is served in the stored version, and others are not affected",
  async (api, t) => {
    const own = await startConverter();
    t.after(() => own.stop());
    const ports = await Ports.define(api, "alone.example.com", own.webhook);
    (await ports.post("v1", "a", { host: "h", port: "1" })).expect(201);
    await own.stop();
    (await api.get(ports.path("v1", "a"))).expect(200);
    const { message } = (await api.get(ports.path("v2", "a"))).expect(500).value as { message: string };
    assert.match(message, /^conversion webhook for .* failed: Post "https:.*connect: connection refused$/);
    (await api.get("/api/v1/namespaces/default")).expect(200);
    (await api.delete(ports.path("v1", "a"))).expect(200);
  },
);

inBothDomains("a large object is converted, too, and a long list at once", async (api) => {
  const ports = await Ports.define(api, "large.example.com");
  const long = "x".repeat(200_000);
  (await ports.post("v2", "large", { address: "h:1", text: long })).expect(201, { "spec.address": "h:1" });
  (await api.get(ports.path("v1", "large"))).expect(200, { "spec.host": "h", "spec.text": long });
  (await api.patch(ports.path("v2", "large"), { spec: { address: "i:2" } }, patchTypes.merge)).expect(200);
  (await api.get(ports.path("v1", "large"))).expect(200, { "spec.host": "i", "spec.text": long });
  const names = Array.from({ length: 1500 }, (_, i) => `p${i}`);
  for (let i = 0; i < names.length; i += 100) {
    const answers = await Promise.all(
      names.slice(i, i + 100).map((name) => ports.post("v1", name, { host: name, port: "1" })),
    );
    for (const one of answers) one.expect(201);
  }
  const listed = (await api.get(ports.path("v2"))).expect(200).list("items");
  const addresses = listed.map((item) => item.string("spec.address"));
  assert.deepEqual(addresses.toSorted(), ["i:2", ...names.map((name) => `${name}:1`)].toSorted());
});
