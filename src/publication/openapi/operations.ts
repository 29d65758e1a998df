/**
 * Describes the operations of each path, as data for both OpenAPI versions: paths of a definition and its subresources,
 * methods, parameters, bodies, answers, and operation ids, from which client generators make method names. Source:
 * upstream's `endpoints/installer` and `endpoints/openapi`, and the builder of `apiextensions-apiserver` for custom
 * resources; their differences were recorded from a 1.32 server.
 */
import type { ApiTables, SubresourceFacts } from "#api/definitions.ts";
import { apiPathOf, type GroupVersion, type GroupVersionKind } from "#meta/group-version.ts";
import type { ResourceDefinition, SubresourceDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import type { Schema } from "#schema/schema.ts";
import { builtInOperationText, builtInParameterText, operationText, parameterText } from "./operation-texts.ts";

type Method = "get" | "put" | "post" | "delete" | "options" | "head" | "patch";

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query";
  readonly type: "string" | "integer" | "boolean";
  /** The description; those of custom resources are upstream's, which clients compare. */
  readonly description?: string;
}

export interface OpenApiOperation {
  readonly method: Method;
  readonly id: string;
  readonly tag: string;
  /** The operation's verb, approximately as in authorization; absent for discovery. */
  readonly action?: string;
  readonly description?: string;
  readonly kind?: GroupVersionKind;
  readonly parameters: readonly Parameter[];
  /** The media types of the body; `produces` has those of the answers. */
  readonly consumes: readonly string[];
  readonly produces: readonly string[];
  readonly body?: { readonly type: string; readonly required: boolean };
  /** The name of the definition by status code; an empty name means plain text. */
  readonly answers: readonly (readonly [code: 200 | 201 | 202, type: string])[];
}

export interface PathItem {
  readonly path: string;
  /** The parameters that all operations have. They are sorted by name, as are the parameters of each operation. */
  readonly parameters: readonly Parameter[];
  readonly operations: readonly OpenApiOperation[];
}

const json = "application/json";
const protobuf = "application/vnd.kubernetes.protobuf";
const textAndProtobuf = [json, "application/yaml", protobuf];
const streamsOfThese = ["application/json;stream=watch", `${protobuf};stream=watch`];
const customTypes = ["application/json", "application/yaml"];
const patchTypes = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];
const customPatchTypes = patchTypes.filter((type) => !type.includes("strategic"));

/** The media types of built-in kinds: of objects, of lists and watches, of patches. */
interface MediaTypes {
  readonly objects: readonly string[];
  readonly lists: readonly string[];
  readonly patches: readonly string[];
}

/** Returns the media types of a server; `cbor` tells whether CBOR is served. */
function mediaTypes(cbor: boolean): MediaTypes {
  const objects = cbor ? [...textAndProtobuf, "application/cbor"] : textAndProtobuf;
  const streams = cbor ? [...streamsOfThese, "application/cbor-seq"] : streamsOfThese;
  const patches = cbor ? [...patchTypes, "application/apply-patch+cbor"] : patchTypes;
  return { objects, lists: [...objects, ...streams], patches };
}

const pretty: Parameter = { name: "pretty", in: "query", type: "string" };
const nameParameter: Parameter = { name: "name", in: "path", type: "string" };
const namespaceParameter: Parameter = { name: "namespace", in: "path", type: "string" };
const pathParameter: Parameter = { name: "path", in: "path", type: "string" };

const serverVersion = { id: "getCodeVersion", tag: "version", description: "Returns the version of the server." };

/** Returns the definition name of a custom kind: the labels of its group in reverse order, version, kind. */
export function customTypeName({ group, version, kind }: GroupVersionKind): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

/** Describes the paths of one server. Its tables define the options and bodies. */
export class Operations {
  readonly #tables: ApiTables;
  readonly #meta: string;
  /** The end of group names that operation ids omit. */
  readonly #groupEnd: string;
  readonly #options = new Map<string, readonly Parameter[]>();
  readonly types: MediaTypes;

  /** `cbor`: whether CBOR is served. */
  constructor(tables: ApiTables, cbor = false) {
    this.#tables = tables;
    this.types = mediaTypes(cbor);
    this.#meta = tables.domain.rename("io.k8s.apimachinery.pkg.apis.meta.v1");
    this.#groupEnd = `.${tables.domain.rename("k8s.io")}`;
  }

  /** Returns the definition name of a type of the meta package. */
  meta(kind: string): string {
    return `${this.#meta}.${kind}`;
  }

