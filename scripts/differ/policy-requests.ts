/**
 * Creates the policies of a case on both servers, then compares the answers to its requests and the recorded effects.
 */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { type PolicyCase, policyCase } from "./policies.ts";
import type { PolicyRequest } from "./policy-writes.ts";
import { type Answer, ask, type Comparison, comparableText, type Json, type Server, withoutRandom } from "./servers.ts";

const registration = "/apis/admissionregistration.k8s.io";

const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const spec: Json = {
  type: "object",
  properties: {
    replicas: { type: "integer" },
    max: { type: "integer" },
    paused: { type: "boolean" },
    size: { type: "number" },
    when: { type: "string", format: "date-time" },
    either: { "x-kubernetes-int-or-string": true },
    names: { type: "array", items: { type: "string" } },
    tags: { type: "array", items: { type: "string" }, "x-kubernetes-list-type": "set" },
    parts: {
      type: "array",
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["name"],
      items: {
        type: "object",
        required: ["name"],
        properties: { name: { type: "string" }, weight: { type: "integer" } },
      },
    },
    free: anything,
  },
};
const status: Json = { type: "object", properties: { replicas: { type: "integer" } } };

const definition = (plural: string, kind: string, scope: string, versions: readonly string[]): Json => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: `${plural}.differ.example.com` },
  spec: {
    group: "differ.example.com",
    scope,
    names: { plural, kind },
    versions: versions.map((name, at) => ({
      name,
      served: true,
      storage: at === 0,
      schema: { openAPIV3Schema: { type: "object", properties: { spec, status } } },
      subresources: {
        status: {},
        scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
      },
    })),
  },
});

const clusterRole = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "differ-writers" },
  rules: [
    { apiGroups: ["differ.example.com", "apps"], resources: ["*"], verbs: ["*"] },
    { apiGroups: [""], resources: ["configmaps"], verbs: ["*"] },
  ],
};
const roleBinding = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  metadata: { name: "differ-writers" },
  roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "differ-writers" },
  subjects: [{ kind: "Group", apiGroup: "rbac.authorization.k8s.io", name: "writers" }],
};

/** Creates definitions and rights that all cases use, if they do not exist, and deletes policies of an earlier run. */
export async function preparePolicies(comparison: Comparison): Promise<void> {
  for (const kind of ["policies", "policybindings"]) {
    await comparison.askEach("DELETE", `${registration}/v1/validatingadmission${kind}?labelSelector=differ`);
    await comparison.askEach("DELETE", `${registration}/v1alpha1/mutatingadmission${kind}?labelSelector=differ`);
  }
  await comparison.askEach("DELETE", `${registration}/v1/validatingadmissionpolicybindings/differ-marker`);
  await pause(3000);
  await removeZones(comparison);
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await comparison.askEach("POST", definitions, definition("gadgets", "Gadget", "Namespaced", ["v1", "v1beta1"]));
  await comparison.askEach("POST", definitions, definition("zones", "Zone", "Cluster", ["v1"]));
  await comparison.askEach("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", clusterRole);
  await comparison.askEach("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", roleBinding);
  await comparison.askEach("POST", "/api/v1/namespaces", { metadata: { name: "differ-params" } });
  await comparison.waitForCode(200, "GET", "/apis/differ.example.com/v1beta1/gadgets");
  await comparison.waitForCode(200, "GET", "/apis/differ.example.com/v1/zones");
}

/** Removes zones, which can be deleted only when no policy changes them. */
async function removeZones(comparison: Comparison): Promise<void> {
  for (const name of ["one", "two", "third", "other"]) {
    const path = `/apis/differ.example.com/v1/zones/${name}`;
    for (const server of comparison.servers) {
      const headers = { "content-type": patchTypes["merge"]! };
      await ask(server, { method: "PATCH", path, headers, body: { metadata: { finalizers: null } } });
    }
    await comparison.askEach("DELETE", path);
  }
}

/** The files of audit events of both servers. */
type AuditLogs = readonly string[];

class Case {
  readonly #comparison: Comparison;
  readonly #seed: number;
  readonly #ns: string;
  readonly #case: PolicyCase;
  /** The sent requests by audit ID. */
  readonly #recorded = new Map<string, string>();

  constructor(comparison: Comparison, seed: number) {
    this.#comparison = comparison;
    this.#seed = seed;
    // The namespace has a random name, so that policies of an earlier run of the same case do not match its objects.
    this.#ns = `differ-${seed}-${randomUUID().slice(0, 4)}`;
    this.#case = policyCase(seed);
  }

