/** Server-side apply and field ownership, for built-in and custom kinds. */
import assert from "node:assert/strict";
import type { Answer, SendOptions } from "../client.ts";
import { patchTypes } from "../client.ts";
import { crds, custom, definition } from "../crds.ts";
import { test } from "node:test";
import { type Api, domains, suite } from "../harness.ts";
import { spawnServer } from "../process.ts";
import { claim, configMap, type ObjectBody, secret } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();
const slow = { differs: "1.32 needs two seconds until a definition is served" };

/** Applies an object; `how` is the rest of the query. */
function apply(
  api: Api,
  path: string,
  manager: string,
  body: unknown,
  how = "",
  options: SendOptions = {},
): Promise<Answer> {
  const query = `fieldManager=${encodeURIComponent(manager)}${how === "" ? "" : `&${how}`}`;
  return api.patch(`${path}?${query}`, body, patchTypes.apply, options);
}

const one = async (api: Api): Promise<string> => `${(await api.createNamespace()).configMaps}/one`;
const map = (data?: object, metadata: object = {}): ObjectBody => configMap("one", data, metadata);

/** Returns the managers of an object with the fields of each, as `m1: data.a`. */
function owners(answer: Answer): string[] {
  if (answer.at("metadata.managedFields") === undefined) return [];
  return answer.list("metadata.managedFields").map((entry) => {
    const fields = leaves(entry.at("fieldsV1"), "");
    const operation = entry.at("operation") === "Apply" ? "" : " (update)";
    return `${entry.string("manager")}${operation}: ${fields.join(" ")}`;
  });
}

function leaves(set: unknown, above: string): string[] {
  const members = Object.entries(set as Record<string, unknown>).filter(([name]) => name !== ".");
  if (members.length === 0) return [above.slice(1)];
  return members.flatMap(([name, inner]) => leaves(inner, `${above}.${name.replace(/^f:/, "")}`));
}

inBothDomains(
  "an apply creates what is missing and patches what is there, from YAML or JSON [PATCH-01, PATCH-02, PATCH-03, PATCH-04, EP-14, MF-01, MF-02, MF-05, MF-06, MF-07, MF-08, MF-09]",
  async (api) => {
    const path = await one(api);
    const yaml = "# comment\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: one, labels: {a: x}}\ndata:\n  k: v\n";
    const answer = (await apply(api, path, "m1", yaml)).expect(201, {
      data: { k: "v" },
      "metadata.labels": { a: "x" },
    });
    assert.match(answer.string("metadata.managedFields.0.time"), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
    answer.has({
      "metadata.managedFields.length": 1,
      "metadata.managedFields.0.manager": "m1",
      "metadata.managedFields.0.operation": "Apply",
      "metadata.managedFields.0.apiVersion": "v1",
      "metadata.managedFields.0.fieldsType": "FieldsV1",
      "metadata.managedFields.0.fieldsV1": { "f:data": { "f:k": {} }, "f:metadata": { "f:labels": { "f:a": {} } } },
    });
    (await apply(api, path, "m1", map({ k: "w" }))).expect(200, { data: { k: "w" }, "metadata.labels": absent });
  },
);

inBothDomains("the same apply again changes nothing: no version, no time, no event [SSA-19]", async (api) => {
  const path = await one(api);
  const deployments = path.replace("/api/v1/", "/apis/apps/v1/").replace("configmaps/one", "deployments/one");
  const container = { name: "c", image: "i:1", resources: { limits: { cpu: 1, memory: "1024Mi" } } };
  const template = { metadata: { labels: { a: "b" } }, spec: { containers: [container] } };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "one" },
    spec: { selector: { matchLabels: { a: "b" } }, template },
  };
  const cases = [
    [path, map({ a: "1" }, { labels: { x: "y" } })],
    // Numbers and units that are stored in another form.
    [deployments, deployment],
    // An empty list that is stored as an absent one.
    [
      path.replace("configmaps/one", "endpoints/one"),
      {
        apiVersion: "v1",
        kind: "Endpoints",
        metadata: { name: "one" },
        subsets: [],
      },
    ],
  ] as const;
  const answers: Answer[] = [];
  for (const [at, body] of cases) answers.push((await apply(api, at, "m1", body)).expect(201));
  // The times of managers have a precision of seconds.
  await api.pass(1100);
  for (const [index, [at, body]] of cases.entries()) {
    const first = answers[index]!;
    const again = (await apply(api, at, "m1", body)).expect(200);
    assert.deepEqual(again.at("metadata"), first.at("metadata"));
    // Fields that the server sets are neither compared nor stored.
    for (const creationTimestamp of [null, "2001-01-01T00:00:00Z"]) {
      const { metadata } = body as { readonly metadata: object };
      const nothing = { uid: null, resourceVersion: null };
      const dated = {
        ...body,
        metadata: { ...metadata, ...nothing, creationTimestamp, generation: 7, selfLink: "/x" },
      };
      const same = (await apply(api, at, "m1", dated)).expect(200);
      assert.deepEqual(same.at("metadata"), first.at("metadata"));
    }
  }
});

