/**
 * Generates random admission policies with bindings and parameters, and requests that match them. Some are invalid on
 * purpose. The same seed gives the same cases.
 */
import { type Random, seededRandom } from "#std/random.ts";
import type { Json } from "./differ-servers.ts";

/** One request of a case. `{ns}` in a path stands for the namespace of the case. */
export interface PolicyRequest {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Json;
  /** Patches have their type here: `merge`, `json` or `apply`. */
  readonly patch?: string;
  /** Who asks; the owner of the token by default. */
  readonly user?: string;
}

export interface PolicyCase {
  readonly namespaceLabels: Json;
  readonly params: readonly PolicyRequest[];
  /** Tried without being stored. */
  readonly wrong: readonly PolicyRequest[];
  /** Policies and bindings. */
  readonly enforced: readonly PolicyRequest[];
  readonly requests: readonly PolicyRequest[];
}

const pick = <T>(random: Random, from: readonly T[]): T => from[Math.floor(random.next() * from.length)]!; // not empty
const chance = (random: Random, share: number): boolean => random.next() < share;
const upTo = (random: Random, max: number): number => Math.floor(random.next() * (max + 1));
const some = <T>(random: Random, from: readonly T[], share: number): T[] => from.filter(() => chance(random, share));
const many = <T>(random: Random, max: number, make: (at: number) => T): T[] =>
  Array.from({ length: upTo(random, max) }, (_, at) => make(at));

/** Requests are about this. */
interface Subject {
  readonly group: string;
  readonly versions: readonly string[];
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly subresources: readonly string[];
  readonly body: (random: Random) => Json;
  /** About `object`, as an expression that is true or false. */
  readonly statements: readonly string[];
  /** Expressions of apply configurations, and of patches. */
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

const subjects: readonly Subject[] = [
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
              some(random, ["a", "b", "long.key"], 0.6).map((key) => [key, pick(random, texts)]),
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
        ...(chance(random, 0.5) ? { tags: some(random, ["s", "t", "u"], 0.5) } : {}),
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
    body: (random) => ({ spec: { max: upTo(random, 4), names: some(random, ["a", "b"], 0.5) } }),
    statements: ["object.spec.max < 3", "object.spec.names.size() == 1", "object.spec.names[0] == 'a'"],
    configurations: ["Object{spec: Object.spec{max: 1}}"],
    patches: ['[JSONPatch{op: "replace", path: "/spec/max", value: 1}]'],
  },
];

/** About any request. */
const statements = [
  "true",
  "false",
  "object.metadata.name != 'one'",
  "object != null",
  "oldObject == null",
  "object == null || object.metadata.labels.env == 'prod'",
  "has(object.metadata.labels) && 'env' in object.metadata.labels",
  "object.metadata.?labels.env.orValue('') != 'dev'",
  "object.metadata.annotations.size() == 0",
  "object.metadata.generation < 2",
  "object.apiVersion == 'v1' || object.kind != 'ConfigMap'",
  "has(object.metadata.managedFields)",
  "object.metadata.namespace == request.namespace",
  "object.metadata.creationTimestamp == oldObject.metadata.creationTimestamp",
  "request.operation in ['CREATE', 'DELETE']",
  "request.operation == 'UPDATE'",
  "!request.dryRun",
  "request.userInfo.username == 'bob'",
  "'writers' in request.userInfo.groups",
  "request.userInfo.extra['scopes'][0] == 'a'",
  "request.userInfo.?extra.scopes.orValue([]).size() == 0",
  "has(request.userInfo.uid)",
  "request.kind.kind == 'ConfigMap'",
  "request.kind.version == 'v1'",
  "request.resource.resource in ['configmaps', 'deployments']",
  "request.requestResource.version == request.resource.version",
  "request.subResource == ''",
  "request.requestSubResource != 'scale'",
  "request.name == 'one'",
  "request.namespace != ''",
  "request.options.fieldManager == 'differ'",
  "has(request.options.dryRun)",
  "request.options.kind == 'CreateOptions'",
  "has(request.namespace)",
  "has(request.subResource)",
  "namespaceObject.metadata.labels['tier'] == 'gold'",
  "namespaceObject == null || namespaceObject.metadata.name == request.namespace",
  "namespaceObject.status.phase == 'Active'",
  "namespaceObject.spec.finalizers.size() == 1",
  "has(namespaceObject.metadata.deletionTimestamp)",
  "namespaceObject.metadata.?annotations.note.orValue('n') == 'n'",
  "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
  "authorizer.requestResource.check('delete').allowed()",
  "authorizer.requestResource.check('frobnicate').reason() == ''",
  "authorizer.serviceAccount('default', 'x').path('/healthz').check('get').allowed()",
  "authorizer.path('/metrics').check('get').errored()",
  "authorizer.group('apps').resource('deployments').subresource('scale').name('x').check('update').allowed()",
  "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=a').labelSelector('a=b').check('list').allowed()",
  "object.metadata.name.size() > 3 || object.metadata.name.startsWith('o')",
  "1 / (object.metadata.name.size() - 3) > 0",
  "quantity(object.metadata.name).isInteger()",
  "isQuantity('1Gi') && quantity('1Gi').isGreaterThan(quantity('1M'))",
  "ip('10.0.0.1').family() == 4",
  "url('https://e.com/' + object.metadata.name).getEscapedPath().size() > 4",
  "object.metadata.name.matches('^(a|o)+')",
  "object.metadata.name.find('[aeiou]') == 'o'",
  "format.dns1123Label().validate(object.metadata.name).hasValue()",
  "dyn(object.metadata.name) == 1",
  "object.nope.deeper == 1",
  "object.metadata.labels.all(k, k.size() > 1)",
  "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, a + b + c + d < 99))))",
  "[0,1,2,3,4,5,6,7,8,9].all(a, [0,1,2,3,4,5,6,7,8,9].all(b, [0,1,2,3,4,5,6,7,8,9].all(c, [0,1,2,3,4,5,6,7,8,9].all(d, [0,1,2,3,4,5,6,7,8,9].all(e, [a,b,c,d,e].size() == 5)))))",
];

