/**
 * A walk of every kind in every version and format: created, read, listed, shown as a table, written back, patched in four
 * ways, its status written, watched, and deleted. What a format carries is what JSON says.
 */
import assert from "node:assert/strict";
import { load, CORE_SCHEMA } from "js-yaml";
import { loadDefinitions } from "#api/definitions.ts";
import { decodeObject } from "#codec/object.ts";
import { jsonEncoding } from "#codec/json-encoding.ts";
import { protobufBodies } from "#codec/protobuf-encoding.ts";
import { apiDomain } from "#meta/api-domain.ts";
import { parseApiVersion } from "#meta/group-version.ts";
import type { BodyEncoding } from "#codec/encoding.ts";
import { seededRandom } from "#std/random.ts";
import { kindsOff, comparedKinds } from "../../scripts/differ/kinds.ts";
import { itemsIn } from "../cbor.ts";
import { type Answer, asTable, patchTypes } from "../client.ts";
import { type Api, eventually, suite } from "../harness.ts";

const inBothDomains = suite({
  featureGates: ["AllAlpha=true", "AllBeta=true", "CBORServingAndStorage=true"],
  runtimeConfig: ["api/all=true"],
});

type Json = Readonly<Record<string, unknown>>;

interface Format {
  readonly type: string;
  /** The content type of a watch; `undefined` if the format has no watches. */
  readonly stream: string | undefined;
  readonly hasTables: boolean;
  /** Checks that an object or list in this format has the content of one in JSON. */
  check(api: Api, answer: Answer, json: Answer): void;
}

const plain: Format = {
  type: "application/json",
  stream: "application/json",
  hasTables: true,
  check: (_, answer, json) => assert.deepEqual(answer.value, json.value),
};
const yaml: Format = {
  type: "application/yaml",
  stream: undefined,
  hasTables: true,
  check: (_, answer, json) => assert.deepEqual(load(answer.text, { schema: CORE_SCHEMA }), json.value),
};
const protobuf: Format = {
  type: "application/vnd.kubernetes.protobuf",
  stream: "application/vnd.kubernetes.protobuf;stream=watch",
  hasTables: false,
  check(api, answer, json) {
    const gvk = { ...parseApiVersion(json.string("apiVersion"))!, kind: json.string("kind") };
    const schema = loadDefinitions(apiDomain(api.domain)).schemaOf(gvk);
    assert.ok(schema !== undefined, gvk.kind);
    // Both are read as bodies, since protobuf has zero values where JSON has none.
    const read = (bytes: Buffer, encoding: BodyEncoding): unknown =>
      withoutItemTypes(decodeObject({ bytes, encoding, schema, gvk, fieldValidation: "Strict" }).object);
    assert.deepEqual(read(answer.bytes, protobufBodies), read(json.bytes, jsonEncoding));
  },
};
const cbor: Format = {
  type: "application/cbor",
  stream: "application/cbor-seq",
  hasTables: false,
  check: (_, answer, json) => assert.deepEqual(itemsIn(answer.bytes), [json.value]),
};

/** Returns the object in plain JSON. Items of lists have types in JSON alone. */
function withoutItemTypes(object: object): unknown {
  const { items, ...rest } = JSON.parse(JSON.stringify(object)) as { readonly items?: readonly object[] };
  return items === undefined ? rest : { ...rest, items: items.map((item) => ({ ...item, kind: "", apiVersion: "" })) };
}

/** A resource in one of its versions. */
interface Resource {
  /** The path of the group version, such as `/apis/apps/v1`. */
  readonly version: string;
  readonly name: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
}

