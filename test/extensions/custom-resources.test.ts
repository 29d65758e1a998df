/** Custom resource definitions and their objects: immediate use, versions, names, status, deletion. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { type Api, domains, eventually, suite, temporaryFolder } from "../harness.ts";
import { spawnServer } from "../process.ts";
import { absent, present } from "../view.ts";

const inBothDomains = suite();

const text = { type: "string" };
const integer = { type: "integer" };
const object = (properties: object, more: object = {}): object => ({ type: "object", properties, ...more });
const version = (name: string, schema: object, more: object = {}): object => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: schema },
  ...more,
});
const widgets = (group: string, name = "v1"): string => `/apis/${group}/${name}/widgets`;
const path = (group: string): string => `${crds}/widgets.${group}`;
const slow = { differs: "1.32 needs two seconds until a definition is served" };

async function install(api: Api, group: string, fields?: Parameters<typeof definition>[1]): Promise<void> {
  (await api.post(crds, definition(group, fields))).expect(201);
}

inBothDomains(
  "a definition is served, discovered and established when its creation returns [VER-67] [VER-70]",
  async (api) => {
    const group = "atonce.example.com";
    const answer = (await api.post(crds, definition(group))).expect(201, {
      "spec.names": { plural: "widgets", singular: "widget", kind: "Widget", listKind: "WidgetList" },
      "spec.conversion": { strategy: "None" },
      status: { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: ["v1"] },
    });
    (await api.post(widgets(group), custom(group, "a"))).expect(201, { "metadata.generation": 1 });
    (await api.get(`/apis/${group}/v1`)).expect(200, { "resources.0.name": "widgets" });
    (await api.get(`/openapi/v3/apis/${group}/v1`)).expect(200);
    (await api.get(path(group))).expect(200, {
      "metadata.uid": answer.at("metadata.uid"),
      "status.conditions.0.type": "NamesAccepted",
      "status.conditions.0.reason": "NoConflicts",
      "status.conditions.1.type": "Established",
      "status.conditions.1.status": "True",
      "status.conditions.1.reason": "InitialNamesAccepted",
    });
  },
  slow,
);

inBothDomains(
  "many definitions created together are all usable when their creations return",
  async (api) => {
    const groups = Array.from({ length: 40 }, (_, i) => `many${i}.example.com`);
    await Promise.all(
      groups.map(async (group) => {
        await install(api, group);
        (await api.post(widgets(group), custom(group, "a"))).expect(201);
      }),
    );
    await Promise.all(groups.map(async (group) => (await api.delete(path(group))).expect(200)));
  },
  slow,
);

inBothDomains("a dry run of a definition serves nothing [DRY-01]", async (api) => {
  const group = "dry.example.com";
  (await api.post(`${crds}?dryRun=All`, definition(group))).expect(201);
  (await api.get(path(group))).expect(404);
  assert.equal((await api.get(widgets(group))).text, "404 page not found\n");
});

inBothDomains("names that others have are refused by condition until they are free", async (api) => {
  const group = "names.example.com";
  await install(api, group, { names: { shortNames: ["wi"] } });
  const other = definition(group, { kind: "Gadget", names: { shortNames: ["wi"], listKind: "WidgetList" } });
  (await api.post(crds, other)).expect(201);
  const gadgets = `${crds}/gadgets.${group}`;
  await eventually(async () =>
    (await api.get(gadgets)).expect(200, {
      "status.conditions[type=NamesAccepted].status": "False",
      "status.conditions[type=NamesAccepted].reason": "ListKindConflict",
      "status.conditions[type=NamesAccepted].message": '"WidgetList" is already in use',
      "status.conditions[type=Established].reason": "NotAccepted",
      "status.acceptedNames.shortNames": absent,
    }),
  );
  assert.equal((await api.get(`/apis/${group}/v1/gadgets`)).text, "404 page not found\n");
  (await api.delete(path(group))).expect(200);
  await eventually(async () =>
    (await api.get(gadgets)).expect(200, {
      "status.conditions[type=Established].status": "True",
      "status.acceptedNames.shortNames": ["wi"],
    }),
  );
  await eventually(async () => (await api.get(`/apis/${group}/v1/gadgets`)).expect(200));
});

inBothDomains(
  "a deleted definition takes its objects along, waits for their finalizers, and can be made again [META-12]",
  async (api) => {
    const group = "end.example.com";
    await install(api, group);
    (await api.post(widgets(group), custom(group, "plain"))).expect(201);
    const held = { ...custom(group, "held"), metadata: { name: "held", finalizers: ["example.com/hold"] } };
    (await api.post(widgets(group), held)).expect(201);
    (await api.delete(path(group))).expect(200, {
      "metadata.finalizers": ["customresourcecleanup.apiextensions.k8s.io"],
      "metadata.generation": 1,
      "metadata.deletionTimestamp": present,
      "metadata.deletionGracePeriodSeconds": absent,
    });
    (await api.delete(path(group))).expect(200, {
      "metadata.finalizers": ["customresourcecleanup.apiextensions.k8s.io"],
      "metadata.generation": 1,
      "metadata.deletionGracePeriodSeconds": 0,
    });
    (await api.post(widgets(group), custom(group, "late"))).expectFailure(
      405,
      "MethodNotAllowed",
      "create not allowed while custom resource definition is terminating",
    );
    (await api.post(crds, definition(group))).expectFailure(409, "AlreadyExists", /^object is being deleted: /);
    await eventually(async () => (await api.get(`${widgets(group)}/plain`)).expect(404));
    await eventually(async () =>
      (await api.get(path(group))).expect(200, {
        "status.conditions[type=Terminating].reason": "InstanceDeletionInProgress",
      }),
    );
    (await api.patch(`${widgets(group)}/held`, { metadata: { finalizers: null } })).expect(200);
    await eventually(async () => (await api.get(path(group))).expect(404));
    await eventually(async () => assert.equal((await api.get(`/apis/${group}`)).status, 404));
    await eventually(async () => (await api.post(crds, definition(group))).expect(201));
    await eventually(async () => (await api.get(widgets(group))).expect(200, { "items.length": 0 }));
  },
);

inBothDomains("objects are stored in one version and shown in each as that one has it [VER-16]", async (api) => {
  const group = "versions.example.com";
  const one = object({ spec: object({ a: text, size: { ...integer, default: 1 } }) });
  const two = object({ spec: object({ a: text, b: { ...text, default: "two" } }) });
  await install(api, group, { versions: [version("v1", one, { storage: true }), version("v2", two)] });
  await eventually(async () => (await api.get(widgets(group, "v2"))).expect(200));
  const body = { ...custom(group, "x"), apiVersion: `${group}/v2`, spec: { a: "1", b: "kept?" } };
  (await api.post(widgets(group, "v2"), body)).expect(201, { spec: { a: "1" }, apiVersion: `${group}/v2` });
  (await api.get(`${widgets(group)}/x`)).expect(200, { spec: { a: "1", size: 1 }, apiVersion: `${group}/v1` });
  (await api.get(widgets(group, "v2"))).expect(200, {
    apiVersion: `${group}/v2`,
    "items.0.apiVersion": `${group}/v2`,
    "items.0.spec": { a: "1" },
    "metadata.continue": "",
  });
  (await api.post(widgets(group, "v2"), custom(group, "y"))).expectFailure(
    400,
    "BadRequest",
    `the API version in the data (${group}/v1) does not match the expected API version (${group}/v2)`,
  );
});

inBothDomains("what was stored in another version is still read after the stored one moved [VER-22]", async (api) => {
  const group = "moved.example.com";
  const schema = object({ spec: object({ a: text }) });
  const versions = (stored: string): object[] =>
    ["v1", "v2"].map((name) => version(name, schema, { storage: name === stored }));
  await install(api, group, { versions: versions("v1") });
  await eventually(async () => (await api.post(widgets(group), custom(group, "a", { spec: { a: "1" } }))).expect(201));
  (await api.patch(path(group), { spec: { versions: versions("v2") } })).expect(200, {
    "status.storedVersions": ["v1", "v2"],
  });
  await eventually(async () =>
    (await api.get(`/apis/${group}/v1`)).expect(200, { "resources.0.storageVersionHash": present }),
  );
  (await api.post(widgets(group), custom(group, "b", { spec: { a: "2" } }))).expect(201);
  for (const name of ["v1", "v2"]) {
    (await api.get(widgets(group, name))).expect(200, {
      "items.length": 2,
      "items.0.apiVersion": `${group}/${name}`,
      "items.1.apiVersion": `${group}/${name}`,
      "items.0.spec": { a: "1" },
    });
  }
  (await api.patch(path(group), [{ op: "remove", path: "/spec/versions/0" }], patchTypes.json)).expectFailure(
    422,
    "Invalid",
  );
});

inBothDomains("a deprecated version warns, in its own words or in ours [EVENT-05]", async (api) => {
  const group = "old.example.com";
  const schema = object({});
  await install(api, group, {
    versions: [
      version("v1beta1", schema, { deprecated: true }),
      version("v1beta2", schema, { deprecated: true, deprecationWarning: "read the handbook" }),
      version("v1", schema, { storage: true }),
    ],
  });
  const warningsOf = async (name: string): Promise<string[]> =>
    (await eventually(async () => (await api.get(widgets(group, name))).expect(200))).warnings;
  assert.deepEqual(await warningsOf("v1beta1"), [`${group}/v1beta1 Widget is deprecated; use ${group}/v1 Widget`]);
  assert.deepEqual(await warningsOf("v1beta2"), ["read the handbook"]);
  assert.deepEqual(await warningsOf("v1"), []);
  const missing = (await api.get(`${widgets(group, "v1beta2")}/x/status`)).expectFailure(404, "NotFound");
  assert.deepEqual(missing.warnings, ["read the handbook"]);
});

inBothDomains(
  "bookmarks of custom resources have no empty fields, and end with a list of none [SEM-34]",
  async (api) => {
    const group = "bookmarked.example.com";
    await install(api, group);
    const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const stream = await api.watch(`${widgets(group)}?${query}`);
    const bookmark = (await stream.next()).has({ type: "BOOKMARK", "object.metadata.creationTimestamp": absent });
    const blueprint = bookmark.string("object.metadata.annotations[kubernetes.io/initial-events-list-blueprint]");
    const list: unknown = JSON.parse(Buffer.from(blueprint, "base64").toString());
    assert.deepEqual(list, { apiVersion: `${group}/v1`, items: [], kind: "WidgetList" });
    stream.close();
  },
);

inBothDomains(
  "a request for an unknown answer type is refused, for custom resources in their words [MEDIA-20]",
  async (api) => {
    const group = "unreadable.example.com";
    await install(api, group);
    const words = /^only the following media types are accepted: application\/json, application\/yaml, /;
    for (const query of ["", "/x", "?watch=true&timeoutSeconds=1"]) {
      (await api.get(`${widgets(group)}${query}`, { accept: "text/html" })).expectFailure(406, "NotAcceptable", words, {
        details: absent,
      });
    }
  },
);

inBothDomains("a watch gets the deletion of every object of a deleted definition, then ends", async (api) => {
  const group = "going.example.com";
  await install(api, group);
  const stream = await api.watch(widgets(group));
  for (const name of ["a", "b"]) (await api.post(widgets(group), custom(group, name))).expect(201);
  (await api.delete(path(group))).expect(200);
  const events = (await stream.rest()).map(({ type, name }) => `${type} ${name}`);
  assert.deepEqual(events, ["ADDED a", "ADDED b", "DELETED a", "DELETED b"]);
});

inBothDomains(
  "watches outlast a change of labels of the definition and start anew after one of its schema [SEM-01]",
  async (api) => {
    const group = "watched.example.com";
    await install(api, group, { schema: object({ spec: object({ a: text }) }) });
    const stream = await api.watch(widgets(group));
    (await api.post(widgets(group), custom(group, "x", { spec: { a: "1" } }))).expect(201);
    assert.equal((await stream.next()).name, "x");
    (await api.patch(path(group), { metadata: { labels: { a: "b" } } })).expect(200);
    (await api.patch(`${widgets(group)}/x`, { spec: { a: "2" } })).expect(200);
    const seen = await stream.next();
    seen.has({ type: "MODIFIED", "object.spec": { a: "2" } });
    const schema = object({ spec: object({ a: text, added: { ...text, default: "late" } }) });
    (await api.patch(path(group), { spec: { versions: [version("v1", schema, { storage: true })] } })).expect(200);
    assert.deepEqual(await stream.rest(), []);
    (await api.get(`${widgets(group)}/x`)).expect(200, { spec: { a: "2", added: "late" } });
    const again = await api.watch(`${widgets(group)}?resourceVersion=${seen.version}`);
    (await api.patch(`${widgets(group)}/x`, { spec: { a: "3" } })).expect(200);
    (await again.next()).has({ "object.spec": { a: "3", added: "late" } });
  },
  { differs: "1.32 takes a moment until a change is in force" },
);

inBothDomains(
  "a change of schema is in force for every request after it, and each request sees one schema",
  async (api) => {
    const group = "atomic.example.com";
    const schemaOf = (default_: string): object =>
      object({ spec: object({ a: { ...text, default: default_ }, b: { ...text, default: default_ } }) });
    await install(api, group, { schema: schemaOf("0") });
    (await api.post(widgets(group), custom(group, "x", { spec: {} }))).expect(201);
    (await api.post(widgets(group), custom(group, "y", { spec: {} }))).expect(201);
    (await api.patch(`${widgets(group)}/x`, [{ op: "remove", path: "/spec" }], patchTypes.json)).expect(200);
    (await api.patch(`${widgets(group)}/x`, { spec: {} })).expect(200);
    for (let round = 1; round <= 10; round++) {
      const reads = Array.from({ length: 10 }, () => api.get(`${widgets(group)}?limit=500`));
      const change = { spec: { versions: [version("v1", schemaOf(String(round)), { storage: true })] } };
      (await api.patch(path(group), change)).expect(200);
      (await api.post(`${widgets(group)}?dryRun=All`, custom(group, "z", { spec: {} }))).expect(201, {
        spec: { a: String(round), b: String(round) },
      });
      for (const read of await Promise.all(reads)) read.expect(200, { "items.length": 2 });
    }
  },
  { differs: "1.32 takes a moment until a change is in force" },
);

inBothDomains(
  "status and the rest are written apart, and generation counts the rest [EP-22] [META-21]",
  async (api) => {
    const group = "status.example.com";
    await install(api, group, {
      schema: object({ spec: object({ a: text }), status: object({ phase: text }) }),
      version: { subresources: { status: {} } },
    });
    const x = `${widgets(group)}/x`;
    await eventually(async () =>
      (await api.post(widgets(group), custom(group, "x", { spec: { a: "1" }, status: { phase: "no" } }))).expect(201, {
        status: absent,
      }),
    );
    (
      await api.patch(`${x}/status`, { spec: { a: "no" }, status: { phase: "A" }, metadata: { labels: { a: "b" } } })
    ).expect(200, { spec: { a: "1" }, status: { phase: "A" }, "metadata.labels": absent, "metadata.generation": 1 });
    (await api.patch(x, { spec: { a: "2" }, status: { phase: "no" } })).expect(200, {
      status: { phase: "A" },
      "metadata.generation": 2,
    });
    (await api.patch(x, { metadata: { labels: { a: "b" } } })).expect(200, { "metadata.generation": 2 });
    (await api.delete(`${x}/status`)).expectFailure(
      405,
      "MethodNotAllowed",
      /^delete is not supported on resources of kind/,
    );
    (await api.get(`${x}/scale`)).expectFailure(404, "NotFound", `widgets.${group} "x" not found`);
  },
);

inBothDomains("selectable fields select in lists and watches [QP-04]", async (api) => {
  const group = "select.example.com";
  await install(api, group, {
    schema: object({ spec: object({ color: text, size: integer }) }),
    version: { selectableFields: [{ jsonPath: ".spec.color" }, { jsonPath: ".spec.size" }] },
  });
  const make = (name: string, spec: object): Promise<unknown> =>
    eventually(async () => (await api.post(widgets(group), custom(group, name, { spec }))).expect(201));
  await make("a", { color: "red", size: 1 });
  await make("b", { color: "blue" });
  const names = async (selector: string): Promise<unknown> =>
    (await api.get(`${widgets(group)}?fieldSelector=${encodeURIComponent(selector)}`))
      .expect(200)
      .at("items.0.metadata.name");
  assert.equal(await names("spec.color=red,spec.size=1"), "a");
  assert.equal(await names("spec.color!=red"), "b");
  assert.equal(await names("spec.size="), "b");
  (await api.get(`${widgets(group)}?fieldSelector=spec.other=x`)).expectFailure(
    400,
    "BadRequest",
    "field label not supported: spec.other",
  );
});

inBothDomains("whole numbers beyond 2^53 stay as they are, through patches too [EXPR-46]", async (api) => {
  const group = "numbers.example.com";
  await install(api, group, { schema: object({ spec: object({ big: integer, other: text }) }) });
  const big = "9223372036854775807";
  const body = `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"x"},"spec":{"big":${big}}}`;
  const answer = await eventually(async () => (await api.post(widgets(group), body)).expect(201));
  assert.match(answer.text, new RegExp(`"big":${big}[,}]`));
  const patched = (await api.patch(`${widgets(group)}/x`, { spec: { other: "y" } })).expect(200);
  assert.match(patched.text, new RegExp(`"big":${big}[,}]`));
  const test = `[{"op":"test","path":"/spec/big","value":${big}}]`;
  (await api.patch(`${widgets(group)}/x`, test, patchTypes.json)).expect(200);
});

inBothDomains("unknown fields are dropped with a warning, or refused [FV-02] [FV-03]", async (api) => {
  const group = "fields.example.com";
  await install(api, group, { schema: object({ spec: object({ a: text }) }) });
  const body = `{"apiVersion":"${group}/v1","kind":"Widget","metadata":{"name":"x","odd":1},"spec":{"a":"1","a":"2","z":1},"q":1}`;
  const answer = await eventually(async () => (await api.post(widgets(group), body)).expect(201, { spec: { a: "2" } }));
  const problems = [
    'duplicate field "spec.a"',
    'unknown field "metadata.odd"',
    'unknown field "q"',
    'unknown field "spec.z"',
  ];
  assert.deepEqual(answer.warnings, problems);
  (await api.post(`${widgets(group)}?fieldValidation=Strict`, body)).expectFailure(
    400,
    "BadRequest",
    `Widget in version "v1" cannot be handled as a Widget: strict decoding error: ${problems.join(", ")}`,
  );
  (await api.post(widgets(group), { ...custom(group, "y"), metadata: { name: "y", labels: { a: 1 } } })).expectFailure(
    400,
    "BadRequest",
    'Widget in version "v1" cannot be handled as a Widget: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  );
});

inBothDomains(
  "definitions made to hurt get a clear answer while others are served [LIMIT-01]",
  async (api) => {
    const group = "hurt.example.com";
    const deep = (levels: number): object => (levels === 0 ? text : object({ x: deep(levels - 1) }));
    const wide = object(Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`field${i}`, text])));
    const large = object({ spec: object({ a: { ...text, description: "x".repeat(1_000_000) } }) });
    const many = Array.from({ length: 500 }, (_, i) =>
      version(`v${i + 1}`, object({ [`a${i}`]: text }), { storage: i === 0 }),
    );
    const hostile = [{ schema: deep(500) }, { schema: wide }, { schema: large }, { versions: many }];
    for (const fields of hostile) {
      const posted = api.post(crds, definition(group, fields));
      (await api.get("/api/v1/namespaces/default")).expect(200);
      const answer = await posted;
      assert.ok([201, 400, 422].includes(answer.status), answer.title);
      if (answer.status !== 201) continue;
      (await api.get(widgets(group))).expect(200);
      (await api.post(widgets(group), custom(group, "x", { spec: { a: "y" } }))).expect([201, 422]);
      (await api.delete(path(group))).expect(200);
      await eventually(async () => (await api.get(path(group))).expect(404));
    }
  },
  slow,
);

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
/** The minimum number of other requests that are answered: more than fit before and after work in one piece. */
const answeredMin = 5;