const paramStatements = [
  "params.data.limit == '3'",
  "int(params.data.limit) > 2",
  "params != null",
  "params.metadata.name == 'first'",
  "has(params.data) || has(params.spec)",
  "params.spec.max > 2",
  "params.spec.names.exists(n, n == 'a')",
  "params.metadata.namespace == request.namespace",
  "object.spec.replicas <= params.spec.max",
];

const wrongStatements = [
  "",
  "  ",
  "1",
  "'text'",
  "object.",
  "object..name",
  "nope",
  "nope.field == 1",
  "variables.nope",
  "variables",
  "request.uid == ''",
  "request.object == null",
  "[1, 2, 3].all(i, v, i < v)",
  "object.data.all(k, v, v != 'abc')",
  "params.x == 1",
  "request.nope == 1",
  "request.userInfo.nope",
  "namespaceObject.metadata.nope == ''",
  "namespaceObject.spec == 1",
  "object.metadata.name.nope()",
  "authorizer.check('get')",
  "authorizer.group('').allowed()",
  "1 + 'a' == 2",
  "'a'.matches('(')",
  "duration('x') == duration('1s')",
  "[1, 'a'].size() == 2",
  "object.all(x, y, z, true)",
  "has(object)",
  "self == 1",
  "oldSelf == 1",
  "object.metadata.labels.map(k, v)",
  "cel.bind(a, 1, a == 1)",
  "timestamp('x') > timestamp('y')",
  "size(1) == 1",
  "object == 1 && 'b'",
  "true ? 1 : 'a'",
  "{'a': 1}.b == 'x'",
  "b'a' == 'a'",
  "object.`a.b` == 1",
  "request.dryRun == 1",
  "request.operation.size()",
  "Object{}",
  "JSONPatch{op: 'x'} == 1",
  `${"(".repeat(30)}true${")".repeat(30)}`,
  "request.object.spec == 1 || request.oldObject.spec == 1",
  "quantity('1').nope()",
  "1.0 == 1",
  "string(object) == ''",
];

const messages = [
  "'name is ' + object.metadata.name",
  "'two\\nlines'",
  "''",
  "'  padded  '",
  "string(object.metadata.name)",
  "'replicas: ' + string(object.spec.replicas)",
  "'from ' + request.userInfo.username",
  "'nothing ' + object.nope.deeper",
  "request.operation + ' of ' + request.kind.kind",
  "'%s is %d'.format([object.metadata.name, size(object.metadata.name)])",
  "namespaceObject == null ? 'none' : namespaceObject.metadata.name",
  "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'.replace('a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb')",
];
const wrongMessages = [
  "1",
  "authorizer.path('/').check('get').reason()",
  "object == null",
  " ",
  "nope",
  "null",
  "object.a +",
  "['a']",
];

