/**
 * Merges the objects of a pair into each other, in both directions, by each kind of write, on both servers. Compares
 * codes, findings, warnings, and the stored objects with their owners.
 */
import { seededRandom } from "#std/random.ts";
import { pick } from "./choices.ts";
import { findDifferences, findingsOf, valueLines, randomName, uid } from "./answers.ts";
import { clientPatch, jsonPatch, mergePatch } from "./client-apply.ts";
import { makeNamespace, remove, whenStatusWritten } from "./kind-requests.ts";
import { type Pair, pairedKinds, pairOf } from "./pairs.ts";
import { type Answer, ask, type Comparison, type Json, type ServerRequest } from "./servers.ts";
import { isExcused } from "./excused.ts";

/** One step of a merge, from which the request is made. */
interface Step {
  /** The object or status that is merged into the stored one. */
  readonly next: Json;
  /** The object that the client sent before. */
  readonly before: Json;
  /** The object that the server stores. */
  readonly stored: Json;
  readonly path: string;
  readonly pair: Pair;
}

type RequestOf = (step: Step) => ServerRequest;

const merge = "application/merge-patch+json";
const strategic = "application/strategic-merge-patch+json";
const annotation = "kubectl.kubernetes.io/last-applied-configuration";

const patchRequest = (path: string, type: string, body: Json | readonly Json[], manager = ""): ServerRequest => ({
  method: "PATCH",
  path: manager === "" ? path : `${path}?fieldManager=${manager}`,
  body,
  headers: { "content-type": type },
});

const applyRequest = (path: string, body: Json, manager: string, force = false): ServerRequest => ({
  method: "PATCH",
  path: `${path}?fieldManager=${manager}&force=${force}`,
  body,
  headers: { "content-type": "application/apply-patch+yaml" },
});

/** Returns the object as `kubectl apply` sends it, with a copy of itself in an annotation. */
function withLastApplied(object: Json): Json {
  const meta = object["metadata"] as Json; // each object has metadata
  const annotations = { ...(meta["annotations"] as Json | undefined), [annotation]: JSON.stringify(object) };
  return { ...object, metadata: { ...meta, annotations } };
}

const withVersion = ({ next, stored }: Step): Json => ({
  ...next,
  metadata: {
    ...(next["metadata"] as Json),
    resourceVersion: (stored["metadata"] as Json)["resourceVersion"],
  },
});

/** A way to create the first object (`make`), and to merge the other one into it (`send`). */
interface WriteMethod {
  readonly make: (path: string, first: Json) => ServerRequest;
  readonly send: RequestOf;
}

const createRequest = (path: string, first: Json): ServerRequest => ({
  method: "POST",
  path: `${path}?fieldManager=creator`,
  body: first,
});
const nameOf = (object: Json): string => (object["metadata"] as { readonly name: string }).name; // all have one
const pathOf = (list: string, object: Json): string => `${list}/${nameOf(object)}`;

const clientApplyRequest = (path: string, first: Json): ServerRequest => ({
  method: "POST",
  path: `${path}?fieldManager=kubectl-client-side-apply`,
  body: withLastApplied(first),
});

/**
 * Each kind of write. PUT and whole patches merge an object into the one that the server stores, not into the one that
 * the client sent.
 */
const writeMethods: Readonly<Record<string, WriteMethod>> = {
  put: { make: createRequest, send: (step) => ({ method: "PUT", path: step.path, body: withVersion(step) }) },
  merge: { make: createRequest, send: ({ path, next }) => patchRequest(path, merge, next) },
  "merge of what changed": {
    make: createRequest,
    send: ({ path, before, next }) => patchRequest(path, merge, mergePatch(before, next), "editor"),
  },
  strategic: { make: createRequest, send: ({ path, next }) => patchRequest(path, strategic, next) },
  "JSON patch": {
    make: createRequest,
    send: ({ path, before, next }) => patchRequest(path, "application/json-patch+json", jsonPatch(before, next)),
  },
  "kubectl apply": {
    make: clientApplyRequest,
    send({ path, before, next, stored, pair }) {
      const applied = withLastApplied(next);
      return patchRequest(
        path,
        strategic,
        clientPatch(before, applied, stored, pair.kind.schema),
        "kubectl-client-side-apply",
      );
    },
  },
  apply: { make: createRequest, send: ({ path, next }) => applyRequest(path, next, "applier") },
  "forced apply": { make: createRequest, send: ({ path, next }) => applyRequest(path, next, "applier", true) },
  "apply of one's own": {
    make: (path, first) => applyRequest(pathOf(path, first), first, "applier"),
    send: ({ path, next }) => applyRequest(path, next, "applier"),
  },
  "apply after kubectl apply": {
    make: clientApplyRequest,
    send: ({ path, next }) => applyRequest(path, next, "kubectl", true),
  },
};