inBothDomains(
  "null for managedFields, which clients leave when they strip them, keeps the managers [SSA-21]",
  async (api) => {
    const path = await one(api);
    (await apply(api, path, "m1", map({ a: "1" }))).expect(201);
    const bare = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "one", managedFields: null } };
    assert.deepEqual(owners((await apply(api, path, "m2", bare)).expect(200)), ["m1: data.a"]);
    const both = (await apply(api, path, "m2", { ...bare, data: { b: "2" } })).expect(200);
    assert.deepEqual(owners(both), ["m1: data.a", "m2: data.b"]);
    (await apply(api, path, "m2", { ...bare, data: { b: "2" } })).expect(200, {
      "metadata.resourceVersion": both.string("metadata.resourceVersion"),
    });
  },
);

inBothDomains("an apply must name its manager, in at most 128 bytes [SSA-04]", async (api) => {
  const path = await one(api);
  const missing =
    /^PatchOptions\.meta\.(k8s|platform)\.io "" is invalid: fieldManager: Required value: is required for apply patch$/;
  (await api.patch(path, map(), patchTypes.apply)).expectFailure(422, "Invalid", missing);
  (await api.patch(`${path}?fieldManager=`, map(), patchTypes.apply)).expectFailure(422, "Invalid", missing);
  (await apply(api, path, "a".repeat(129), map())).expectFailure(422, "Invalid", /may not be more than 128 bytes/);
  (await apply(api, path, "a\u0000b", map())).expectFailure(
    422,
    "Invalid",
    /invalid character U\+0000 \(at position 1\)/,
  );
  (await api.get(path)).expect(404);
});

inBothDomains(
  "a field of another manager is a conflict, told with manager and field, and nothing changes [SSA-05, SSA-06, SSA-07]",
  async (api) => {
    const path = await one(api);
    (await apply(api, path, "m1", map({ a: "1", b: "1" }))).expect(201);
    (await api.patch(`${path}?fieldManager=hand`, { data: { c: "1" } })).expect(200);
    const before = await api.get(path);
    (await apply(api, path, "m2", map({ a: "2" }))).expectFailure(
      409,
      "Conflict",
      'Apply failed with 1 conflict: conflict with "m1": .data.a',
      { "details.causes": [{ reason: "FieldManagerConflict", message: 'conflict with "m1"', field: ".data.a" }] },
    );
    (await apply(api, path, "m2", map({ a: "2", b: "2", c: "2" }))).expectFailure(
      409,
      "Conflict",
      'Apply failed with 3 conflicts: conflicts with "hand" using v1:\n- .data.c\nconflicts with "m1":\n- .data.a\n- .data.b',
      { "details.causes.length": 3, "details.causes[field=.data.c].message": 'conflict with "hand" using v1' },
    );
    assert.deepEqual((await api.get(path)).value, before.value);
  },
);

inBothDomains("force takes the field and makes its manager the only one [SSA-08, SSA-09]", async (api) => {
  const path = await one(api);
  (await apply(api, path, "m1", map({ a: "1", b: "1" }))).expect(201);
  const forced = (await apply(api, path, "m2", map({ a: "2" }), "force=true")).expect(200, {
    data: { a: "2", b: "1" },
  });
  assert.deepEqual(owners(forced).sort(), ["m1: data.b", "m2: data.a"]);
  for (const force of ["true", "false"]) {
    (await api.patch(`${path}?force=${force}`, { data: { a: "3" } })).expectFailure(
      422,
      "Invalid",
      /force: Forbidden: may not be specified for non-apply patch/,
    );
  }
});

