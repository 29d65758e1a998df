/**
 * The built-in kinds of release 1.32 as data: facts about each kind, and a `Schema` tree for each type, built on first
 * use and then shared. The API domain is applied here and nowhere else.
 *
 * `tables/` holds the facts. They are edited by hand when a release changes them; `npm run generate` writes the
 * interfaces from them. A row of `kinds.json` is a `KindRow`. `type-index.json` lists the kinds of each package. A file
 * of `types/` has the name of its package: any name with dots that ends with a version (`com.example.harbor.v1.json`).
 * The row of a type is `{fields, mapType?, unions?, hidden?}`, with the fields in order. The row of a field is a text,
 * or a text with more data. The text is `"<type> <marks> <protobuf number>"`. Types are s string, y bytes, i int32,
 * l int64, d double, b boolean, a any, `.Name` of the same package, or a full name; the prefix `[]` means a list, `{}`
 * a map by strings. Marks are r required, p pointer, o omitempty, k kept when zero, z default is the zero value. For
 * example, `rkz` is a required value for which zero and absent are equal, and `rpk` a required value that may be null.
 */
import { createHash } from "node:crypto";
import { type ApiDomain, perDomain } from "#meta/api-domain.ts";
import type { GroupVersion, GroupVersionKind } from "#meta/group-version.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { readTable } from "./tables.ts";

type Stage = "alpha" | "beta" | "ga";

export interface SubresourceFacts {
  readonly name: string;
  /** The group, version and kind of the bodies, which often differ from those of the parent. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** Whether requests are streamed or proxied. */
  readonly connect: boolean;
  /** Whether the subresource is also served with a path after its name. */
  readonly proxyPath: boolean;
  /** The feature gate without which the subresource does not exist. */
  readonly gate: string | undefined;
}

/** The releases in which a version changes its state, each as `major.minor`. */
interface Lifecycle {
  readonly introduced?: string;
  readonly deprecated?: string;
  readonly removed?: string;
  /** The `group/version/kind` that replaces the kind. */
  readonly replacement?: string;
}

/** The description of a built-in or custom kind in one version of its group. */
export interface KindDescription {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** The plural name in lower case, which is the path segment. */
  readonly resource: string;
  readonly singular: string;
  /** The name of the list kind; empty when the kind has no list. */
  readonly listKind: string;
  readonly namespaced: boolean;
  /** The verbs, sorted as discovery shows them. */
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Whether objects are stored (reviews and bindings are not). */
  readonly stored: boolean;
  /** The hash that discovery shows, computed with the group's name in this domain; empty when discovery shows none. */
  readonly storageVersionHash: string;
  /** The name of a check in `meta/names.ts`, as in upstream's tables. */
  readonly nameRule: string;
  /** Whether `metadata.generation` starts at 1 and counts changes outside metadata and status. */
  readonly generation: boolean;
  /** The propagation policy of a delete without one; `Unsupported` sets no orphan or foreground finalizer. */
  readonly defaultPropagation: "Background" | "Orphan" | "Unsupported";
  /** Whether PUT creates a missing object. */
  readonly createOnUpdate: boolean;
  /** Whether PUT is allowed without a `resourceVersion`. */
  readonly unconditionalUpdate: boolean;
  /** The selectable fields that have other names too, by these names. */
  readonly fieldAliases: Readonly<Record<string, string>>;
}

/** A built-in kind in one version of its group, with the names of the domain except `kubernetesGroup`. */
export interface KindFacts extends KindDescription {
  /** The group with Kubernetes' name, for comparisons in code. */
  readonly kubernetesGroup: string;
  readonly subresources: readonly SubresourceFacts[];
  readonly statusSubresource: boolean;
  readonly stage: Stage;
  readonly servedByDefault: boolean;
  /** The feature gate of the kind. `served.ts` says which gates decide whether a kind is served. */
  readonly gate: string | undefined;
  readonly lifecycle: Lifecycle;
  /** The group and version in which upstream stores objects; `undefined` for kinds without objects. */
  readonly storage: { readonly group: string; readonly version: string } | undefined;
  /**
   * The selectable fields beside `metadata.name` and `metadata.namespace`; `undefined` when the kind has no list of its
   * own.
   */
  readonly selectableFields: readonly string[] | undefined;
  /** The definition name of the type (`io.k8s.api.core.v1.ConfigMap`). */
  readonly typeName: string;
}

export interface GateFacts {
  readonly name: string;
  readonly default: boolean;
  readonly stage: Stage | "deprecated";
  /** Whether the gate can only be set to its default. */
  readonly locked: boolean;
  /** Whether the gate has a meaning for an API server; other gates are only accepted. */
  readonly apiserver: boolean;
}