/** The writes of a status. */
const statusWrites: readonly RequestOf[] = [
  ({ path, next, stored }) => ({ method: "PUT", path, body: { ...stored, status: next["status"] } }),
  ({ path, next }) => patchRequest(path, merge, { status: next["status"] }),
  ({ path, next }) => patchRequest(path, strategic, { status: next["status"] }),
  ({ path, next, stored }) => {
    const { apiVersion, kind } = stored;
    const metadata = { name: nameOf(stored) };
    return applyRequest(path, { apiVersion, kind, metadata, status: next["status"] }, "controller", true);
  },
];

/** Sends the pairs with this number, of all kinds or of some, in a namespace of their own. */
export async function comparePairs(comparison: Comparison, seed: number, resources?: readonly string[]): Promise<void> {
  const unique = `${seed}-${Date.now().toString(36)}`;
  const ns = `differ-pairs-${unique}`;
  await makeNamespace(comparison, ns, seed);
  try {
    for (const [at, kind] of pairedKinds.entries()) {
      if (resources?.includes(kind.resource) === false) continue;
      const list = kind.isClusterScoped
        ? `${kind.path}/${kind.resource}`
        : `${kind.path}/namespaces/${ns}/${kind.resource}`;
      // Each way uses other names: a server may be slow to write the status of an object whose name was used before.
      const pairFor = (way: number): Pair => pairOf(kind, seed * 1000 + at, `pair-${unique}-${way}`);
      const what = `seed ${seed}: ${kind.resource} (${kind.path})`;
      for (const [number, [name, way]] of Object.entries(writeMethods).entries()) {
        await compareMerges(comparison, `${what}: ${name}`, pairFor(number), list, way);
      }
      await compareStatuses(comparison, `${what}: status`, pairFor(Object.keys(writeMethods).length), list, seed);
    }
  } finally {
    await comparison.askEach("DELETE", `/api/v1/namespaces/${ns}`);
  }
}

/** The answers of one server about an object that is written several times, with comparable values. */
class AnswerNormalizer {
  readonly #names = new Map<string, string>();
  #version: unknown;