for (const domain of domains) {
  test(`${domain}: definitions and their objects are served again after a restart`, { skip }, async () => {
    const dataDir = join(temporaryFolder(), "data");
    const group = "again.example.com";
    const first = await spawnServer({ domain, dataDir, storage: "disk" });
    await install(first.api, group, { schema: object({ spec: object({ a: { ...text, default: "d" } }) }) });
    (await first.api.post(widgets(group), custom(group, "x", { spec: {} }))).expect(201);
    (await first.api.post(crds, definition("ending.example.com"))).expect(201);
    const held = { ...custom("ending.example.com", "held"), metadata: { name: "held", finalizers: ["example.com/h"] } };
    (await first.api.post(widgets("ending.example.com"), held)).expect(201);
    (await first.api.delete(path("ending.example.com"))).expect(200);
    await first.stop();
    const { api, stop } = await spawnServer({ domain, dataDir, storage: "disk" });
    (await api.get(`${widgets(group)}/x`)).expect(200, { spec: { a: "d" } });
    (await api.get(widgets(group))).expect(200, { "items.0.spec": { a: "d" } });
    (await api.post(widgets(group), custom(group, "y", { spec: {} }))).expect(201, { spec: { a: "d" } });
    // A deletion that was under way continues.
    (await api.patch(`${widgets("ending.example.com")}/held`, { metadata: { finalizers: null } })).expect(200);
    await eventually(async () => (await api.get(path("ending.example.com"))).expect(404));
    await stop();
  });
}

