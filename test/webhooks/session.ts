/**
 * Runs the steps of a case against one server, and records each request with its answer and the calls of webhooks.
 * Values that differ from run to run (UIDs, times, versions, generated names) are replaced, so that records of two
 * servers can be compared. Requests have Kubernetes' names; the client translates them.
 */
import assert from "node:assert/strict";
import { type Answer, type Client, patchTypes, type SendOptions } from "../client.ts";
import type { Received, WebhookAnswer, WebhookServer } from "../webhook-server.ts";
import { View } from "../view.ts";

/** A line of the record: a request, or a call of a webhook. */
export interface Line {
  /** The part that tests expect. */
  readonly brief: string;
  /** The complete line. */
  readonly whole: string;
}

/** A group of steps with a name. */
export interface Case {
  readonly name: string;
  readonly run: (on: Session) => Promise<void>;
}

export type Phase = "mutating" | "validating";

interface SessionOptions {
  /** A text in all names that is in nothing else that is compared. */
  readonly run: string;
  /** A name that distinguishes servers that call the same webhook server. */
  readonly side: string;
}

interface StepOptions extends SendOptions {
  /** The fields of the answer that the brief line has. */
  readonly show?: readonly string[];
  /** Whether only the code of the answer is recorded, since the rest has documented differences. */
  readonly isVague?: boolean;
}

const registration = "/apis/admissionregistration.k8s.io/v1";
const kinds: Readonly<Record<Phase, string>> = {
  mutating: "MutatingWebhookConfiguration",
  validating: "ValidatingWebhookConfiguration",
};

/** Returns the path of the configurations of a phase, or of one configuration. */
export const configurations = (phase: Phase, name = ""): string =>
  `${registration}/${phase}webhookconfigurations${name === "" ? "" : `/${name}`}`;

/** Returns the rule of most cases, for these resources of the core group. */
export const coreRule = (...resources: readonly string[]): object => ({
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["*"],
  resources: resources.length === 0 ? ["configmaps"] : resources,
});

/** Returns an answer with a patch that sets a value. */
export const sets = (path: string, value: unknown): WebhookAnswer => ({ patch: [{ op: "add", path, value }] });

/** Returns a refusal with this message. */
export const denies = (message: string): WebhookAnswer => ({ response: { allowed: false, status: { message } } });

const volatileKeys = new Set([
  "resourceVersion",
  "clusterIP",
  "clusterIPs",
  "nodePort",
  "token",
  "storageVersionHash",
  "continue",
]);

/** The query that selects only the config maps of a case. */
export const ownMaps = "fieldSelector=metadata.name!%3Dkube-root-ca.crt";

export class Session {
  readonly lines: Line[] = [];
  readonly ns: string;
  readonly run: string;
  /** The API group of the custom resources of a case. */
  readonly group: string;
  readonly #client: Client;
  readonly #server: WebhookServer;
  readonly #prefix: string;
  readonly #made: string[] = [];
  readonly #generated = new Map<string, string>();
  readonly #shown = new Map<string, readonly string[]>();
  readonly #phases = new Map<string, Phase>();
  readonly #converted: Received[] = [];
  #markers = 0;

  private constructor(client: Client, server: WebhookServer, { run, side }: SessionOptions) {
    this.#client = client;
    this.#server = server;
    this.#prefix = `/${side}/${run}/`;
    this.run = run;
    this.ns = `ns-${run}`;
    this.group = `${run}.example.com`;
  }

  /** Opens a session with a namespace of its own. */
  static async open(client: Client, server: WebhookServer, options: SessionOptions): Promise<Session> {
    const session = new Session(client, server, options);
    await session.prepare("POST", "/api/v1/namespaces", { metadata: { name: session.ns } });
    session.#made.push(`/api/v1/namespaces/${session.ns}`);
    // Pods need the default account of the namespace.
    await session.waitUntilServed(session.path("serviceaccounts/default"));
    return session;
  }

  /** Returns the path of a collection in the namespace, or of an object: `pods`, `apps/v1/deployments/d`. */
  path(rest: string): string {
    const [, group, tail] = /^([a-z0-9.-]+\/v\d\w*)\/(.*)$/.exec(rest) ?? [];
    const root = group === undefined ? "/api/v1" : `/apis/${group}`;
    return `${root}/namespaces/${this.ns}/${tail ?? rest}`;
  }

  /** Returns a name of this run. */
  name(text: string): string {
    return `${text}-${this.run}`;
  }