  /**
   * Returns the paths of one version of a group, sorted. Only built-in groups have a path for their list of resources.
   */
  ofVersion(gv: GroupVersion, definitions: readonly ResourceDefinition[]): PathItem[] {
    const items = definitions.flatMap((definition) => this.#ofDefinition(definition));
    if (definitions.some(({ custom }) => custom === undefined)) {
      items.push(this.#discovery(`${apiPathOf(gv)}/`, "getAPIResources", "APIResourceList", this.types.objects));
    }
    return items.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  ofCore(): PathItem[] {
    return [this.#discovery("/api/", "getAPIVersions", "APIVersions")];
  }

  ofGroups(): PathItem[] {
    return [this.#discovery("/apis/", "getAPIVersions", "APIGroupList")];
  }

  ofGroup(group: string): PathItem[] {
    return [this.#discovery(`/apis/${group}/`, "getAPIGroup", "APIGroup")];
  }

  ofServerVersion(): PathItem[] {
    const type = this.#tables.domain.rename("io.k8s.apimachinery.pkg.version.Info");
    return [fixedPath("/version/", { ...serverVersion, consumes: [json], produces: [json] }, type)];
  }

  /** Returns the path of the discovery document of the issuer of service account tokens. */
  ofIssuer(): PathItem[] {
    const description = "Returns where the keys of service account tokens are.";
    const names = { id: "getServiceAccountIssuerOpenIDConfiguration", tag: "WellKnown", description };
    return [fixedPath("/.well-known/openid-configuration/", { ...names, consumes: [], produces: [json] }, "")];
  }

  /** Returns the path of the public keys of that issuer. */
  ofIssuerKeys(): PathItem[] {
    const description = "Returns the public keys of service account tokens.";
    const names = { id: "getServiceAccountIssuerOpenIDKeyset", tag: "openid", description };
    return [fixedPath("/openid/v1/jwks/", { ...names, consumes: [], produces: ["application/jwk-set+json"] }, "")];
  }

  /** Upstream: only lists of resources have the media types of objects; the others have no CBOR. */
  #discovery(path: string, name: string, kind: string, types: readonly string[] = textAndProtobuf): PathItem {
    return item(path, [
      {
        method: "get",
        ...this.identify(path, name),
        description: "Says what is served.",
        parameters: [],
        consumes: types,
        produces: types,
        answers: [[200, this.meta(kind)]],
      },
    ]);
  }

  #ofDefinition(definition: ResourceDefinition): PathItem[] {
    const { namespaced, resource, kind, verbs } = definition;
    const describesRoutes = servingRulesOf(definition).hasRoutes;
    const base = apiPathOf(definition);
    const scoped = `${namespaced ? "/namespaces/{namespace}" : ""}/${resource}`;
    const collection = base + scoped;
    const single = `${collection}/{name}`;
    const scope = namespaced ? "Namespaced" : "";
    const type = describesRoutes ? (definition.schema.name ?? "") : customTypeName(definition);
    const paths = new Map<string, OpenApiOperation[]>();
    const add = (path: string, operation: OpenApiOperation): void => {
      const list = paths.get(path);
      if (list === undefined) paths.set(path, [operation]);
      else list.push(operation);
    };
    const writer = new OperationWriter(this, definition, type);

    if (verbs.includes("list")) add(collection, writer.list(collection, `list${scope}${kind}`));
    if (verbs.includes("create")) add(collection, writer.create(collection, `create${scope}${kind}`, type));
    if (verbs.includes("deletecollection")) {
      add(collection, writer.deleteCollection(collection, `deleteCollection${scope}${kind}`));
    }
    if (verbs.includes("get")) add(single, writer.read(single, `read${scope}${kind}`, type));
    if (verbs.includes("update")) add(single, writer.replace(single, `replace${scope}${kind}`, type));
    if (verbs.includes("delete")) add(single, writer.delete(single, `delete${scope}${kind}`));
    if (verbs.includes("patch")) add(single, writer.patch(single, `patch${scope}${kind}`, type));
    if (namespaced && verbs.includes("list")) {
      const everywhere = `${base}/${resource}`;
      add(everywhere, writer.list(everywhere, `list${kind}ForAllNamespaces`));
    }
    // Upstream: custom resources have no paths that begin with the verb.
    if (describesRoutes && verbs.includes("watch")) {
      const watched = `${base}/watch${scoped}`;
      add(watched, writer.watch(watched, `watch${scope}${kind}List`, "watchlist"));
      add(`${watched}/{name}`, writer.watch(`${watched}/{name}`, `watch${scope}${kind}`, "watch"));
      if (namespaced) {
        const everywhere = `${base}/watch/${resource}`;
        add(everywhere, writer.watch(everywhere, `watch${kind}ListForAllNamespaces`, "watchlist"));
      }
    }
    for (const part of definition.subresources) {
      const path = `${single}/${part.name}`;
      const facts = this.#facts(definition, part);
      const named = `${scope}${kind}${capital(part.name)}`;
      if (facts?.connect === true) {
        for (const operation of writer.connect(path, named, part, facts.proxyPath)) add(path, operation);
        if (!facts.proxyPath) continue;
        const below = `${path}/{path}`;
        for (const operation of writer.connect(below, `${named}WithPath`, part, true)) add(below, operation);
        continue;
      }
      for (const operation of writer.subresource(path, named, part)) add(path, operation);
    }
    return [...paths].map(([path, operations]) => item(path, operations));
  }

  #facts(definition: ResourceDefinition, part: SubresourceDefinition): SubresourceFacts | undefined {
    if (definition.custom !== undefined) return undefined;
    return this.#tables.kinds
      .find(({ resource, version, group }) => {
        return resource === definition.resource && version === definition.version && group === definition.group;
      })
      ?.subresources.find(({ name }) => name === part.name);
  }

  /** Returns the definition name of a kind's type; empty if there is none. */
  typeName(gvk: GroupVersionKind): string {
    return this.#tables.schemaOf(gvk)?.name ?? "";
  }

  /** Returns a description with names of the domain. */
  text(text: string): string {
    return this.#tables.domain.rename(text);
  }

  /** Returns the query parameters for the fields of an options type. */
  options(type: string): readonly Parameter[] {
    let parameters = this.#options.get(type);
    if (parameters === undefined) {
      parameters = queryParameters(this.#tables.schema(type));
      this.#options.set(type, parameters);
    }
    return parameters;
  }

  /**
   * Returns operation id and tag. Group and version are inserted after the verb with which `name` begins:
   * `readNamespacedPod` at a path of the core group is `readCoreV1NamespacedPod`, with the tag `core_v1`.
   */
  identify(path: string, name: string): { readonly id: string; readonly tag: string } {
    const verb = /^[a-z]+/.exec(name)?.[0] ?? "";
    const rest = name.slice(verb.length);
    const [prefix = "", ...parts] = path.split("/").filter((part) => part !== "");
    const [group, version] = prefix === "api" ? ["core", parts[0]] : [parts[0], parts[1]];
    if (group === undefined) return { id: verb + rest, tag: prefix };
    const trimmed = group.endsWith(this.#groupEnd) ? group.slice(0, -this.#groupEnd.length) : group;
    const plain = identifier(trimmed);
    return {
      id: `${verb}${capital(plain)}${version === undefined ? "" : capital(version)}${rest}`,
      tag: version === undefined ? plain : `${plain}_${version}`,
    };
  }
}

interface OperationParts extends Pick<OpenApiOperation, "answers"> {
  readonly action: string;
  readonly options: readonly Parameter[];
}

type Code = OpenApiOperation["answers"][number][0];

/** The verbs of resources: method, name in the documents, type of the query parameters, codes of the answers. */
const verbRows = {
  list: ["get", "list", "ListOptions", [200]],
  create: ["post", "post", "CreateOptions", [200, 201, 202]],
  deletecollection: ["delete", "deletecollection", "ListOptions", [200]],
  get: ["get", "get", "GetOptions", [200]],
  update: ["put", "put", "UpdateOptions", [200, 201]],
  delete: ["delete", "delete", "DeleteOptions", [200, 202]],
  patch: ["patch", "patch", "PatchOptions", [200, 201]],
} as const satisfies Readonly<Record<string, readonly [Method, string, string, readonly Code[]]>>;

/** Describes the operations of one definition. Its methods take names without group and version. */
class OperationWriter {
  readonly #api: Operations;
  readonly #definition: ResourceDefinition;
  readonly #type: string;
  readonly #describesRoutes: boolean;
  readonly #types: readonly string[];

  constructor(api: Operations, definition: ResourceDefinition, type: string) {
    this.#api = api;
    this.#definition = definition;
    this.#type = type;
    this.#describesRoutes = servingRulesOf(definition).hasRoutes;
    this.#types = this.#describesRoutes ? api.types.objects : customTypes;
  }

  list(path: string, name: string): OpenApiOperation {
    const { group, version, listKind } = this.#definition;
    const gvk = { group, version, kind: listKind };
    const type = this.#describesRoutes ? this.#api.typeName(gvk) : customTypeName(gvk);
    const produces = this.#describesRoutes ? this.#api.types.lists : customTypes;
    return { ...this.#ofVerb("list", path, name, type), produces };
  }

  create(path: string, name: string, type: string, kind: GroupVersionKind = this.#definition): OpenApiOperation {
    return { ...this.#ofVerb("create", path, name, type), kind: pickKind(kind), body: { type, required: true } };
  }

  deleteCollection(path: string, name: string): OpenApiOperation {
    const status = this.#api.meta("Status");
    if (!this.#describesRoutes) return this.#ofVerb("deletecollection", path, name, status);
    const options = [
      ...this.#options("ListOptions").filter((of) => of.name !== "watch" && of.name !== "allowWatchBookmarks"),
      ...this.#options("DeleteOptions"),
    ];
    const operation = this.#ofVerb("deletecollection", path, name, status, options);
    return { ...operation, body: { type: this.#api.meta("DeleteOptions"), required: false } };
  }

  read(path: string, name: string, type: string, kind: GroupVersionKind = this.#definition): OpenApiOperation {
    const options = this.#describesRoutes ? [] : this.#options("GetOptions");
    return { ...this.#ofVerb("get", path, name, type, options), kind: pickKind(kind) };
  }

  replace(path: string, name: string, type: string, kind: GroupVersionKind = this.#definition): OpenApiOperation {
    return { ...this.#ofVerb("update", path, name, type), kind: pickKind(kind), body: { type, required: true } };
  }

  delete(path: string, name: string): OpenApiOperation {
    const type = this.#definition.returnDeletedObject ? this.#type : this.#api.meta("Status");
    const body = { type: this.#api.meta("DeleteOptions"), required: false };
    return { ...this.#ofVerb("delete", path, name, type), body };
  }

  patch(path: string, name: string, type: string, kind: GroupVersionKind = this.#definition): OpenApiOperation {
    const { answers, ...operation } = this.#ofVerb("patch", path, name, type);
    return {
      ...operation,
      kind: pickKind(kind),
      consumes: this.#describesRoutes ? this.#api.types.patches : customPatchTypes,
      body: { type: this.#api.meta("Patch"), required: true },
      answers: this.#describesRoutes ? answers : answers.slice(0, 1),
    };
  }

  watch(path: string, name: string, action: "watch" | "watchlist"): OpenApiOperation {
    const answers = [[200, this.#api.meta("WatchEvent")] as const];
    const operation = this.#operation("get", path, name, { action, answers, options: this.#options("ListOptions") });
    return { ...operation, produces: this.#api.types.lists };
  }

  /** Returns the operations of a subresource. `named` is the part of the names after the verb. */
  subresource(path: string, named: string, part: SubresourceDefinition): OpenApiOperation[] {
    const { name, group, version, verbs } = part;
    const own = part.kind === this.#definition.kind;
    const type = own ? this.#type : this.#api.typeName(part);
    // Upstream: for a custom resource, even the scale has the kind of the resource.
    const kind = this.#describesRoutes ? { group, version, kind: part.kind } : this.#definition;
    const operations: OpenApiOperation[] = [];
    if (verbs.includes("get")) {
      const read = this.read(path, `read${named}`, type, kind);
      operations.push(name === "log" ? this.#log(read) : read);
    }
    if (verbs.includes("create")) operations.push(this.create(path, `create${named}`, type, kind));
    if (verbs.includes("update")) operations.push(this.replace(path, `replace${named}`, type, kind));
    if (verbs.includes("patch")) operations.push(this.patch(path, `patch${named}`, type, kind));
    return operations;
  }

  #log(read: OpenApiOperation): OpenApiOperation {
    const options = this.#api.options(this.#api.typeName({ group: "", version: "v1", kind: "PodLogOptions" }));
    const parameters = sortedParameters([...read.parameters, ...options.map((of) => this.#described(of, "get"))]);
    return { ...read, parameters, produces: ["text/plain", ...this.#api.types.objects], answers: [[200, ""]] };
  }

  /** Returns the operations of streams and proxies: one for every method. */
  connect(path: string, named: string, part: SubresourceDefinition, isProxy: boolean): OpenApiOperation[] {
    const { group, version, kind } = part;
    const methods: readonly Method[] = isProxy
      ? ["get", "put", "post", "delete", "options", "head", "patch"]
      : ["get", "post"];
    const options = this.#api.options(this.#api.typeName(part));
    return methods.map((method) => {
      const name = `connect${capital(method)}${named}`;
      const operation = this.#operation(method, path, name, { action: "connect", answers: [[200, ""]], options });
      const parameters = operation.parameters.filter(({ name: of }) => of !== "pretty");
      return {
        ...operation,
        kind: { group, version, kind },
        consumes: ["*/*"],
        produces: ["*/*"],
        parameters: sortedParameters(parameters),
      };
    });
  }

  #options(kind: string): readonly Parameter[] {
    return this.#api.options(this.#api.meta(kind));
  }

  /** Returns the operation of a verb. `type` is the definition name of its answers. */
  #ofVerb(
    verb: keyof typeof verbRows,
    path: string,
    name: string,
    type: string,
    options?: readonly Parameter[],
  ): OpenApiOperation {
    const [method, action, optionsType, codes] = verbRows[verb];
    const answers = codes.map((code) => [code, type] as const);
    return this.#operation(method, path, name, { action, answers, options: options ?? this.#options(optionsType) });
  }

  #described(parameter: Parameter, action: string): Parameter {
    const { kind } = this.#definition;
    const { name } = parameter;
    const text = this.#describesRoutes ? builtInParameterText(name, kind) : parameterText(name, action, kind);
    return text === undefined ? parameter : { ...parameter, description: this.#api.text(text) };
  }

  #operation(
    method: Method,
    path: string,
    name: string,
    { action, answers, options }: OperationParts,
  ): OpenApiOperation {
    const all = [...options, pretty];
    if (path.includes("{name}")) all.push(nameParameter);
    if (path.includes("{namespace}")) all.push(namespaceParameter);
    if (path.endsWith("{path}")) all.push(pathParameter);
    const { kind } = this.#definition;
    const isBuiltIn = this.#describesRoutes;
    const parameters = all.map((of) => this.#described(of, action));
    const part = partOf(path);
    return {
      method,
      ...this.#api.identify(path, name),
      action,
      description: isBuiltIn ? builtInOperationText(action, method, part, kind) : operationText(action, part, kind),
      kind: pickKind(this.#definition),
      parameters: sortedParameters(parameters),
      consumes: this.#describesRoutes ? ["*/*"] : customTypes,
      produces: this.#types,
      answers,
    };
  }
}

/** Returns a path that is read only, and answers with a type; an empty name means plain text. */
function fixedPath(
  path: string,
  parts: Pick<OpenApiOperation, "id" | "tag" | "description" | "consumes" | "produces">,
  type: string,
): PathItem {
  return item(path, [{ method: "get", parameters: [], ...parts, answers: [[200, type]] }]);
}

/** Returns the name of the subresource at the end of a path; empty if there is none. */
const partOf = (path: string): string => /\/\{name\}\/([^/]+)$/.exec(path)?.[1] ?? "";

function pickKind({ group, version, kind }: GroupVersionKind): GroupVersionKind {
  return { group, version, kind };
}

/** Returns the path with its operations. Parameters that all of them share are moved to the path. */
function item(path: string, operations: readonly OpenApiOperation[]): PathItem {
  const [first, ...others] = operations;
  const common = (first?.parameters ?? []).filter((parameter) =>
    others.every((operation) => operation.parameters.some((of) => isSame(of, parameter))),
  );
  const own = (of: Parameter): boolean => !common.some((parameter) => isSame(of, parameter));
  return {
    path,
    parameters: common,
    operations: operations.map((operation) => ({ ...operation, parameters: operation.parameters.filter(own) })),
  };
}

function isSame(a: Parameter, b: Parameter): boolean {
  return a.name === b.name && a.in === b.in;
}

/** Returns the parameters sorted by name, each once. */
function sortedParameters(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters
    .filter((parameter, at) => parameters.findIndex((of) => isSame(of, parameter)) === at)
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/**
 * Returns a parameter for each field of a simple type. A list has the type of its members, since a parameter may be
 * repeated.
 */
function queryParameters(options: Schema | undefined): readonly Parameter[] {
  const parameters: Parameter[] = [];
  for (const [name, field] of options?.fields ?? []) {
    if (name === "kind" || name === "apiVersion") continue;
    const schema = field.schema.type === "array" ? field.schema.items : field.schema;
    const type = schema?.type;
    if (type === "string" || type === "integer" || type === "boolean") parameters.push({ name, in: "query", type });
  }
  return parameters;
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** Returns the letters and digits of `text`. A letter after another character becomes a capital. */
function identifier(text: string): string {
  return text
    .split(/[^A-Za-z0-9_]+/)
    .map((part, at) => (at === 0 ? part : capital(part)))
    .join("");
}