inBothDomains("an update owns what it changes and never conflicts [SSA-10, SSA-11, MF-03, MF-04]", async (api) => {
  const path = await one(api);
  const answer = (await apply(api, path, "m1", map({ a: "1", b: "1" }))).expect(201);
  const body = { ...(answer.value as ObjectBody), data: { a: "2", b: "1" } };
  (await api.put(`${path}?fieldManager=m2`, body)).expect(200);
  const patched = (await api.patch(`${path}?fieldManager=m3`, { data: { b: "2" } })).expect(200);
  assert.deepEqual(owners(patched).sort(), ["m2 (update): data.a", "m3 (update): data.b"]);
});

inBothDomains(
  "a value that two agree on is shared, and neither may change it alone [SSA-12, SSA-13, SSA-14, SSA-15]",
  async (api) => {
    const path = await one(api);
    (await apply(api, path, "m1", map({ a: "1", b: "1" }))).expect(201);
    const shared = (await apply(api, path, "m2", map({ a: "1" }))).expect(200);
    assert.deepEqual(owners(shared).sort(), ["m1: data.a data.b", "m2: data.a"]);
    (await apply(api, path, "m1", map({ a: "3", b: "1" }))).expectFailure(
      409,
      "Conflict",
      /conflict with "m2": \.data\.a$/,
    );
    const answer = (await apply(api, path, "m2", map({ c: "1" }))).expect(200, { data: { a: "1", b: "1", c: "1" } });
    assert.deepEqual(owners(answer).sort(), ["m1: data.a data.b", "m2: data.c"]);
  },
);

inBothDomains("what its only owner leaves out goes, what another owns stays [SSA-16, SSA-18]", async (api) => {
  const path = await one(api);
  (await apply(api, path, "m1", map({ a: "1", b: "1", c: "1" }))).expect(201);
  (await api.patch(`${path}?fieldManager=m2`, { data: { b: "2" } })).expect(200);
  (await apply(api, path, "m1", map({ a: "1" }))).expect(200, { data: { a: "1", b: "2" } });
});

inBothDomains("a field left out goes back to its default [SSA-17]", async (api) => {
  const { claims } = await api.createNamespace();
  const path = `${claims}/one`;
  (await apply(api, path, "m1", claim("one", { volumeMode: "Filesystem" }))).expect(201);
  const answer = (await apply(api, path, "m1", claim("one"))).expect(200, { "spec.volumeMode": "Filesystem" });
  assert.doesNotMatch(owners(answer).join(), /volumeMode/);
});

inBothDomains("managedFields may not be in an apply [SSA-21]", async (api) => {
  const path = await one(api);
  for (const managedFields of [[], [{}]]) {
    (await apply(api, path, "m1", map({}, { managedFields }))).expectFailure(
      400,
      "BadRequest",
      "metadata.managedFields must be nil",
    );
  }
  (await apply(api, path, "m1", map({}, { managedFields: null }))).expect(201);
});

inBothDomains(
  "one empty entry clears managedFields; the writer then owns what it changes [SSA-22, SSA-23, SSA-24]",
  async (api) => {
    const path = await one(api);
    (await apply(api, path, "m1", map({ a: "1" }))).expect(201);
    const answer = (await api.patch(path, { metadata: { managedFields: [] } })).expect(200);
    assert.deepEqual(owners(answer), ["m1: data.a"]);
    const cleared = (await api.patch(path, { metadata: { managedFields: [{}] } })).expect(200);
    assert.deepEqual(owners(cleared), []);
    (await apply(api, path, "m1", map({ a: "2" }))).expectFailure(
      409,
      "Conflict",
      'Apply failed with 1 conflict: conflict with "before-first-apply" using v1: .data.a',
    );
    (await apply(api, path, "m1", map({ a: "1" }))).expect(200);
    const changed = { metadata: { managedFields: [{}], labels: { x: "y" } } };
    const reset = (await api.patch(`${path}?fieldManager=m2`, changed)).expect(200);
    assert.deepEqual(owners(reset), ["m2 (update): metadata.labels.x"]);
  },
  { differs: "the specification lets a reset go together with changes" },
);

inBothDomains("an apply needs the permission to patch [SSA-25]", async (api) => {
  const path = await one(api);
  (await apply(api, path, "m1", map({ a: "1" }), "", { as: "alice" })).expectFailure(
    403,
    "Forbidden",
    /cannot patch resource/,
  );
});

