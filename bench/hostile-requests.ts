/**
 * Hostile requests: they look small or harmless, but cost a naive server seconds or gigabytes. `hostile.bench.ts` and
 * the tests send them while another client only reads.
 */
import type { Client } from "./target.ts";

/** A hostile request. */
export interface HostileRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: Buffer;
  /** The media type of the body. */
  readonly type?: string;
  readonly accept?: string;
  /** The expected status codes; by default any code from 200 to 499. */
  readonly codes?: readonly number[];
  /** A watch ends when it has received so many bytes; with 0 the client never reads. */
  readonly watchBytes?: number;
  /** The time in milliseconds for which the last byte of the body is held back. */
  readonly holdMs?: number;
}

interface HostileCase {
  readonly about: string;
  /** Creates the objects that the requests need. */
  prepare?(at: HostileSetting): Promise<void>;
  /** Returns the requests of one client; `index` distinguishes clients. */
  requests(at: HostileSetting, index: number): readonly HostileRequest[];
  /** Whether an administrator sends the requests, who is exempt from priority and fairness. */
  readonly byAdministrator?: boolean;
}

export interface HostileSetting {
  /** The client of an administrator. */
  readonly client: Client;
  readonly namespace: string;
  readonly domain: string;
  /** The number of objects in the namespace, of a kilobyte each. */
  readonly objects: number;
  /** The number of custom resource definitions, of six kilobytes each, in cases that create many. */
  readonly definitions: number;
  /** The number of watches of one client that reads none of them. */
  readonly watches: number;
  /** The time for which clients keep unfinished requests and unread answers open, in milliseconds. */
  readonly holdMs: number;
}

const group = "hostile.example.com";
const crds = (domain: string): string => `/apis/apiextensions.${domain}/v1/customresourcedefinitions`;

const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));

interface Names {
  readonly plural: string;
  readonly kind: string;
  readonly shortNames?: readonly string[];
}