interface TypeFacts {
  readonly name: string;
  /** The kinds that have this type as their schema. Option types belong to many groups. */
  readonly kinds: readonly GroupVersionKind[];
  /** Whether OpenAPI documents show the type. */
  readonly published: boolean;
}

export interface ApiTables {
  readonly domain: ApiDomain;
  /** The kinds, sorted by group, version and resource. */
  readonly kinds: readonly KindFacts[];
  readonly gates: readonly GateFacts[];
  /** Every group version that has types, including versions that are no longer served. */
  readonly versions: readonly GroupVersion[];
  /** Returns all definition names, sorted. The call decodes every package, so it is too slow for the start. */
  typeNames(): readonly string[];
  /**
   * Returns the type with a definition name. It is the same node at every call, and in every type that refers to it.
   */
  schema(name: string): Schema | undefined;
  /** Returns the type of a kind, which may also be an option type or a list. */
  schemaOf(gvk: GroupVersionKind): Schema | undefined;
  type(name: string): TypeFacts | undefined;
}

/**
 * Returns the tables of a domain, which its servers in this process share. They are read at the first call, which is fast,
 * since types are decoded at their first use.
 */
export const loadDefinitions = perDomain((domain): ApiTables => new Tables(domain));

interface TypeRow {
  readonly hidden?: 1;
  readonly mapType?: "atomic" | "granular";
  readonly unions?: unknown;
  readonly fields: Readonly<Record<string, string | readonly [string, FieldExtras]>>;
}

interface FieldExtras {
  readonly enum?: readonly string[];
  readonly itemEnum?: readonly string[];
  readonly listType?: "atomic" | "set" | "map";
  readonly listMapKeys?: readonly string[];
  readonly mapType?: "atomic" | "granular";
  readonly patchStrategy?: string;
  readonly patchMergeKey?: string;
  readonly protoName?: string;
  readonly protoIn?: readonly (readonly [number, string, string])[];
  readonly proto?: string;
  readonly default?: unknown;
  /** The Go type, if it does not follow from the other facts. */
  readonly go?: string;
}

