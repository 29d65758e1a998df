/**
 * Reads objects from a sequence of YAML documents or JSON values, one at a time, so that a long file needs little
 * memory.
 */
import { decodeJson } from "#codec/json.ts";
import { decodeYaml } from "#codec/yaml.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { isObject } from "#std/is-object.ts";
import { StartError } from "#std/start-error.ts";

/** An object, or the problem of a document without a valid one; `line` is the first line of the document. */
type ReadDocument =
  | { readonly object: Unstructured; readonly line: number }
  | { readonly problem: string; readonly line: number };

const documentCharactersMax = 64 * 1024 * 1024;

/**
 * Yields the objects in the lines of a text, and each object of a list. Throws `StartError` for a document that is too
 * long.
 */
export async function* readDocuments(lines: AsyncIterable<string>): AsyncGenerator<ReadDocument> {
  let current: string[] = [];
  let length = 0;
  let start = 1;
  let at = 0;
  /** The state of the scan while a JSON value is read; `undefined` in YAML. */
  let json: JsonScanState | undefined;
  const take = function* (): Generator<ReadDocument> {
    const text = current.join("\n");
    current = [];
    length = 0;
    yield* documentObjects(text, start, json !== undefined);
    json = undefined;
  };
  for await (const line of lines) {
    at++;
    if (json === undefined && /^(?:---|\.\.\.)(?:\s|$)/.test(line)) {
      yield* take();
      start = at + 1;
      const rest = line.slice(3).trim();
      if (rest === "" || rest.startsWith("#")) continue;
      current.push(rest);
      continue;
    }
    const isFirst = current.every((before) => /^\s*(?:#.*)?$/.test(before));
    if (isFirst && json === undefined && line.trimStart().startsWith("{")) {
      json = { depth: 0, isInText: false };
      current = [];
      start = at;
    }
    current.push(line);
    length += line.length;
    if (length > documentCharactersMax) throw new StartError(`the document from line ${start} on is too long`);
    if (json === undefined) continue;
    scanLine(line, json);
    if (json.depth === 0 && !json.isInText) yield* take();
  }
  yield* take();
}

interface JsonScanState {
  depth: number;
  isInText: boolean;
}

function scanLine(line: string, state: JsonScanState): void {
  for (let i = 0; i < line.length; i++) {
    const character = line[i];
    if (state.isInText) {
      if (character === "\\") i++;
      else if (character === '"') state.isInText = false;
    } else if (character === '"') state.isInText = true;
    else if (character === "{" || character === "[") state.depth++;
    else if (character === "}" || character === "]") state.depth--;
  }
}

function* documentObjects(text: string, line: number, isJson: boolean): Generator<ReadDocument> {
  if (/^(?:\s*(?:#.*)?(?:\n|$))*$/.test(text)) return;
  let value: unknown;
  try {
    const bytes = Buffer.from(text);
    ({ value } = isJson ? decodeJson(bytes) : decodeYaml(bytes));
  } catch (error) {
    yield { problem: error instanceof Error ? error.message : String(error), line };
    return;
  }
  if (value === null || value === undefined) return;
  yield* objectsOf(value, line);
}

function* objectsOf(value: unknown, line: number): Generator<ReadDocument> {
  if (!isObject(value)) {
    yield { problem: "is no object", line };
    return;
  }
  const { apiVersion, kind, metadata, items } = value;
  if (typeof kind === "string" && kind.endsWith("List") && Array.isArray(items)) {
    for (const item of items) yield* objectsOf(item, line);
    return;
  }
  if (typeof apiVersion !== "string" || typeof kind !== "string" || !isObject(metadata)) {
    yield { problem: "has no apiVersion, kind and metadata", line };
    return;
  }
  if (typeof metadata["name"] !== "string" || metadata["name"] === "") {
    yield { problem: `${kind} without a name`, line };
    return;
  }
  // YAML can have empty fields.
  const presentFields = Object.fromEntries(Object.entries(metadata).filter(([, field]) => field !== null));
  const wrong = wrongField(presentFields);
  if (wrong !== undefined) {
    yield { problem: `${kind} ${JSON.stringify(presentFields["name"])} with a metadata.${wrong}`, line };
    return;
  }
  // The fields that this program reads are checked; the server checks the rest.
  yield { object: { ...value, metadata: presentFields } as unknown as Unstructured, line };
}

/** Returns the field of metadata with a wrong type, as part of a message; `undefined` if all are right. */
function wrongField(metadata: Readonly<Record<string, unknown>>): string | undefined {
  const { namespace, labels, annotations, ownerReferences = [] } = metadata;
  if (namespace !== undefined && typeof namespace !== "string") return "namespace that is no text";
  for (const [name, texts] of Object.entries({ labels, annotations })) {
    if (texts !== undefined && !areTexts(texts)) return `${name} that does not consist of names with texts`;
  }
  if (Array.isArray(ownerReferences) && ownerReferences.every(isReference)) return undefined;
  return "ownerReferences that does not consist of references";
}

const areTexts = (value: unknown): boolean =>
  isObject(value) && Object.values(value).every((text) => typeof text === "string");

const isReference = (value: unknown): boolean =>
  isObject(value) && ["apiVersion", "kind", "name"].every((field) => typeof value[field] === "string");
