/**
 * Tests that threads answer as the event loop does: the same random requests go to an ordinary server and to one that
 * treats every request as large. Answers, watch events, audit log and metric labels agree, except for random values.
 */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { encodeYaml } from "#codec/yaml.ts";
import { type Clock, systemClock } from "#std/clock.ts";
import { type Random, seededRandom } from "#std/random.ts";
import { type Answer, asTable, patchTypes } from "../client.ts";
import { custom, crds, definition } from "../crds.ts";
import { Api, eventually, gated, openServer, temporaryFolder, type TestServer } from "../harness.ts";
import { newRequest } from "../certificate-requests.ts";
import { configMap, lease, namespace, namespaces, type ObjectBody, secret } from "../objects.ts";
import { protobufBody } from "../protobuf-object.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? 1);
const runs = Number(process.env["FUZZ_RUNS"] ?? 700);

const below = (random: Random, count: number): number => Math.floor(random.next() * count);
const oneOf = <T>(random: Random, list: readonly T[]): T => list[below(random, list.length)]!;
const oneIn = (random: Random, count: number): boolean => below(random, count) === 0;

const ownPeriodMs = 10_000;

/**
 * The machine's clock, except that the date stands still between two requests, and that periodic work of the server
 * (its own service and identity lease) runs only once, since its requests are counted too.
 */
class StandingClock implements Clock {
  #nowMs = systemClock.now();
  readonly monotonic = systemClock.monotonic;

  now(): number {
    return this.#nowMs;
  }

  after(delayMs: number, callback: () => void): () => void {
    return delayMs === ownPeriodMs ? () => undefined : systemClock.after(delayMs, callback);
  }

  step(): void {
    this.#nowMs += 1000;
  }
}

/** One of the two servers, with its answers, and with comparable names for its random values. */
class Twin {
  readonly api: Api;
  readonly #server: TestServer;
  readonly #auditLog: string;
  /** The newest object at each path. */
  readonly objects = new Map<string, ObjectBody>();
  readonly #given = new Map<string, string>();
  readonly told: string[] = [];

  constructor(server: TestServer, auditLog: string) {
    this.api = new Api(server);
    this.#server = server;
    this.#auditLog = auditLog;
  }

  /**
   * Returns the text with names in place of random values: ids, versions, addresses, ports, endings of names, tokens,
   * and versions in protobuf, which follow the byte of their length.
   */
  rename(text: string): string {
    const given =
      /(?<uid>[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12})|(?<=resourceVersion\\*"?: ?\\*"?)(?<version>\d+)(?=\\*"|\n|$)|(?<=in record \()(?<recorded>\d+)|(?<address>\b10\.\d+\.\d+\.\d+)|(?<port>\b[2-5]\d{4}\b)|(?<=\b(?:gen|kube-api-access)-)(?<ending>[a-z0-9]{5})\b|(?<token>eyJ[\w-]+\.[\w-]+\.[\w-]+)|(?<=(?:2|[^ -~])[^ -~])(?<binary>\d{2,})/g;
    return text.replace(given, (found, ...rest) => {
      const groups = rest.at(-1) as Readonly<Record<string, string | undefined>>; // named groups come last
      const kind = Object.keys(groups).find((name) => groups[name] !== undefined)!;
      const id = `${kind} ${found}`;
      let name = this.#given.get(id);
      if (name === undefined) {
        name = `<${kind} ${this.#given.size}>`;
        this.#given.set(id, name);
      }
      return name;
    });
  }

  /** Records the watch events of a collection. */
  async follow(path: string): Promise<void> {
    const stream = await this.api.watch(path);
    void (async () => {
      for (;;) this.told.push(`${path} ${JSON.stringify((await stream.next(3_600_000)).value)}`);
    })().catch(() => undefined);
  }

  /** Returns the audit events of requests from tests. */
  takeAudit(): string[] {
    const lines = readFileSync(this.#auditLog, "utf8").split("\n");
    return lines.filter((line) => line.includes('"userAgent":"suite/1.0"') && !/"verb":"watch"|"\/metrics"/.test(line));
  }

  async close(): Promise<void> {
    this.api.close();
    await this.#server.close();
  }
}

const policy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [{ level: "None", userGroups: ["system:serviceaccounts"] }, { level: "RequestResponse" }],
};

async function openTwins(clock: Clock): Promise<[Twin, Twin]> {
  const open = async (largeBytes?: number): Promise<Twin> => {
    const folder = temporaryFolder();
    const auditPolicyFile = join(folder, "policy.json");
    const auditLogPath = join(folder, "audit.log");
    writeFileSync(auditPolicyFile, JSON.stringify(policy));
    // In large ranges no server gives a random address or port twice, which the other would not do.
    const ranges = { serviceClusterIpRange: ["10.0.0.0/12"], serviceNodePortRange: { first: 20_000, size: 40_000 } };
    const settings = { ...gated, ...ranges, auditPolicyFile, auditLogPath, controllers: ["-*"] };
    const server = await openServer("k8s.io", settings, { clock, ...(largeBytes === undefined ? {} : { largeBytes }) });
    return new Twin(server, auditLogPath);
  };
  return Promise.all([open(), open(0)]);
}

/** A request. Its content may depend on earlier answers of a server. */
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly options: {
    readonly as?: string;
    type?: string;
    accept?: string;
    headers?: Readonly<Record<string, string>>;
  };
  body(seen: ReadonlyMap<string, ObjectBody>): unknown;
}

