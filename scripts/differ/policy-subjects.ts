/** The kinds to which random admission policies apply: their objects, and expressions and patches for them. */
import type { Random } from "#std/random.ts";
import { chance, pick, some, upTo } from "./choices.ts";
import type { Json } from "./servers.ts";

/** A kind whose objects are written, with expressions about them. */
export interface Subject {
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly subresources: readonly string[];
  readonly body: (random: Random) => Json;
  /** Expressions about `object` that are true or false. */
  readonly statements: readonly string[];
  /** Expressions of apply configurations and of patches. */
  readonly configurations: readonly string[];
  readonly patches: readonly string[];
}

const texts = ["", "a", "b", "abc", "x-1", "10", "3", "héllo", "a,b,c", "  pad "];

const template = (random: Random): Json => ({
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: pick(random, ["registry.example.com/a:1", "other/a"]) }] },
});

const widgetStatements = [
  "object.spec.replicas <= 3",
  "object.spec.replicas > 1",
  "has(object.spec.paused) && object.spec.paused",
  "object.spec.?paused.orValue(false) == false",
  "oldObject == null || object.spec.replicas >= oldObject.spec.replicas",
  "params == null || object.spec.replicas < 4",
];

/** The kinds to which policies and requests apply. */
export const subjects: readonly Subject[] = [
  {
    group: "",
    versions: ["v1"],
    resource: "configmaps",
    kind: "ConfigMap",
    namespaced: true,
    subresources: [],
    body: (random) => ({
      ...(chance(random, 0.9)
        ? {
            data: Object.fromEntries(
              some(random, 0.6, ["a", "b", "long.key"]).map((key) => [key, pick(random, texts)]),
            ),
          }
        : {}),
      ...(chance(random, 0.1) ? { immutable: true } : {}),
    }),
    statements: [
      "!has(object.data) || object.data.size() < 2",
      "object.data.size() < 3",
      "object.data['a'] == 'a'",
      "object.data.a.matches('^[a-z]*$')",
      "object.data.all(k, object.data[k].size() < 4)",
      "object.?data.a.orValue('x') == 'x'",
      "int(object.data.a) > 3",
      "!object.?immutable.orValue(false)",
      "oldObject == null || object.?data == oldObject.?data",
      "object.data.map(k, object.data[k]).exists(v, v == 'a')",
      "object.data.exists_one(k, k == 'a')",
      "'%s'.format([object.data]) != ''",
    ],
    configurations: [
      'Object{data: {"added": "yes"}}',
      'Object{data: {"a": object.metadata.name}}',
      "Object{immutable: false}",
      'Object{data: {"a": 1}}',
      'Object{nope: "x"}',
      'has(object.data) ? Object{} : Object{data: {"none": "yes"}}',
    ],
    patches: [
      '[JSONPatch{op: "add", path: "/data/patched", value: "yes"}]',
      '[JSONPatch{op: "remove", path: "/data/a"}]',
      '[JSONPatch{op: "test", path: "/data/a", value: "a"}, JSONPatch{op: "replace", path: "/data/a", value: "b"}]',
      '[JSONPatch{op: "add", path: "/data", value: {"only": string(size(object.metadata.name))}}]',
      '[JSONPatch{op: "add", path: "/data/n", value: 1}]',
      '[JSONPatch{op: "copy", from: "/data/a", path: "/data/copied"}]',
      '[JSONPatch{op: "move", from: "/data/a", path: "/data/moved"}]',
      '[JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("k/1~x"), value: "v"}]',
      '[JSONPatch{op: "nope", path: "/data/a"}]',
    ],
  },
  {
    group: "apps",
    versions: ["v1"],
    resource: "deployments",
    kind: "Deployment",
    namespaced: true,
    subresources: ["scale", "status"],
    body: (random) => ({
      spec: {
        ...(chance(random, 0.8) ? { replicas: upTo(random, 5) } : {}),
        ...(chance(random, 0.2) ? { paused: true } : {}),
        selector: { matchLabels: { app: "a" } },
        template: template(random),
      },
    }),
    statements: [
      ...widgetStatements,
      "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example.com/'))",
      "object.spec.template.spec.containers[0].name == 'c'",
      "!has(object.spec.template.spec.containers[0].resources.limits)",
      "object.spec.template.metadata.labels.app == object.spec.selector.matchLabels.app",
      "object.spec.strategy.rollingUpdate.maxSurge == '25%'",
      "type(object.spec.strategy.rollingUpdate.maxSurge) == int",
    ],
    configurations: [
      "Object{spec: Object.spec{replicas: 2}}",
      'Object{spec: Object.spec{replicas: "x"}}',
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "c", image: "mended"}]}}}}',
      'Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{labels: {"more": "yes"}}}}}',
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: "d", image: "side", args: ["x"]}]}}}}',
      'Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{name: c.name, imagePullPolicy: "Always"})}}}}',
    ],
    patches: [
      '[JSONPatch{op: "replace", path: "/spec/replicas", value: 2}]',
      '[JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: Object.spec.template.spec.containers{name: "d", image: "i"}}]',
      '[JSONPatch{op: "test", path: "/spec/replicas", value: 1}, JSONPatch{op: "replace", path: "/spec/replicas", value: 4}]',
      '[JSONPatch{op: "add", path: "/spec/template/metadata/labels/more", value: "x"}]',
      '[JSONPatch{op: "replace", path: "/spec/replicas", value: object.spec.replicas + 1}]',
    ],
  },
  {
    group: "differ.example.com",
    versions: ["v1", "v1beta1"],
    resource: "gadgets",
    kind: "Gadget",
    namespaced: true,
    subresources: ["scale", "status"],
    body: (random) => ({
      spec: {
        replicas: upTo(random, 5),
        ...(chance(random, 0.3) ? { paused: chance(random, 0.5) } : {}),
        ...(chance(random, 0.5) ? { size: pick(random, [0.5, 1, 1e21]) } : {}),
        ...(chance(random, 0.5) ? { when: "2024-01-02T03:04:05Z" } : {}),
        ...(chance(random, 0.5) ? { either: pick(random, [5, "5%"]) } : {}),
        ...(chance(random, 0.5) ? { parts: [{ name: "x", weight: 1 }, { name: "y" }].slice(upTo(random, 1)) } : {}),
        ...(chance(random, 0.5) ? { tags: some(random, 0.5, ["s", "t", "u"]) } : {}),
        ...(chance(random, 0.3) ? { free: { any: [1, "x", null, { deep: true }] } } : {}),
      },
    }),
    statements: [
      ...widgetStatements,
      "object.spec.size < 2.0",
      "object.spec.size == 1.0",
      "timestamp(object.spec.when) < timestamp('2025-01-01T00:00:00Z')",
      "object.spec.when.getFullYear() == 2024",
      "object.spec.either == 5",
      "object.spec.parts.all(p, has(p.weight))",
      "object.spec.parts.map(p, p.name).isSorted()",
      "object.spec.tags.exists(t, t == 's')",
      "object.spec.tags == oldObject.spec.tags",
      "object.spec.free.any[0] == 1",
      "object.spec.free.any.size() > 3",
      "sets.contains(object.spec.tags, ['s'])",
    ],
    configurations: [
      "Object{spec: Object.spec{replicas: 3}}",
      'Object{spec: Object.spec{tags: ["z"]}}',
      'Object{spec: Object.spec{parts: [Object.spec.parts{name: "x", weight: 9}]}}',
      "Object{spec: Object.spec{free: Object.spec.free{any: 1}}}",
      "Object{spec: Object.spec{nope: 1}}",
      "Object{spec: Object.spec{size: 1.25}}",
    ],
    patches: [
      '[JSONPatch{op: "replace", path: "/spec/replicas", value: 3}]',
      '[JSONPatch{op: "add", path: "/spec/tags", value: ["p"]}]',
      '[JSONPatch{op: "add", path: "/spec/parts/0", value: {"name": "first"}}]',
      '[JSONPatch{op: "add", path: "/spec/nope", value: 1}]',
      '[JSONPatch{op: "replace", path: "/spec/replicas", value: "x"}]',
    ],
  },
  {
    group: "differ.example.com",
    versions: ["v1"],
    resource: "zones",
    kind: "Zone",
    namespaced: false,
    subresources: [],
    body: (random) => ({ spec: { max: upTo(random, 4), names: some(random, 0.5, ["a", "b"]) } }),
    statements: ["object.spec.max < 3", "object.spec.names.size() == 1", "object.spec.names[0] == 'a'"],
    configurations: ["Object{spec: Object.spec{max: 1}}"],
    patches: ['[JSONPatch{op: "replace", path: "/spec/max", value: 1}]'],
  },
];