type TypeIndex = Readonly<Record<string, Readonly<Record<string, readonly (readonly [string, string, string])[]>>>>;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class Tables implements ApiTables {
  readonly domain: ApiDomain;
  readonly kinds: readonly KindFacts[];
  readonly gates: readonly GateFacts[];
  readonly versions: readonly GroupVersion[];
  /** The names of the packages in the tables, by their names in this domain. */
  readonly #folders = new Map<string, string>();
  readonly #rows = new Map<string, Readonly<Record<string, TypeRow>>>();
  /** The schemas, by their names in the tables. */
  readonly #schemas = new Map<string, Schema>();
  readonly #index: TypeIndex;
  /** The names of types in the tables, by `group/version/kind`. */
  readonly #kindTypes = new Map<string, string>();
  /** The packages that have types of a `group/version`, by this text. */
  readonly #versionFolders = new Map<string, Set<string>>();

  constructor(domain: ApiDomain) {
    this.domain = domain;
    this.#index = JSON.parse(readTable("type-index")) as TypeIndex; // the form of the table
    for (const [folder, kinds] of Object.entries(this.#index)) {
      this.#folders.set(domain.rename(folder), folder);
      for (const [short, gvks] of Object.entries(kinds)) {
        for (const [group, version, kind] of gvks) {
          const at = `${domain.rename(group)}/${version}`;
          this.#kindTypes.set(`${at}/${kind}`, `${folder}.${short}`);
          if (gvks.length > 1) continue; // an option type belongs to many group versions
          const folders = this.#versionFolders.get(at) ?? new Set();
          this.#versionFolders.set(at, folders.add(folder));
        }
      }
    }
    this.#versionFolders.set(`${domain.rename("meta.k8s.io")}/v1`, new Set([metaFolder]));
    // Option types belong to all group versions.
    this.versions = (this.#index[metaFolder]?.["DeleteOptions"] ?? []).map(([group, version]) => ({
      group: domain.rename(group),
      version,
    }));
    this.kinds = readKinds(domain, (gvk) => {
      const name = this.#typeNameOf(gvk);
      return name === undefined ? "" : domain.rename(name);
    });
    this.gates = (JSON.parse(readTable("gates")) as (Partial<GateFacts> & Pick<GateFacts, "name" | "default" | "stage">)[]).map(
      (row) => ({ ...row, locked: row.locked ?? false, apiserver: row.apiserver ?? false }),
    );
  }

  typeNames(): readonly string[] {
    const names: string[] = [];
    for (const [renamed, folder] of this.#folders) {
      for (const short of Object.keys(this.#package(folder))) names.push(`${renamed}.${short}`);
    }
    return names.sort();
  }

  schema(name: string): Schema | undefined {
    const own = this.#ownName(name);
    return own === undefined ? undefined : this.#schema(own);
  }

  schemaOf(gvk: GroupVersionKind): Schema | undefined {
    const own = this.#typeNameOf(gvk);
    return own === undefined ? undefined : this.#schema(own);
  }

  type(name: string): TypeFacts | undefined {
    const own = this.#ownName(name);
    if (own === undefined) return undefined;
    const [folder, short] = split(own);
    const gvks = this.#index[folder]?.[short] ?? [];
    return {
      name,
      kinds: gvks.map(([group, version, kind]) => ({ group: this.domain.rename(group), version, kind })),
      published: this.#package(folder)[short]?.hidden !== 1,
    };
  }

  #typeNameOf(gvk: GroupVersionKind): string | undefined {
    const at = `${gvk.group}/${gvk.version}`;
    const typeName = this.#kindTypes.get(`${at}/${gvk.kind}`);
    if (typeName !== undefined) return typeName;
    for (const folder of this.#versionFolders.get(at) ?? []) {
      if (Object.hasOwn(this.#package(folder), gvk.kind)) return `${folder}.${gvk.kind}`;
    }
    return undefined;
  }

  /** Returns the name in the tables of a type that is called `name` in this domain. */
  #ownName(name: string): string | undefined {
    const [renamed, short] = split(name);
    const folder = this.#folders.get(renamed);
    if (folder === undefined || !Object.hasOwn(this.#package(folder), short)) return undefined;
    return `${folder}.${short}`;
  }

  #package(folder: string): Readonly<Record<string, TypeRow>> {
    let rows = this.#rows.get(folder);
    if (rows === undefined) {
      const text = Object.hasOwn(this.#index, folder) ? readTable(`types/${folder}`) : "{}";
      rows = JSON.parse(text) as Readonly<Record<string, TypeRow>>; // the form of the table
      this.#rows.set(folder, rows);
    }
    return rows;
  }

  /** Returns the type with a name in the tables. */
  #schema(name: string): Schema | undefined {
    const built = this.#schemas.get(name);
    if (built !== undefined) return built;
    const [folder, short] = split(name);
    const row = Object.hasOwn(this.#package(folder), short) ? this.#package(folder)[short] : undefined;
    if (row === undefined) return undefined;
    const special = specialTypes[name];
    const renamed = this.domain.rename(name);
    if (special !== undefined) {
      const node: Mutable<Schema> = { ...special, name: renamed };
      this.#schemas.set(name, node);
      if (special.special?.startsWith("schemaOr") === true) node.items = this.#reference(`${folder}.JSONSchemaProps`);
      return node;
    }
    const fields = new Map<string, Field>();
    const node: Schema = {
      type: "object",
      name: renamed,
      fields,
      ...(row.mapType === undefined ? {} : { mapType: row.mapType }),
      ...(row.unions === undefined ? {} : { unions: row.unions }),
      ...(notingEmpty.includes(name) ? { notesEmpty: true } : {}),
    };
    // The node is stored before its fields, since a type may contain itself.
    this.#schemas.set(name, node);
    for (const [field, value] of Object.entries(row.fields)) {
      fields.set(
        field,
        typeof value === "string" ? this.#field(value, {}, folder) : this.#field(value[0], value[1], folder),
      );
    }
    return node;
  }

  #field(text: string, extras: FieldExtras, folder: string): Field {
    const [type = "", marks = "", number] = text.split(" ");
    const schema = this.#typed(type, extras, folder);
    const field: Mutable<Field> = { schema };
    if (marks.includes("r")) field.required = true;
    if (marks.includes("z")) field.default = zeroDefault(schema);
    else if (extras.default !== undefined) field.default = extras.default;
    if (marks.includes("p")) field.ptr = true;
    if (marks.includes("o")) field.omitempty = true;
    if (marks.includes("k")) field.keep = true;
    if (number !== undefined)
      field.proto = [Number(number), this.domain.rename(extras.proto ?? protoType(type, folder))];
    if (extras.protoName !== undefined) field.protoName = extras.protoName;
    if (extras.protoIn !== undefined) {
      field.protoIn = extras.protoIn.map(([at, name, message]) => [at, name, this.domain.rename(message)] as const);
    }
    return field;
  }

  #typed(type: string, extras: FieldExtras, folder: string): Schema {
    const marks: Mutable<Partial<Schema>> = {};
    if (extras.listType !== undefined) marks.listType = extras.listType;
    if (extras.listMapKeys !== undefined) marks.listMapKeys = extras.listMapKeys;
    if (extras.mapType !== undefined) marks.mapType = extras.mapType;
    if (extras.patchStrategy !== undefined) marks.patchStrategy = extras.patchStrategy.split(",") as Strategies;
    if (extras.patchMergeKey !== undefined) marks.patchMergeKey = extras.patchMergeKey;
    if (extras.enum !== undefined) marks.enum = extras.enum;
    const isStruct = type.includes(".") && !type.startsWith("[]") && !type.startsWith("{}");
    if (extras.go !== undefined && !isStruct) marks.goType = extras.go;
    const shape = type.startsWith("[]") ? "array" : type.startsWith("{}") ? "map" : undefined;
    if (shape !== undefined) {
      const items = this.#typed(type.slice(2), itemExtras(extras), folder);
      return { type: shape, items, ...marks };
    }
    const base = scalarSchemas[type] ?? this.#reference(type.startsWith(".") ? folder + type : type);
    return Object.keys(marks).length === 0 ? base : { ...base, ...marks };
  }

  #reference(name: string): Schema {
    // A type that is missing in the tables is internal and never on the wire.
    return this.#schema(name) ?? scalarSchemas["a"]!;
  }
}

