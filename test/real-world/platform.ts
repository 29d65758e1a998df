/**
 * A generated definition of about one megabyte: thousands of fields in sections, as bridges to clouds generate them.
 */
import type { ObjectBody } from "../objects.ts";
import { addDescriptions, type OperatorSet } from "./operator-set.ts";

const group = "platforms.example.com";
const sections = 40;
const resourcesPerSection = 12;

const numberObjects = <T>(count: number, name: string, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, make(index)]));

type Properties = Readonly<Record<string, object>>;

const object = (properties: Properties, more: object = {}): object => ({ type: "object", properties, ...more });

/** The schema of the options of one resource of the other system. */
const options = (index: number): object =>
  object(
    {
      name: { type: "string", maxLength: 64, pattern: `^[a-z]{1,${(index % 9) + 1}}[a-z0-9-]*$` },
      size: { type: "integer", minimum: 1, maximum: 1000 + index, default: 1 },
      mode: { type: "string", enum: ["Auto", "Manual", `Mode${index}`], default: "Auto" },
      enabled: { type: "boolean", default: index % 2 === 0 },
      tags: { type: "object", additionalProperties: { type: "string", maxLength: 256 } },
      rules: {
        type: "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        items: object(
          {
            name: { type: "string" },
            from: { type: "string" },
            to: { type: "string" },
            weight: { type: "integer", default: 100 },
          },
          { required: ["name"] },
        ),
      },
    },
    { maxProperties: 20 },
  );

const spec = (extra: Properties = {}): object =>
  object({
    ...numberObjects(sections, "section", () =>
      object({ ...numberObjects(resourcesPerSection, "resource", options), note: { type: "string" } }),
    ),
    ...extra,
  });

const version = (name: string, more: object, extra: Properties = {}): ObjectBody => ({
  name,
  served: true,
  storage: false,
  schema: { openAPIV3Schema: object({ spec: spec(extra), status: { type: "object" } }) },
  subresources: { status: {} },
  ...more,
});

/** Returns an object of the kind. */
const thing = (name: string, of: object, inVersion = "v1"): ObjectBody => ({
  apiVersion: `${group}/${inVersion}`,
  kind: "Platform",
  metadata: { name },
  spec: of,
});

/** Fields in every resource of the first sections. */
const filled = {
  ...numberObjects(8, "section", () =>
    numberObjects(resourcesPerSection, "resource", (index) => ({
      name: "abc",
      size: index + 1,
      rules: [{ name: "a", from: "x" }, { name: "b" }],
    })),
  ),
};

const written: OperatorSet = {
  title: "a definition of a megabyte",
  definitions: [
    {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `platforms.${group}` },
      spec: {
        group,
        scope: "Cluster",
        names: { plural: "platforms", singular: "platform", kind: "Platform", listKind: "PlatformList" },
        versions: [version("v1", { storage: true })],
      },
    },
  ],
  accepted: [
    {
      object: thing("main", filled),
      shows: {
        "spec.section7.resource11": {
          name: "abc",
          size: 12,
          mode: "Auto",
          enabled: false,
          rules: [
            { name: "a", from: "x", weight: 100 },
            { name: "b", weight: 100 },
          ],
        },
      },
    },
  ],
  refused: [
    {
      object: thing("bad", {
        section39: { resource11: { name: "UPPER", size: 5000, mode: "Mode10" } },
        section0: { note: 1 },
      }),
      causes: [
        'spec.section0.note: Invalid value: "integer": spec.section0.note in body must be of type string: "integer"',
        "spec.section39.resource11.name: Invalid value: \"UPPER\": spec.section39.resource11.name in body should match '^[a-z]{1,3}[a-z0-9-]*$'",
        "spec.section39.resource11.size: Invalid value: 5000: spec.section39.resource11.size in body should be less than or equal to 1011",
        'spec.section39.resource11.mode: Unsupported value: "Mode10": supported values: "Auto", "Manual", "Mode11"',
      ],
    },
  ],
  unknown: {
    fields: { spec: { section40: {}, section1: { resource12: {} } } },
    named: ["spec.section1.resource12", "spec.section40"],
  },
  shared: {
    first: thing("both", filled),
    second: thing("both", { section0: { resource0: { rules: [{ name: "c" }], tags: { a: "b" } } } }),
    merged: {
      "spec.section0.resource0.rules.length": 3,
      "spec.section0.resource0.tags": { a: "b" },
      "spec.section7.resource11.name": "abc",
    },
    disputed: thing("both", { section0: { resource0: { size: 7 } }, section3: { resource3: { name: "x" } } }),
    disputedFields: [".spec.section0.resource0.size", ".spec.section3.resource3.name"],
    settled: { "spec.section0.resource0.size": 7, "spec.section0.resource0.rules.length": 2 },
  },
  upgrade: {
    kind: "Platform",
    versions: [
      version("v2", { storage: true }, { region: { type: "string", default: "eu" } }),
      // The two versions in full size would exceed the limit of a request.
      {
        name: "v1",
        served: true,
        storage: false,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "main",
    shows: { "spec.section7.resource11.size": 12 },
    rewritten: { "spec.section7.resource11.size": 12, "spec.region": "eu" },
    fresh: thing("fresh", { section1: { resource1: {} } }, "v2"),
    olderVersion: "v1",
    freshInOlder: { "spec.section1.resource1": { size: 1, mode: "Auto", enabled: false }, "spec.region": "eu" },
  },
  explained: [
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.platforms.v1.Platform",
      shows: { "properties.spec.properties.section39.properties.resource11.properties.size.maximum": 1011 },
    },
  ],
};

export const platform: OperatorSet = addDescriptions(written, 14);
