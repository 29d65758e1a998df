/** Unknown and duplicate fields: ignored, warned about or refused. */
import assert from "node:assert/strict";
import { patchTypes } from "../client.ts";
import { suite } from "../harness.ts";
import { claim, configMap } from "../objects.ts";
import { absent } from "../view.ts";

const inBothDomains = suite();

const resources = { requests: { storage: "1Gi" } };
const unknown = (name = "c1"): object => claim(name, { foo: 1 });
const text = (name: string, spec: string): string =>
  `{"apiVersion":"v1","kind":"PersistentVolumeClaim","metadata":{"name":"${name}"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}},${spec}}}`;
const twice = (name = "c1"): string => text(name, '"volumeMode":"Block","volumeMode":"Filesystem"');

inBothDomains("the default is to warn [FV-01]", async (api) => {
  const { claims } = await api.createNamespace();
  const answer = (await api.post(claims, unknown())).expect(201, { "spec.foo": absent });
  assert.deepEqual(answer.warnings, ['unknown field "spec.foo"']);
  assert.match(String(answer.headers["warning"]), /^299 - "unknown field \\"spec\.foo\\""/);
});

inBothDomains("Ignore drops unknown and duplicate fields without a word [FV-02] [FV-03]", async (api) => {
  const { claims } = await api.createNamespace();
  const one = (await api.post(`${claims}?fieldValidation=Ignore`, unknown())).expect(201);
  assert.deepEqual(one.warnings, []);
  (await api.get(`${claims}/c1`)).expect(200, { "spec.foo": absent });
  const two = (await api.post(`${claims}?fieldValidation=Ignore`, twice("c2"))).expect(201);
  assert.deepEqual(two.warnings, []);
  two.has({ "spec.volumeMode": "Filesystem" });
});

inBothDomains("Warn takes the object and tells each field [FV-04] [FV-05]", async (api) => {
  const { claims } = await api.createNamespace();
  const two = await api.post(`${claims}?fieldValidation=Warn`, { ...claim("c1", { foo: 1 }), bar: { baz: [] } });
  assert.deepEqual(two.expect(201).warnings.sort(), ['unknown field "bar"', 'unknown field "spec.foo"']);
  const duplicate = (await api.post(`${claims}?fieldValidation=Warn`, twice("c2"))).expect(201);
  assert.deepEqual(duplicate.warnings, ['duplicate field "spec.volumeMode"']);
  duplicate.has({ "spec.volumeMode": "Filesystem" });
});

inBothDomains("Strict refuses unknown and duplicate fields and stores nothing [FV-06] [FV-07]", async (api) => {
  const { claims } = await api.createNamespace();
  (await api.post(`${claims}?fieldValidation=Strict`, unknown())).expectFailure(
    400,
    "BadRequest",
    /strict decoding error: unknown field "spec\.foo"/,
  );
  (await api.post(`${claims}?fieldValidation=Strict`, twice())).expectFailure(
    400,
    "BadRequest",
    /strict decoding error: duplicate field "spec\.volumeMode"/,
  );
  (await api.get(claims)).expect(200, { items: [] });
  (await api.post(`${claims}?fieldValidation=Strict`, claim("c1"))).expect(201);
});

inBothDomains("Strict tells all of them [FV-08]", async (api) => {
  const { claims } = await api.createNamespace();
  const body = text("c1", '"foo":1,"volumeMode":"Block","volumeMode":"Block","resourcez":{}');
  const answer = await api.post(`${claims}?fieldValidation=Strict`, body);
  answer.expectFailure(400, "BadRequest", /strict decoding error/);
  for (const part of [
    'unknown field "spec.foo"',
    'unknown field "spec.resourcez"',
    'duplicate field "spec.volumeMode"',
  ]) {
    assert.ok(answer.string("message").includes(part), `${part} is missing: ${answer.text}`);
  }
});

inBothDomains("fields deep inside are found with their path [FV-08]", async (api) => {
  const { claims, ns } = await api.createNamespace();
  const body = claim("c1", {
    selector: { matchExpressions: [{ key: "a", operator: "Exists", oops: 1 }] },
    resources: { ...resources, more: 1 },
  });
  const answer = await api.post(`${claims}?fieldValidation=Strict`, body);
  answer.expectFailure(400, "BadRequest", /unknown field "spec\.selector\.matchExpressions\[0\]\.oops"/);
  answer.has({ message: /unknown field "spec\.resources\.more"/ });
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "d1", lables: {} },
    spec: {
      selector: { matchLabels: { a: "1" } },
      template: {
        metadata: { labels: { a: "1" } },
        spec: {
          containers: [
            { name: "c", image: "i" },
            { name: "d", image: "i", imagez: 1 },
          ],
        },
      },
    },
  };
  const deep = await api.post(`/apis/apps/v1/namespaces/${ns}/deployments?fieldValidation=Strict`, deployment);
  deep.expectFailure(400, "BadRequest", /unknown field "spec\.template\.spec\.containers\[1\]\.imagez"/);
  deep.has({ message: /unknown field "metadata\.lables"/ });
});