  /**
   * Returns a comparable name for a value that a server allocates. Names count the values in the order in which they
   * occur.
   */
  #rename(what: string, value: string): string {
    const name = this.#names.get(value) ?? `<${what} ${this.#names.size}>`;
    this.#names.set(value, name);
    return name;
  }

  normalize(normalize: string): string {
    return normalize
      .replace(uid, "UID")
      .replace(randomName, "kube-api-access")
      .replace(/\b10\.0\.\d{1,3}\.\d{1,3}\b(?!\/)/g, (ip) => this.#rename("made", ip))
      .replace(/\b3[0-2]\d{3}\b/g, (port) => this.#rename("made", port))
      .replace(/\b20(?:2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, "NOW");
  }

  /** Returns an answer as lines, one for each finding, warning and stored value. */
  lines(answer: Answer, hasServerStatus: boolean): readonly string[] {
    const findings = findingsOf(answer).map((line) => this.normalize(line));
    if (answer.code >= 300 || answer.code === 0) return findings;
    const { metadata, status, ...rest } = answer.body;
    const { managedFields, resourceVersion, ...meta } = metadata as Json; // objects have metadata
    const version = resourceVersion === this.#version ? "as before" : "another";
    this.#version = resourceVersion;
    const owners = (managedFields as readonly Json[] | undefined)?.map(
      ({ manager, operation, subresource = "", ...of }) => {
        const { time: _time, ...entry } = of;
        return [`${String(manager)} ${String(operation)} ${String(subresource)}`, entry] as const;
      },
    );
    // The server itself writes the status of such kinds.
    const shown = owners?.filter(([name]) => !hasServerStatus || !name.endsWith(" status"));
    const content = {
      ...rest,
      ...(hasServerStatus ? {} : { status }),
      metadata: meta,
      owners: shown && Object.fromEntries(shown),
    };
    const values = valueLines("", JSON.parse(JSON.stringify(content))).map((line) => this.normalize(line));
    // A status that the server writes at the same time changes the version.
    return [...findings, ...(hasServerStatus ? [] : [`resourceVersion: ${version}`]), ...values];
  }
}

const isOutdated = ({ code, body }: Answer): boolean =>
  code === 409 && String(body["message"]).includes("the object has been modified");

/** An object on both servers. */
class WrittenObject {
  readonly #comparison: Comparison;
  readonly #what: string;
  readonly #pair: Pair;
  readonly #path: string;
  readonly #shown: readonly AnswerNormalizer[];
  /** The object that each server stores. */
  stored: readonly Json[] = [];

  constructor(comparison: Comparison, what: string, pair: Pair, path: string) {
    this.#comparison = comparison;
    this.#what = what;
    this.#pair = pair;
    this.#path = path;
    this.#shown = comparison.servers.map(() => new AnswerNormalizer());
  }

  /**
   * Sends the same write to both servers and compares the answers. `questionOf` makes the request from the object that
   * the server stores.
   */
  async write(how: string, requestOf: (stored: Json) => ServerRequest): Promise<"taken" | "refused" | "differs"> {
    const { hasServerStatus = false, resource } = this.#pair.kind;
    let requests: readonly ServerRequest[] = [];
    let answers: readonly Answer[] = [];
    // Servers write the status of some kinds at the same time.
    for (let attempt = 0; attempt === 0 || (attempt < 20 && hasServerStatus && answers.some(isOutdated)); attempt++) {
      if (attempt > 0) await this.read();
      requests = this.#comparison.servers.map((_server, at) => requestOf(this.stored[at] ?? {}));
      answers = await Promise.all(this.#comparison.servers.map((server, at) => ask(server, requests[at]!))); // one each
    }
    const lines = answers.map((answer, at) => this.#shown[at]!.lines(answer, hasServerStatus)); // one for each server
    const shown = findDifferences(lines.map((all) => [all[0]!, ...all.slice(1).sort()]));
    const isTaken = answers.every(({ code }) => code >= 200 && code < 300);
    const { path, body } = requests[0]!;
    // After an excused answer the objects differ, so that later answers would differ too.
    if (isExcused(resource, shown, body)) {
      this.#comparison.excused++;
      return "differs";
    }
    const isSame = this.#comparison.compare(`${this.#what}, ${how}`, { path, body, on: this.stored[0] }, shown);
    if (isTaken) this.stored = answers.map(({ body }) => body);
    return !isSame ? "differs" : isTaken ? "taken" : "refused";
  }

  async read(): Promise<void> {
    this.stored = (await this.#comparison.askEach("GET", this.#path)).map(({ body }) => body);
  }

  /** Waits until both servers have written the status, if they do so for this kind. */
  async waitForStatus(): Promise<void> {
    if (this.#pair.kind.hasServerStatus === true) this.stored = await whenStatusWritten(this.#comparison, this.#path);
  }
}

async function compareMerges(
  comparison: Comparison,
  what: string,
  pair: Pair,
  list: string,
  { make, send }: WriteMethod,
) {
  const [first, second] = pair.objects;
  const path = pathOf(list, first);
  const written = new WrittenObject(comparison, what, pair, path);
  try {
    if ((await written.write("made", () => make(list, first))) !== "taken") return;
    await written.waitForStatus();
    const outcome = await written.write("there", (stored) => send({ next: second, before: first, stored, path, pair }));
    if (outcome === "differs") return;
    const before = outcome === "taken" ? second : first;
    await written.write("back", (stored) => send({ next: first, before, stored, path, pair }));
  } finally {
    await removeAny(comparison, path);
  }
}

async function compareStatuses(comparison: Comparison, what: string, pair: Pair, list: string, seed: number) {
  const { objects, statuses } = pair;
  if (statuses === undefined) return;
  const random = seededRandom(seed);
  const path = pathOf(list, objects[0]);
  const written = new WrittenObject(comparison, what, pair, path);
  try {
    if ((await written.write("made", () => createRequest(list, objects[0]))) !== "taken") return;
    for (const [at, status] of [...statuses, statuses[0]].entries()) {
      const send = pick(random, statusWrites);
      const outcome = await written.write(`write ${at}`, (stored) =>
        send({ next: { status }, before: {}, stored, path: `${path}/status`, pair }),
      );
      if (outcome === "differs") return;
    }
  } finally {
    await removeAny(comparison, path);
  }
}

/** Deletes an object. A namespace is also finalized, since the controller that empties it may not run. */
async function removeAny(comparison: Comparison, path: string): Promise<void> {
  if (path.startsWith("/api/v1/namespaces/") && path.split("/").length === 5) {
    await comparison.askEach("DELETE", path);
    await comparison.askEach("PUT", `${path}/finalize`, { metadata: { name: path.split("/")[4] }, spec: {} });
  }
  await remove(comparison, path);
}
