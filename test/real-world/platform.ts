/** A generated definition of about one megabyte: thousands of fields in sections, as cloud bridges generate them. */
import { definitionOf, type OperatorSet, thing, type VersionFields } from "./operator-set.ts";
import {
  described,
  flag,
  integer,
  listMap,
  mapOf,
  object,
  oneOf,
  type Properties,
  type Schema,
  text,
} from "./schema.ts";

const group = "platforms.example.com";
const sections = 40;
const resourcesPerSection = 12;

const numbered = <T>(count: number, name: string, make: (index: number) => T): Record<string, T> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, make(index)]));

/** Options of one resource of the other system. */
const options = (index: number): Schema =>
  object(
    {
      name: text({ maxLength: 64, pattern: `^[a-z]{1,${(index % 9) + 1}}[a-z0-9-]*$` }),
      size: integer({ minimum: 1, maximum: 1000 + index, default: 1 }),
      mode: { ...oneOf("Auto", "Manual", `Mode${index}`), default: "Auto" },
      enabled: flag({ default: index % 2 === 0 }),
      tags: mapOf(text({ maxLength: 256 })),
      rules: listMap(
        ["name"],
        object({ name: text(), from: text(), to: text(), weight: integer({ default: 100 }) }, ["name"]),
      ),
    },
    [],
    { maxProperties: 20 },
  );

const spec = (extra: Properties = {}): Schema =>
  object({
    ...numbered(sections, "section", () =>
      object({ ...numbered(resourcesPerSection, "resource", options), note: text() }),
    ),
    ...extra,
  });

const version = (name: string, more: Partial<VersionFields> = {}, extra: Properties = {}): VersionFields => ({
  name,
  spec: described(spec(extra), 14),
  ...more,
});

/** Something in every resource of the first sections. */
const filled = {
  ...numbered(8, "section", () =>
    numbered(resourcesPerSection, "resource", (index) => ({
      name: "abc",
      size: index + 1,
      rules: [{ name: "a", from: "x" }, { name: "b" }],
    })),
  ),
};

export const platform: OperatorSet = {
  title: "a definition of a megabyte",
  definitions: [
    definitionOf({
      group,
      kind: "Platform",
      plural: "platforms",
      scope: "Cluster",
      versions: [version("v1", { storage: true })],
    }),
  ],
  accepted: [
    {
      object: thing(`${group}/v1`, "Platform", "main", { spec: filled }),
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
      object: thing(`${group}/v1`, "Platform", "bad", {
        spec: { section39: { resource11: { name: "UPPER", size: 5000, mode: "Mode10" } }, section0: { note: 1 } },
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
    first: thing(`${group}/v1`, "Platform", "both", { spec: filled }),
    second: thing(`${group}/v1`, "Platform", "both", {
      spec: { section0: { resource0: { rules: [{ name: "c" }], tags: { a: "b" } } } },
    }),
    merged: {
      "spec.section0.resource0.rules.length": 3,
      "spec.section0.resource0.tags": { a: "b" },
      "spec.section7.resource11.name": "abc",
    },
    disputed: thing(`${group}/v1`, "Platform", "both", {
      spec: { section0: { resource0: { size: 7 } }, section3: { resource3: { name: "x" } } },
    }),
    disputedFields: [".spec.section0.resource0.size", ".spec.section3.resource3.name"],
    settled: { "spec.section0.resource0.size": 7, "spec.section0.resource0.rules.length": 2 },
  },
  upgrade: {
    kind: "Platform",
    versions: [
      version("v2", { storage: true }, { region: text({ default: "eu" }) }),
      // Both at full size would be more than a request may hold.
      { name: "v1", whole: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "main",
    shows: { "spec.section7.resource11.size": 12 },
    rewritten: { "spec.section7.resource11.size": 12, "spec.region": "eu" },
    fresh: thing(`${group}/v2`, "Platform", "fresh", { spec: { section1: { resource1: {} } } }),
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
