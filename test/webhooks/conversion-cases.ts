/** Cases of conversion webhooks: the requests of upstream's conversion tests, and similar ones. */
import { asTable, patchTypes } from "../client.ts";
import type { WebhookAnswer } from "../webhook-server.ts";
import { type Case, type Session, sets } from "./session.ts";

const text = { type: "string" };
const fields = {
  spec: {
    type: "object",
    properties: {
      host: text,
      port: text,
      address: text,
      replicas: { type: "integer" },
      nullable: { ...text, nullable: true },
      list: { type: "array", items: { type: "object", properties: { a: text } } },
      map: { type: "object", additionalProperties: text },
    },
  },
  status: { type: "object", properties: { ready: { type: "integer" } } },
};

interface Ports {
  readonly first: string;
  readonly second: string;
  readonly definition: string;
  port(version: string, name: string, spec: object, metadata?: object): object;
}

/** Defines ports in two versions, of which the first is stored, with a converter of its own. */
async function ports(on: Session, answer: WebhookAnswer = { converts: "ports" }, reviewVersion = "v1"): Promise<Ports> {
  const version = (name: string) => ({
    name,
    served: true,
    storage: name === "v1",
    schema: { openAPIV3Schema: { type: "object", properties: fields } },
    subresources: { status: {}, scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.ready" } },
    additionalPrinterColumns: [
      {
        name: name === "v1" ? "Host" : "Address",
        type: "string",
        jsonPath: name === "v1" ? ".spec.host" : ".spec.address",
      },
    ],
  });
  const clientConfig = await on.client("convert", answer);
  await on.define(
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `ports.${on.group}` },
      spec: {
        group: on.group,
        scope: "Namespaced",
        names: { plural: "ports", kind: "Port" },
        conversion: { strategy: "Webhook", webhook: { clientConfig, conversionReviewVersions: [reviewVersion] } },
        versions: [version("v1"), version("v2")],
      },
    },
    on.path(`${on.group}/v1/ports`),
  );
  return {
    first: on.path(`${on.group}/v1/ports`),
    second: on.path(`${on.group}/v2/ports`),
    definition: `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/ports.${on.group}`,
    port: (of, name, spec, metadata = {}) => ({
      apiVersion: `${on.group}/${of}`,
      kind: "Port",
      metadata: { name, ...metadata },
      spec,
    }),
  };
}

/** Changes the stored version to the second one. */
async function storesSecond(on: Session, { definition }: Ports): Promise<void> {
  const patch = [
    { op: "replace", path: "/spec/versions/0/storage", value: false },
    { op: "replace", path: "/spec/versions/1/storage", value: true },
  ];
  await on.prepare("PATCH", definition, patch, { type: patchTypes.json });
}

