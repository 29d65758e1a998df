/** Definitions of a pipeline engine: nearly untyped schemas, two versions with one storage version. */
import { absent } from "../view.ts";
import { definitionOf, type OperatorSet, thing, type VersionFields } from "./operator-set.ts";
import { anything, listMap, mapOf, object, oneOf, open, type Schema, text } from "./schema.ts";

const group = "pipelines.example.com";

/** Engines of this kind validate objects by webhook; the schema only requires a value. */
const openVersion = (name: string, more: Partial<VersionFields> = {}): VersionFields => ({
  name,
  whole: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  withoutStatus: true,
  ...more,
});
const withStatus: Partial<VersionFields> = {
  withoutStatus: false,
  columns: [
    ["Succeeded", '.status.conditions[?(@.type=="Succeeded")].status'],
    ["Reason", '.status.conditions[?(@.type=="Succeeded")].reason'],
    ["StartTime", ".status.startTime", "date"],
  ],
};

/** One kind with more schema: known fields beside open ones, embedded objects, values of any type. */
const templateSpec = (extra: Record<string, Schema> = {}): Schema =>
  object(
    {
      params: listMap(
        ["name"],
        object(
          { name: text(), default: anything, type: { ...oneOf("string", "array", "object"), default: "string" } },
          ["name"],
        ),
      ),
      resourceTemplate: {
        type: "object",
        "x-kubernetes-embedded-resource": true,
        "x-kubernetes-preserve-unknown-fields": true,
      },
      sidecar: { ...open, properties: { image: text(), port: { type: "integer", default: 80 } } },
      values: mapOf(anything),
      ...extra,
    },
    ["resourceTemplate"],
  );

const kinds: readonly (readonly [kind: string, plural: string, more: Partial<VersionFields>])[] = [
  ["Pipeline", "pipelines", {}],
  ["Task", "tasks", {}],
  ["PipelineRun", "pipelineruns", withStatus],
  ["TaskRun", "taskruns", withStatus],
];

const task = {
  params: [
    { name: "url", type: "string" },
    { name: "flags", default: ["-v"] },
  ],
  steps: [
    { name: "clone", image: "git", script: "#!/bin/sh\ngit clone $(params.url)\n", env: [{ name: "A", value: "1" }] },
  ],
  workspaces: [{ name: "source" }],
};

export const pipelines: OperatorSet = {
  title: "pipelines",
  definitions: [
    ...kinds.map(([kind, plural, more]) =>
      definitionOf({
        group,
        kind,
        plural,
        categories: ["pipelines"],
        versions: [openVersion("v1beta1", more), openVersion("v1", { storage: true, ...more })],
      }),
    ),
    definitionOf({
      group,
      kind: "TriggerTemplate",
      plural: "triggertemplates",
      versions: [{ name: "v1", storage: true, spec: templateSpec() }],
    }),
  ],
  accepted: [
    {
      object: thing(`${group}/v1beta1`, "Task", "clone", { spec: task, more: { of: ["anything", null, 1.5] } }),
      shows: { spec: task, more: { of: ["anything", null, 1.5] } },
    },
    {
      object: thing(`${group}/v1`, "PipelineRun", "run", {
        spec: { pipelineRef: { name: "p" }, timeouts: { pipeline: "1h" } },
        status: { conditions: [{ type: "Succeeded", status: "True" }] },
      }),
      // The subresource has its own door, whatever the schema leaves open.
      shows: { status: absent, "spec.timeouts": { pipeline: "1h" } },
    },
    {
      object: thing(`${group}/v1`, "TriggerTemplate", "hook", {
        spec: {
          params: [{ name: "a" }, { name: "b", default: { any: true }, type: "object" }],
          resourceTemplate: {
            apiVersion: `${group}/v1`,
            kind: "PipelineRun",
            metadata: { generateName: "run-", labels: { a: "b" } },
            spec: { params: [{ name: "a", value: 5 }] },
          },
          sidecar: { image: "x", unknown: { kept: true } },
          values: { one: 1, list: [1, "2"], nothing: {} },
        },
      }),
      shows: {
        "spec.params.0": { name: "a", type: "string" },
        "spec.params.1.default": { any: true },
        "spec.resourceTemplate.metadata": { generateName: "run-", labels: { a: "b" } },
        "spec.resourceTemplate.spec": { params: [{ name: "a", value: 5 }] },
        "spec.sidecar": { image: "x", port: 80, unknown: { kept: true } },
        "spec.values": { one: 1, list: [1, "2"], nothing: {} },
      },
    },
  ],
  refused: [
    {
      object: thing(`${group}/v1`, "TriggerTemplate", "bad", {
        spec: {
          params: [{ name: "a", type: "number" }],
          resourceTemplate: { kind: "", metadata: { name: "Not A Name" } },
          sidecar: { port: "http" },
        },
      }),
      causes: [
        'spec.params[0].type: Unsupported value: "number": supported values: "string", "array", "object"',
        'spec.sidecar.port: Invalid value: "string": spec.sidecar.port in body must be of type integer: "string"',
        "spec.resourceTemplate.apiVersion: Required value: must not be empty",
        'spec.resourceTemplate.kind: Invalid value: "": must not be empty',
      ],
    },
  ],
  shared: {
    first: thing(`${group}/v1`, "Task", "both", {
      spec: { steps: [{ name: "a" }], params: { x: 1 }, description: "first" },
    }),
    second: thing(`${group}/v1`, "Task", "both", { spec: { params: { y: { z: 1 } } } }),
    merged: { "spec.params": { x: 1, y: { z: 1 } }, "spec.steps": [{ name: "a" }] },
    // Nothing says how lists merge: they have one owner.
    disputed: thing(`${group}/v1`, "Task", "both", { spec: { steps: [{ name: "b" }], params: { x: 2 } } }),
    disputedFields: [".spec.params.x", ".spec.steps"],
    settled: { "spec.steps": [{ name: "b" }], "spec.params": { x: 2 }, "spec.description": "first" },
  },
  upgrade: {
    kind: "TriggerTemplate",
    versions: [
      { name: "v1", spec: templateSpec({ policy: { ...oneOf("Keep", "Replace"), default: "Keep" } }) },
      { name: "v2", storage: true, spec: templateSpec({ policy: { ...oneOf("Keep", "Replace"), default: "Keep" } }) },
    ],
    stored: "v2",
    storedVersions: ["v1", "v2"],
    old: "hook",
    shows: { "spec.policy": "Keep", "spec.sidecar.unknown": { kept: true } },
    fresh: thing(`${group}/v2`, "TriggerTemplate", "fresh", {
      spec: { policy: "Replace", resourceTemplate: { apiVersion: "v1", kind: "ConfigMap", data: { a: "b" } } },
    }),
    olderVersion: "v1",
    freshInOlder: { "spec.policy": "Replace", "spec.resourceTemplate.data": { a: "b" } },
  },
  explained: [
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.pipelines.v1.Task",
      shows: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    },
    {
      groupVersion: `${group}/v1`,
      schema: "com.example.pipelines.v1.TriggerTemplate",
      shows: { "properties.spec.properties.resourceTemplate.x-kubernetes-embedded-resource": true },
    },
  ],
};