inBothDomains("an atomic list has one owner [SSA-28]", async (api) => {
  const { claims } = await api.createNamespace();
  const path = `${claims}/one`;
  (await apply(api, path, "m1", claim("one"))).expect(201);
  const other = { ...claim("one"), spec: { accessModes: ["ReadWriteMany"] } };
  (await apply(api, path, "m2", other)).expectFailure(409, "Conflict", /conflict with "m1": \.spec\.accessModes$/);
});

inBothDomains("members of sets, keyed lists and maps are owned singly [SSA-29, SSA-30, SSA-31, MF-10]", async (api) => {
  const { claims } = await api.createNamespace();
  const path = `${claims}/one`;
  (await api.post(claims, claim("one"))).expect(201);
  const meta = (finalizer: string, label: string): ObjectBody => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "one", finalizers: [`example.com/${finalizer}`], labels: { [label]: "1" } },
  });
  (await apply(api, path, "m1", meta("a", "x"))).expect(200);
  const both = (await apply(api, path, "m2", meta("b", "y"))).expect(200, { "metadata.labels": { x: "1", y: "1" } });
  assert.ok((both.at("metadata.finalizers") as string[]).includes("example.com/a"));
  assert.deepEqual(both.at("metadata.managedFields[manager=m2].fieldsV1"), {
    "f:metadata": { "f:finalizers": { 'v:"example.com/b"': {} }, "f:labels": { "f:y": {} } },
  });
  const status = (type: string): ObjectBody => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: "one" },
    status: { conditions: [{ type, status: "True" }] },
  });
  (await apply(api, `${path}/status`, "m1", status("Resizing"))).expect(200);
  const conditions = await apply(api, `${path}/status`, "m2", status("FileSystemResizePending"));
  conditions.expect(200, { "status.conditions.length": 2 });
  const entries = conditions.list("metadata.managedFields").filter((entry) => entry.at("subresource") === "status");
  assert.deepEqual(
    entries.map((entry) => [entry.at("manager"), leaves(entry.at("fieldsV1"), "")[0]]).sort(),
    [
      ["m1", 'status.conditions.k:{"type":"Resizing"}.lastProbeTime'],
      ["m2", 'status.conditions.k:{"type":"FileSystemResizePending"}.lastProbeTime'],
    ].map(([manager, field]) => [manager, field!.replace("lastProbeTime", "status")]),
  );
  (await api.patch(path, { metadata: { finalizers: null } })).expect(200);
});

inBothDomains("an atomic map has one owner [SSA-32]", async (api) => {
  const { claims } = await api.createNamespace();
  const path = `${claims}/one`;
  (await apply(api, path, "m1", claim("one", { selector: { matchLabels: { a: "1" } } }))).expect(201);
  const other = { ...claim("one"), spec: { selector: { matchLabels: { b: "1" } } } };
  (await apply(api, path, "m2", other)).expectFailure(409, "Conflict", /conflict with "m1": \.spec\.selector$/);
});

inBothDomains(
  "lists of custom resources are atomic unless the schema says otherwise, and managedFields follow the schema [SSA-33, SSA-34, SSA-35]",
  async (api) => {
    const group = `${api.unique("lists")}.example.com`;
    const schema = (type: string | undefined): object => {
      const items = {
        type: "array",
        items: { type: "string" },
        ...(type === undefined ? {} : { "x-kubernetes-list-type": type }),
      };
      return { type: "object", properties: { spec: { type: "object", properties: { items } } } };
    };
    const path = `${crds}/widgets.${group}`;
    const widget = `/apis/${group}/v1/widgets/w`;
    const turn = async (type: string | undefined): Promise<void> => {
      const versions = [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema(type) } }];
      (await api.patch(path, { spec: { versions } })).expect(200);
    };
    const put = (manager: string, ...items: string[]): Promise<Answer> =>
      apply(api, widget, manager, { ...custom(group, "w"), spec: { items } });
    (await api.post(crds, definition(group, { schema: schema(undefined) }))).expect(201);
    (await put("m1", "a")).expect(201);
    (await put("m2", "b")).expectFailure(409, "Conflict", /conflict with "m1": \.spec\.items$/);
    await turn("set");
    (await put("m1", "a")).expect(200);
    (await put("m2", "b")).expect(200, { "spec.items": ["a", "b"] });
    await turn("atomic");
    (await put("m2", "a", "c")).expectFailure(409, "Conflict", /conflict with "m1": \.spec\.items$/);
  },
  slow,
);