export const conversionCases: readonly Case[] = [
  {
    name: "an object is converted for those who read it in another version",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      await on.post(first, port("v1", "a", { host: "h", port: "1" }));
      await on.send("GET", `${first}/a`, undefined, { show: ["spec"] });
      await on.send("GET", `${second}/a`, undefined, { show: ["apiVersion", "spec"] });
      await on.post(second, port("v2", "b", { address: "i:2" }), { show: ["spec"] });
      await on.send("GET", `${first}/b`, undefined, { show: ["spec"] });
      await on.patch(`${second}/b`, { spec: { address: "j:3" } }, { show: ["spec"] });
      await on.edit(`${second}/b`, (object) => ({ ...object, spec: { address: "k:4" } }), { show: ["spec"] });
      const applied = port("v2", "b", { address: "l:5" });
      await on.patch(`${second}/b?fieldManager=m&force=true`, applied, { type: patchTypes.apply, show: ["spec"] });
      await on.patch(`${second}/c?fieldManager=m`, port("v2", "c", { address: "l:5" }), {
        type: patchTypes.apply,
        show: ["spec"],
      });
      await on.send("DELETE", `${second}/b`, undefined, { show: ["status"] });
      on.conversions();
    },
  },
  {
    name: "a list whose objects are stored in one version, and in two, is converted",
    run: async (on) => {
      const definition = await ports(on);
      const { first, second, port } = definition;
      await on.prepare("POST", first, port("v1", "a", { host: "h", port: "1" }));
      await on.prepare("POST", first, port("v1", "b", { host: "i", port: "2" }));
      await on.send("GET", first, undefined, { show: ["items.length"] });
      await on.send("GET", second, undefined, { show: ["items.0.spec", "items.1.spec"] });
      await storesSecond(on, definition);
      await on.prepare("POST", second, port("v2", "c", { address: "j:3" }));
      for (const path of [first, second])
        await on.send("GET", path, undefined, { show: ["items.0.spec", "items.2.spec"] });
      await on.send("GET", `${second}?limit=2`, undefined, { show: ["items.length"] });
      await on.send("GET", second, undefined, { accept: asTable, show: ["columnDefinitions.1.name", "rows.0.cells"] });
      await on.send("GET", second, undefined, {
        accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
        show: ["kind"],
      });
      await on.send("GET", `${second}/a`, undefined, { accept: asTable, show: ["rows.0.cells"] });
      await on.send("DELETE", second, undefined, { show: ["items.length"] });
    },
  },
  {
    name: "status and scale are converted",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      await on.prepare("POST", first, port("v1", "a", { host: "h", port: "1", replicas: 1 }));
      await on.patch(`${second}/a/status`, { status: { ready: 1 } }, { show: ["spec", "status"] });
      await on.patch(`${second}/a/scale`, { spec: { replicas: 3 } }, { show: ["spec", "status"] });
      await on.send("GET", `${second}/a/scale`, undefined, { show: ["spec"] });
      await on.edit(`${second}/a/status`, (object) => ({ ...object, status: { ready: 2 } }), { show: ["status"] });
      await on.send("GET", `${first}/a`, undefined, { show: ["spec", "status", "metadata.generation"] });
    },
  },
  {
    name: "what a converter does wrong is told",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      await on.prepare("POST", first, port("v1", "a", { host: "h", port: "1" }));
      const right = { ...port("v2", "a", { address: "h:1" }) };
      for (const response of [
        { result: { status: "Failed", message: "I will not" } },
        { result: { status: "Failure", reason: "Because" } },
        { result: {} },
        { result: undefined },
        { convertedObjects: [] },
        { convertedObjects: undefined },
        { convertedObjects: [right] },
        { convertedObjects: [{ ...right, metadata: {} }] },
        { convertedObjects: [{ ...right, apiVersion: `${on.group}/v1` }] },
        { convertedObjects: [{ ...right, kind: "Other" }] },
        { convertedObjects: [right, right] },
        { uid: "other" },
      ]) {
        await on.client("convert", { converts: "ports", response });
        await on.send("GET", `${second}/a`);
      }
      for (const answer of [{ code: 500, body: "broken" }, { code: 404, body: "" }, { body: "{}" }, { body: "" }]) {
        await on.client("convert", answer);
        await on.send("GET", `${second}/a`);
      }
      await on.post(second, port("v2", "b", { address: "i:2" }));
      await on.send("GET", `${first}/a`, undefined, { show: ["spec"] });
      await on.send("DELETE", `${second}/a`);
    },
  },
  {
    name: "a converter may change labels and annotations, and no other metadata",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      const stored = await on.prepare("POST", first, port("v1", "a", { host: "h", port: "1" }));
      const { metadata } = stored.value as { metadata: object }; // an object
      const right = port("v2", "a", { address: "h:1" });
      for (const changed of [
        { labels: { a: "b" }, annotations: { c: "d" } },
        { labels: { "not valid": "x" } },
        { finalizers: ["example.com/f"], ownerReferences: [], generation: 9 },
        { resourceVersion: "1" },
        { uid: "d9607e19-f88f-11e6-a518-42010a800195" },
        { name: "other" },
        { namespace: "other" },
        { creationTimestamp: null },
      ]) {
        await on.client("convert", {
          converts: "ports",
          response: { convertedObjects: [{ ...right, metadata: { ...metadata, ...changed } }] },
        });
        await on.send("GET", `${second}/a`, undefined, {
          show: ["metadata.labels", "metadata.annotations", "metadata.finalizers", "metadata.generation"],
        });
      }
    },
  },
  {
    name: "labels and annotations that a converter takes away are gone, and the object can be written",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      const labelled = { labels: { a: "b" }, annotations: { c: "d" } };
      const stored = await on.prepare("POST", first, port("v1", "a", { host: "h", port: "1" }, labelled));
      const { metadata } = stored.value as { metadata: Record<string, unknown> }; // an object
      const { labels: _labels, annotations: _annotations, ...rest } = metadata;
      for (const changed of [{}, { labels: null, annotations: null }, { labels: {}, annotations: {} }]) {
        const bare = { ...port("v2", "a", { address: "h:1" }), metadata: { ...rest, ...changed } };
        await on.client("convert", { converts: "ports", response: { convertedObjects: [bare] } });
        const show = ["metadata.labels", "metadata.annotations"];
        await on.send("GET", `${second}/a`, undefined, { show });
      }
      const bare = { ...port("v2", "a", { address: "h:1" }), metadata: rest };
      await on.client("convert", { converts: "ports", response: { convertedObjects: [bare] } });
      await on.patch(`${second}/a?dryRun=All`, { spec: { address: "h:2" } }, { isVague: true });
      for (const changed of [
        { labels: { "a b": "c", "d e": "f" } },
        { labels: [] },
        { labels: { a: 1 } },
        { labels: { a: null } },
        { annotations: "x" },
        { annotations: { a: { b: "c" } } },
        { annotations: { "a b": "c" } },
        { labels: { "a b": "c" }, annotations: { "a b": "c" } },
      ]) {
        const wrong = { ...port("v2", "a", { address: "h:1" }), metadata: { ...rest, ...changed } };
        await on.client("convert", { converts: "ports", response: { convertedObjects: [wrong] } });
        // The order of two findings is random.
        await on.send("GET", `${second}/a`, undefined, { isVague: Object.keys(changed.labels ?? {}).length === 2 });
      }
    },
  },
  {
    name: "nulls that a converter returns are dropped where the schema does not accept them",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      const stored = await on.prepare("POST", first, port("v1", "a", { host: "h", port: "1" }));
      const { metadata } = stored.value as { metadata: object }; // an object
      for (const members of [
        { spec: { address: "h:1", host: null, replicas: null } },
        { spec: null, status: null },
        { spec: { nullable: null, list: [null, { a: null }], map: { a: null } } },
      ]) {
        const converted = { ...port("v2", "a", {}), metadata, ...members };
        await on.client("convert", { converts: "ports", response: { convertedObjects: [converted] } });
        await on.send("GET", `${second}/a`, undefined, { show: ["spec", "status"] });
      }
    },
  },
  {
    name: "an answer in v1beta1 needs no uid",
    run: async (on) => {
      const { first, second, port } = await ports(on, { converts: "ports", response: { uid: "other" } }, "v1beta1");
      await on.post(first, port("v1", "a", { host: "h", port: "1" }));
      await on.send("GET", `${second}/a`, undefined, { show: ["spec"] });
      await on.client("convert", { converts: "ports", response: { uid: undefined } });
      await on.send("GET", `${second}/a`, undefined, { show: ["spec"] });
      await on.client("convert", { converts: "ports", response: { result: { status: "Failed", message: "no" } } });
      await on.send("GET", `${second}/a`);
    },
  },
  {
    name: "webhooks are asked in their version, by way of the converter",
    run: async (on) => {
      const { first, second, port } = await ports(on);
      const rules = [{ apiGroups: [on.group], apiVersions: ["v2"], operations: ["*"], resources: ["ports"] }];
      await on.hook("validating", "see", {}, { rules }, ["object.spec", "oldObject.spec"]);
      await on.hook(
        "mutating",
        "change",
        sets("/spec/address", "changed:9"),
        { rules: [{ ...(rules[0] as object), operations: ["CREATE"] }] },
        ["object.spec"],
      );
      await on.post(first, port("v1", "a", { host: "h", port: "1" }), { show: ["spec"] });
      await on.patch(`${first}/a`, { metadata: { labels: { l: "v" } } }, { show: ["spec"] });
      await on.send("DELETE", `${second}/a`);
    },
  },
];