const annotations = [
  "'seen ' + object.metadata.name",
  "null",
  "''",
  "' x '",
  "string(object.metadata.name)",
  "string(object.nope.deeper)",
  "request.operation",
  "object == null ? 'gone' : 'there'",
];
const wrongAnnotations = ["1", "", " ", "object", "true ? 'a' : null", "nope", "['a']"];

const variables: readonly (readonly [string, string])[] = [
  ["name", "object.metadata.name"],
  ["isNew", "oldObject == null"],
  ["count", "object.spec.replicas"],
  ["labels", "object.metadata.?labels.orValue({})"],
  ["who", "request.userInfo"],
  ["list", "[1, 2, 3]"],
  ["broken", "object.nope.deeper"],
  ["ns", "namespaceObject.metadata"],
  ["may", "authorizer.requestResource.check('delete')"],
  ["heavy", "[0,1,2,3,4,5,6,7,8,9].map(a, [0,1,2,3,4,5,6,7,8,9].map(b, [0,1,2,3,4,5,6,7,8,9].map(c, a + b + c)))"],
  ["maybe", "object.?spec.replicas"],
];

/** By the variable that must be there. */
const variableStatements: Readonly<Record<string, readonly string[]>> = {
  name: ["variables.name != 'one'", "variables.name.startsWith('o')"],
  isNew: ["variables.isNew", "!variables.isNew"],
  count: ["variables.count < 3", "variables.count == variables.count"],
  labels: ["'env' in variables.labels", "variables.labels == {}"],
  who: ["variables.who.username == 'bob'", "variables.who.groups.size() > 1"],
  list: ["variables.list.sum() == 6", "variables.list[5] == 1"],
  broken: ["variables.broken == 1", "true || variables.broken == 1"],
  ns: ["variables.ns.name == request.namespace", "variables.ns.labels.tier == 'gold'"],
  may: ["variables.may.allowed()", "variables.may.reason() == ''"],
  heavy: ["variables.heavy.size() == 10", "variables.heavy[0][0].sum() > 0"],
  maybe: ["variables.maybe.hasValue()", "variables.maybe.orValue(0) < 3"],
  derived: ["variables.derived == 'x'", "variables.derived.size() > 3"],
};

interface Made {
  readonly random: Random;
  readonly isSound: boolean;
  readonly subjects: readonly Subject[];
  readonly hasParams: boolean;
  readonly variables: readonly string[];
}

function statement(about: Made, depth = 1): string {
  const { random, isSound, hasParams } = about;
  if (!isSound && chance(random, 0.5)) return pick(random, wrongStatements);
  if (depth > 0 && chance(random, 0.2)) {
    const [one, other] = [statement(about, 0), statement(about, 0)];
    return pick(random, [
      `(${one}) && (${other})`,
      `(${one}) || (${other})`,
      `!(${one})`,
      `(${one}) ? (${other}) : true`,
    ]);
  }
  if (hasParams && chance(random, 0.35)) return pick(random, paramStatements);
  if (about.variables.length > 0 && chance(random, 0.4))
    return pick(random, variableStatements[pick(random, about.variables)]!);
  if (chance(random, 0.5)) {
    const { statements: own } = pick(random, about.subjects);
    const found = pick(random, own);
    return !hasParams && found.includes("params") ? "true" : found;
  }
  return pick(random, statements);
}

const conditionStatements = [
  "true",
  "request.userInfo.username != 'carol'",
  "object.metadata.name != 'two'",
  "object.spec.replicas > 0",
  "!request.dryRun",
  "oldObject == null || object == null || true",
  "object.nope.deeper == 1",
];

function conditions(about: Made): Json[] {
  const { random, isSound } = about;
  return many(random, 2, (at) => ({
    name: isSound ? `c${at}` : pick(random, [`c${at}`, "", "a b", "c0", "example.com/x", "a/b/c"]),
    expression:
      isSound && chance(random, 0.7) ? pick(random, conditionStatements) : statement({ ...about, variables: [] }),
  }));
}