/** Returns all resources of built-in kinds that can be created and deleted, and the names of those with a status. */
async function findResources(api: Api): Promise<{ readonly resources: Resource[]; readonly withStatus: Set<string> }> {
  const groups = (await api.get("/apis")).expect(200).list("groups");
  const versions = groups.flatMap((group) =>
    group.list("versions").map((one) => `/apis/${one.string("groupVersion")}`),
  );
  const resources: Resource[] = [];
  const withStatus = new Set<string>();
  for (const version of ["/api/v1", ...versions]) {
    const list = (await api.get(version)).expect(200).at("resources") as readonly Omit<Resource, "version">[];
    for (const resource of list) {
      if (resource.name.endsWith("/status")) withStatus.add(`${version}/${resource.name.slice(0, -"/status".length)}`);
      if (["create", "delete", "watch"].every((verb) => resource.verbs.includes(verb)))
        resources.push({ ...resource, version });
    }
  }
  return { resources, withStatus };
}

const deleteOptions = {
  kind: "DeleteOptions",
  apiVersion: "v1",
  gracePeriodSeconds: 0,
  propagationPolicy: "Background",
};

/** The walk of one resource in one version and one format. */
class Walk {
  readonly #api: Api;
  readonly #format: Format;
  readonly #collection: string;
  readonly #path: string;

  constructor(api: Api, resource: Resource, format: Format, ns: string, name: string) {
    this.#api = api;
    this.#format = format;
    this.#collection = `${resource.version}/${resource.namespaced ? `namespaces/${ns}/` : ""}${resource.name}`;
    this.#path = `${this.#collection}/${name}`;
  }

