/** The compared kinds: their paths, valid objects, and the fields that are edited. */
import { loadDefinitions } from "#api/definitions.ts";
import { kubernetesDomain } from "#meta/api-domain.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Schema } from "#schema/schema.ts";
import type { Random } from "#std/random.ts";
import type { Json } from "./servers.ts";

/** A kind whose objects are compared. */
export interface ComparedKind {
  /** The path of the group version. */
  readonly path: string;
  readonly resource: string;
  readonly schema: Schema;
  /**
   * The field that is edited: `spec`, or `template` for templates; `undefined` for all fields except metadata and
   * status.
   */
  readonly root: string | undefined;
  readonly isClusterScoped: boolean;
  /** Whether the server writes the status, which is then not compared, since each server takes its own time. */
  readonly hasServerStatus?: boolean;
  /** The subresources that are written by PUT, each with the field that it writes. */
  readonly subresources: Readonly<Record<string, string>>;
  /** Returns a valid object. */
  make(random: Random): Json;
}

const tables = loadDefinitions(kubernetesDomain);

function schemaOf(group: string, version: string, kind: string): Schema {
  const schema = tables.schemaOf({ group, version, kind });
  if (schema === undefined) throw new Error(`no kind ${kind}`);
  return schema;
}

/** Makes a compared kind. `spec` makes the content of the edited field. */
export function comparedKind(
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

/** Makes a compared kind in a namespace, without subresources, whose whole content is edited. */
export const comparedKindWithoutSpec = (
  group: string,
  version: string,
  kind: string,
  resource: string,
  content: (random: Random) => Json,
  more: Partial<ComparedKind> = {},
): ComparedKind =>
  comparedKind(group, version, kind, resource, content, { root: undefined, subresources: {}, ...more });

export const withStatus = { subresources: { status: "status" } };
export const ofCluster = { isClusterScoped: true };

const notEdited = new Set(["apiVersion", "kind", "metadata", "status"]);

/** Returns the edited content of an object: its type, value and path. `field` is `undefined` for the whole object. */
export function contentOf(
  { schema }: ComparedKind,
  object: Json,
  field: string | undefined,
): { readonly schema: Schema; readonly value: unknown; readonly path: readonly string[] } {
  const fields = schema.fields!; // kinds have fields
  if (field !== undefined) return { schema: fields.get(field)!.schema, value: object[field] ?? {}, path: [field] }; // each kind has this field
  const edited = new Map([...fields].filter(([name]) => !notEdited.has(name)));
  return { schema: { ...schema, fields: edited }, value: object, path: [] };
}

/**
 * Returns an object with the parts that a server adds and that checks need: the uid for selectors of jobs, and the
 * account of pods.
 */
export function asReceived(body: Json): Unstructured {
  const metadata = { namespace: "default", ...(body["metadata"] as Json), uid: "u" };
  const account = body["kind"] === "Pod" ? { serviceAccountName: "default" } : {};
  const spec = "spec" in body ? { spec: { ...account, ...(body["spec"] as Json) } } : {};
  return { ...body, ...spec, metadata };
}
