/**
 * Sets of definitions like those of well-known operators, each through the life of an installation: installed, listed,
 * explained, used with valid and invalid objects, applied by two managers, upgraded with stored objects, and removed.
 */
import assert from "node:assert/strict";
import type { Answer } from "../client.ts";
import { patchTypes } from "../client.ts";
import { crds } from "../crds.ts";
import { type Api, eventually, suite } from "../harness.ts";
import type { ObjectBody } from "../objects.ts";
import { absent, type Fields, present } from "../view.ts";
import { type OperatorSet, readOperatorSet } from "./operator-set.ts";
import { platform } from "./platform.ts";

const inBothDomains = suite();
/**
 * Whether tests wait until a 1.32 server serves a definition. Our server serves it at once, which other tests prove.
 */
const external = process.env["TEST_SERVER"] !== undefined;

/** Repeats work for a 1.32 server, which may take some time. Our server is up to date when a write returns. */
const soon: <T>(work: () => Promise<T>) => Promise<T> = external ? eventually : (work) => work();

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string; readonly kind: string; readonly categories?: readonly string[] };
    readonly versions: readonly { readonly name: string; readonly served: boolean; readonly subresources?: object }[];
  };
}

const asDefinition = (definition: ObjectBody): Definition => definition as unknown as Definition; // written by this folder
const text = (value: unknown): string => String(value);

/** An installation of a set in a namespace of its own. */
class Installation {
  readonly api: Api;
  readonly set: OperatorSet;
  readonly ns: string;

  constructor(api: Api, set: OperatorSet, ns: string) {
    this.api = api;
    this.set = set;
    this.ns = ns;
  }

  definitionOf(kind: string): Definition {
    const match = this.set.definitions.map(asDefinition).find((definition) => definition.spec.names.kind === kind);
    assert.ok(match, `no definition of ${kind}`);
    return match;
  }

  collection(kind: string, version: string): string {
    const { group, scope, names } = this.definitionOf(kind).spec;
    return `/apis/${group}/${version}/${scope === "Cluster" ? "" : `namespaces/${this.ns}/`}${names.plural}`;
  }

  /** Returns the collection of an object, and its path. */
  pathsOf(object: ObjectBody, version?: string): { collection: string; path: string } {
    const collection = this.collection(text(object["kind"]), version ?? text(object["apiVersion"]).split("/")[1]!);
    return { collection, path: `${collection}/${nameOf(object)}` };
  }

  async post(object: ObjectBody, query = ""): Promise<Answer> {
    return this.api.post(this.pathsOf(object).collection + query, object);
  }

  apply(object: ObjectBody, manager: string, force = false): Promise<Answer> {
    const query = `?fieldManager=${manager}${force ? "&force=true" : ""}`;
    return this.api.patch(this.pathsOf(object).path + query, object, patchTypes.apply);
  }
}

const nameOf = (object: ObjectBody): string => text((object["metadata"] as { name: string }).name);

async function install({ api, set }: Installation): Promise<void> {
  for (const definition of set.definitions) (await api.post(crds, definition)).expect(201);
  for (const { metadata, spec } of set.definitions.map(asDefinition)) {
    const served = spec.versions.filter((version) => version.served);
    for (const { name } of served) {
      await soon(async () => (await api.get(`/apis/${spec.group}/${name}/${spec.names.plural}`)).expect(200));
    }
    await soon(async () =>
      (await api.get(`${crds}/${metadata.name}`)).expect(200, {
        "status.conditions[type=NamesAccepted].status": "True",
        "status.conditions[type=Established].status": "True",
        "status.conditions[type=NonStructuralSchema]": absent,
        "status.acceptedNames.plural": spec.names.plural,
      }),
    );
  }
}

async function checkLists({ api, set }: Installation): Promise<void> {
  for (const { spec } of set.definitions.map(asDefinition)) {
    for (const { name, served, subresources } of spec.versions) {
      if (!served) continue;
      const answer = (await api.get(`/apis/${spec.group}/${name}`)).expect(200);
      const fields: Fields = {
        kind: spec.names.kind,
        namespaced: spec.scope === "Namespaced",
        singularName: spec.names.kind.toLowerCase(),
        categories: spec.names.categories ?? absent,
        storageVersionHash: present,
      };
      answer.view(`resources[name=${spec.names.plural}]`).has(fields);
      const verbs = subresources === undefined ? absent : ["get", "patch", "update"];
      answer.view(`resources[name=${spec.names.plural}/status]`).has({ verbs });
    }
  }
}