  /** Creates the object of `body`, which is of the version, and deletes it in the end. */
  async run(body: Json, hasStatus: boolean): Promise<void> {
    const { type } = this.#format;
    const both = { accept: type, type };
    const dry = (await this.#api.post(`${this.#collection}?dryRun=All`, body, { accept: type })).expect(201);
    const created = (await this.#api.post(this.#collection, dry.bytes, both)).expect(201);
    assert.equal(created.headers["content-type"], type);
    await this.#read(this.#path);
    // Others write between two reads: the lists are those of one version.
    const exact = `resourceVersionMatch=Exact&resourceVersion=${await this.#version()}`;
    await this.#read(`${this.#collection}?fieldSelector=metadata.name%3D${this.#path.split("/").at(-1)}&${exact}`);
    await this.#table();
    await this.#writeBack(this.#path);
    await this.#patch();
    if (hasStatus) await this.#writeBack(`${this.#path}/status`);
    await this.#watch();
    (await this.#api.delete(this.#path, deleteOptions, { accept: type })).expect([200, 202]);
    await eventually(async () => (await this.#api.get(this.#path)).expect(404));
  }

  /** Reads in this format, and compares with JSON. Other writers may come between, so that it is tried again. */
  async #read(path: string): Promise<Answer> {
    return eventually(async () => {
      const [answer, json] = [await this.#api.get(path, { accept: this.#format.type }), await this.#api.get(path)];
      this.#format.check(this.#api, answer.expect(200), json.expect(200));
      return answer;
    });
  }

  async #table(): Promise<void> {
    const accept = asTable.replace("application/json", this.#format.type);
    const answer = await this.#api.get(this.#path, { accept });
    if (!this.#format.hasTables) return void answer.expect(406);
    // The age may change between both answers.
    await eventually(async () => {
      const json = (await this.#api.get(this.#path, { accept: asTable })).expect(200);
      this.#format.check(this.#api, (await this.#api.get(this.#path, { accept })).expect(200), json);
    });
  }

  /** Writes what was read: nothing changes. */
  async #writeBack(path: string): Promise<void> {
    const { type } = this.#format;
    await eventually(async () => {
      const read = await this.#read(path);
      const version = await this.#version();
      (await this.#api.put(path, read.bytes, { accept: type, type })).expect(200);
      assert.equal(await this.#version(), version, `${path} in ${type}`);
    });
  }

  async #version(): Promise<string> {
    return (await this.#api.get(this.#path)).expect(200).string("metadata.resourceVersion");
  }

  async #patch(): Promise<void> {
    const current = (await this.#api.get(this.#path)).expect(200);
    const { apiVersion, kind } = current.value as Json; // an object
    const name = current.string("metadata.name");
    const labels = (label: string): object => ({ metadata: { labels: { [label]: "1" } } });
    const patches: readonly (readonly [type: string, body: unknown])[] = [
      [patchTypes.merge, labels("merge")],
      [patchTypes.strategic, labels("strategic")],
      [patchTypes.json, [{ op: "add", path: "/metadata/labels/json", value: "1" }]],
      [patchTypes.apply, { apiVersion, kind, metadata: { name, labels: { apply: "1" } } }],
    ];
    for (const [type, patch] of patches) {
      const path = `${this.#path}?fieldManager=walk`;
      (await this.#api.patch(path, patch, type, { accept: this.#format.type })).expect(200);
    }
    const answer = (await this.#api.get(this.#path)).expect(200);
    for (const label of ["merge", "strategic", "json", "apply"]) answer.has({ [`metadata.labels.${label}`]: "1" });
  }

  async #watch(): Promise<void> {
    const { stream, type } = this.#format;
    const query = `watch=true&timeoutSeconds=1&fieldSelector=metadata.name%3D${this.#path.split("/").at(-1)}`;
    const answer = await this.#api.get(`${this.#collection}?${query}`, { accept: type });
    if (stream === undefined) answer.expect(406);
    else {
      assert.equal(answer.expect(200).headers["content-type"], stream);
      assert.ok(answer.bytes.includes("ADDED"), `${answer.title} has an event`);
    }
  }
}

const registration = "admissionregistration.k8s.io";
const rule = { apiGroups: ["example.com"], apiVersions: ["v1"], operations: ["CREATE"], resources: ["boats"] };
const matchConstraints = { resourceRules: [rule] };
const mutations = [
  { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'test', path: '/spec', value: 1}]" } },
];

/** The objects of kinds that `scripts/differ` lacks, or has in a form that disturbs others here, by collection. */
const objects: Readonly<Record<string, (api: Api, ns: string) => Json>> = {
  "/api/v1/namespaces": () => ({}),
  "/apis/events.k8s.io/v1/events": (_, namespace) => ({
    regarding: { kind: "Pod", namespace, name: "p" },
    reason: "Seen",
    action: "See",
    type: "Normal",
    eventTime: "2024-01-02T03:04:05.000000Z",
    reportingController: "example.com/c",
    reportingInstance: "c",
  }),
  // The labels that a job gets name the identity of one object.
  "/apis/batch/v1/jobs": () => ({
    spec: {
      manualSelector: true,
      selector: { matchLabels: { app: "a" } },
      template: {
        metadata: { labels: { app: "a" } },
        spec: { restartPolicy: "Never", containers: [{ name: "c", image: "example.com/c:1" }] },
      },
    },
  }),
  // A candidate that does not renew is removed.
  "/apis/coordination.k8s.io/v1alpha2/leasecandidates": () => ({
    spec: {
      leaseName: "l",
      binaryVersion: "1.32.0",
      strategy: "OldestEmulationVersion",
      emulationVersion: "1.31.0",
      renewTime: "2099-01-02T03:04:05.000000Z",
    },
  }),
  "/api/v1/events": (_, namespace) => ({ involvedObject: { kind: "Pod", namespace, name: "p" }, reason: "Seen" }),
  // An API of another server that does not answer would delay the deletion of namespaces.
  "/apis/apiregistration.k8s.io/v1/apiservices": () => ({
    spec: { group: "example.com", version: "v1", groupPriorityMinimum: 1000, versionPriority: 10 },
  }),
  "/apis/certificates.k8s.io/v1alpha1/clustertrustbundles": (api) => ({ spec: { trustBundle: api.server.ca } }),
  [`/apis/${registration}/v1/validatingadmissionpolicies`]: () => ({
    spec: { matchConstraints, validations: [{ expression: "true" }] },
  }),
  [`/apis/${registration}/v1/validatingadmissionpolicybindings`]: () => ({
    spec: { policyName: "none", validationActions: ["Deny"] },
  }),
  [`/apis/${registration}/v1alpha1/mutatingadmissionpolicies`]: () => ({
    spec: { matchConstraints, mutations, reinvocationPolicy: "Never" },
  }),
  [`/apis/${registration}/v1alpha1/mutatingadmissionpolicybindings`]: () => ({ spec: { policyName: "none" } }),
  "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions": () => ({ spec: {} }),
};

/** Returns the name of such an object. Some have that of a resource or a version. */
function nameOf(collection: string): string {
  if (collection.endsWith("/storageversions")) return "example.com.boats";
  return collection.endsWith("/apiservices") ? "v1.example.com" : "every-kind";
}

/** Returns a valid object of each kind by collection, without the namespace. */
function objectsByCollection(api: Api, ns: string): Map<string, Json> {
  const made = [...kindsOff, ...comparedKinds].map(
    ({ path, resource, make }) => [api.name(`${path}/${resource}`), make(seededRandom(1))] as const,
  );
  const own = Object.entries(objects).map(
    ([path, fields]) => [api.name(path), { metadata: { name: nameOf(path) }, ...fields(api, ns) }] as const,
  );
  return new Map<string, Json>([...made, ...own]);
}

/** Returns the object in a version of its kind, ready to be created. */
async function inVersion(api: Api, path: string): Promise<Json> {
  const { metadata, status: _, ...rest } = (await api.get(path)).expect(200).value as Json; // an object
  const { name, labels } = metadata as Json;
  return { ...rest, metadata: { name, labels } };
}

inBothDomains(
  "every kind passes through every version and format [MEDIA-04, MEDIA-05, VER-13, VER-16]",
  async (api) => {
    const { resources, withStatus } = await findResources(api);
    const keyOf = ({ version, name }: Resource): string => `${version}/${name}`;
    const known = objectsByCollection(api, "");
    const groupOf = ({ version, name }: Resource): string => `${version.slice(0, version.lastIndexOf("/"))}/${name}`;
    const byKind = [...Map.groupBy(resources, groupOf).values()];
    const missing = byKind.filter((versions) => !versions.some((one) => known.has(keyOf(one))));
    assert.deepEqual(missing, [], "kinds without an object here and in scripts/differ");

    const walk = async (versions: readonly Resource[]): Promise<void> => {
      // A quota or a default of one kind must not change the others.
      const { ns } = await api.createNamespace();
      const bodies = objectsByCollection(api, ns);
      const first = versions.find((one) => bodies.has(keyOf(one)))!;
      const body = bodies.get(keyOf(first))!;
      const { name } = body["metadata"] as { readonly name: string };
      const collection = `${first.version}/${first.namespaced ? `namespaces/${ns}/` : ""}${first.name}`;
      (await api.post(collection, body)).expect(201);
      const bodyIn = new Map<Resource, Json>();
      for (const resource of versions) {
        const path = `${collection.replace(first.version, resource.version)}/${name}`;
        bodyIn.set(resource, bodies.get(keyOf(resource)) ?? (await inVersion(api, path)));
      }
      (await api.delete(`${collection}/${name}`, deleteOptions)).expect([200, 202]);
      await eventually(async () => (await api.get(`${collection}/${name}`)).expect(404));
      for (const [resource, content] of bodyIn) {
        const hasStatus = withStatus.has(keyOf(resource));
        for (const format of [plain, yaml, protobuf, cbor])
          await new Walk(api, resource, format, ns, name).run(content, hasStatus);
      }
    };
    const outcomes = await Promise.allSettled(byKind.map(walk));
    const problems = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason as Error] : []));
    if (problems.length > 0) throw new AggregateError(problems, problems.map(({ message }) => message).join("\n"));
  },
);
