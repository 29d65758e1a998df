/**
 * Decodes the text of a kubeconfig: YAML or JSON. Unknown fields are ignored, and types are checked, as kubectl does.
 * Messages name files, entries, fields and lines, and never quote values, which may be secrets.
 */
import { isObject } from "#std/is-object.ts";
import { isRawNumber } from "#std/raw-number.ts";
import {
  type ClusterEntry,
  type ContextEntry,
  type ExecEntry,
  type Kubeconfig,
  KubeconfigError,
  type UserEntry,
} from "../kubeconfig-entries.ts";
import { parseYaml, YamlError } from "../parse-yaml.ts";

/** Decodes the text of one file. `file` is absent for a text that no file holds. Rejects with `KubeconfigError`. */
export async function decodeKubeconfig(text: string, file?: string): Promise<Kubeconfig> {
  try {
    const {
      kind = "",
      apiVersion = "",
      clusters = new Map(),
      users = new Map(),
      contexts = new Map(),
      "current-context": currentContext = "",
    } = document((await parseYaml(text)) ?? {}, "");
    if (!["", "Config"].includes(kind) || !["", "v1"].includes(apiVersion)) {
      throw new FieldProblem("it is no kubeconfig: a kubeconfig has the kind Config in the version v1");
    }
    if (file === undefined) return { currentContext, clusters, users, contexts, files: [], missing: [] };
    const from = <T extends object>(entries: ReadonlyMap<string, T>): ReadonlyMap<string, T> =>
      new Map([...entries].map(([name, entry]) => [name, { ...entry, origin: file }]));
    return {
      currentContext,
      clusters: from(clusters),
      users: from(users),
      contexts: from(contexts),
      files: [file],
      missing: [],
    };
  } catch (error) {
    if (!(error instanceof FieldProblem || error instanceof YamlError)) throw error;
    throw new KubeconfigError(file === undefined ? `kubeconfig: ${error.message}` : `${file}: ${error.message}`);
  }
}

class FieldProblem extends Error {}

/** Decodes a value, which is neither undefined nor null. `path` names it in messages. Throws `FieldProblem`. */
type Reader<T> = (value: unknown, path: string) => T;

type Fields<T> = { readonly [Name in keyof Required<T>]: Reader<Required<T>[Name]> };

const text: Reader<string> = (value, path) => {
  if (typeof value === "string") return value;
  throw new FieldProblem(`${path}: must be text: put it in quotes`);
};

const flag: Reader<boolean> = (value, path) => {
  if (typeof value === "boolean") return value;
  throw new FieldProblem(`${path}: must be true or false, without quotes`);
};

const base64: Reader<string> = (value, path) => {
  const data = text(value, path).replace(/[\r\n]/g, "");
  if (/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(data)) return data;
  throw new FieldProblem(`${path}: must be base64`);
};

/** The maximum number of values in data of other programs, and their maximum nesting, with aliases repeated. */
const anyMax = 100_000;
const depthMax = 200;

/** Returns a copy, in which nothing is shared. */
const any: Reader<unknown> = (value, path) => {
  let left = anyMax;
  const copy = (part: unknown, depth: number): unknown => {
    if (left-- <= 0 || depth > depthMax) throw new FieldProblem(`${path}: has too many values`);
    if (Array.isArray(part)) return part.map((item) => copy(item, depth + 1));
    if (!isObject(part) || isRawNumber(part)) return part;
    return Object.fromEntries(Object.entries(part).map(([key, item]) => [key, copy(item, depth + 1)]));
  };
  return copy(value, 0);
};

const list =
  <T>(item: Reader<T>): Reader<readonly T[]> =>
  (value, path) => {
    if (!Array.isArray(value)) throw new FieldProblem(`${path}: must be a list`);
    // A null item is an item without content.
    return value.map((part: unknown, i) => item(part ?? (item === text ? "" : {}), `${path}[${i}]`));
  };

const record =
  <T>(item: Reader<T>): Reader<Readonly<Record<string, T>>> =>
  (value, path) => {
    if (!isObject(value)) throw new FieldProblem(`${path}: must be a mapping`);
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, part]) => part !== null)
        .map(([key, part]) => [key, item(part, `${path}.${key}`)]),
    );
  };

function struct<T extends object>(fields: Omit<Fields<T>, "origin">): Reader<T> {
  return (value, path) => {
    if (!isObject(value)) throw new FieldProblem(`${path || "it"}: must be a mapping`);
    const result: Record<string, unknown> = {};
    for (const [name, read] of Object.entries<Reader<unknown>>(fields)) {
      const part = value[name];
      if (part === undefined || part === null) continue;
      result[name] = read(part, path === "" ? name : path.endsWith(":") ? `${path} ${name}` : `${path}.${name}`);
    }
    return result as T; // every field was decoded by its reader
  };
}

/** Decodes a list of entries, `{ name: N, cluster: {…} }`, to a map. */
const entries =
  <T extends object>(kind: string, entry: Reader<T>): Reader<ReadonlyMap<string, T>> =>
  (value, path) => {
    const found = new Map<string, T>();
    const readName = struct<{ readonly name?: string }>({ name: text });
    for (const { name = "", item } of list((part, at) => ({ ...readName(part, at), item: part }))(value, path)) {
      const at = `${kind} ${JSON.stringify(name)}:`;
      if (found.has(name)) throw new FieldProblem(`${at} there are two of this name`);
      const content = (item as Readonly<Record<string, unknown>>)[kind]; // `readName` found a mapping
      found.set(name, entry(content ?? {}, at));
    }
    return found;
  };

const extensions = list(struct({ name: text, extension: any }));

const cluster = struct<ClusterEntry>({
  server: text,
  "tls-server-name": text,
  "insecure-skip-tls-verify": flag,
  "certificate-authority": text,
  "certificate-authority-data": base64,
  "proxy-url": text,
  "disable-compression": flag,
  extensions,
});

const exec = struct<ExecEntry>({
  command: text,
  args: list(text),
  env: list(struct({ name: text, value: text })),
  apiVersion: text,
  installHint: text,
  provideClusterInfo: flag,
  interactiveMode: text,
});

const user = struct<UserEntry>({
  "client-certificate": text,
  "client-certificate-data": base64,
  "client-key": text,
  "client-key-data": base64,
  token: text,
  tokenFile: text,
  as: text,
  "as-uid": text,
  "as-groups": list(text),
  "as-user-extra": record(list(text)),
  username: text,
  password: text,
  "auth-provider": any,
  exec,
  extensions,
});

const context = struct<ContextEntry>({ cluster: text, user: text, namespace: text, extensions });

const document = struct<{
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly "current-context"?: string;
  readonly clusters?: ReadonlyMap<string, ClusterEntry>;
  readonly users?: ReadonlyMap<string, UserEntry>;
  readonly contexts?: ReadonlyMap<string, ContextEntry>;
}>({
  kind: text,
  apiVersion: text,
  "current-context": text,
  clusters: entries("cluster", cluster),
  users: entries("user", user),
  contexts: entries("context", context),
});