const definitionOf = (domain: string, names: Names, versions: readonly object[]): string =>
  JSON.stringify({
    apiVersion: `apiextensions.${domain}/v1`,
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.${group}` },
    spec: { group, scope: "Namespaced", names, versions },
  });

function definition(domain: string, plural: string, kind: string, schema: object): string {
  const version = { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return definitionOf(domain, { plural, kind }, [version]);
}

/** Returns a definition with 1,000 versions, as many columns in each as there is space for, and 1,000 short names. */
function wideDefinition(domain: string, plural: string, kind: string): string {
  const openAPIV3Schema = { type: "object", properties: { a: { type: "string" } } };
  const column = { name: "A", type: "string", jsonPath: ".a" };
  const shortNames = Array.from({ length: 1000 }, (_, i) => `${plural}${i}`);
  const versions = Array.from({ length: 1000 }, (_, i) => ({
    name: `v${i + 1}`,
    served: true,
    storage: i === 0,
    schema: { openAPIV3Schema },
    additionalPrinterColumns: Array.from({ length: 10 }, () => column),
  }));
  return definitionOf(domain, { plural, kind, shortNames }, versions);
}

const listOf = (properties: object): object => ({
  type: "object",
  properties: { items: { type: "array", items: { type: "object", properties } } },
});

/** Creates an object that may exist from an earlier round. */
async function make({ client }: HostileSetting, path: string, body: string): Promise<void> {
  const { code, text } = await client.ask("POST", path, body);
  if (code !== 201 && code !== 409) throw new Error(`POST ${path}: ${code} ${text.slice(0, 300)}`);
}

async function define(at: HostileSetting, plural: string, kind: string, schema: object): Promise<void> {
  await make(at, crds(at.domain), definition(at.domain, plural, kind, schema));
  for (let tries = 0; tries < 200; tries++) {
    if ((await at.client.ask("GET", collection(at, plural))).code === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`${plural} are not served`);
}

/** Creates a role with 15,000 rules, bound five times to an idle user and once to the sender. */
async function manyRules(at: HostileSetting): Promise<void> {
  const rbac = `rbac.authorization.${at.domain}`;
  const rules = Array.from({ length: 15_000 }, (_, i) => ({ verbs: ["get"], apiGroups: [`g${i}`], resources: ["x"] }));
  const of = (kind: string, name: string, fields: object): string =>
    JSON.stringify({ apiVersion: `${rbac}/v1`, kind, metadata: { name }, ...fields });
  await make(at, `/apis/${rbac}/v1/clusterroles`, of("ClusterRole", "many-rules", { rules }));
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", name: "many-rules" };
  for (const [index, name] of ["mallory", ...Array.from({ length: 5 }, () => "ruled")].entries()) {
    const subjects = [{ apiGroup: rbac, kind: "User", name }];
    const binding = of("ClusterRoleBinding", `many-rules-${index}`, { roleRef, subjects });
    await make(at, `/apis/${rbac}/v1/clusterrolebindings`, binding);
  }
}

const collection = ({ namespace }: HostileSetting, plural: string): string =>
  `/apis/${group}/v1/namespaces/${namespace}/${plural}`;
const configMaps = ({ namespace }: HostileSetting): string => `/api/v1/namespaces/${namespace}/configmaps`;

/** Returns a create of an object of a resource that `define` made. */
const customObject = (
  at: HostileSetting,
  plural: string,
  kind: string,
  name: string,
  fields: object = {},
): HostileRequest => ({
  method: "POST",
  path: collection(at, plural),
  body: json({ apiVersion: `${group}/v1`, kind, metadata: { name }, ...fields }),
});

/** Returns the body `{"apiVersion":…,"items":[{},{},…]}`. */
const manyEmpty = (kind: string, name: string, count: number): Buffer =>
  Buffer.from(
    `{"apiVersion":"${group}/v1","kind":"${kind}","metadata":{"name":"${name}"},"items":[${"{},".repeat(count - 1)}{}]}`,
  );

/** Returns a create of a pod with `count` empty containers. */
const emptyContainers = ({ namespace }: HostileSetting, name: string, count: number): HostileRequest => ({
  method: "POST",
  path: `/api/v1/namespaces/${namespace}/pods`,
  body: Buffer.from(
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},"spec":{"containers":[${"{},".repeat(count - 1)}{}]}}`,
  ),
});

const configMap = (name: string, metadata: string, data = ""): Buffer =>
  Buffer.from(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"${metadata}}${data}}`);

const defaults = (count: number, length: number): object =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`field${i}`, { type: "string", default: "d".repeat(length) }]),
  );

const read = (path: string, accept?: string, more: Partial<HostileRequest> = {}): HostileRequest => ({
  method: "GET",
  path,
  codes: [200],
  ...(accept === undefined ? {} : { accept }),
  ...more,
});

const meta = (kind: string, domain: string): string => `application/json;as=${kind};g=meta.${domain};v=v1`;

/** Returns expressions of about `bytes` bytes together that take a long time to check, each of another kind. */
function hostileExpressions(list: string, bytes: number, seed: number): readonly string[] {
  const kinds: readonly ((i: number) => string)[] = [
    (i) => `${list}.size() != ${i + 1000}`,
    (i) => `!'a'.matches('[a-z]{1,300}x${seed}${i}')`,
    (i) => `${"[".repeat(100)}${i}${"]".repeat(100)} != []`,
    (i) => `${"[1].all(a, ".repeat(8)}a != -${i + 1}${")".repeat(8)}`,
  ];
  const expressions: string[] = [];
  for (let i = 0, left = bytes; left > 0; i++) {
    expressions.push(kinds[(i + seed) % kinds.length]!(i));
    left -= expressions.at(-1)!.length + 12;
  }
  return expressions;
}