inBothDomains(
  "a client's mistake in an apply is its own: 400 with upstream's text [FV-09] [QP-08]",
  async (api) => {
    const path = await one(api);
    const expectRefusal = async (body: unknown, text: RegExp): Promise<void> => {
      for (const level of ["Strict", "Warn", "Ignore"]) {
        (await apply(api, path, "m1", body, `fieldValidation=${level}`)).expectFailure(400, "BadRequest", text);
      }
    };
    const patchObject = "failed to create typed patch object \\(/one; /v1, Kind=ConfigMap\\): ";
    await expectRefusal(
      { ...map(), colour: "red" },
      new RegExp(`^${patchObject}\\.colour: field not declared in schema$`),
    );
    await expectRefusal(map({ a: 1 }), new RegExp(`^${patchObject}\\.data\\.a: expected string, got .*1`));
    await expectRefusal(
      map({}, { finalizers: ["a.b/c", "a.b/c"] }),
      new RegExp(`^${patchObject}\\.metadata\\.finalizers: duplicate entries for key \\[="a\\.b/c"\\]$`),
    );
    await expectRefusal({ ...map(), kind: "Secret" }, /^invalid object type: \/v1, Kind=Secret$/);
    await expectRefusal({ ...map(), apiVersion: "a/b/c" }, /^invalid object type: \/, Kind=$/);
    await expectRefusal(
      { ...map(), binaryData: { a: "!" } },
      /^failed to convert new object \(\/one; \/v1, Kind=ConfigMap\) to proper version: unable to convert .*base64/,
    );
    await expectRefusal(map({}, { resourceVersion: "none" }), /resourceVersion.*parsing "none": invalid syntax$/);
    await expectRefusal("- a\n", /^error decoding YAML: .*cannot unmarshal array/);
    await expectRefusal("a: [", /^error decoding YAML: error converting YAML to JSON: yaml: /);
    const conversion = "^error decoding YAML: error converting YAML to JSON: ";
    await expectRefusal("a: .inf", new RegExp(`${conversion}json: unsupported value: \\+Inf$`));
    await expectRefusal("{~: b}", new RegExp(`${conversion}unsupported map key of type: `));
    await expectRefusal("%YAML 1.2\n---\na: 1\n", new RegExp(`${conversion}yaml: found incompatible YAML document$`));
    await expectRefusal("", /^invalid object type: \/, Kind=$/);
    (await api.get(path)).expect(404);
  },
  { differs: "1.32 answers 500 to some of them" },
);

inBothDomains(
  "double keys of an apply are warned of or refused as field validation says [FV-05, FV-07]",
  async (api) => {
    const path = await one(api);
    const yaml = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\ndata:\n  z: "1"\n  z: "2"\n';
    (await apply(api, path, "m1", yaml, "fieldValidation=Strict")).expectFailure(
      400,
      "BadRequest",
      'error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line 7: key "z" already set in map',
    );
    (await api.get(path)).expect(404);
    const warned = (await apply(api, path, "m1", yaml)).expect(201, { data: { z: "2" } });
    assert.deepEqual(warned.warnings, ['line 7: key "z" already set in map']);
    assert.deepEqual((await apply(api, path, "m1", yaml, "fieldValidation=Ignore")).warnings, []);
  },
);

inBothDomains("an apply fits its address and the version it insists on", async (api) => {
  const path = await one(api);
  const answer = (await apply(api, path, "m1", map({ a: "1" }))).expect(201);
  const name = /the name of the object \(two\) does not match the name on the URL \(one\)/;
  (await apply(api, path, "m1", configMap("two"))).expectFailure(400, "BadRequest", name);
  (await apply(api, path, "m1", map({}, { namespace: "default" }))).expectFailure(400, "BadRequest", /namespace/);
  (await apply(api, path, "m1", map({ a: "2" }, { resourceVersion: "1" }))).expectFailure(
    409,
    "Conflict",
    /has been modified/,
  );
  (await apply(api, path, "m1", map({ a: "2" }, { uid: "other" }))).expectFailure(422, "Invalid", /metadata\.uid/);
  const { resourceVersion } = answer.at("metadata") as { resourceVersion: string };
  (await apply(api, path, "m1", map({ a: "2" }, { resourceVersion }))).expect(200);
  const missing = path.replace(/one$/, "none");
  (await apply(api, missing, "m1", configMap("none", {}, { uid: "u" }))).expectFailure(409, "Conflict", /uid mismatch/);
  (await apply(api, `${missing}/status`, "m1", configMap("none"))).expect(404);
});

