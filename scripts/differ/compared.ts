/** Kinds that are compared: where they are served, right objects of them, and which of their fields are edited. */
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import type { Random } from "#std/random.ts";
import type { Json } from "./servers.ts";

/** A kind whose objects are compared. */
export interface ComparedKind {
  /** Path of its group version. */
  readonly path: string;
  readonly resource: string;
  readonly schema: Schema;
  /** The field that is edited: `spec`, and of templates `template`; `undefined` for all that are no metadata nor status. */
  readonly root: string | undefined;
  readonly isClusterScoped: boolean;
  /** Servers write the status, each in its own time: it is not compared. */
  readonly hasServerStatus?: boolean;
  /** Subresources that are put, with the field that they are about. */
  readonly subresources: Readonly<Record<string, string>>;
  /** A right one. */
  make(random: Random): Json;
}

const tables = loadDefinitions(kubernetesDomain);

function schemaOf(group: string, version: string, kind: string): Schema {
  const schema = tables.schemaOf({ group, version, kind });
  if (schema === undefined) throw new Error(`no kind ${kind}`);
  return schema;
}

/** `make` gives what is at the root. */
export function compared(
  group: string,
  version: string,
  kind: string,
  resource: string,
  spec: (random: Random) => Json,
  more: Partial<ComparedKind> = {},
): ComparedKind {
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const root = "root" in more ? more.root : "spec";
  return {
    path,
    resource,
    schema: schemaOf(group, version, kind),
    root,
    isClusterScoped: false,
    subresources: { status: "status" },
    make: (random) => {
      const content = spec(random);
      const fields = root === undefined ? content : { [root]: content };
      return { apiVersion, kind, metadata: { name: "one", labels: { app: "a" } }, ...fields };
    },
    ...more,
  };
}

/** A kind in a namespace, without subresources, of which all is edited. */
export const whole = (
  group: string,
  version: string,
  kind: string,
  resource: string,
  content: (random: Random) => Json,
  more: Partial<ComparedKind> = {},
): ComparedKind => compared(group, version, kind, resource, content, { root: undefined, subresources: {}, ...more });

export const withStatus = { subresources: { status: "status" } };
export const ofCluster = { isClusterScoped: true };

const notEdited = new Set(["apiVersion", "kind", "metadata", "status"]);

/** Returns what is edited at a field of an object, or of the whole object: its type, value and path. */
export function contentOf(
  { schema }: ComparedKind,
  object: Json,
  field: string | undefined,
): { readonly schema: Schema; readonly value: unknown; readonly path: readonly string[] } {
  const fields = schema.fields!; // kinds have them
  if (field !== undefined) return { schema: fields.get(field)!.schema, value: object[field] ?? {}, path: [field] }; // so has each kind those of its row
  const edited = new Map([...fields].filter(([name]) => !notEdited.has(name)));
  return { schema: { ...schema, fields: edited }, value: object, path: [] };
}

/** An object with what a server adds and checks look at: selectors of jobs are made of the uid, and pods have an account. */
export function asReceived(body: Json): Unstructured {
  const metadata = { namespace: "default", ...(body["metadata"] as Json), uid: "u" };
  const account = body["kind"] === "Pod" ? { serviceAccountName: "default" } : {};
  const spec = "spec" in body ? { spec: { ...account, ...(body["spec"] as Json) } } : {};
  return { ...body, ...spec, metadata };
}