const policy = (domain: string, name: string, expressions: readonly string[]): object => ({
  apiVersion: `admissionregistration.${domain}/v1`,
  kind: "ValidatingAdmissionPolicy",
  metadata: { name },
  spec: {
    matchConstraints: {
      resourceRules: [{ apiGroups: [group], apiVersions: ["v1"], operations: ["CREATE"], resources: ["policeds"] }],
    },
    validations: expressions.map((expression) => ({ expression })),
  },
});

/** Returns 1.2 MB of YAML in block style, the maximum size of a body. */
const yamlBody = (name: string): Buffer => {
  const lines = Array.from({ length: 90_000 }, (_, i) => `  key${i}: 'value ${i} with words'`);
  return Buffer.from(`apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${lines.join("\n")}\n`);
};

/** Returns an expression for a list in which a list from a text is doubled 30 times. */
const doublingExpression = (by = "[v, v]"): string => `[[self]]${`.map(v, ${by})`.repeat(30)}`;

const sharedValues = [
  `${doublingExpression()} == ${doublingExpression()}`,
  `${doublingExpression()} in [${doublingExpression()}]`,
  `sets.contains([${doublingExpression()}], [${doublingExpression()}])`,
  `'%s'.format([${doublingExpression()}]) == ''`,
  `${doublingExpression("v + v")}.size() > 0`,
];

const sharedValueRules = (): object =>
  Object.fromEntries(
    sharedValues.map((rule, i) => [`f${i}`, { type: "string", "x-kubernetes-validations": [{ rule }] }]),
  );

/** Creates a mutating policy with these variables, which writes the last one into each new object. */
async function mutate(
  at: HostileSetting,
  resource: string,
  variables: readonly { readonly name: string; readonly expression: string }[],
): Promise<void> {
  const apiVersion = `admissionregistration.${at.domain}/v1alpha1`;
  const of = (kind: string, spec: object): string =>
    JSON.stringify({ apiVersion, kind, metadata: { name: resource }, spec });
  const value = `variables.${variables.at(-1)!.name}`;
  const policy = of("MutatingAdmissionPolicy", {
    matchConstraints: {
      resourceRules: [{ apiGroups: [group], apiVersions: ["v1"], operations: ["CREATE"], resources: [resource] }],
    },
    reinvocationPolicy: "Never",
    variables,
    mutations: [
      { patchType: "JSONPatch", jsonPatch: { expression: `[JSONPatch{op: 'add', path: '/items', value: ${value}}]` } },
    ],
  });
  await make(at, `/apis/${apiVersion}/mutatingadmissionpolicies`, policy);
  const binding = of("MutatingAdmissionPolicyBinding", { policyName: resource });
  await make(at, `/apis/${apiVersion}/mutatingadmissionpolicybindings`, binding);
}