  /** Sends a request and records it, with the calls of webhooks in the meantime. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    { show = [], isVague = false, ...options }: StepOptions = {},
  ): Promise<Answer> {
    await this.#questions();
    let answer = await this.#client.send(method, path, body, options);
    if (method === "GET" && answer.status === 429) {
      // The server prepares a definition that has just changed.
      await this.#until(
        async () => (answer = await this.#client.send(method, path, body, options)).status !== 429,
        path,
      );
    }
    const { generateName, name } = (answer.at("metadata") ?? {}) as { generateName?: string; name?: string }; // an object
    if (generateName !== undefined && name !== undefined) this.#generated.set(name, `${generateName}GENERATED`);
    const questions = await this.#questions();
    const failure = answer.status < 400 || isVague ? [] : [answer.at("reason"), answer.at("message")];
    const fields = show.map((field) => `${field}=${format(answer.at(field))}`);
    const warnings = answer.warnings.map((text) => `warning: ${text}`);
    const summary = [
      method,
      this.#client.endpoint.rename(path),
      answer.status,
      ...failure,
      ...fields,
      ...warnings,
    ].join(" ");
    const { value = answer.text } = answer;
    this.#write(summary, isVague ? "" : { answer: value, warnings });
    this.lines.push(...questions);
    return answer;
  }

  post(path: string, body: unknown, options?: StepOptions): Promise<Answer> {
    return this.send("POST", path, body, options);
  }

  /** Sends a merge patch, or a patch of another type. */
  patch(path: string, body: unknown, options?: StepOptions): Promise<Answer> {
    return this.send("PATCH", path, body, { type: patchTypes.merge, ...options });
  }

  /** Reads an object, changes it, and writes it back. Only the write is recorded. */
  async edit(
    path: string,
    change: (object: Record<string, unknown>) => object,
    options?: StepOptions,
  ): Promise<Answer> {
    const { value } = (await this.#client.get(path)).expect(200);
    return this.send("PUT", path, change(value as Record<string, unknown>), options); // an object
  }

  /** Sends a request that is not recorded, and that must succeed. */
  async prepare(method: string, path: string, body?: unknown, options?: SendOptions): Promise<Answer> {
    const answer = await this.#client.send(method, path, body, options);
    assert.ok(answer.status < 300, answer.title);
    await this.#questions();
    return answer;
  }

  /** Records a line of the case itself. */
  note(brief: string, whole: unknown = ""): void {
    this.#write(brief, whole);
  }

  /** Creates a definition of custom resources, and waits until they are served. */
  async define(definition: object, collection: string): Promise<void> {
    const response = await this.prepare("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
    this.#made.unshift(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${response.string("metadata.name")}`);
    await this.waitUntilServed(collection);
  }

  /** Waits until a collection can be read. */
  async waitUntilServed(collection: string): Promise<void> {
    await this.#until(async () => (await this.#client.get(collection)).status === 200, collection);
  }

  /** Waits until an object has a field. */
  async shows(path: string, field: string): Promise<void> {
    await this.#until(async () => (await this.#client.get(path)).at(field) !== undefined, `${field} of ${path}`);
  }

  /** Schedules a deletion for the end, before those of objects that were created earlier. */
  removesLater(path: string): void {
    this.#made.unshift(path);
  }

  /** Returns the client configuration of the webhook `id`, whose answer is `answer`. */
  async client(id: string, answer: WebhookAnswer = {}): Promise<{ readonly url: string; readonly caBundle: string }> {
    return this.#server.at(this.#prefix + id, answer);
  }

  /**
   * Returns a webhook of a configuration, by default for config maps of the namespace. `show` are recorded fields of
   * the calls.
   */
  async webhook(
    phase: Phase,
    id: string,
    answer?: WebhookAnswer,
    more: object = {},
    show: readonly string[] = [],
  ): Promise<object> {
    this.#shown.set(id, show);
    this.#phases.set(id, phase);
    return {
      name: `${id}.${this.run}.example.com`,
      clientConfig: await this.client(id, answer),
      rules: [coreRule()],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": this.ns } },
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      ...more,
    };
  }

  /** Registers a single webhook in a configuration with its name, and waits until it is in force. */
  async hook(
    phase: Phase,
    id: string,
    answer?: WebhookAnswer,
    more: object = {},
    show: readonly string[] = [],
  ): Promise<void> {
    await this.configure(phase, id, [await this.webhook(phase, id, answer, more, show)]);
    await this.settle();
  }

  /** Creates a configuration with this name. It is not in force at once. */
  async configure(phase: Phase, name: string, webhooks: readonly object[], labels: object = {}): Promise<void> {
    const metadata = { name: this.name(name), labels };
    const body = { apiVersion: "admissionregistration.k8s.io/v1", kind: kinds[phase], metadata, webhooks };
    await this.prepare("POST", configurations(phase), body);
    this.removesLater(configurations(phase, this.name(name)));
  }

  /** Waits until every earlier change of configurations is in force. */
  async settle(): Promise<void> {
    const isFirst = this.#markers === 0;
    const mark = `${this.run}-${++this.#markers}`;
    for (const phase of ["mutating", "validating"] as const) {
      const name = this.name("marker");
      const webhook = await this.webhook(phase, "marker", denies("marker"), {
        name: `marker-${phase}.${this.run}.example.com`,
        namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "default" } },
        objectSelector: { matchLabels: { marker: `${phase}-${mark}` } },
      });
      if (isFirst) await this.configure(phase, "marker", [webhook]);
      else {
        const type = { type: patchTypes.merge };
        await this.prepare("PATCH", configurations(phase, name), { webhooks: [webhook] }, type);
      }
      const map = { metadata: { name, labels: { marker: `${phase}-${mark}` } } };
      const path = "/api/v1/namespaces/default/configmaps?dryRun=All";
      await this.#until(async () => (await this.#client.post(path, map)).status === 400, `the ${phase} marker ${mark}`);
    }
    await this.#questions();
  }