function selector(random: Random, isSound: boolean): Json {
  if (!isSound && chance(random, 0.5)) {
    return pick(random, [
      { matchLabels: { "a b": "c" } },
      { matchExpressions: [{ key: "env", operator: "Nope", values: ["a"] }] },
      { matchExpressions: [{ key: "env", operator: "In" }] },
      { matchExpressions: [{ key: "", operator: "Exists" }] },
    ]);
  }
  return pick(random, [
    {},
    { matchLabels: { env: "prod" } },
    { matchLabels: { tier: "gold" } },
    { matchExpressions: [{ key: "env", operator: "In", values: ["prod", "dev"] }] },
    { matchExpressions: [{ key: "env", operator: "NotIn", values: ["dev"] }] },
    { matchExpressions: [{ key: "env", operator: "Exists" }] },
    { matchExpressions: [{ key: "env", operator: "DoesNotExist" }] },
  ]);
}

function rules(random: Random, chosen: readonly Subject[], isSound: boolean, isMutating: boolean): Json[] {
  const operations = isMutating ? ["CREATE", "UPDATE"] : ["CREATE", "UPDATE", "DELETE"];
  const rule = (of: readonly Subject[]): Json => {
    const parts = of.flatMap(({ resource, subresources }) => [
      resource,
      ...some(random, subresources, 0.3).map((part) => `${resource}/${part}`),
      ...(chance(random, 0.1) ? [`${resource}/*`] : []),
    ]);
    const resources = chance(random, 0.1) ? [pick(random, ["*", "*/*", "*/scale"])] : [...new Set(parts)];
    return {
      apiGroups: chance(random, 0.1) ? ["*"] : [...new Set(of.map(({ group }) => group))],
      apiVersions: chance(random, 0.2) ? ["*"] : [...new Set(of.map(({ versions }) => pick(random, versions)))],
      operations:
        chance(random, 0.3) && !isMutating
          ? ["*"]
          : [pick(random, operations), ...some(random, operations, 0.6)].filter(
              (one, at, all) => all.indexOf(one) === at,
            ),
      resources,
      ...(chance(random, 0.2) ? { scope: pick(random, ["*", "Namespaced", "Cluster"]) } : {}),
      ...(chance(random, 0.1) ? { resourceNames: [pick(random, ["one", "two"])] } : {}),
    };
  };
  const made = chance(random, 0.5) ? [rule(chosen)] : chosen.map((one) => rule([one]));
  if (isSound || chance(random, 0.6)) return made;
  return made.map((one) => ({
    ...one,
    ...pick<Json>(random, [
      { operations: ["NOPE"] },
      { operations: ["*", "CREATE"] },
      { operations: [] },
      { operations: ["DELETE"] },
      { apiGroups: ["*", "apps"] },
      { apiGroups: [] },
      { apiVersions: [""] },
      { apiVersions: ["*", "v1"] },
      { resources: ["*", "pods"] },
      { resources: ["pods/*", "pods/status"] },
      { resources: [""] },
      { resources: ["a/b/c"] },
      { resources: [] },
      { scope: "Nope" },
      { resourceNames: ["a/b"] },
      { resourceNames: ["one", "one"] },
      { apiGroups: undefined },
      { nope: true },
    ]),
  }));
}

function matchResources(random: Random, chosen: readonly Subject[], isSound: boolean, isMutating: boolean): Json {
  return {
    resourceRules: rules(random, chosen, isSound, isMutating),
    ...(chance(random, 0.1)
      ? { excludeResourceRules: rules(random, [pick(random, chosen)], isSound, isMutating) }
      : {}),
    ...(chance(random, 0.3)
      ? { matchPolicy: isSound ? pick(random, ["Exact", "Equivalent"]) : pick(random, ["", "Nope", "Exact"]) }
      : {}),
    ...(chance(random, 0.2) ? { namespaceSelector: selector(random, isSound) } : {}),
    ...(chance(random, 0.2) ? { objectSelector: selector(random, isSound) } : {}),
  };
}

const paramKinds: readonly Json[] = [
  { apiVersion: "v1", kind: "ConfigMap" },
  { apiVersion: "differ.example.com/v1", kind: "Gadget" },
  { apiVersion: "differ.example.com/v1", kind: "Zone" },
];
const oddParamKinds: readonly Json[] = [
  { apiVersion: "nope.example.com/v1", kind: "Nope" },
  { apiVersion: "v1", kind: "Nope" },
  { apiVersion: "v2", kind: "ConfigMap" },
];
const wrongParamKinds: readonly Json[] = [
  {},
  { apiVersion: "a/b/c", kind: "X" },
  { apiVersion: "v1", kind: "a b" },
  { apiVersion: "UPPER/v1", kind: "ConfigMap" },
  { apiVersion: "v1" },
  { kind: "ConfigMap" },
  { apiVersion: "apps/", kind: "X" },
];

