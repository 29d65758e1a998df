/**
 * Sends the definition and the objects of a case to both servers by each kind of write, and compares acceptance,
 * findings and the stored objects.
 */
import { type DefinitionCase, definitionCase } from "./definitions.ts";
import { type Answer, ask, type Comparison, comparableText, type Json } from "./servers.ts";
import { withoutExcused } from "./excused-definitions.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const patchTypes = {
  merge: "application/merge-patch+json",
  apply: "application/apply-patch+yaml",
};

/** Sends the case with this number, and removes its definition afterwards. */
export async function compareDefinitions(comparison: Comparison, seed: number): Promise<void> {
  const testCase = definitionCase(seed);
  const { name } = testCase.definition["metadata"] as { readonly name: string }; // definitions have a name
  const path = `${definitions}/${name}`;
  const what = `seed ${seed}, ${testCase.mutation}`;
  try {
    await compareCase(comparison, testCase, path, what);
  } finally {
    await comparison.askEach("DELETE", path);
    await comparison.waitForCode(404, "GET", path);
  }
}

async function compareCase(
  comparison: Comparison,
  testCase: DefinitionCase,
  path: string,
  what: string,
): Promise<void> {
  const { definition, update, objects } = testCase;
  const isAccepted = await send(comparison, `${what}: definition`, "POST", definitions, definition);
  if (!isAccepted) return;
  await untilEstablished(comparison, path);
  for (const [at, object] of objects.entries())
    await compareObject(comparison, definition, object, `${what}: object ${at}`);
  await replace(comparison, path, update, what);
  const patch = { spec: update["spec"] as Json };
  await send(comparison, `${what}: definition patched`, "PATCH", `${path}?dryRun=All`, patch, patchTypes.merge);
  const query = "?dryRun=All&fieldManager=differ&force=true";
  await send(comparison, `${what}: definition applied`, "PATCH", `${path}${query}`, update, patchTypes.apply);
}

/** Replaces the definition at each server's own version, since controllers may write it at the same time. */
async function replace(comparison: Comparison, path: string, update: Json, what: string): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const present = await comparison.askEach("GET", path);
    const bodies = present.map(({ body }) => {
      const { resourceVersion } = body["metadata"] as Json; // definitions have metadata
      return { ...update, metadata: { ...(update["metadata"] as Json), resourceVersion } };
    });
    const answers = await askBoth(comparison, "PUT", `${path}?dryRun=All`, (server) => bodies[server]!); // one body each
    if (answers.some(({ code }) => code === 409)) continue;
    compareAnswers(comparison, `${what}: definition replaced`, bodies[0]!, answers);
    return;
  }
}

/** Waits until the kind is served as it is defined now, which takes a server of 1.32 a while. */
async function untilEstablished(comparison: Comparison, path: string): Promise<void> {
  await untilEach(comparison, async () => {
    const answers = await comparison.askEach("GET", path);
    return answers.every(({ body }) => {
      const { conditions } = (body["status"] ?? {}) as { readonly conditions?: readonly Json[] | null };
      return (conditions ?? []).some(({ type, status }) => type === "Established" && status === "True");
    });
  });
}

async function untilEach(comparison: Comparison, holds: () => Promise<boolean>): Promise<void> {
  for (let attempt = 0; attempt < 400; attempt++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error(`${comparison.servers.map(({ name }) => name).join(" or ")} does not serve a definition`);
}

async function compareObject(comparison: Comparison, definition: Json, object: Json, what: string): Promise<void> {
  const spec = definition["spec"] as {
    readonly group: string;
    readonly scope: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string; readonly served: boolean }[];
  };
  const served = spec.versions.find((version) => version.served);
  if (served === undefined) return;
  const apiVersion = `${spec.group}/${served.name}`;
  const scope = spec.scope === "Namespaced" ? "/namespaces/default" : "";
  const path = `/apis/${apiVersion}${scope}/${spec.names.plural}`;
  await comparison.waitForCode(200, "GET", path);
  const metadata = object["metadata"] as Json & { readonly name: string };
  const body = (name: string): Json => ({
    ...object,
    apiVersion,
    metadata: { ...metadata, name, ...(scope === "" ? {} : { namespace: "default" }) },
  });
  const query = "?fieldManager=one&fieldValidation=Warn";
  await send(comparison, `${what} created`, "POST", `${path}${query}`, body("made"));
  const patch = { spec: object["spec"], metadata: { labels: { patched: "yes" } } };
  const other = "?fieldManager=other&fieldValidation=Strict";
  await send(comparison, `${what} patched`, "PATCH", `${path}/made${other}`, patch, patchTypes.merge);
  await send(
    comparison,
    `${what} applied`,
    "PATCH",
    `${path}/applied?fieldManager=one`,
    body("applied"),
    patchTypes.apply,
  );
  await send(
    comparison,
    `${what} applied by another`,
    "PATCH",
    `${path}/applied?fieldManager=two`,
    body("applied"),
    patchTypes.apply,
  );
  for (const name of ["made", "applied"]) await comparison.askEach("DELETE", `${path}/${name}`);
}

/**
 * Sends a write and compares the answers, and the stored objects if it succeeds. Returns whether both servers accept
 * it.
 */
async function send(
  comparison: Comparison,
  what: string,
  method: string,
  path: string,
  body: Json,
  type?: string,
): Promise<boolean> {
  return compareAnswers(comparison, what, body, await askBoth(comparison, method, path, () => body, type));
}

const askBoth = (
  { servers }: Comparison,
  method: string,
  path: string,
  body: (server: number) => Json,
  type = "application/json",
): Promise<Answer[]> =>
  Promise.all(
    servers.map((server, at) => ask(server, { method, path, body: body(at), headers: { "content-type": type } })),
  );

function compareAnswers(comparison: Comparison, what: string, body: Json, answers: readonly Answer[]): boolean {
  // A server that is busy with other work answers with a timeout, which is no difference. Release 1.32 closes the
  // connection for some updates.
  if (answers.some(({ code }) => code === 504) || answers.at(-1)?.code === 0) return false;
  const texts = answers.map((answer) => withoutExcused(`${comparableText(answer)}\n${formatStored(answer)}`));
  return comparison.compare(what, body, texts) && answers.every(({ code }) => code < 300);
}

/**
 * Returns an object as it is compared: without values that servers choose, and without the owners and times of the
 * status.
 */
function formatStored({ code, body }: Answer): string {
  // Code 0 means that the connection was lost.
  if (code === 0 || code >= 300) return "";
  const { status, metadata, ...content } = body;
  const isDefinition = body["kind"] === "CustomResourceDefinition";
  const { managedFields = [], labels, generation } = metadata as Json & { readonly managedFields?: readonly Json[] };
  const owners = managedFields
    .filter(({ subresource }) => subresource === undefined)
    .map(({ manager, operation, fieldsV1 }) => ({ manager, operation, fieldsV1 }));
  return JSON.stringify(sortKeys({ ...content, labels, generation, owners, ...(isDefinition ? {} : { status }) }));
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== "object" || value === null) return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((name) => [name, sortKeys((value as Json)[name])]));
}
