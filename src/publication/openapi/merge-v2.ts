/**
 * Adds the version 2 documents of other servers to this server's own: paths of their group versions, and the definitions
 * and parameters there. What has the name of something else gets another name. Source: upstream's
 * `kube-openapi/pkg/aggregator`.
 */
import { isDeepStrictEqual } from "node:util";
import { isObject } from "#std/is-object.ts";
import type { Json } from "./published-schema.ts";

/** The document of another server. */
export interface RemoteDocumentV2 {
  readonly group: string;
  readonly version: string;
  /** JSON. */
  readonly bytes: Buffer;
}

/** Tables of a document; changed in place. */
export interface PartsV2 {
  readonly paths: Json;
  readonly definitions: Json;
  readonly parameters: Json;
}

/** A document that cannot be read adds nothing. */
export function addRemoteV2(own: PartsV2, { group, version, bytes }: RemoteDocumentV2): void {
  let added: PartsV2;
  try {
    const document: unknown = JSON.parse(bytes.toString());
    if (!isObject(document)) return;
    added = renamed(own, document, `/apis/${group}/${version}`);
  } catch {
    // No JSON, or nested too deeply.
    return;
  }
  Object.assign(own.paths, added.paths);
  Object.assign(own.definitions, added.definitions);
  Object.assign(own.parameters, added.parameters);
}

const tablesWithNames = ["definitions", "parameters"] as const;

/** Parts of the document, with references that hold beside `own`. */
function renamed(own: PartsV2, document: Json, prefix: string): PartsV2 {
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
  const moved = (table: (typeof tablesWithNames)[number]): Json =>
    Object.fromEntries(
      Object.entries(tableOf(document, table)).map(([name, value]) => [
        names.get(`#/${table}/${name}`)!.slice(table.length + 3), // set above
        rewrite(value),
      ]),
    );
  const paths = Object.entries(tableOf(document, "paths"))
    .filter(([path]) => path === prefix || path.startsWith(`${prefix}/`))
    .map(([path, value]) => [path, rewrite(value)] as const);
  return { paths: Object.fromEntries(paths), definitions: moved("definitions"), parameters: moved("parameters") };
}

const tableOf = (document: Json, table: string): Json => {
  const found = document[table];
  return isObject(found) ? found : {};
};

/** The name, or with a number after it where that is something else. */
function freeName(table: Json, name: string, value: unknown): string {
  let free = name;
  for (let number = 2; Object.hasOwn(table, free) && !isDeepStrictEqual(table[free], value); number++) {
    free = `${name}_v${number}`;
  }
  return free;
}