/** Makes what policies of both kinds have, and returns what their expressions may use. */
function common(random: Random, isSound: boolean, isMutating: boolean): { readonly spec: Json; readonly about: Made } {
  const chosen = some(random, subjects, 0.45);
  if (chosen.length === 0) chosen.push(pick(random, subjects));
  const hasParams = chance(random, 0.35);
  const paramKind =
    !isSound && chance(random, 0.4)
      ? pick(random, wrongParamKinds)
      : pick(random, chance(random, 0.08) ? oddParamKinds : paramKinds);
  const found = some(random, variables, 0.2).map(([name, expression]) => ({ name, expression }));
  if (found.length > 0 && chance(random, 0.3)) {
    found.push({
      name: "derived",
      expression: pick(random, [
        "'x'",
        `string(dyn(variables.${found[0]!.name}))`,
        `variables.${found[0]!.name}`,
        "variables.later",
      ]),
    });
    if (isSound && found.at(-1)!.expression === "variables.later") found.pop();
  }
  const wrongVariables = [
    { name: "", expression: "1" },
    { name: "1a", expression: "1" },
    { name: "in", expression: "1" },
    { name: "a-b", expression: "1" },
    { name: "e", expression: " " },
    { name: "e", expression: "variables.self" },
    { name: "e", expression: "nope" },
    { name: "e", expression: "variables.e" },
  ];
  const all = isSound || chance(random, 0.6) ? found : [...found, pick(random, wrongVariables)];
  const about: Made = { random, isSound, subjects: chosen, hasParams, variables: found.map(({ name }) => name) };
  const spec = {
    ...(hasParams ? { paramKind } : {}),
    matchConstraints: matchResources(random, chosen, isSound, isMutating),
    ...(chance(random, 0.3) ? { matchConditions: conditions(about) } : {}),
    ...(all.length > 0 ? { variables: all } : {}),
    ...(chance(random, 0.5)
      ? { failurePolicy: isSound ? pick(random, ["Fail", "Ignore"]) : pick(random, ["Fail", "", "Nope"]) }
      : {}),
    ...(!isSound && chance(random, 0.05) ? { matchConstraints: undefined } : {}),
  };
  return { spec, about };
}

function validation(about: Made): Json {
  const { random, isSound } = about;
  const wrong = !isSound && chance(random, 0.5);
  return {
    expression: statement(about),
    ...(chance(random, 0.3)
      ? { message: wrong ? pick(random, ["", " ", "a\nb", "ok"]) : pick(random, ["does not hold", " spaced ", "two"]) }
      : {}),
    ...(chance(random, 0.35)
      ? { messageExpression: wrong ? pick(random, wrongMessages) : pick(random, messages) }
      : {}),
    ...(chance(random, 0.3)
      ? {
          reason: wrong
            ? pick(random, ["Nope", "", "Unauthorized"])
            : pick(random, ["Forbidden", "Invalid", "RequestEntityTooLarge"]),
        }
      : {}),
  };
}

function validatingSpec(random: Random, isSound: boolean): { readonly spec: Json; readonly hasParams: boolean } {
  const { spec, about } = common(random, isSound, false);
  const isHeavy = chance(random, 0.04);
  const heavy = statements.at(-1)!;
  const validations = isHeavy
    ? Array.from({ length: 14 }, (_, at) => ({ expression: `${heavy} && ${at} < 99` }))
    : Array.from({ length: isSound ? 1 + upTo(random, 2) : upTo(random, 2) }, () => validation(about));
  const audit = many(random, chance(random, 0.4) ? 2 : 0, (at) => ({
    key: isSound ? `k${at}` : pick(random, ["k", "", "a b", "a/b"]),
    valueExpression: isSound || chance(random, 0.5) ? pick(random, annotations) : pick(random, wrongAnnotations),
  }));
  return {
    spec: {
      ...spec,
      ...(validations.length > 0 ? { validations } : {}),
      ...(audit.length > 0 ? { auditAnnotations: audit } : {}),
    },
    hasParams: about.hasParams,
  };
}

