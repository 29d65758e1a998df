/**
 * Merges version 2 documents of other servers into this server's own: the paths of their group versions, with the
 * definitions and parameters they use. Definitions whose name is taken are renamed. Source: upstream's
 * `kube-openapi/pkg/aggregator`.
 */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "#std/is-object.ts";
import type { MutableJson } from "./published-schema.ts";

/** The document of another server. */
export interface RemoteDocumentV2 {
  readonly group: string;
  readonly version: string;
  /** The document as JSON. */
  readonly bytes: Buffer;
}

/** The tables of a document, which are changed in place. */
export interface PartsV2 {
  readonly paths: MutableJson;
  readonly definitions: MutableJson;
  readonly parameters: MutableJson;
}

/**
 * Adds a document to `own`. A document that is invalid adds nothing. `pause` is awaited between parts of a long one.
 */
export async function addRemoteV2(
  own: PartsV2,
  { group, version, bytes }: RemoteDocumentV2,
  pause: () => Promise<void>,
): Promise<void> {
  let added: PartsV2;
  try {
    const document: unknown = JSON.parse(bytes.toString());
    if (!isObject(document)) return;
    await pause();
    added = await collectRenamed(own, document, `/apis/${group}/${version}`, pause);
  } catch {
    // The document is not JSON, or is nested too deeply.
    return;
  }
  Object.assign(own.paths, added.paths);
  Object.assign(own.definitions, added.definitions);
  Object.assign(own.parameters, added.parameters);
}

const tablesWithNames = ["definitions", "parameters"] as const;

/** Returns the parts of the document, with names and references that do not conflict with `own`. */
async function collectRenamed(
  own: PartsV2,
  document: MutableJson,
  prefix: string,
  pause: () => Promise<void>,
): Promise<PartsV2> {
  const names = new Map<string, string>();
  for (const table of tablesWithNames) {
    for (const [name, value] of Object.entries(tableOf(document, table))) {
      names.set(`#/${table}/${name}`, `#/${table}/${freeName(own[table], name, value)}`);
    }
  }
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === "$ref" && typeof inner === "string" ? (names.get(inner) ?? inner) : rewrite(inner),
      ]),
    );
  };
  const rewriteTable = async (table: (typeof tablesWithNames)[number]): Promise<MutableJson> => {
    const parts: [string, unknown][] = [];
    for await (const [name, value] of inParts(tableOf(document, table), pause)) {
      // Every name was set above.
      parts.push([names.get(`#/${table}/${name}`)!.slice(table.length + 3), rewrite(value)]);
    }
    return Object.fromEntries(parts);
  };
  const paths: [string, unknown][] = [];
  for await (const [path, value] of inParts(tableOf(document, "paths"), pause)) {
    if (path === prefix || path.startsWith(`${prefix}/`)) paths.push([path, rewrite(value)]);
  }
  return {
    paths: Object.fromEntries(paths),
    definitions: await rewriteTable("definitions"),
    parameters: await rewriteTable("parameters"),
  };
}

/** The maximum number of parts between two pauses, for which others wait. */
const partsMax = 200;

/** Yields the entries of a table, with pauses. */
export async function* inParts(
  table: MutableJson,
  pause: () => Promise<void>,
): AsyncGenerator<[string, unknown], void> {
  const entries = Object.entries(table);
  for (let at = 0; at < entries.length; at += partsMax) {
    if (at > 0) await pause();
    yield* entries.slice(at, at + partsMax);
  }
}

const tableOf = (document: MutableJson, table: string): MutableJson => {
  const members = document[table];
  return isObject(members) ? members : {};
};

/** Returns the name; with a number after it if the table has another value with this name. */
function freeName(table: MutableJson, name: string, value: unknown): string {
  let free = name;
  for (let number = 2; Object.hasOwn(table, free) && !isDeepStrictEqual(table[free], value); number++) {
    free = `${name}_v${number}`;
  }
  return free;
}
