/**
 * Sends the objects of a case, and changes of them, to both servers, and compares the answers and the stored objects.
 */
import { findDifferences, linesOf, randomName } from "./answers.ts";
import { type Edit, applyEdit } from "./edits.ts";
import { type KindCase, kindCase, type KindSet } from "./kinds.ts";
import { isExcused } from "./excused.ts";
import { type Answer, ask, type Comparison, type Json, type ServerRequest } from "./servers.ts";

/**
 * Creates a namespace with the account that pods need, since the servers may run no controllers. The namespace warns
 * about pods that violate the Pod Security Standards, in another version for each case.
 */
export async function makeNamespace(comparison: Comparison, name: string, seed: number): Promise<void> {
  const warn = "pod-security.kubernetes.io/warn";
  const labels = { [warn]: seed % 2 === 0 ? "restricted" : "baseline", [`${warn}-version`]: `v1.${seed % 33}` };
  await comparison.askEach("POST", "/api/v1/namespaces", { metadata: { name, labels } });
  await comparison.askEach("POST", `/api/v1/namespaces/${name}/serviceaccounts`, { metadata: { name: "default" } });
}

/** Sends the case with this number, in a namespace of its own. */
export async function compareKinds(
  comparison: Comparison,
  set: KindSet,
  seed: number,
  resources?: readonly string[],
): Promise<void> {
  const chosenEdits = kindCase(set, seed);
  if (resources?.includes(chosenEdits.kind.resource) === false) return;
  const ns = `differ-${set}-${seed}-${Date.now().toString(36)}`;
  await makeNamespace(comparison, ns, seed);
  try {
    try {
      await compareCase(comparison, chosenEdits, ns, seed);
    } finally {
      if (chosenEdits.kind.isClusterScoped) await remove(comparison, pathOf(chosenEdits, ns));
    }
  } finally {
    await comparison.askEach("DELETE", `/api/v1/namespaces/${ns}`);
  }
}

/** Returns the path of the list of all objects of the case's kind. */
const listPath = ({ kind }: KindCase, ns: string): string =>
  kind.isClusterScoped ? `${kind.path}/${kind.resource}` : `${kind.path}/namespaces/${ns}/${kind.resource}`;

/** Returns the path of the object of a case. */
function pathOf(chosenEdits: KindCase, ns: string): string {
  const { name } = chosenEdits.bodies.at(-1)!["metadata"] as { readonly name: string }; // each body has a name
  return `${listPath(chosenEdits, ns)}/${name}`;
}

/** Deletes an object, with or without finalizers. */
export async function remove(comparison: Comparison, path: string): Promise<void> {
  await comparison.askEach("DELETE", `${path}?gracePeriodSeconds=0`);
  // The reference sometimes adds its own finalizer to a definition again.
  await comparison.waitForCode(404, "PATCH", path, { metadata: { finalizers: null } });
}

const readEach = async (comparison: Comparison, path: string): Promise<readonly Json[]> =>
  (await comparison.askEach("GET", path)).map(({ body }) => body);

/** Waits until both servers have written the status of an object. Returns the object of each server. */
export async function whenStatusWritten(comparison: Comparison, path: string): Promise<readonly Json[]> {
  for (let attempt = 0; ; attempt++) {
    const stored = await readEach(comparison, path);
    // A client may have removed conditions that no server writes again.
    const isSettled = attempt >= 20 && conditionsOf(stored[0]!) === conditionsOf(stored[1]!);
    if (attempt >= 1200 || isSettled || stored.every(isStatusWritten)) return stored;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
}

/** Returns the types and values of the conditions as a text. */
function conditionsOf({ status }: Json): string {
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly Json[] | null };
  return (conditions ?? [])
    .map(({ type, status }) => `${String(type)}=${String(status)}`)
    .sort()
    .join();
}

function isStatusWritten({ metadata, status }: Json): boolean {
  const { conditions } = (status ?? {}) as { readonly conditions?: readonly Json[] | null };
  // A definition is established some time after its names are accepted. An edit may have added other conditions.
  const isWritten = (conditions ?? []).some(
    ({ type, status }) =>
      type === "Dangling" ||
      (type === "NamesAccepted" && status === "False") ||
      (type === "Established" && status === "True"),
  );
  return isWritten || metadata === undefined;
}