const anyConfigurations = [
  'Object{metadata: Object.metadata{labels: {"mutated": "yes"}}}',
  'Object{metadata: Object.metadata{annotations: {"by": request.userInfo.username}}}',
  "Object{}",
  'Object{metadata: Object.metadata{labels: {"env": object.metadata.?labels.env.orValue("none")}}}',
  'Object{metadata: Object.metadata{finalizers: ["example.com/x"]}}',
  'Object{metadata: Object.spec{labels: {"a": "b"}}}',
  'Object{metadata: Object.metadata{labels: {"a": object.nope.deeper}}}',
  'Object{metadata: Object.metadata{labels: {"bad label": "x"}}}',
  'Object{apiVersion: "v1"}',
  'Object{kind: "Other"}',
  'Object{metadata: Object.metadata{generateName: "x"}}',
];
const anyPatches = [
  '[JSONPatch{op: "add", path: "/metadata/labels", value: {"patched": "yes"}}]',
  '[JSONPatch{op: "add", path: "/metadata/labels/patched", value: "yes"}]',
  "[]",
  '[JSONPatch{op: "test", path: "/metadata/name", value: "one"}, JSONPatch{op: "add", path: "/metadata/annotations", value: {"is": "one"}}]',
  'object.metadata.name == "one" ? [JSONPatch{op: "add", path: "/metadata/annotations", value: {"n": string(size(request.namespace))}}] : []',
  '[JSONPatch{op: "add", path: "/metadata/annotations", value: {"list": "a,b".split(",")[1]}}]',
  '[JSONPatch{op: "add", path: "/metadata/annotations", value: Object.metadata.annotations{a: "b"}}]',
  '[JSONPatch{path: "/metadata/labels"}]',
  '[JSONPatch{op: "add", path: "metadata", value: 1}]',
  '[JSONPatch{op: object.nope.deeper, path: "/x"}]',
];
const wrongMutations = [
  "",
  "1",
  "Object",
  "Object{",
  "[Object{}]",
  "JSONPatch{}",
  "[1]",
  '[JSONPatch{nope: "x"}]',
  "[JSONPatch{op: 1}]",
  "{'a': 1}",
  "object",
  "nope",
  "Other{}",
  "null",
  "Object.spec{}",
  "Objects{}",
  "[JSONPatch{}, 1]",
];

function mutatingSpec(random: Random, isSound: boolean): { readonly spec: Json; readonly hasParams: boolean } {
  const { spec, about } = common(random, isSound, true);
  const mutations = Array.from({ length: isSound ? 1 + upTo(random, 1) : upTo(random, 2) }, () => {
    const subject = pick(random, about.subjects);
    const own = chance(random, 0.5);
    const isPatch = chance(random, 0.5);
    const right = isPatch
      ? pick(random, own ? subject.patches : anyPatches)
      : pick(random, own ? subject.configurations : anyConfigurations);
    const expression =
      isSound || chance(random, 0.4) ? right : pick(random, [...wrongMutations, ...anyPatches, ...anyConfigurations]);
    const mutation: Json = isPatch
      ? { patchType: "JSONPatch", jsonPatch: { expression } }
      : { patchType: "ApplyConfiguration", applyConfiguration: { expression } };
    if (isSound || chance(random, 0.6)) return mutation;
    return {
      ...mutation,
      ...pick<Json>(random, [
        { patchType: "" },
        { patchType: "Nope" },
        { patchType: "JSONPatch" },
        { jsonPatch: { expression } },
        { jsonPatch: undefined },
      ]),
    };
  });
  const reinvocationPolicy =
    isSound || chance(random, 0.7) ? pick(random, ["Never", "IfNeeded"]) : pick(random, ["", "Nope", undefined]);
  return { spec: { ...spec, mutations, reinvocationPolicy }, hasParams: about.hasParams };
}

function paramRef(random: Random, isSound: boolean): Json {
  const right: Json = {
    ...(chance(random, 0.6)
      ? { name: pick(random, ["first", "second", "absent"]) }
      : { selector: pick(random, [{}, { matchLabels: { set: "one" } }, { matchLabels: { set: "none" } }]) }),
    ...(chance(random, 0.4) ? { namespace: pick(random, ["default", "differ-params"]) } : {}),
    parameterNotFoundAction: pick(random, ["Allow", "Deny"]),
  };
  if (isSound || chance(random, 0.3)) return right;
  return {
    ...right,
    ...pick<Json>(random, [
      { parameterNotFoundAction: "" },
      { parameterNotFoundAction: "Nope" },
      { name: "x", selector: {} },
      { name: "a/b" },
      { name: undefined, selector: undefined },
      { selector: { matchLabels: { "a b": "" } } },
      { parameterNotFoundAction: undefined },
    ]),
  };
}