export const hostileCases: Readonly<Record<string, HostileCase>> = {
  "empty-items": {
    about: "3 MB of empty items of a schema with 100 defaults each",
    prepare: (at) => define(at, "hundreds", "Hundred", listOf(defaults(100, 8))),
    requests: (at, index) => [
      { method: "POST", path: collection(at, "hundreds"), body: manyEmpty("Hundred", `a${index}`, 1_000_000) },
    ],
  },
  "large-default": {
    about: "6 KB of empty items whose default is 50 KB",
    prepare: (at) => define(at, "swellings", "Swelling", listOf(defaults(1, 50_000))),
    requests: (at, index) => [
      { method: "POST", path: collection(at, "swellings"), body: manyEmpty("Swelling", `a${index}`, 2000) },
    ],
  },
  "owner-references": {
    about: "300,000 empty owner references",
    requests: (at, index) => [
      {
        method: "POST",
        path: configMaps(at),
        body: configMap(`o${index}`, `,"ownerReferences":[${"{},".repeat(299_999)}{}]`),
      },
    ],
  },
  finalizers: {
    about: "500,000 finalizers",
    requests: (at, index) => [
      {
        method: "POST",
        path: configMaps(at),
        body: configMap(`f${index}`, `,"finalizers":[${'"a/b",'.repeat(499_999)}"a/b"]`),
      },
    ],
  },
  containers: {
    about: "a pod of 100,000 empty containers",
    requests: (at, index) => [emptyContainers(at, `p${index}`, 100_000)],
  },
  "middling-containers": {
    about: "25 pods of 20,000 empty containers in 60 KB",
    requests: (at, index) => Array.from({ length: 25 }, (_, i) => emptyContainers(at, `p${index}-${i}`, 20_000)),
  },
  "middling-keys": {
    about: "50 config maps of 6,500 keys in 60 KB, none of them stored",
    requests: (at, index) =>
      Array.from({ length: 50 }, (_, i) => {
        const keys = Array.from({ length: 6500 }, (_key, k) => `"k${k}":""`);
        return {
          method: "POST",
          path: `${configMaps(at)}?dryRun=All`,
          body: configMap(`k${index}-${i}`, "", `,"data":{${keys.join()}}`),
        };
      }),
  },
  "wrong-values": {
    about: "15 objects with 6,000 values that are none of 80,000 allowed ones",
    prepare: (at) =>
      define(at, "choices", "Choice", {
        type: "object",
        properties: {
          list: {
            type: "array",
            items: { type: "string", enum: Array.from({ length: 80_000 }, (_, i) => `e${i}`) },
          },
        },
      }),
    requests: (at, index) =>
      Array.from({ length: 15 }, (_, i) =>
        customObject(at, "choices", "Choice", `w${index}-${i}`, {
          list: Array.from({ length: 6000 }, (_value, k) => `x${k}`),
        }),
      ),
  },
  "many-rules": {
    about: "50 questions what somebody may do who has 15,000 rules five times",
    prepare: manyRules,
    requests: (at) =>
      Array.from({ length: 50 }, () => ({
        method: "POST",
        path: `/apis/authorization.${at.domain}/v1/subjectaccessreviews`,
        body: json({ spec: { user: "ruled", resourceAttributes: { verb: "get", group: "other", resource: "x" } } }),
      })),
  },
  "many-groups": {
    about: "100 questions what somebody of 5,500 groups may do",
    prepare: manyRules,
    requests: (at) =>
      Array.from({ length: 100 }, () => ({
        method: "POST",
        path: `/apis/authorization.${at.domain}/v1/subjectaccessreviews`,
        body: json({
          spec: {
            user: "ruled",
            groups: Array.from({ length: 5500 }, (_, i) => `group${i}`),
            resourceAttributes: { verb: "get", group: "other", resource: "x" },
          },
        }),
      })),
  },
  "rules-review": {
    about: "50 lists of all rules of somebody who has 15,000",
    prepare: manyRules,
    requests: (at) =>
      Array.from({ length: 50 }, () => ({
        method: "POST",
        path: `/apis/authorization.${at.domain}/v1/selfsubjectrulesreviews`,
        body: json({ spec: { namespace: "default" } }),
      })),
  },
  "strategic-deletes": {
    about: "60,000 $patch: delete into 3,000 containers, as many as an object holds",
    async prepare(at) {
      const containers = Array.from({ length: 3000 }, (_, i) => ({ name: `c${i}`, image: "i" }));
      const body = { apiVersion: "v1", kind: "Pod", metadata: { name: "many" }, spec: { containers } };
      await make(at, `/api/v1/namespaces/${at.namespace}/pods`, JSON.stringify(body));
    },
    requests: ({ namespace }) => [
      {
        method: "PATCH",
        path: `/api/v1/namespaces/${namespace}/pods/many`,
        type: "application/strategic-merge-patch+json",
        body: json({
          spec: { containers: Array.from({ length: 60_000 }, (_, i) => ({ name: `x${i}`, $patch: "delete" })) },
        }),
      },
    ],
  },
  "field-errors": {
    about: "200,000 wrong keys of a config map",
    requests: (at, index) => {
      const keys = Array.from({ length: 200_000 }, (_, i) => `"!${i}":""`);
      return [{ method: "POST", path: configMaps(at), body: configMap(`e${index}`, "", `,"data":{${keys.join()}}`) }];
    },
  },
  "yaml-body": {
    about: "3 MB of YAML",
    requests: (at, index) => [
      { method: "POST", path: configMaps(at), type: "application/yaml", body: yamlBody(`y${index}`) },
    ],
  },
  "middling-yaml": {
    about: "25 bodies of YAML, each just too small for a thread, of 20,000 empty items",
    requests: (at, index) =>
      Array.from({ length: 25 }, (_, i) => ({
        method: "POST",
        path: configMaps(at),
        type: "application/yaml",
        body: Buffer.from(
          `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: m${index}-${i}}\nx: [${"{},".repeat(20_999)}{}]\n`,
        ),
      })),
  },
  "large-numbers": {
    about: "3 MB of 1e400",
    prepare: (at) => define(at, "opens", "Open", { type: "object", "x-kubernetes-preserve-unknown-fields": true }),
    requests: (at, index) => [
      {
        method: "POST",
        path: collection(at, "opens"),
        body: Buffer.from(
          `{"apiVersion":"${group}/v1","kind":"Open","metadata":{"name":"n${index}"},"x":[${"1e400,".repeat(499_999)}1]}`,
        ),
      },
    ],
  },
  selector: {
    about: "a list by a selector of 8,000 terms that all objects but for one pass",
    requests: (at) => [
      read(`${configMaps(at)}?limit=1&labelSelector=${Array.from({ length: 7999 }, (_, i) => `!a${i}`).join()},x`),
    ],
  },
  "list-yaml": {
    about: "a list of all objects as YAML",
    requests: (at) => [read(configMaps(at), "application/yaml")],
  },
  "list-table": {
    about: "a list of all objects as a Table",
    requests: (at) => [read(configMaps(at), meta("Table", at.domain))],
  },
  "list-metadata": {
    about: "a list of all objects' metadata",
    requests: (at) => [read(configMaps(at), meta("PartialObjectMetadataList", at.domain))],
  },
  "list-pretty": {
    about: "a list of all objects for people",
    requests: (at) => [read(`${configMaps(at)}?pretty=true`)],
  },
  "large-yaml": {
    about: "an object of 30,000 keys as YAML",
    async prepare(at) {
      const keys = Array.from({ length: 30_000 }, (_, i) => `"key${i}":"v${i % 10}"`);
      await define(at, "opens", "Open", { type: "object", "x-kubernetes-preserve-unknown-fields": true });
      const body = `{"apiVersion":"${group}/v1","kind":"Open","metadata":{"name":"keys"},"x":{${keys.join()}}}`;
      await make(at, collection(at, "opens"), body);
    },
    requests: (at) => [read(`${collection(at, "opens")}/keys`, "application/yaml")],
  },
  "large-patches": {
    about: "10 small patches of an object of 30,000 keys",
    async prepare(at) {
      await hostileCases["large-yaml"]!.prepare!(at);
    },
    requests: (at, index) =>
      Array.from({ length: 10 }, (_, i) => ({
        method: "PATCH",
        path: `${collection(at, "opens")}/keys?dryRun=All`,
        type: "application/merge-patch+json",
        body: json({ metadata: { annotations: { a: `${index}-${i}` } } }),
      })),
  },
  "selecting-watches": {
    about: "60 watches of a second that begin with what selectors of 1,000 terms leave of all objects",
    requests: (at) =>
      Array.from({ length: 60 }, (_, k) => {
        const terms = Array.from({ length: 990 }, (_term, i) => `!a${i}`);
        return read(
          `${configMaps(at)}?watch=true&timeoutSeconds=1&resourceVersion=0&labelSelector=${terms.join()},x${k}`,
        );
      }),
  },
  "initial-events": {
    about: "100 watches that begin with all objects",
    requests: (at) =>
      Array.from({ length: 100 }, () =>
        read(
          `${configMaps(at)}?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
          undefined,
          { watchBytes: at.objects * 1000 },
        ),
      ),
  },
  "unread-watches": {
    about: "many watches that begin with all objects, none of them read",
    requests: (at) =>
      Array.from({ length: at.watches }, () =>
        read(`${configMaps(at)}?watch=true`, undefined, { watchBytes: 0, holdMs: at.holdMs, codes: [0, 200] }),
      ),
  },
  "slow-bodies": {
    about: "250 bodies of 3 MB that never end, by an administrator",
    byAdministrator: true,
    requests: (at) => {
      const body = Buffer.alloc(3 * 1024 * 1024 - 100, " ");
      return Array.from({ length: 250 }, () => ({
        method: "POST",
        path: configMaps(at),
        body,
        holdMs: at.holdMs,
        codes: [0, 400, 408, 429],
      }));
    },
  },
  "slow-small-bodies": {
    about: "250 bodies of a kilobyte that never end",
    requests: (at) =>
      Array.from({ length: 250 }, () => ({
        method: "POST",
        path: configMaps(at),
        body: Buffer.alloc(1024, " "),
        holdMs: at.holdMs,
        codes: [0, 400, 408, 429],
      })),
  },
  "rule-definitions": {
    about: "12 definitions of 60 KB of rules: short ones, regular expressions, nested lists and macros",
    requests: ({ domain }, index) =>
      Array.from({ length: 12 }, (_, i) => ({
        method: "POST",
        path: `${crds(domain)}?dryRun=All`,
        body: Buffer.from(
          definition(domain, `ruled${index}x${i}s`, `Ruled${index}x${i}`, {
            type: "object",
            properties: {
              list: {
                type: "array",
                maxItems: 9,
                items: { type: "integer" },
                "x-kubernetes-validations": hostileExpressions("self", 60_000, i).map((rule) => ({ rule })),
              },
            },
          }),
        ),
      })),
  },
  "costly-rules": {
    about: "20 objects whose rules take as long as they may, of 40 KB of them",
    prepare: (at) =>
      define(at, "costlies", "Costly", {
        type: "object",
        properties: {
          list: {
            type: "array",
            maxItems: 450,
            items: { type: "integer" },
            "x-kubernetes-validations": [
              ...hostileExpressions("self", 40_000, 0),
              ...Array.from({ length: 14 }, (_, i) => `self.all(a, self.all(b, a + b + ${i} >= 0))`),
            ].map((rule) => ({ rule })),
          },
        },
      }),
    requests: (at, index) =>
      Array.from({ length: 20 }, (_, i) =>
        customObject(at, "costlies", "Costly", `c${index}-${i}`, {
          list: Array.from({ length: 300 }, (_value, k) => k),
        }),
      ),
  },
  "policy-writes": {
    about: "12 policies of 60 KB of expressions",
    requests: ({ domain }, index) =>
      Array.from({ length: 12 }, (_, i) => ({
        method: "POST",
        path: `/apis/admissionregistration.${domain}/v1/validatingadmissionpolicies?dryRun=All`,
        body: json(policy(domain, `p${index}-${i}`, hostileExpressions("object.items", 60_000, i))),
      })),
  },
  "costly-policies": {
    about: "5 objects that 10 policies look at, each for as long as it may",
    async prepare(at) {
      await define(at, "policeds", "Policed", listOf({}));
      const ten = "[0,1,2,3,4,5,6,7,8,9]";
      const loop = (i: number): string =>
        `${ten}.all(a, ${ten}.all(b, ${ten}.all(c, ${ten}.all(d, ${ten}.all(e, a + b + c + d + e >= -${i})))))`;
      const path = `/apis/admissionregistration.${at.domain}/v1`;
      for (let i = 0; i < 10; i++) {
        const expressions = Array.from({ length: 12 }, (_, k) => loop(k));
        await make(
          at,
          `${path}/validatingadmissionpolicies`,
          JSON.stringify(policy(at.domain, `costly${i}`, expressions)),
        );
        const binding = {
          apiVersion: `admissionregistration.${at.domain}/v1`,
          kind: "ValidatingAdmissionPolicyBinding",
          metadata: { name: `costly${i}` },
          spec: { policyName: `costly${i}`, validationActions: ["Deny"] },
        };
        await make(at, `${path}/validatingadmissionpolicybindings`, JSON.stringify(binding));
      }
    },
    requests: (at, index) =>
      Array.from({ length: 5 }, (_, i) => customObject(at, "policeds", "Policed", `p${index}-${i}`)),
  },
  "shared-values": {
    about: "20 objects of 60 bytes whose rules walk values of 2^30 parts",
    prepare: (at) => define(at, "shareds", "Shared", { type: "object", properties: sharedValueRules() }),
    requests: (at, index) =>
      Array.from({ length: 20 }, (_, i) =>
        customObject(at, "shareds", "Shared", `s${index}-${i}`, { [`f${i % sharedValues.length}`]: "x" }),
      ),
  },
  "doubling-variables": {
    about: "5 objects for which a mutating policy has variables that double a list 40 times",
    async prepare(at) {
      await define(at, "mutateds", "Mutated", listOf({}));
      await mutate(at, "mutateds", [
        { name: "v0", expression: "['x']" },
        ...Array.from({ length: 40 }, (_, i) => ({
          name: `v${i + 1}`,
          expression: `[variables.v${i}, variables.v${i}]`,
        })),
      ]);
    },
    requests: (at, index) =>
      Array.from({ length: 5 }, (_, i) => customObject(at, "mutateds", "Mutated", `m${index}-${i}`)),
  },
  "pattern-states": {
    about: "an object of 3 texts for a pattern with a thousand ways to go on",
    prepare: (at) =>
      define(at, "patterneds", "Patterned", {
        type: "object",
        properties: { texts: { type: "array", items: { type: "string", pattern: "^(a{1,100}){1,10}$" } } },
      }),
    requests: (at, index) => [
      customObject(at, "patterneds", "Patterned", `p${index}`, {
        texts: Array.from({ length: 3 }, (_, k) => "a".repeat(998 + k)),
      }),
    ],
  },
  "delete-definitions": {
    about: "a deletion of 500 large definitions of custom resources as a collection",
    async prepare(at) {
      const schema = { type: "object", properties: defaults(50, 100) };
      for (let i = 0; i < at.definitions; i++) {
        const name = `kind${i}s`;
        await make(at, crds(at.domain), definition(at.domain, name, `Kind${i}`, schema));
      }
    },
    requests: (at) => [{ method: "DELETE", path: crds(at.domain), codes: [200] }],
  },
  "wide-definition": {
    about: "definitions of 1,000 versions: one that is made, and one that is changed four times and published",
    async prepare(at) {
      await make(at, crds(at.domain), wideDefinition(at.domain, "wides", "Wide"));
    },
    requests: ({ domain }, index) => [
      {
        method: "POST",
        path: crds(domain),
        body: Buffer.from(wideDefinition(domain, `wide${index}s`, `Wide${index}`)),
        codes: [201, 409],
      },
      ...Array.from({ length: 4 }, (_, i) => ({
        method: "PATCH",
        path: `${crds(domain)}/wides.${group}`,
        type: "application/merge-patch+json",
        body: json({ spec: { names: { shortNames: [`w${index}x${i}`] } } }),
      })),
      read(`/apis/${group}`),
      read("/apis", `application/json;g=apidiscovery.${domain};v=v2;as=APIGroupDiscoveryList`),
      read("/openapi/v2"),
      read("/openapi/v3"),
    ],
  },
};