function itemExtras(extras: FieldExtras): FieldExtras {
  const go = /^(?:\[\]|map\[[^\]]+\])([^[]+\.[^[]+)$/.exec(extras.go ?? "")?.[1];
  return {
    ...(extras.itemEnum === undefined ? {} : { enum: extras.itemEnum }),
    ...(go === undefined ? {} : { go }),
  };
}

type Strategies = ("merge" | "replace" | "retainKeys")[];

const metaFolder = "io.k8s.apimachinery.pkg.apis.meta.v1";
const crdFolder = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1";

/** The types whose checks or messages distinguish empty members from absent ones. */
const notingEmpty: readonly string[] = [
  `${crdFolder}.JSONSchemaProps`,
  "io.k8s.api.core.v1.Event",
  "io.k8s.api.core.v1.EventSeries",
  "io.k8s.api.core.v1.ResourceRequirements",
  "io.k8s.api.events.v1.Event",
  "io.k8s.api.events.v1.EventSeries",
  "io.k8s.api.networking.v1.IngressSpec",
  "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector",
];

const scalarSchemas: Readonly<Record<string, Schema>> = {
  s: { type: "string" },
  y: { type: "string", format: "byte" },
  i: { type: "integer", format: "int32" },
  l: { type: "integer", format: "int64" },
  d: { type: "number", format: "double" },
  b: { type: "boolean" },
  a: { type: "any" },
};

const special = (type: Schema["type"], kind: SpecialType, more: Partial<Schema> = {}): Schema => ({
  type,
  special: kind,
  ...more,
});

/** The types whose JSON form does not follow from their fields. */
const specialTypes: Readonly<Record<string, Schema>> = {
  [`${metaFolder}.Time`]: special("string", "time", { format: "date-time" }),
  [`${metaFolder}.MicroTime`]: special("string", "microTime", { format: "date-time" }),
  [`${metaFolder}.Duration`]: special("string", "duration"),
  [`${metaFolder}.FieldsV1`]: special("any", "fieldsV1"),
  "io.k8s.apimachinery.pkg.api.resource.Quantity": special("string", "quantity", {
    oneOf: [{ type: "string" }, { type: "number" }],
  }),
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString": special("string", "intOrString", {
    format: "int-or-string",
    oneOf: [{ type: "integer" }, { type: "string" }],
  }),
  "io.k8s.apimachinery.pkg.runtime.RawExtension": special("any", "rawExtension"),
  [`${crdFolder}.JSON`]: special("any", "json"),
  [`${crdFolder}.JSONSchemaPropsOrArray`]: special("any", "schemaOrArray"),
  [`${crdFolder}.JSONSchemaPropsOrBool`]: special("any", "schemaOrBool"),
  [`${crdFolder}.JSONSchemaPropsOrStringArray`]: special("any", "schemaOrStringArray"),
};

function split(name: string): [folder: string, short: string] {
  const dot = name.lastIndexOf(".");
  return [name.slice(0, dot), name.slice(dot + 1)];
}