inBothDomains("every write is checked, with every patch type [FV-09]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { k: "v" }))).expect(201);
  const path = `${configMaps}/m1`;
  const strict = `${path}?fieldValidation=Strict`;
  (await api.put(strict, { ...configMap("m1"), foo: 1 })).expectFailure(400, "BadRequest", /unknown field "foo"/);
  for (const [type, body] of [
    [patchTypes.json, [{ op: "add", path: "/foo", value: 1 }]],
    [patchTypes.merge, { foo: 1 }],
    [patchTypes.strategic, { foo: 1 }],
  ] as const) {
    (await api.patch(strict, body, type)).expectClientError(/unknown field "foo"/);
    const warned = (await api.patch(path, body, type)).expect(200, { foo: absent });
    assert.deepEqual(warned.warnings, ['unknown field "foo"'], type);
    assert.deepEqual((await api.patch(`${path}?fieldValidation=Ignore`, body, type)).expect(200).warnings, [], type);
  }
  (await api.get(path)).expect(200, { foo: absent, "data.k": "v" });
});

inBothDomains(
  "Strict refuses a patch of any type with 400 [FV-09]",
  async (api) => {
    const { configMaps } = await api.createNamespace();
    (await api.post(configMaps, configMap("m1", { k: "v" }))).expect(201);
    const strict = `${configMaps}/m1?fieldValidation=Strict`;
    (await api.patch(strict, [{ op: "add", path: "/foo", value: 1 }], patchTypes.json)).expectFailure(
      400,
      "BadRequest",
    );
    (await api.patch(strict, { foo: 1 })).expectFailure(400, "BadRequest");
    (await api.patch(strict, { foo: 1 }, patchTypes.strategic)).expectFailure(400, "BadRequest");
  },
  { differs: "1.32 answers 422 to some patch types; the specification says 400" },
);

inBothDomains("a duplicate key in a patch is found too [FV-09]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1", { k: "v" }))).expect(201);
  const body = '{"data":{"a":"1","a":"2"}}';
  const warned = (await api.patch(`${configMaps}/m1`, body)).expect(200, { "data.a": "2" });
  assert.deepEqual(warned.warnings, ['duplicate field "data.a"']);
  (await api.patch(`${configMaps}/m1?fieldValidation=Strict`, body)).expectClientError(/duplicate field "data\.a"/);
});

inBothDomains("YAML bodies are checked as JSON bodies are [FV-10]", async (api) => {
  const { claims } = await api.createNamespace();
  const yaml = (more: string): string =>
    `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  name: c1\nspec:\n  accessModes: [ReadWriteOnce]\n  resources:\n    requests:\n      storage: 1Gi\n${more}`;
  const type = "application/yaml";
  (
    await api.post(`${claims}?fieldValidation=Strict`, yaml("  volumeMode: Block\n  volumeMode: Block\n"), { type })
  ).expectFailure(400, "BadRequest", /key "volumeMode" already set|duplicate field "spec\.volumeMode"/);
  (await api.post(`${claims}?fieldValidation=Strict`, yaml("  foo: 1\n"), { type })).expectFailure(
    400,
    "BadRequest",
    /unknown field "spec\.foo"/,
  );
  (await api.get(claims)).expect(200, { items: [] });
  const warned = (await api.post(claims, yaml("  foo: 1\n"), { type })).expect(201);
  assert.deepEqual(warned.warnings, ['unknown field "spec.foo"']);
});

inBothDomains("another fatal error is told alone [FV-11]", async (api) => {
  const { claims } = await api.createNamespace();
  for (const level of ["Ignore", "Warn", "Strict"]) {
    const answer = await api.post(`${claims}?fieldValidation=${level}`, claim("c1", { foo: 1, volumeName: 5 }));
    answer.expectFailure(400, "BadRequest");
    assert.ok(!answer.text.includes("foo"), answer.text);
    assert.deepEqual(answer.warnings, []);
  }
});

inBothDomains("another level is refused [FV-12]", async (api) => {
  const { configMaps } = await api.createNamespace();
  (await api.post(configMaps, configMap("m1"))).expect(201);
  const query = "fieldValidation=Foo";
  for (const answer of [
    await api.post(`${configMaps}?${query}`, configMap("m2")),
    await api.put(`${configMaps}/m1?${query}`, configMap("m1")),
    await api.patch(`${configMaps}/m1?${query}`, {}),
  ]) {
    answer.expectFailure(
      422,
      "Invalid",
      /fieldValidation: Unsupported value: "Foo": supported values: "", "Ignore", "Strict", "Warn"/,
    );
  }
});