for (const domain of domains) {
  test(`${domain}: a change of a large schema is seen as a whole, while others are answered`, { skip }, async (t) => {
    const group = "large.example.com";
    const filler = object(
      Object.fromEntries(
        Array.from({ length: 3000 }, (_, i) => [
          `field${i}`,
          { ...text, pattern: `^[a-z]*${i % 1000}?$`, description: `Number ${i}, as it was.` },
        ]),
      ),
    );
    // The defaults at both ends of the schema show which schema was in force.
    const schemaOf = (count: number): object => {
      const counted = object({ count: { ...integer, default: count } }, { default: {} });
      return object({ spec: object({ a: counted, m: filler, z: counted }, { default: {} }) });
    };
    const { api, stop } = await spawnServer({ domain });
    t.after(() => stop());
    await install(api, group, { schema: schemaOf(0) });
    const total = 6;
    let isDone = false;
    let answered = 0;
    const reader = async (): Promise<void> => {
      for (; !isDone; answered++) (await api.get("/api/v1/namespaces/default")).expect(200);
    };
    const seen: number[] = [];
    const writer = async (): Promise<void> => {
      for (let i = 0; !isDone; i++) {
        const answer = (await api.post(widgets(group), custom(group, `w${i}`))).expect(201);
        const [a, z] = [answer.at("spec.a.count"), answer.at("spec.z.count")];
        assert.equal(a, z, "one request saw two schemas");
        seen.push(a as number);
      }
    };
    const change = async (): Promise<void> => {
      for (let count = 1; count <= total; count++) {
        const patch = [{ op: "replace", path: "/spec/versions/0/schema/openAPIV3Schema", value: schemaOf(count) }];
        const before = answered;
        (await api.patch(path(group), patch, patchTypes.json)).expect(200);
        // If the work were one piece, at most one request would come before the change and one with it.
        assert.ok(answered - before >= answeredMin, `${answered - before} requests of others were answered`);
        // The change is in force when its answer arrives.
        (await api.post(widgets(group), custom(group, `after${count}`))).expect(201, {
          "spec.a.count": count,
          "spec.z.count": count,
        });
      }
    };
    await Promise.all([reader(), writer(), change().finally(() => (isDone = true))]);
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
  });
}