async function checkExplain({ api, set }: Installation): Promise<void> {
  for (const { groupVersion, schema, shows } of set.explained) {
    await soon(async () => {
      const index = (await api.get("/openapi/v3")).expect(200);
      const url = index.string(`paths[apis/${groupVersion}].serverRelativeURL`);
      const document = await api.get(url, { literal: true });
      document.expect(200, { openapi: "3.0.0" });
      document.view(`components.schemas[${schema}]`).has(shows);
    });
  }
  for (const { spec } of set.definitions.map(asDefinition)) {
    const version = spec.versions.find(({ served }) => served)!.name;
    const scope = spec.scope === "Cluster" ? "" : "namespaces/{namespace}/";
    const path = `/apis/${spec.group}/${version}/${scope}${spec.names.plural}`;
    const document = await api.get(`/openapi/v3/apis/${spec.group}/${version}`);
    document.expect(200, { [`paths[${path}].post.x-kubernetes-group-version-kind.kind`]: spec.names.kind });
  }
  const all = await api.get("/openapi/v2");
  all.expect(200, { [`definitions[${set.explained[0]!.schema}].type`]: "object" });
}

/** A cause that servers with rules add to other causes. */
const unchecked = /^<nil>: .* some validation rules were not checked/;

async function checkWrites(installation: Installation): Promise<void> {
  const { api, set } = installation;
  for (const { object, shows = {} } of set.accepted) {
    (await installation.post(object, "?fieldValidation=Strict")).expect(201, shows);
    const { collection, path } = installation.pathsOf(object);
    (await api.get(path)).expect(200, shows);
    const table = await api.get(collection, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" });
    table.expect(200, { kind: "Table", "columnDefinitions.0.name": "Name", "rows.0.object.metadata.name": present });
  }
  for (const { object, causes } of set.refused) {
    const refusal = (await installation.post(object)).expectFailure(422, "Invalid");
    const messages = refusal
      .list("details.causes")
      .map((cause) => `${cause.string("field")}: ${cause.string("message")}`);
    const own = messages.filter((cause) => !unchecked.test(cause));
    assert.deepEqual(own.toSorted(), causes.map((cause) => api.name(cause)).toSorted());
  }
  const { unknown } = set;
  if (unknown === undefined) return;
  const [first] = set.accepted;
  const object = merge({ ...first!.object, metadata: { name: "odd" } }, unknown.fields);
  const problems = unknown.named.map((path) => `unknown field "${path}"`);
  const strict = await installation.post(object, "?fieldValidation=Strict");
  strict.expectFailure(400, "BadRequest", new RegExp(`strict decoding error: ${RegExp.escape(problems.join(", "))}$`));
  const warned = (await installation.post(object, "?dryRun=All")).expect(201);
  assert.deepEqual(warned.warnings, problems);
}

/** Returns the base with the values of `over`, merged object by object. */
function merge(base: unknown, over: unknown): ObjectBody {
  const result: Record<string, unknown> = { ...(base as object) };
  for (const [key, value] of Object.entries(over as object)) {
    result[key] = typeof value === "object" && !Array.isArray(value) ? merge(result[key], value) : value;
  }
  return result;
}

async function checkSharing(installation: Installation): Promise<void> {
  const { shared: story } = installation.set;
  (await installation.apply(story.first, "gitops")).expect(201);
  const both = (await installation.apply(story.second, "platform")).expect(200, story.merged);
  const owners = both.list("metadata.managedFields").map((entry) => entry.string("manager"));
  assert.deepEqual(owners.toSorted(), ["gitops", "platform"]);
  const again = (await installation.apply(story.first, "gitops")).expect(200, story.merged);
  assert.equal(again.at("metadata.resourceVersion"), both.at("metadata.resourceVersion"));
  const refusal = (await installation.apply(story.disputed, "platform")).expectFailure(409, "Conflict");
  const causes = refusal.list("details.causes");
  assert.deepEqual(causes.map((cause) => cause.string("field")).toSorted(), [...story.disputedFields].toSorted());
  for (const cause of causes) cause.has({ reason: "FieldManagerConflict", message: 'conflict with "gitops"' });
  (await installation.apply(story.disputed, "platform", true)).expect(200, story.settled);
}

async function upgradeAll(installation: Installation): Promise<void> {
  const { api, set } = installation;
  const { upgrade } = set;
  const { metadata } = installation.definitionOf(upgrade.kind);
  const path = `${crds}/${metadata.name}`;
  const now = (await api.get(path)).expect(200).value as ObjectBody;
  const spec = { ...(now["spec"] as object), versions: upgrade.versions };
  (await api.put(path, { ...now, spec })).expect(200, {
    "status.storedVersions": upgrade.storedVersions,
    "metadata.generation": 2,
  });
  const inNew = installation.collection(upgrade.kind, upgrade.stored);
  await soon(async () => (await api.get(`${inNew}/${upgrade.old}`)).expect(200, upgrade.shows));
  const items = (await soon(async () => (await api.get(inNew)).expect(200))).list("items");
  const old = items.find((item) => item.at("metadata.name") === upgrade.old);
  assert.ok(old, `${upgrade.old} must be listed`);
  old.has(upgrade.shows);
  (await installation.post(upgrade.fresh)).expect(201);
  const older = installation.collection(upgrade.kind, upgrade.olderVersion);
  (await api.get(`${older}/${nameOf(upgrade.fresh)}`)).expect(200, upgrade.freshInOlder);
  // A write of an old object stores it in the new version.
  const label = { metadata: { labels: { migrated: "yes" } } };
  const rewritten = upgrade.rewritten ?? upgrade.shows;
  (await api.patch(`${inNew}/${upgrade.old}`, label)).expect(200, rewritten);
  (await api.get(`${inNew}/${upgrade.old}`)).expect(200, rewritten);
  (await api.get(`${older}/${upgrade.old}`)).expect(200, { "metadata.labels": { migrated: "yes" } });
  await soon(async () => {
    const document = await api.get(`/openapi/v3/apis/${groupOf(installation, upgrade.kind)}/${upgrade.stored}`);
    const kinds = Object.keys(document.expect(200).at("components.schemas") as object);
    assert.ok(kinds.some((name) => name.endsWith(`.${upgrade.stored}.${upgrade.kind}`)));
  });
}

const groupOf = (installation: Installation, kind: string): string => installation.definitionOf(kind).spec.group;

async function removeAll({ api, set }: Installation): Promise<void> {
  for (const { metadata } of set.definitions.map(asDefinition))
    (await api.delete(`${crds}/${metadata.name}`)).expect(200);
  for (const { metadata, spec } of set.definitions.map(asDefinition)) {
    await eventually(async () => (await api.get(`${crds}/${metadata.name}`)).expect(404));
    const name = spec.versions[0]!.name;
    await eventually(async () => (await api.get(`/apis/${spec.group}/${name}/${spec.names.plural}`)).expect(404));
    await eventually(async () => (await api.get(`/openapi/v3/apis/${spec.group}/${name}`)).expect(404));
  }
}

const chapters = {
  install,
  listed: checkLists,
  explained: checkExplain,
  used: checkWrites,
  shared: checkSharing,
  upgraded: upgradeAll,
  removed: removeAll,
};

const written = ["certificates", "gateways", "databases", "monitoring", "pipelines"];
for (const set of [...written.map(readOperatorSet), platform]) {
  inBothDomains(`${set.title}: an operator's definitions are installed, used, upgraded and removed`, async (api, t) => {
    const installation = new Installation(api, set, (await api.createNamespace()).ns);
    try {
      for (const [name, chapter] of Object.entries(chapters)) {
        let done = false;
        await t.test(name, async () => {
          await chapter(installation);
          done = true;
        });
        if (!done) return;
      }
    } finally {
      for (const { metadata } of set.definitions.map(asDefinition)) await api.delete(`${crds}/${metadata.name}`);
    }
  });
}