function binding(random: Random, policyName: string, hasParams: boolean, isSound: boolean, isMutating: boolean): Json {
  const actions = pick(random, [["Deny"], ["Deny"], ["Deny", "Audit"], ["Warn"], ["Warn", "Audit"], ["Audit"]]);
  const wrongActions = pick<readonly string[] | undefined>(random, [
    [],
    ["Deny", "Warn"],
    ["Nope"],
    ["Deny", "Deny"],
    undefined,
  ]);
  return {
    policyName: isSound || chance(random, 0.6) ? policyName : pick(random, ["", "A B", "x_y"]),
    ...(isMutating ? {} : { validationActions: isSound || chance(random, 0.5) ? actions : wrongActions }),
    ...((hasParams ? chance(random, 0.92) : chance(random, 0.05)) ? { paramRef: paramRef(random, isSound) } : {}),
    ...(chance(random, 0.25) ? { matchResources: bindingMatch(random, isSound, isMutating) } : {}),
  };
}

function bindingMatch(random: Random, isSound: boolean, isMutating: boolean): Json {
  const whole = matchResources(random, [pick(random, subjects)], isSound, isMutating);
  if (chance(random, 0.5)) return whole;
  const { resourceRules: _rules, ...rest } = whole;
  return { ...rest, ...(chance(random, 0.6) ? { namespaceSelector: selector(random, isSound) } : {}) };
}

const path = "/apis/admissionregistration.k8s.io";

function registered(kind: string, name: string, spec: Json): PolicyRequest {
  const version = kind.startsWith("Validating") ? "v1" : "v1alpha1";
  const plural = kind.endsWith("Policy") ? `${kind.toLowerCase().slice(0, -1)}ies` : `${kind.toLowerCase()}s`;
  const body = {
    apiVersion: `admissionregistration.k8s.io/${version}`,
    kind,
    metadata: { name, labels: { differ: "yes" } },
    spec,
  };
  return { method: "POST", path: `${path}/${version}/${plural}`, body };
}

/** A policy with its bindings. */
function withBindings(random: Random, name: string, isMutating: boolean): PolicyRequest[] {
  const { spec, hasParams } = isMutating ? mutatingSpec(random, true) : validatingSpec(random, true);
  const kind = isMutating ? "MutatingAdmissionPolicy" : "ValidatingAdmissionPolicy";
  // The order of bindings is random there, which matters where they change objects.
  const bindings = isMutating || chance(random, 0.7) ? 1 : 2;
  return [
    registered(kind, name, spec),
    ...Array.from({ length: bindings }, (_, at) =>
      registered(`${kind}Binding`, `${name}-${at}`, binding(random, name, hasParams, true, isMutating)),
    ),
  ];
}

function wrong(random: Random): PolicyRequest {
  const isMutating = chance(random, 0.3);
  const kind = isMutating ? "MutatingAdmissionPolicy" : "ValidatingAdmissionPolicy";
  const made = chance(random, 0.3)
    ? registered(`${kind}Binding`, "tried", binding(random, "tried", true, false, isMutating))
    : registered(kind, "tried", (isMutating ? mutatingSpec(random, false) : validatingSpec(random, false)).spec);
  return { ...made, path: `${made.path}?dryRun=All` };
}