  async run(logs: AuditLogs): Promise<void> {
    const { namespaceLabels, params, wrong, enforced, requests } = this.#case;
    const storedPolicies: PolicyRequest[] = [];
    const metadata = { name: this.#ns, labels: namespaceLabels };
    await this.#store({ method: "POST", path: "/api/v1/namespaces", body: { metadata } });
    for (const param of params) await this.#store(param);
    for (const [at, one] of wrong.entries()) await this.#compare(`wrong ${at}`, one);
    try {
      let areSame = true;
      for (const [at, one] of enforced.entries()) {
        const codes = await this.#compare(`policy ${at}`, one);
        areSame &&= codes[0] === codes[1];
        if (codes.some((code) => code < 300)) storedPolicies.push(one);
      }
      await this.#compareTypeChecking(storedPolicies);
      // A single difference is enough.
      if (!areSame) return;
      await this.#waitUntilInForce();
      await removeZones(this.#comparison);
      for (const [at, one] of requests.entries()) await this.#compare(`request ${at}`, one);
    } finally {
      for (const one of storedPolicies) await this.#comparison.askEach("DELETE", `${one.path}/${nameOf(one)}`);
      for (const one of params) {
        if (!one.path.includes("{ns}")) await this.#comparison.askEach("DELETE", `${one.path}/${nameOf(one)}`);
      }
      await removeZones(this.#comparison);
      await this.#comparison.askEach("DELETE", `/api/v1/namespaces/${this.#ns}`);
    }
    if (logs.length === 2) await this.#compareAudit(logs);
  }

  /** Creates a namespace or a parameter object. Policies of the case before may refuse it for a while. */
  async #store(param: PolicyRequest): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      const answers = await this.#askBoth(param);
      if (answers.every(({ code }) => code === 201 || code === 409)) return;
      await pause(100);
    }
    throw new Error(`seed ${this.#seed}: ${param.path} is not created`);
  }

  /** Waits until the policies are in force: a policy that was written after them is. */
  async #waitUntilInForce(): Promise<void> {
    const name = "differ-marker";
    const policies = `${registration}/v1/validatingadmissionpolicies`;
    const bindings = `${registration}/v1/validatingadmissionpolicybindings`;
    await this.#comparison.askEach("DELETE", `${policies}/${name}`);
    await this.#comparison.askEach("DELETE", `${bindings}/${name}`);
    const operations = ["CREATE"];
    await this.#comparison.askEach("POST", policies, {
      metadata: { name },
      spec: {
        matchConstraints: {
          resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], resources: ["configmaps"], operations }],
        },
        matchConditions: [{ name: "marker", expression: `object.metadata.name == 'marker-${this.#ns}'` }],
        validations: [{ expression: "false", message: "in force" }],
      },
    });
    await this.#comparison.askEach("POST", bindings, {
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    });
    const path = `/api/v1/namespaces/${this.#ns}/configmaps?dryRun=All`;
    const body = { metadata: { name: `marker-${this.#ns}` } };
    for (let attempt = 0; attempt < 400; attempt++) {
      const answers = await this.#comparison.askEach("POST", path, body);
      if (answers.every((answer) => JSON.stringify(answer.body).includes(`'${name}' with binding`))) {
        // Mutating policies and their bindings have an informer of their own.
        if (this.#case.enforced.some((one) => one.path.includes("mutating"))) await pause(1200);
        return;
      }
      if (answers.every((answer) => answer.code >= 400 && JSON.stringify(answer.body).includes("denied request"))) {
        await pause(2500);
        return;
      }
      await pause(25);
    }
    throw new Error(`seed ${this.#seed}: the policies do not come in force`);
  }

  /** Compares the type checks in the status of policies. */
  async #compareTypeChecking(storedPolicies: readonly PolicyRequest[]): Promise<void> {
    for (const one of storedPolicies) {
      if (one.body?.["kind"] !== "ValidatingAdmissionPolicy") continue;
      const path = `${one.path}/${nameOf(one)}`;
      for (let attempt = 0; attempt < 200; attempt++) {
        const answers = await this.#comparison.askEach("GET", path);
        const statuses = answers.map(({ body }) => body["status"] as Json | undefined);
        if (statuses.every((status) => status?.["observedGeneration"] !== undefined)) {
          const texts = statuses.map((status) => withoutRandom(JSON.stringify(status, undefined, 1)));
          this.#comparison.compare(`seed ${this.#seed}: types of ${nameOf(one)}`, one.body, texts);
          break;
        }
        await pause(50);
      }
    }
  }

  async #compare(what: string, one: PolicyRequest): Promise<readonly number[]> {
    const id = randomUUID();
    const title = `seed ${this.#seed}: ${what}: ${one.method} ${one.path}${one.user === undefined ? "" : ` as ${one.user}`}`;
    this.#recorded.set(id, `${title}\n${JSON.stringify(one.body)}`);
    const answers = [...(await this.#askBoth(one, id))];
    let texts = answers.map(formatAnswer);
    // The other server answers with a random one of several refusals.
    for (let attempt = 0; attempt < 8 && texts[0] !== texts[1] && answers.every(isRefusal); attempt++) {
      answers[1] = await this.#ask(this.#comparison.servers[1]!, one, id);
      texts = answers.map(formatAnswer);
    }
    const policies = new Set(texts.map((text) => /'differ-p\d'/.exec(text)?.[0] ?? ""));
    if (policies.size === 1 || !answers.every(isRefusal)) this.#comparison.compare(title, one.body, texts);
    return answers.map(({ code }) => code);
  }

  #askBoth(one: PolicyRequest, id?: string): Promise<readonly Answer[]> {
    return Promise.all(this.#comparison.servers.map((server) => this.#ask(server, one, id)));
  }

  async #ask(
    server: Server,
    { method, path, body, patch, user }: PolicyRequest,
    id: string | undefined,
  ): Promise<Answer> {
    const target = path.replace("{ns}", this.#ns);
    const headers = {
      ...(patch === undefined ? {} : { "content-type": patchTypes[patch]! }),
      ...(user === undefined
        ? {}
        : { "impersonate-user": user, "impersonate-group": "writers", "impersonate-extra-scopes": "a" }),
      ...(id === undefined ? {} : { "audit-id": id }),
    };
    if (method !== "PUT") return ask(server, { method, path: target, headers, ...(body && { body }) });
    const { body: now } = await ask(server, { method: "GET", path: target.replace(/\?.*/, "") });
    const { resourceVersion } = (now["metadata"] ?? {}) as { readonly resourceVersion?: string };
    const metadata = { ...(body!["metadata"] as Json), resourceVersion };
    return ask(server, { method, path: target, headers, body: { ...body, metadata } });
  }

  /** Compares the annotations of policies in the audit log. */
  async #compareAudit(logs: AuditLogs): Promise<void> {
    await pause(200);
    // The other server records a random one of several policies or bindings.
    const isRandom = this.#case.enforced.length > 2 || this.#case.enforced.some((one) => "selector" in paramRefOf(one));
    const [one, other] = logs.map((log) => annotationsIn(log, this.#recorded, isRandom));
    for (const [id, what] of this.#recorded) {
      this.#comparison.compare(`${what} (audit)`, undefined, [one?.get(id) ?? "", other?.get(id) ?? ""]);
    }
  }
}

const patchTypes: Readonly<Record<string, string>> = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  apply: "application/apply-patch+yaml",
};

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