  /** Removes all objects that the case created. */
  async close(): Promise<void> {
    for (const path of this.#made) await this.#client.delete(path);
    this.#client.close();
  }

  async #until(isSo: () => Promise<boolean>, what: string): Promise<void> {
    for (let attempt = 0; attempt < 600; attempt++) {
      if (await isSo()) return;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
    throw new Error(`${this.run}: ${what} is not in force`);
  }

  /**
   * Returns the calls of webhooks for the session's own requests since the last call of this method: mutating ones in
   * their order, then the others by name, since they are called at the same time. The server decides when it calls
   * converters.
   */
  async #questions(): Promise<Line[]> {
    await this.#server.at(`${this.#prefix}all-has-arrived`);
    const mine = this.#server.received.filter(({ path }) => path.startsWith(this.#prefix));
    for (const one of mine) this.#server.received.splice(this.#server.received.indexOf(one), 1);
    const named = mine.map((received) => ({ id: received.path.slice(this.#prefix.length), received }));
    for (const { received } of named) if (received.review.kind === "ConversionReview") this.#converted.push(received);
    const calls = named.filter(
      ({ received: { review } }) => new View(review, String, "").at("request.userInfo.username") === "admin",
    );
    const isLate = ({ id }: { readonly id: string }): boolean => this.#phases.get(id) === "validating";
    const late = calls.filter(isLate).map((one) => this.#question(one));
    return [
      ...calls.filter((one) => !isLate(one)).map((one) => this.#question(one)),
      ...late.toSorted((a, b) => (a.brief + a.whole < b.brief + b.whole ? -1 : 1)),
    ];
  }

  #question({ id, received }: { readonly id: string; readonly received: Received }): Line {
    const { review, query } = received;
    const view = new View(review.request, (text) => this.#client.endpoint.rename(text), id);
    const parts = ["resource.group", "resource.version", "resource.resource", "subResource"];
    const resource = parts.filter((part) => (view.at(part) ?? "") !== "").map((part) => view.string(part));
    const name = view.at("name") === undefined ? "-" : view.string("name");
    const about = [view.string("operation"), resource.join("/"), view.string("kind.kind"), name];
    const fields = (this.#shown.get(id) ?? []).map((field) => `${field}=${format(view.at(field))}`);
    return this.#line(`  ${id}: ${[...about, ...fields].join(" ")}`, { query, review });
  }

  /** Records the versions to which converters were asked to convert so far, and the form of the calls. */
  conversions(): void {
    const forms = new Map<string, Line>();
    for (const { query, review } of this.#converted) {
      const { objects: _objects, ...request } = review.request;
      const from = new View(review.request, String, "").string("objects.0.apiVersion");
      const line = this.#line(`converted from ${from} to ${String(request["desiredAPIVersion"])}`, {
        query,
        ...review,
        request,
      });
      forms.set(line.brief, line);
    }
    this.lines.push(...[...forms.values()].toSorted((a, b) => (a.brief < b.brief ? -1 : 1)));
    this.#converted.length = 0;
  }

  #write(brief: string, whole: unknown): void {
    this.lines.push(this.#line(brief, whole));
  }

  #line(brief: string, whole: unknown): Line {
    return { brief: this.#same(brief), whole: this.#same(JSON.stringify(sortKeys(whole), undefined, 1)) };
  }

  /** Replaces values that belong only to this server and this run. */
  #same(text: string): string {
    let same = text
      .replaceAll(this.#prefix, "/")
      .replaceAll(this.run, "RUN")
      // The name of the program differs.
      .replaceAll('"reference"', '"kube-apiserver"')
      .replaceAll(`:${this.#server.port}`, ":PORT")
      .replaceAll(this.#server.caBundle, "CA")
      .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UID")
      .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "TIME")
      .replaceAll(/(kube-api-access-)\w{5}/g, "$1GENERATED");
    for (const [name, generated] of this.#generated) same = same.replaceAll(name, generated);
    return same;
  }
}

const format = (value: unknown): string => JSON.stringify(sortKeys(value)) ?? "none";

/** Sorts the keys, and removes values that the server chooses. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) {
    const items = value.map(sortKeys);
    // Owners are in the order of their times.
    const isOwners = items.some((item) => new View(item, String, "").at("fieldsType") !== undefined);
    return isOwners ? items.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : items;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(
    ([key, inner]) => [key, volatileKeys.has(key) ? "VOLATILE" : sortKeys(inner)] as const,
  );
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