function requestsAbout(random: Random, subject: Subject): PolicyRequest[] {
  const { group, versions, resource, kind, namespaced, subresources } = subject;
  const version = (): string => pick(random, versions);
  const at = (of: string, name?: string, part?: string): string =>
    [
      group === "" ? `/api/${of}` : `/apis/${group}/${of}`,
      ...(namespaced ? ["namespaces/{ns}"] : []),
      resource,
      ...(name === undefined ? [] : [name]),
      ...(part === undefined ? [] : [part]),
    ].join("/");
  const metadata = (name: string): Json => ({
    name,
    ...(chance(random, 0.6)
      ? {
          labels: {
            ...(chance(random, 0.7) ? { env: pick(random, ["prod", "dev"]) } : {}),
            ...(chance(random, 0.3) ? { a: "b" } : {}),
          },
        }
      : {}),
    ...(chance(random, 0.3) ? { annotations: { note: pick(random, ["", "n"]) } } : {}),
  });
  const whole = (of: string, name: string): Json => ({
    apiVersion: group === "" ? of : `${group}/${of}`,
    kind,
    metadata: metadata(name),
    ...subject.body(random),
  });
  const query = (): string =>
    pick(random, ["", "", "", "?dryRun=All", "?fieldManager=differ", "?fieldValidation=Strict"]);
  const user = (): { readonly user?: string } => (chance(random, 0.3) ? { user: "bob" } : {});
  const create = (name: string): PolicyRequest => {
    const of = version();
    return { method: "POST", path: `${at(of)}${query()}`, body: whole(of, name), ...user() };
  };
  const patch = (name: string): PolicyRequest => {
    const { metadata: changed, ...rest } = whole(version(), name);
    const { apiVersion: _version, kind: _kind, ...body } = rest as Json;
    return {
      method: "PATCH",
      patch: "merge",
      path: `${at(version(), name)}${query()}`,
      body: { metadata: changed, ...body },
      ...user(),
    };
  };
  const replace = (name: string): PolicyRequest => {
    const of = version();
    return { method: "PUT", path: `${at(of, name)}${query()}`, body: whole(of, name), ...user() };
  };
  const apply = (name: string): PolicyRequest => {
    const of = version();
    return {
      method: "PATCH",
      patch: "apply",
      path: `${at(of, name)}?fieldManager=applier&force=true`,
      body: whole(of, name),
      ...user(),
    };
  };
  const part = (name: string): PolicyRequest[] =>
    subresources.map((sub) => ({
      method: "PATCH",
      patch: "merge",
      path: `${at(version(), name, sub)}${query()}`,
      body: sub === "scale" ? { spec: { replicas: upTo(random, 5) } } : { status: { replicas: upTo(random, 3) } },
      ...user(),
    }));
  const remove = (name: string): PolicyRequest => ({
    method: "DELETE",
    path: `${at(version(), name)}${pick(random, ["", "?dryRun=All"])}`,
    ...user(),
  });
  return [
    create("one"),
    create("one"),
    create("two"),
    create("other"),
    patch("one"),
    replace("one"),
    patch("two"),
    apply("two"),
    apply("third"),
    ...part("one"),
    ...part("two"),
    remove("one"),
    remove("two"),
    remove("other"),
    remove("third"),
    create("one"),
  ];
}

/** The case of this number. */
export function policyCase(seed: number): PolicyCase {
  const random = seededRandom(seed);
  const param = (of: Json, where: string, name: string): PolicyRequest => ({
    method: "POST",
    path: where,
    body: { ...of, metadata: { name, labels: { set: name === "first" ? "one" : "two" } } },
  });
  const places = ["default", "differ-params", "{ns}"];
  const params = places.flatMap((ns) =>
    some(random, ["first", "second"], 0.8).flatMap((name) => [
      param(
        { apiVersion: "v1", kind: "ConfigMap", data: { limit: pick(random, ["3", "2", "x"]) } },
        `/api/v1/namespaces/${ns}/configmaps`,
        name,
      ),
      param(
        { apiVersion: "differ.example.com/v1", kind: "Gadget", spec: { replicas: 1, max: 2 + upTo(random, 2) } },
        `/apis/differ.example.com/v1/namespaces/${ns}/gadgets`,
        name,
      ),
    ]),
  );
  const zones = ["first", "second"].map((name) =>
    param(
      { apiVersion: "differ.example.com/v1", kind: "Zone", spec: { max: 2 + upTo(random, 2), names: ["a"] } },
      "/apis/differ.example.com/v1/zones",
      name,
    ),
  );
  const names = ["p1", "p2", "p3"].slice(0, 1 + upTo(random, 2));
  // The order of policies is random there, too.
  const mutating = chance(random, 0.6) ? pick(random, names) : "";
  const enforced = names.flatMap((name) => withBindings(random, `differ-${name}`, name === mutating));
  return {
    namespaceLabels: {
      ...(chance(random, 0.5) ? { tier: "gold" } : {}),
      ...(chance(random, 0.5) ? { env: "prod" } : {}),
    },
    params: [...params, ...zones],
    wrong: Array.from({ length: 8 }, () => wrong(random)),
    enforced,
    requests: subjects.filter(() => chance(random, 0.7)).flatMap((subject) => requestsAbout(random, subject)),
  };
}