const ns = "twins";
const core = `/api/v1/namespaces/${ns}`;
const group = "twins.example.com";
const widgetSchema = {
  type: "object",
  properties: {
    spec: {
      type: "object",
      properties: {
        size: { type: "integer", default: 3, maximum: 100 },
        replicas: { type: "integer" },
        any: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        items: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, colour: { type: "string", default: "red" } },
          },
        },
      },
    },
    status: { type: "object", properties: { replicas: { type: "integer" }, note: { type: "string" } } },
  },
};
const widgetDefinition = definition(group, {
  scope: "Namespaced",
  versions: ["v1", "v2"].map((name) => ({
    name,
    served: true,
    storage: name === "v1",
    ...(name === "v1" ? { deprecated: true } : {}),
    schema: { openAPIV3Schema: widgetSchema },
    subresources: {
      status: {},
      scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
    },
    additionalPrinterColumns: [{ name: "Size", type: "integer", jsonPath: ".spec.size" }],
  })),
});

interface Kind {
  readonly path: string;
  readonly parts: readonly string[];
  make(random: Random, name: string): ObjectBody;
}

const podSpec = (random: Random): object => ({
  containers: Array.from({ length: 1 + below(random, 2) }, (_, i) => ({
    name: oneIn(random, 40) ? "Bad Name" : `c${i}`,
    image: "i",
    ...(oneIn(random, 2)
      ? { resources: { requests: { cpu: oneOf(random, ["1", "500m", "1e3", "0.1", "2", "1k", "x"]) } } }
      : {}),
    ...(oneIn(random, 2) ? { ports: [{ containerPort: oneOf(random, [80, 81, 82, 83, 70000]) }] } : {}),
  })),
  ...(oneIn(random, 3) ? { nodeSelector: { a: "b" } } : {}),
});
const of = (apiVersion: string, kind: string, name: string, fields: object): ObjectBody => ({
  apiVersion,
  kind,
  metadata: { name },
  ...fields,
});
const textOf = (random: Random): string =>
  oneOf(random, ["", "a", "<&>\u2028", "é\u0000", "line\nline", "9007199254740993", '"q\\"', "x".repeat(300), "1e3"]);
const data = (random: Random): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: below(random, 4) }, () => [
      oneOf(random, ["a", "b", "constructor", "__proto__", "x.y"]),
      textOf(random),
    ]),
  );

const randomTerms = (random: Random): object => ({
  selector: { matchLabels: { app: "a" } },
  template: { metadata: { labels: { app: oneIn(random, 12) ? "b" : "a" } }, spec: podSpec(random) },
});