function zeroDefault(schema: Schema): unknown {
  if (schema.special !== undefined || schema.type === "object" || schema.type === "map") return emptyObject;
  if (schema.type === "string") return "";
  return schema.type === "boolean" ? false : 0;
}

const emptyObject: Readonly<Record<string, never>> = Object.freeze({});

const protoScalars: Readonly<Record<string, string>> = {
  s: "string",
  y: "bytes",
  i: "int32",
  l: "int64",
  d: "double",
  b: "bool",
};

/**
 * Returns the Protobuf type of a field from its type in the tables. Upstream's message names follow from its package
 * names.
 */
function protoType(type: string, folder: string): string {
  if (type.startsWith("[]")) return `repeated ${protoType(type.slice(2), folder)}`;
  if (type.startsWith("{}")) return `map<string,${protoType(type.slice(2), folder)}>`;
  const scalar = protoScalars[type];
  if (scalar !== undefined) return scalar;
  return (type.startsWith(".") ? folder + type : type).replace(/^io\.k8s\./, "k8s.io.").replaceAll("-", "_");
}

/**
 * A row of `tables/kinds.json`. The fields have the same meaning as in `KindFacts`; omitted ones have the defaults of
 * `readKinds`. Objects of a kind without `storageVersion` are not stored.
 */
interface KindRow {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  readonly singular: string;
  readonly listKind?: string;
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly subresources?: readonly (Partial<SubresourceFacts> & Pick<SubresourceFacts, "name" | "kind" | "verbs">)[];
  readonly statusSubresource: boolean;
  readonly stage: Stage;
  readonly servedByDefault: boolean;
  readonly gate?: string;
  readonly lifecycle?: Lifecycle;
  /** The group in which objects are stored, if it is not the kind's own. */
  readonly storageGroup?: string;
  readonly storageVersion?: string;
  readonly nameRule: string;
  readonly generation: boolean;
  readonly defaultPropagation?: KindFacts["defaultPropagation"];
  readonly createOnUpdate?: boolean;
  readonly unconditionalUpdate?: boolean;
}

interface SelectorRow {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly fields: readonly string[];
  readonly aliases?: Readonly<Record<string, string>>;
}

function readKinds(domain: ApiDomain, typeName: (gvk: GroupVersionKind) => string): KindFacts[] {
  const selectors = new Map(
    (JSON.parse(readTable("selectors")) as readonly SelectorRow[]).map((row) => [
      `${row.group}/${row.version}/${row.kind}`,
      row,
    ]),
  );
  return (JSON.parse(readTable("kinds")) as readonly KindRow[]).map((row) => {
    const group = domain.rename(row.group);
    const selector = selectors.get(`${row.group}/${row.version}/${row.kind}`);
    const storage =
      row.storageVersion === undefined
        ? undefined
        : { group: domain.rename(row.storageGroup ?? row.group), version: row.storageVersion };
    return {
      group,
      kubernetesGroup: row.group,
      version: row.version,
      kind: row.kind,
      resource: row.resource,
      singular: row.singular,
      listKind: row.listKind ?? "",
      namespaced: row.namespaced,
      verbs: row.verbs,
      shortNames: row.shortNames ?? [],
      categories: row.categories ?? [],
      subresources: (row.subresources ?? []).map((sub) => ({
        name: sub.name,
        group: sub.group === undefined ? group : domain.rename(sub.group),
        version: sub.version ?? row.version,
        kind: sub.kind,
        verbs: sub.verbs,
        connect: sub.connect ?? false,
        proxyPath: sub.proxyPath ?? false,
        gate: sub.gate,
      })),
      statusSubresource: row.statusSubresource,
      stage: row.stage,
      servedByDefault: row.servedByDefault,
      gate: row.gate,
      lifecycle: row.lifecycle ?? {},
      stored: storage !== undefined,
      storage,
      storageVersionHash: storage === undefined ? "" : storageVersionHash(storage, row.kind),
      nameRule: row.nameRule,
      generation: row.generation,
      defaultPropagation: row.defaultPropagation ?? "Background",
      createOnUpdate: row.createOnUpdate ?? false,
      unconditionalUpdate: row.unconditionalUpdate ?? false,
      selectableFields: selector?.fields.filter((field) => field !== "metadata.name" && field !== "metadata.namespace"),
      fieldAliases: selector?.aliases ?? {},
      typeName: typeName({ group, version: row.version, kind: row.kind }),
    };
  });
}

/** Returns the first 8 bytes of the hash of the name of the stored form, in base64. */
export function storageVersionHash({ group, version }: GroupVersion, kind: string): string {
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64");
}