const nameOf = ({ body = {} }: PolicyRequest): string => (body["metadata"] as { readonly name: string }).name; // all have one

const isRefusal = ({ code, body }: Answer): boolean =>
  code >= 400 && String(body["message"]).includes("denied request");

/**
 * Returns the compared parts of an answer: all except values that the server chooses, and the binding that came first.
 */
function formatAnswer(answer: Answer): string {
  if (answer.code >= 300 || answer.body["kind"] === "Status") {
    return comparableText(answer).replaceAll(/(with binding 'differ-p\d-)\d'/g, "$1*'");
  }
  return `${comparableText(answer)}\n${JSON.stringify(withoutServerFields(answer.body), undefined, 1)}`;
}

const serverFields = new Set(["uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "time"]);

function withoutServerFields(value: unknown): unknown {
  if (Array.isArray(value)) {
    const list = value.map(withoutServerFields);
    // Owners are in the order of their times.
    const isOwners = list.some((item) => typeof item === "object" && item !== null && "fieldsType" in item);
    return isOwners ? list.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1)) : list;
  }
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !serverFields.has(key))
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, withoutServerFields(inner)]),
  );
}

const paramRefOf = ({ body }: PolicyRequest): object => (body as { spec: { paramRef?: object } }).spec.paramRef ?? {};

/** Returns the annotations of policies in an audit log, by audit ID. */
function annotationsIn(
  log: string,
  wanted: ReadonlyMap<string, string>,
  isRandom: boolean,
): ReadonlyMap<string, string> {
  const annotationsById = new Map<string, string>();
  if (!existsSync(log)) return annotationsById;
  for (const line of readFileSync(log, "utf8").split("\n")) {
    if (line === "") continue;
    const { auditID, annotations = {} } = JSON.parse(line) as { auditID: string; annotations?: Record<string, string> };
    if (!wanted.has(auditID)) continue;
    const policyAnnotations = Object.entries(annotations)
      .map(([key, value]) => [key, isRandom && key.includes("policy.admission") ? "" : value] as const)
      .filter(([key]) => key.startsWith("differ-") || key.includes("policy.admission"));
    if (policyAnnotations.length > 0 || !annotationsById.has(auditID)) {
      annotationsById.set(
        auditID,
        JSON.stringify(
          policyAnnotations.sort(([a], [b]) => (a < b ? -1 : 1)),
          undefined,
          1,
        ),
      );
    }
  }
  return annotationsById;
}

/** Runs the case with this number. If `logs` is empty, audit events are not compared. */
export const comparePolicies = (comparison: Comparison, seed: number, logs: AuditLogs): Promise<void> =>
  new Case(comparison, seed).run(logs);