async function compareCase(comparison: Comparison, testCase: KindCase, ns: string, seed: number) {
  const { kind, bodies, changes } = testCase;
  const path = listPath(testCase, ns);
  const one = pathOf(testCase, ns);
  const askEach = (to: Omit<ServerRequest, "body">, sent: readonly Json[]): Promise<Answer[]> =>
    Promise.all(comparison.servers.map((server, at) => ask(server, { ...to, body: sent[at]! }))); // one body each
  const compare = (what: string, sent: Json, shown: unknown, answers: readonly Answer[]) => {
    const lines = findDifferences(answers.map((answer) => linesOf(answer, kind.hasServerStatus === true)));
    const isAsDocumented = isExcused(kind.resource, lines, sent);
    if (isAsDocumented) comparison.excused++;
    const isSame = !isAsDocumented && comparison.compare(`seed ${seed}: ${kind.resource}: ${what}`, shown, lines);
    return {
      isSame,
      isDone: answers.every(({ code }) => code < 300),
      isRefused: answers.every(({ code }) => code >= 300),
    };
  };
  let isCreated = false;
  for (const [at, body] of bodies.entries()) {
    const answers = await askEach({ method: "POST", path }, [body, body]);
    isCreated = compare(`created ${at}`, body, body, answers).isDone;
    if (isCreated) break;
    await remove(comparison, one);
  }
  if (!isCreated) return;
  const listStored = (): Promise<readonly Json[]> =>
    kind.hasServerStatus === true ? whenStatusWritten(comparison, one) : readEach(comparison, one);
  for (const [at, { subresource, edits }] of changes.entries()) {
    let chosenEdits: readonly Edit[] | undefined;
    let answers: readonly Answer[] = [];
    let sent: Json = {};
    let shown: unknown;
    // Servers write the status of some kinds at the same time.
    for (let attempt = 0; attempt === 0 || (attempt < 20 && answers.some(({ code }) => code === 409)); attempt++) {
      const now = await listStored();
      if (now.some(({ metadata }) => metadata === undefined)) return;
      const chosen = (chosenEdits ??= edits(now[0]!));
      const next = now.map((body) => chosen.map(withNamesOf(body, now[0]!)).reduce<unknown>(applyEdit, body) as Json); // edits keep an object
      sent = next[0]!;
      answers = await askEach({ method: "PUT", path: subresource === "" ? one : `${one}/${subresource}` }, next);
      shown = { edits: chosen, of: kind.root === undefined ? now[0] : now[0]![kind.root] };
    }
    const { isSame, isRefused } = compare(`change ${at} of ${subresource || "the object"}`, sent, shown, answers);
    // The servers store different objects now, so that later answers would differ too.
    if (!isSame && !isRefused) return;
  }
}

/**
 * Returns a function that adapts edits to a server's object. Edits come from the object of our server: its random names,
 * its address and its node ports are replaced by those of `body`.
 */
function withNamesOf(body: Json, ours: Json): (edit: Edit) => Edit {
  const [own] = JSON.stringify(body).match(randomName) ?? [];
  const [from = [], to = []] = [ours, body].map(numbersOf);
  const rename = (text: string): string => {
    const named = own === undefined ? text : text.replace(randomName, own);
    return from.reduce((renamed, number, at) => renamed.replaceAll(number, to[at] ?? number), named);
  };
  return ({ path, value }) => ({
    path,
    value: value === undefined ? value : JSON.parse(rename(JSON.stringify(value))),
  });
}

/** Returns what a server has chosen for a service, as JSON shows it: the cluster address and the node ports. */
function numbersOf({ spec }: Json): readonly string[] {
  const { clusterIP, ports } = (spec ?? {}) as {
    readonly clusterIP?: string;
    readonly ports?: readonly { readonly nodePort?: number }[];
  };
  const chosen = Array.isArray(ports) ? ports.flatMap(({ nodePort }) => nodePort ?? []) : [];
  return [`"${clusterIP ?? ""}"`, ...chosen.map((nodePort) => `"nodePort":${nodePort}`)];
}