inBothDomains("a dry run of an apply answers as usual and keeps nothing [DRY-02, DRY-03]", async (api) => {
  const path = await one(api);
  (await apply(api, path, "m1", map({ a: "1" }), "dryRun=All")).expect(201, { data: { a: "1" } });
  (await api.get(path)).expect(404);
  (await apply(api, path, "m1", map({ a: "1" }))).expect(201);
  (await apply(api, path, "m2", map({ a: "2" }), "dryRun=All")).expectFailure(409, "Conflict");
  (await apply(api, path, "m2", map({ a: "2" }), "dryRun=All&force=true")).expect(200, { data: { a: "2" } });
  (await api.get(path)).expect(200, { data: { a: "1" } });
});

inBothDomains("applies of a missing object at the same time all happen", async (api) => {
  const path = await one(api);
  const managers = Array.from({ length: 12 }, (_, i) => `m${i}`);
  const answers = await Promise.all(managers.map((name) => apply(api, path, name, map({ [name]: "1" }))));
  assert.deepEqual(
    answers.map(({ status }) => status).sort(),
    managers.map((_, i) => (i === 0 ? 200 : i === managers.length - 1 ? 201 : 200)),
  );
  const answer = (await api.get(path)).expect(200, { "metadata.managedFields.length": managers.length });
  assert.deepEqual(Object.keys(answer.at("data") as object).sort(), managers.toSorted());
});

inBothDomains("what one applies and another patches at the same time is all there", async (api) => {
  const path = await one(api);
  (await apply(api, path, "m", map({ start: "1" }))).expect(201);
  const writes = Array.from({ length: 20 }, (_, i) =>
    i % 2 === 0
      ? apply(api, path, `m${i}`, map({ [`k${i}`]: "1" }))
      : api.patch(`${path}?fieldManager=p`, { data: { [`k${i}`]: "1" } }),
  );
  for (const answer of await Promise.all(writes)) answer.expect(200);
  const response = (await api.get(path)).expect(200);
  assert.equal(Object.keys(response.at("data") as object).length, 21);
});

inBothDomains("secrets are applied like other objects, and derived fields never conflict", async (api) => {
  const { secrets } = await api.createNamespace();
  (await api.post(secrets, secret("one", { user: "u" }))).expect(201);
  const body = { apiVersion: "v1", kind: "Secret", metadata: { name: "one" }, data: { user: "dQ==" } };
  (await apply(api, `${secrets}/one`, "m1", body)).expect(200, { data: { user: "dQ==" } });
  (await apply(api, `${secrets}/one`, "m1", { ...body, data: { user: "###" } })).expectClientError();
});

inBothDomains("an apply nested too deeply is refused, and others are served [LIMIT-01]", async (api) => {
  const path = await one(api);
  for (const depth of [900, 4000, 9900, 50_000]) {
    const open = '{"a":'.repeat(depth);
    const text = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":${open}1${"}".repeat(depth)}}`;
    (await apply(api, path, "m1", text)).expectFailure(400, "BadRequest");
    const lists = `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"one"},"data":{"a":${"[".repeat(depth)}${"]".repeat(depth)}}}`;
    (await apply(api, path, "m1", lists)).expectFailure(400, "BadRequest");
  }
  (await apply(api, path, "m1", map({ a: "1" }))).expect(201);
});

