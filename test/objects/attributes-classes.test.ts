/** VolumeAttributesClasses: the rules of a driver's name and of its parameters. */
import { type Api, suite, withOwnServer } from "../harness.ts";
import { attributesClass, attributesClasses } from "../objects.ts";
import { absent } from "../view.ts";

const reference = { differs: "the reference has no rules for attributes classes" };
const inBoth = suite();
const inBothDomains = (name: string, run: (api: Api) => Promise<void>): void => inBoth(name, run, reference);

inBothDomains("a class is cluster-scoped, of the beta version [VAC-01]", async (api) => {
  (await api.post(attributesClasses, attributesClass(api.unique()))).expect(201, {
    apiVersion: "storage.k8s.io/v1beta1",
    kind: "VolumeAttributesClass",
    "metadata.namespace": absent,
  });
});

withOwnServer("a server serves classes only when asked to [VAC-02] [VER-04]", {}, async (api) => {
  (await api.get(attributesClasses)).expect(404);
  (await api.get("/apis/storage.k8s.io/v1")).expect(200);
});

withOwnServer(
  "the version serves classes; the gate decides what other kinds do with them [VAC-02]",
  { runtimeConfig: ["storage.k8s.io/v1beta1=true"] },
  async (api) => {
    (await api.get(attributesClasses)).expect(200);
  },
);

inBothDomains("a driver is required and stays [VAC-03] [VAC-04]", async (api) => {
  const name = api.unique();
  for (const driverName of [undefined, ""]) {
    (await api.post(attributesClasses, attributesClass(name, { driverName }))).expectFailure(
      422,
      "Invalid",
      /driverName: Required value/,
      {
        "details.causes[field=driverName].reason": "FieldValueRequired",
      },
    );
  }
  (await api.get(`${attributesClasses}/${name}`)).expect(404);
  (await api.post(attributesClasses, attributesClass(name))).expect(201);
  (await api.patch(`${attributesClasses}/${name}`, { driverName: "other.example.com" })).expectFailure(
    422,
    "Invalid",
    /driverName: Forbidden: updates to driverName are forbidden\./,
  );
});

inBothDomains("parameters are required and stay [VAC-05] [VAC-06] [VAC-07] [VAC-08]", async (api) => {
  const name = api.unique();
  for (const parameters of [undefined, {}]) {
    (await api.post(attributesClasses, attributesClass(name, { parameters }))).expectFailure(
      422,
      "Invalid",
      /parameters: Required value/,
    );
  }
  (await api.post(attributesClasses, attributesClass(name, { parameters: { "": "x" } }))).expectFailure(
    422,
    "Invalid",
    /parameters/,
  );
  (await api.get(`${attributesClasses}/${name}`)).expect(404);
  (await api.post(attributesClasses, attributesClass(name))).expect(201);
  for (const parameters of [{ iops: "200" }, { more: "1" }, { iops: null, other: "1" }]) {
    (await api.patch(`${attributesClasses}/${name}`, { parameters })).expectFailure(
      422,
      "Invalid",
      /parameters: Forbidden: updates to parameters are forbidden\./,
    );
  }
  (await api.get(`${attributesClasses}/${name}`)).expect(200, { parameters: { iops: "100" } });
});

inBothDomains("there are at most 512 parameters [VAC-09]", async (api) => {
  const many = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, "v"]));
  (await api.post(attributesClasses, attributesClass(api.unique(), { parameters: many(512) }))).expect(201);
  const name = api.unique();
  (await api.post(attributesClasses, attributesClass(name, { parameters: many(513) }))).expectClientError();
  (await api.get(`${attributesClasses}/${name}`)).expect(404);
});

inBothDomains("parameters have at most 256 KiB together [VAC-10]", async (api) => {
  const of = (size: number): object => ({ parameters: { key: "x".repeat(size - 3) } });
  (await api.post(attributesClasses, attributesClass(api.unique(), of(262_144)))).expect(201);
  const name = api.unique();
  (await api.post(attributesClasses, attributesClass(name, of(262_145)))).expectClientError();
  (await api.get(`${attributesClasses}/${name}`)).expect(404);
});

inBothDomains("values of parameters are kept byte for byte [VAC-11]", async (api) => {
  const name = api.unique();
  const parameters = { empty: "", json: '{"a": [1]}', text: ' \t\n"\\ü€😀', __proto__x: "1", constructor: "2" };
  (await api.post(attributesClasses, attributesClass(name, { parameters }))).expect(201);
  (await api.get(`${attributesClasses}/${name}`)).expect(200, { parameters });
  (await api.post(attributesClasses, attributesClass(api.unique(), { parameters: { iops: 100 } }))).expectFailure(
    400,
    "BadRequest",
  );
});

inBothDomains("metadata may change [VAC-12]", async (api) => {
  const name = api.unique();
  (await api.post(attributesClasses, attributesClass(name))).expect(201);
  (await api.patch(`${attributesClasses}/${name}`, { metadata: { labels: { a: "b" } } })).expect(200, {
    "metadata.labels": { a: "b" },
  });
});

inBothDomains("a list of classes is whole [VAC-14]", async (api) => {
  (await api.post(attributesClasses, attributesClass(api.unique()))).expect(201);
  (await api.get(attributesClasses)).expect(200, {
    kind: "VolumeAttributesClassList",
    items: (items: unknown) => Array.isArray(items) && items.length > 0,
    "metadata.resourceVersion": /^\d+$/,
  });
});