const kinds: readonly Kind[] = [
  { path: `${core}/configmaps`, parts: [], make: (random, name) => configMap(name, data(random)) },
  { path: `${core}/secrets`, parts: [], make: (random, name) => secret(name, data(random)) },
  {
    path: `${core}/services`,
    parts: ["status"],
    make: (random, name) =>
      of("v1", "Service", name, {
        spec: {
          ...oneOf<object>(random, [
            {},
            { type: "NodePort" },
            { clusterIP: "None" },
            { type: "ExternalName", externalName: "x.example.com" },
            { type: "LoadBalancer" },
            { clusterIP: oneOf(random, ["10.0.0.77", "1.2.3.4"]) },
          ]),
          ports: [{ port: oneOf(random, [80, 443, 443, 0]), name: "p" }],
        },
      }),
  },
  {
    path: `${core}/pods`,
    parts: ["status", "eviction", "binding"],
    make: (random, name) => of("v1", "Pod", name, { spec: podSpec(random) }),
  },
  {
    path: `/apis/apps/v1/namespaces/${ns}/deployments`,
    parts: ["status", "scale"],
    make: (random, name) =>
      of("apps/v1", "Deployment", name, { spec: { replicas: below(random, 4), ...randomTerms(random) } }),
  },
  {
    path: `/apis/coordination.k8s.io/v1/namespaces/${ns}/leases`,
    parts: [],
    make: (random, name) =>
      lease(name, {
        holderIdentity: "h",
        leaseDurationSeconds: oneOf(random, [15, 15, 15, 0]),
        ...(oneIn(random, 2) ? { renewTime: "2026-01-01T00:00:00.000000Z" } : {}),
      }),
  },
  {
    path: `${core}/events`,
    parts: [],
    make: (random, name) =>
      of("v1", "Event", name, {
        involvedObject: { kind: "Pod", namespace: oneIn(random, 8) ? "other" : ns, name: "a" },
        reason: "R",
        type: oneOf(random, ["Normal", "Odd"]),
        message: textOf(random),
      }),
  },
  {
    path: `${core}/serviceaccounts`,
    parts: ["token"],
    make: (random, name) =>
      of("v1", "ServiceAccount", name, oneIn(random, 2) ? { automountServiceAccountToken: false } : {}),
  },
  {
    path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${ns}/roles`,
    parts: [],
    make: (random, name) =>
      of("rbac.authorization.k8s.io/v1", "Role", name, {
        rules: [{ apiGroups: [""], resources: ["pods"], verbs: oneOf(random, [["get"], ["*"], []]) }],
      }),
  },
  {
    path: `/apis/policy/v1/namespaces/${ns}/poddisruptionbudgets`,
    parts: ["status"],
    make: (random, name) =>
      of("policy/v1", "PodDisruptionBudget", name, {
        spec: { minAvailable: oneOf<unknown>(random, [1, "50%", "x"]), selector: { matchLabels: { a: "b" } } },
      }),
  },
  {
    path: "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    parts: ["status", "approval"],
    make: (random, name) =>
      of("certificates.k8s.io/v1", "CertificateSigningRequest", name, {
        spec: {
          request: oneIn(random, 4) ? "eA==" : signingRequest,
          signerName: "example.com/s",
          usages: ["client auth"],
        },
      }),
  },
  {
    path: "/apis/scheduling.k8s.io/v1/priorityclasses",
    parts: [],
    make: (random, name) =>
      of("scheduling.k8s.io/v1", "PriorityClass", name, {
        value: oneOf(random, [1, 1, 2_000_000_000]),
        globalDefault: false,
      }),
  },
  {
    path: "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    parts: [],
    make: (_random, name) => of("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", name, {}),
  },
  {
    path: namespaces,
    parts: ["status", "finalize"],
    make: (random, name) => namespace(name, oneIn(random, 2) ? { labels: { a: "b" } } : {}),
  },
  {
    path: crds,
    parts: ["status"],
    make: (random, name) =>
      definition(`${name}.example.com`, {
        schema: oneOf<object>(random, [
          { type: "object" },
          { type: "object", properties: { a: { type: "array" } } },
          { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        ]),
      }),
  },
  ...["v1", "v2"].map((version) => ({
    path: `/apis/${group}/${version}/namespaces/${ns}/widgets`,
    parts: ["status", "scale"],
    make: (random: Random, name: string): ObjectBody => ({
      ...custom(group, name, {
        spec: {
          ...(oneIn(random, 2) ? { size: oneOf<unknown>(random, [1, 2, 3, 101, "x", null]) } : {}),
          ...(oneIn(random, 2) ? { replicas: below(random, 3) } : {}),
          ...(oneIn(random, 2) ? { any: { long: 1, ...data(random), list: [null, {}, []] } } : {}),
          items: Array.from({ length: below(random, 3) }, (_, i) => ({ name: `i${i % 2}`, extra: 1 })),
        },
        ...(oneIn(random, 2) ? { status: { replicas: 1, note: textOf(random) } } : {}),
      }),
      apiVersion: `${group}/${version}`,
    }),
  })),
];

const { request: signingRequest } = await newRequest([{ CN: ["twin"] }]);

const names = ["a", "b", "c"];

/** Returns the path of an object of a kind. */
const pathOf = ({ path }: Kind, name: string): string =>
  `${path}/${path === crds ? `widgets.${name}.example.com` : name}`;

type Metadata = Readonly<Record<string, unknown>>;
const metaOf = (object: ObjectBody): Metadata => (object["metadata"] ?? {}) as Metadata; // objects of tests

/** Returns the object with some odd or invalid changes. */
function tweak(random: Random, object: ObjectBody): ObjectBody {
  const withMeta = (more: object): ObjectBody => ({ ...object, metadata: { ...metaOf(object), ...more } });
  const owner = { apiVersion: "v1", kind: "Pod", name: "o", uid: "u" };
  switch (below(random, 40)) {
    case 0:
      return withMeta({ labels: { a: "b", constructor: "c" } });
    case 1:
      return withMeta({ labels: { "bad key!": "b" } });
    case 2:
      return withMeta({ annotations: { resourceVersion: "9007199254740991", "example.com/a": textOf(random) } });
    case 3:
      return withMeta({ finalizers: ["example.com/hold"] });
    case 4:
      return withMeta({ ownerReferences: [owner, owner] });
    case 5:
      return withMeta({ namespace: "elsewhere" });
    case 6:
      return withMeta({ name: "Other_Name" });
    case 7:
      return withMeta({ uid: "11111111-1111-4111-8111-111111111111" });
    case 8:
      return withMeta({ resourceVersion: oneOf(random, ["1", "0", "x", "", ""]) });
    case 9:
      return { ...object, kind: "Pod" };
    case 10:
      return { ...object, apiVersion: "apps/v1" };
    case 11:
      return { ...object, unknownField: { a: 1 } };
    case 12:
      return { ...object, data: 5, spec: "x" };
    case 13:
      return withMeta({ deletionTimestamp: "2020-01-01T00:00:00Z", creationTimestamp: "2020-01-01T00:00:00Z" });
    case 14:
      return withMeta({ managedFields: [] });
    case 15:
      return withMeta({ finalizers: [], labels: null, annotations: {} });
    default:
      return object;
  }
}

/** Returns a body in one of the forms that clients send, sometimes with errors. */
function encodeRandomly(random: Random, object: unknown): { type: string; body: unknown } {
  const json = JSON.stringify(object);
  switch (below(random, 14)) {
    case 0:
      return { type: "application/yaml", body: encodeYaml(object) };
    case 1:
    case 2:
      return {
        type: "application/vnd.kubernetes.protobuf",
        body: protobufBody(object as ObjectBody) ?? Buffer.from(json), // the body is an object
      };
    case 3:
      return oneOf(random, [
        { type: "application/json", body: json.slice(0, -below(random, 9)) },
        { type: "application/json", body: json.replace("{", '{"kind":"Twice",') },
        { type: "application/yaml", body: `${json}\n---\nx: y` },
        { type: "application/yaml", body: "a: b: c" },
        { type: "application/json", body: "[]" },
        { type: "application/json", body: "" },
        { type: "application/json", body: json.replace(/"a"/, "9007199254740993") },
        { type: "text/plain", body: json },
        { type: "application/vnd.kubernetes.protobuf", body: Buffer.from("k8s\u0000 broken", "latin1") },
      ]);
    default:
      return { type: "application/json", body: json };
  }
}

const accepts = [
  "application/yaml",
  "application/yaml",
  asTable,
  asTable,
  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
  "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
  "text/html",
  "application/vnd.kubernetes.protobuf",
];

function queryOf(random: Random, isApply: boolean): string {
  const query: string[] = [];
  if (oneIn(random, 5)) query.push(oneIn(random, 12) ? "dryRun=Some" : "dryRun=All");
  if (oneIn(random, 3))
    query.push(`fieldValidation=${oneOf(random, ["Strict", "Warn", "Ignore", "Warn", "Ignore", "Odd"])}`);
  if (isApply || oneIn(random, 4)) query.push(`fieldManager=${oneOf(random, ["one", "two"])}`);
  if (isApply && oneIn(random, 2)) query.push("force=true");
  if (oneIn(random, 10)) query.push("pretty=true");
  return query.length === 0 ? "" : `?${query.join("&")}`;
}

function whoAsks(random: Random): Sent["options"] {
  if (oneIn(random, 12)) return { as: "alice" };
  if (!oneIn(random, 10)) return {};
  return {
    headers: {
      "impersonate-user": "mallory",
      "impersonate-uid": "m-uid",
      "impersonate-group": "system:masters",
      "impersonate-extra-scope": "x",
    },
  };
}

/** A change of the newest object at the path, as this server showed it. */
type Change = (object: ObjectBody) => ObjectBody;

function changeOf(random: Random, kind: Kind, name: string): Change {
  const body = kind.make(random, name);
  const version = below(random, 10);
  const keepsFinalizers = oneIn(random, 2);
  return (object) => {
    const { resourceVersion, finalizers, ...metadata } = metaOf(object);
    return {
      ...object,
      ...body,
      metadata: {
        ...metadata,
        ...(keepsFinalizers ? { finalizers } : {}),
        ...(version === 0 ? {} : { resourceVersion: version === 1 ? "1" : resourceVersion }),
      },
    };
  };
}

function patchOf(random: Random, kind: Kind, name: string): { type: string; body: string } {
  const object = tweak(random, kind.make(random, name));
  const { metadata: _metadata, ...fields } = object;
  const merge = {
    ...fields,
    metadata: oneOf<object>(random, [
      { labels: { p: "q" } },
      { labels: null, finalizers: null },
      { annotations: { p: textOf(random) } },
      { resourceVersion: "1" },
      { finalizers: ["example.com/hold"] },
      {},
    ]),
  };
  switch (below(random, 8)) {
    case 0:
    case 1:
      return { type: patchTypes.merge, body: JSON.stringify(merge) };
    case 2:
      return { type: patchTypes.strategic, body: JSON.stringify(merge) };
    case 3:
      return {
        type: patchTypes.strategic,
        body: JSON.stringify({
          spec: { containers: [{ name: "c0", $patch: "delete" }], $retainKeys: ["x"] },
          data: null,
        }),
      };
    case 4: {
      const operations = [
        { op: "test", path: "/kind", value: oneIn(random, 6) ? "X" : object["kind"] },
        { op: "add", path: "/metadata/labels", value: { j: "p" } },
        { op: "replace", path: "/data", value: data(random) },
        { op: "copy", from: "/metadata/labels", path: "/metadata/annotations" },
        { op: "remove", path: "/metadata/finalizers" },
        { op: "odd", path: "/a" },
      ];
      return { type: patchTypes.json, body: JSON.stringify([operations[0], oneOf(random, operations)]) };
    }
    case 5:
      return { type: oneOf(random, [patchTypes.merge, patchTypes.json, patchTypes.apply]), body: '{"a":' };
    default:
      return {
        type: patchTypes.apply,
        body: oneIn(random, 3) ? encodeYaml(object).toString() : JSON.stringify(object),
      };
  }
}

/** Returns a body of a subresource that has another kind. */
function partBody(random: Random, kind: Kind, part: string, name: string): ObjectBody {
  switch (part) {
    case "scale":
      return of("autoscaling/v1", "Scale", name, { spec: { replicas: oneOf<unknown>(random, [0, 5, -1, "x"]) } });
    case "eviction":
      return of("policy/v1", "Eviction", name, {});
    case "binding":
      return of("v1", "Binding", name, { target: { kind: "Node", name: "n" } });
    case "token":
      return of("authentication.k8s.io/v1", "TokenRequest", "", {
        spec: { expirationSeconds: oneOf(random, [3600, 1]), audiences: ["a"] },
      });
    default:
      return kind.make(random, name);
  }
}

function nextRequest(random: Random): Sent {
  const kind = oneOf(random, kinds);
  const name = oneOf(random, names);
  const path = pathOf(kind, name);
  const part = oneIn(random, 4) && kind.parts.length > 0 ? oneOf(random, kind.parts) : "";
  const target = part === "" ? path : `${path}/${part}`;
  const who = whoAsks(random);
  const accept = oneIn(random, 6) ? { accept: oneOf(random, accepts) } : {};
  const action = below(random, 12);
  const isCreated = ["eviction", "binding", "token"].includes(part);
  if (action < 3 || isCreated) {
    const plain = part === "" ? kind.make(random, name) : partBody(random, kind, part, name);
    const generates = part === "" && oneIn(random, 8);
    const named = generates ? { ...plain, metadata: { generateName: "gen-" } } : plain;
    const { type, body } = encodeRandomly(random, tweak(random, named));
    const to = isCreated ? target : kind.path;
    return {
      method: "POST",
      path: to + queryOf(random, false),
      options: { ...who, ...accept, type },
      body: () => body,
    };
  }
  if (action < 6) {
    const change = changeOf(random, kind, name);
    const odd = oneIn(random, 3) ? below(random, 1e9) : undefined;
    const form = below(random, 1e9);
    const scale = part === "scale" ? partBody(random, kind, part, name) : undefined;
    const options: Sent["options"] = { ...who, ...accept };
    return {
      method: "PUT",
      path: target + queryOf(random, false),
      options,
      body(seen) {
        const known = scale ?? change(seen.get(path) ?? kind.make(seededRandom(1), name));
        const { type, body } = encodeRandomly(
          seededRandom(form),
          odd === undefined ? known : tweak(seededRandom(odd), known),
        );
        options.type = type;
        return body;
      },
    };
  }
  if (action < 9) {
    const { type, body } =
      part === "scale" ? { type: patchTypes.merge, body: '{"spec":{"replicas":2}}' } : patchOf(random, kind, name);
    const query = queryOf(random, type === patchTypes.apply && !oneIn(random, 10));
    return { method: "PATCH", path: target + query, options: { ...who, ...accept, type }, body: () => body };
  }
  if (action === 9) {
    const options = oneOf<object | undefined>(random, [
      undefined,
      undefined,
      { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 },
      { propagationPolicy: oneOf(random, ["Foreground", "Orphan", "Odd"]) },
      { preconditions: { resourceVersion: "1" } },
    ]);
    return { method: "DELETE", path: path + queryOf(random, false), options: who, body: () => options };
  }
  const version = oneIn(random, 8) ? "?resourceVersion=0" : "";
  const shown = oneOf(random, [...accepts, undefined]);
  return {
    method: "GET",
    path: target + version,
    options: { ...who, ...(shown === undefined ? {} : { accept: shown }) },
    body: () => undefined,
  };
}

/** Returns the headers except those that differ for each answer. */
function headersOf(answer: Answer): object {
  const { date: _date, "audit-id": _id, "content-length": _length, ...headers } = answer.headers;
  return headers;
}

async function ask(twin: Twin, { method, path, options, body }: Sent): Promise<{ text: string; asked: string }> {
  const bytes = body(twin.objects);
  const answer = await twin.api.send(method, path, bytes, { literal: true, ...options });
  const value = answer.value as ObjectBody | undefined; // JSON, or nothing
  const plain = path.split("?")[0]!;
  const isObject =
    typeof value?.["metadata"] === "object" && !["Status", "PartialObjectMetadata"].includes(String(value["kind"]));
  // A dry run shows a random address, which may be taken on this server only.
  const isDry = path.includes("dryRun=");
  if (answer.status >= 300 || isDry || method === "DELETE") {
    // The newest object is the same.
  } else if (!isObject) {
    // The answer does not show the object, such as a new service with another random address.
    const isMeant = (known: string): boolean => known.startsWith(plain) || plain.startsWith(known);
    if (method !== "GET") for (const known of twin.objects.keys()) if (isMeant(known)) twin.objects.delete(known);
  } else {
    const name = String(metaOf(value)["name"]);
    if (method === "POST") twin.objects.set(`${plain}/${name}`, value);
    else if (plain.endsWith(`/${name}`)) twin.objects.set(plain, value);
  }
  // Random addresses and ports of services change the lengths in binary answers, too.
  const isComparable = !plain.includes("/services") || !/protobuf|cbor/.test(answer.headers["content-type"] ?? "");
  const shown = isComparable ? answer.text : "";
  return {
    text: twin.rename(`${answer.status} ${JSON.stringify(headersOf(answer))} ${shown}`),
    asked: `${method} ${path} ${JSON.stringify(options)} ${String(bytes).slice(0, 600)}`,
  };
}

/**
 * Returns the number of requests since `before`, by their series of metrics, without requests that the server itself
 * sends at any time.
 */
async function countsOf(twin: Twin, before: ReadonlyMap<string, number> = new Map()): Promise<Map<string, number>> {
  const { text } = await twin.api.get("/metrics");
  const counted =
    /^(apiserver_(?:request_total|requested_deprecated_apis)\{(?!.*(?:flowcontrol|apiservices|"endpoint|"\/metrics")).*\}) (\d+)$/gm;
  const counts = [...text.matchAll(counted)].map(([, series, count]) => [series!, Number(count)] as const);
  const added = counts.map(([series, count]) => [series, count - (before.get(series) ?? 0)] as const);
  return new Map(added.filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1)));
}

const clock = new StandingClock();
const opened: Promise<[Twin, Twin]> = openTwins(clock);
after(async () => {
  for (const twin of await opened) await twin.close();
});

test(`large requests are answered as small ones are [seed ${seed}, ${runs} runs]`, async () => {
  const twins = await opened;
  const random = seededRandom(seed);
  const rules = [
    {
      apiGroups: ["", "coordination.k8s.io"],
      resources: ["configmaps", "leases", "pods"],
      verbs: ["get", "update", "patch"],
    },
  ];
  const rbac = "rbac.authorization.k8s.io";
  const first: (readonly [string, ObjectBody])[] = [
    [namespaces, namespace(ns)],
    [`${core}/serviceaccounts`, of("v1", "ServiceAccount", "default", {})],
    [`/apis/${rbac}/v1/clusterroles`, of(`${rbac}/v1`, "ClusterRole", "writer", { rules })],
    [
      `/apis/${rbac}/v1/clusterrolebindings`,
      of(`${rbac}/v1`, "ClusterRoleBinding", "writer", {
        roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "writer" },
        subjects: [{ apiGroup: rbac, kind: "User", name: "alice" }],
      }),
    ],
    [crds, widgetDefinition],
  ];
  for (const twin of twins) {
    for (const [path, object] of first) (await twin.api.post(path, object)).expect(201);
    for (const { path } of kinds) await eventually(async () => (await twin.api.get(path)).expect(200));
    for (const { path } of kinds) if (!path.includes("/v2/")) await twin.follow(path);
  }
  for (const kind of kinds) {
    for (const name of names.slice(1)) {
      const object = kind.make(random, name);
      for (const twin of twins) {
        const answer = await twin.api.post(kind.path, object, { literal: true });
        if (answer.status === 201) twin.objects.set(pathOf(kind, name), answer.value as ObjectBody); // an object
      }
    }
  }
  const before = await Promise.all(twins.map((twin) => countsOf(twin)));
  const codes = new Map<string, number>();
  for (let i = 0; i < runs; i++) {
    clock.step();
    const request = nextRequest(random);
    const [here, elsewhere] = await Promise.all(twins.map((twin) => ask(twin, request)));
    assert.equal(elsewhere!.text, here!.text, `request ${i}: ${here!.asked}`);
    codes.set(here!.text.slice(0, 3), (codes.get(here!.text.slice(0, 3)) ?? 0) + 1);
  }
  assert.ok((codes.get("200") ?? 0) > runs / 10 && (codes.get("201") ?? 0) > runs / 50, "few of them succeeded");
  const [toldHere, toldElsewhere] = twins;
  await eventually(() => {
    assert.equal(toldElsewhere.told.length, toldHere.told.length);
    return Promise.resolve();
  });
  const events = (twin: Twin): string[] => twin.told.map((line) => twin.rename(line));
  for (const { path } of kinds) {
    const about = (twin: Twin): string[] => events(twin).filter((line) => line.startsWith(`${path} `));
    assert.deepEqual(about(toldElsewhere), about(toldHere), path);
  }
  const [countsHere, countsElsewhere] = await Promise.all(twins.map((twin, i) => countsOf(twin, before[i])));
  assert.deepEqual(countsElsewhere, countsHere);
  const [auditedHere, auditedElsewhere] = twins.map((twin) =>
    twin
      .takeAudit()
      .slice(-runs)
      .map((line) => twin.rename(line)),
  );
  auditedHere!.forEach((line, i) => {
    assert.equal(auditedElsewhere![i], line);
  });
  assert.equal(auditedHere!.length, runs);
});