inBothDomains("managers of different versions of a kind meet in its fields [MF-05]", async (api) => {
  const { ns } = await api.createNamespace();
  const scaleTargetRef = { apiVersion: "apps/v1", kind: "Deployment", name: "d" };
  const put = (version: string, manager: string, spec: object): Promise<Answer> =>
    apply(api, `/apis/autoscaling/${version}/namespaces/${ns}/horizontalpodautoscalers/h`, manager, {
      apiVersion: `autoscaling/${version}`,
      kind: "HorizontalPodAutoscaler",
      metadata: { name: "h" },
      spec: { scaleTargetRef, maxReplicas: 5, ...spec },
    });
  const cpu = (averageUtilization: number): object[] => [
    { type: "Resource", resource: { name: "cpu", target: { type: "Utilization", averageUtilization } } },
  ];
  (await put("v2", "m1", { metrics: cpu(50) })).expect(201);
  (await put("v1", "m2", { targetCPUUtilizationPercentage: 60 })).expectFailure(
    409,
    "Conflict",
    /"m1": \.spec\.metrics$/,
  );
  (await put("v1", "m2", { targetCPUUtilizationPercentage: 50, minReplicas: 2 })).expect(200, {
    "metadata.managedFields[manager=m1].apiVersion": "autoscaling/v2",
    "metadata.managedFields[manager=m2].apiVersion": "autoscaling/v1",
  });
  (await put("v2", "m1", {})).expect(200, { "spec.metrics": cpu(50), "spec.minReplicas": 2 });
  (await put("v2", "m2", {})).expect(200, { "spec.metrics": cpu(80), "spec.minReplicas": 1 });
});

const skip = process.env["TEST_SERVER"] === undefined ? false : "starts its own servers";
/** The minimum number of other requests that are answered: more than fit before and after work in one piece. */
const answeredMin = 5;

for (const domain of domains) {
  test(`${domain}: others are answered while lists of 8,000 items are applied [SSA-12]`, { skip }, async (t) => {
    const { api, stop } = await spawnServer({ domain });
    t.after(() => stop());
    const group = "items.example.com";
    const item = {
      type: "object",
      required: ["name"],
      properties: { name: { type: "string" }, value: { type: "integer" } },
    };
    const items = {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: item,
    };
    const schema = { type: "object", properties: { spec: { type: "object", properties: { items } } } };
    (await api.post(crds, definition(group, { schema }))).expect(201);
    const count = 8_000;
    const path = `/apis/${group}/v1/widgets/a`;
    const body = (from: number, step: number, value: number): object =>
      custom(group, "a", {
        spec: {
          items: Array.from({ length: (count - from) / step }, (_, at) => ({ name: `n${from + at * step}`, value })),
        },
      });
    /** Returns the answer of `work`, during which other requests are sent all the time. */
    const meanwhile = async (work: Promise<Answer>): Promise<Answer> => {
      let isDone = false;
      const done = work.finally(() => (isDone = true));
      let answered = 0;
      for (; answered === 0 || !isDone; answered++) (await api.get("/api/v1/namespaces/default")).expect(200);
      // If the work were one piece, at most one request would come before it and one after it.
      assert.ok(answered >= answeredMin, `${answered} requests of others were answered`);
      return done;
    };
    (await meanwhile(apply(api, path, "m1", body(0, 1, 1)))).expect(201, { "spec.items.length": count });
    const refused = (await meanwhile(apply(api, path, "m2", body(0, 2, 2)))).expectFailure(409, "Conflict");
    assert.match(
      refused.string("message"),
      /^Apply failed with 4000 conflicts: conflicts with "m1":\n- \.spec\.items\[name="n0"\]\.value\n/,
    );
    assert.equal((refused.at("details.causes") as unknown[]).length, count / 2);
    const forced = (await meanwhile(apply(api, path, "m2", body(0, 2, 2), "force=true"))).expect(200);
    const itemsOf = (answer: Answer) => answer.at("spec.items") as { readonly name: string; readonly value: number }[];
    assert.deepEqual(itemsOf(forced).slice(0, 2), [
      { name: "n0", value: 2 },
      { name: "n1", value: 1 },
    ]);
    // Fields that m1 leaves out are removed, unless m2 owns them.
    const half = (await meanwhile(apply(api, path, "m1", body(4_000, 1, 1), "force=true"))).expect(200);
    const names = itemsOf(half).map(({ name }) => name);
    assert.equal(names.length, 6_000);
    assert.deepEqual([...names.slice(0, 2), ...names.slice(-2)], ["n0", "n2", "n7998", "n7999"]);
    assert.ok(!names.includes("n1"));
    const none = (await meanwhile(apply(api, path, "m1", custom(group, "a")))).expect(200);
    // All fields of m2 remain.
    assert.equal(itemsOf(none).length, 4_000);
  });
}
