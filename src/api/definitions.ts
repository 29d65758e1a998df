/**
 * The built-in kinds of release 1.32 as data: facts about each kind, and a `Schema` tree for each type, built on first
 * use and then shared. The API domain is applied here and nowhere else.
 *
 * `tables/` holds the facts, edited by hand when a release changes them; `npm run generate` makes the interfaces of them.
 * A row of `kinds.json` is a `KindRow`. `type-index.json` lists the kinds of each package. A file of `types/` is named by
 * its package: any name with dots that ends with a version (`com.example.harbor.v1.json`). A type's row is `{fields, mapType?, unions?, hidden?}`, in the order of the fields. A field's row is a string, or a string with
 * more data: `"<type> <marks> <protobuf number>"`. Types: s string, y bytes, i int32, l int64, d double, b
 * boolean, a any, `.Name` of the same package, or a full name, with the prefix `[]` (list of) or `{}` (map from string
 * to). Marks: r required, p pointer, o omitempty, k kept when zero, z default is the zero value. So `rkz` is a
 * required value, where zero and absent look alike, and `rpk` a required value that may be found absent (null).
 */
import { createHash } from "node:crypto";
import type { ApiDomain } from "#meta/api-domain.ts";
import type { GroupVersion, GroupVersionKind } from "#meta/group-version.ts";
import type { Field, Schema, SpecialType } from "#schema/schema.ts";
import { readTable } from "./tables.ts";

type Stage = "alpha" | "beta" | "ga";

export interface SubresourceFacts {
  readonly name: string;
  /** Group, version and kind of the bodies; often not the parent's. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  /** Streamed or proxied. */
  readonly connect: boolean;
  /** Whether it is also served with a path after the subresource's name. */
  readonly proxyPath: boolean;
  /** Feature gate without which it is not there. */
  readonly gate: string | undefined;
}

/** Releases as `major.minor`. */
interface Lifecycle {
  readonly introduced?: string;
  readonly deprecated?: string;
  readonly removed?: string;
  /** `group/version/kind` that takes its place. */
  readonly replacement?: string;
}

/** A kind is described so in one version of its group, be it built in or custom. */
export interface KindDescription {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Plural, lower case: the path segment. */
  readonly resource: string;
  readonly singular: string;
  /** Empty when the kind has no list. */
  readonly listKind: string;
  readonly namespaced: boolean;
  /** Sorted, as discovery shows them. */
  readonly verbs: readonly string[];
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  /** Whether objects are stored at all (reviews and bindings are not). */
  readonly stored: boolean;
  /** The hash is shown by discovery, computed of the group as named in this domain; empty when discovery shows none. */
  readonly storageVersionHash: string;
  /** Name of a check in `meta/names.ts`, as upstream's tables call it. */
  readonly nameRule: string;
  /** `metadata.generation` starts at 1 and counts changes outside metadata and status. */
  readonly generation: boolean;
  /** The propagation policy of a delete without one; `Unsupported` sets no orphan or foreground finalizer. */
  readonly defaultPropagation: "Background" | "Orphan" | "Unsupported";
  /** PUT of a missing object creates it. */
  readonly createOnUpdate: boolean;
  /** PUT without a `resourceVersion` is allowed. */
  readonly unconditionalUpdate: boolean;
  /** Other names of selectable fields, each with its field. */
  readonly fieldAliases: Readonly<Record<string, string>>;
}

/** One built-in kind in one version of its group. Names have the domain applied, `kubernetesGroup` excepted. */
export interface KindFacts extends KindDescription {
  /** The group by upstream's name, for comparisons in code. */
  readonly kubernetesGroup: string;
  readonly subresources: readonly SubresourceFacts[];
  readonly statusSubresource: boolean;
  readonly stage: Stage;
  readonly servedByDefault: boolean;
  /** Feature gate that must be on for the kind to be served. */
  readonly gate: string | undefined;
  readonly lifecycle: Lifecycle;
  /** Upstream stores it as this group and version. Absent for kinds without objects. */
  readonly storage: { readonly group: string; readonly version: string } | undefined;
  /** Fields beside `metadata.name` and `metadata.namespace`; `undefined` when the kind has no list of its own. */
  readonly selectableFields: readonly string[] | undefined;
  /** Definition name of the type (`io.k8s.api.core.v1.ConfigMap`). */
  readonly typeName: string;
}

export interface GateFacts {
  readonly name: string;
  readonly default: boolean;
  readonly stage: Stage | "deprecated";
  /** Cannot be set to anything but its default. */
  readonly locked: boolean;
  /** Whether it means something to an API server; the others are only accepted. */
  readonly apiserver: boolean;
}

interface TypeFacts {
  readonly name: string;
  /** Kinds this type is the schema of; option types belong to many groups. */
  readonly kinds: readonly GroupVersionKind[];
  /** Whether OpenAPI documents show it. */
  readonly published: boolean;
}

export interface ApiTables {
  readonly domain: ApiDomain;
  /** Sorted by group, version, resource. */
  readonly kinds: readonly KindFacts[];
  readonly gates: readonly GateFacts[];
  /** Every group version there are types of, versions that are no longer served included. */
  readonly versions: readonly GroupVersion[];
  /** All definition names, sorted. Decodes every package: not for start-up. */
  typeNames(): readonly string[];
  /** The type with this definition name. The same node at every call, and wherever another type refers to it. */
  schema(name: string): Schema | undefined;
  /** The type of a kind, option types and lists included. */
  schemaOf(gvk: GroupVersionKind): Schema | undefined;
  type(name: string): TypeFacts | undefined;
}

/** Reads the tables for one domain. Cheap: types are decoded when asked for. */
export function loadDefinitions(domain: ApiDomain): ApiTables {
  return new Tables(domain);
}

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
  /** Go type where it does not follow from the rest. */
  readonly go?: string;
}

type TypeIndex = Readonly<Record<string, Readonly<Record<string, readonly (readonly [string, string, string])[]>>>>;

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

class Tables implements ApiTables {
  readonly domain: ApiDomain;
  readonly kinds: readonly KindFacts[];
  readonly gates: readonly GateFacts[];
  readonly versions: readonly GroupVersion[];
  /** Definition name of a package, the domain applied, to its name in the tables. */
  readonly #folders = new Map<string, string>();
  readonly #rows = new Map<string, Readonly<Record<string, TypeRow>>>();
  /** The keys are the names in the tables. */
  readonly #schemas = new Map<string, Schema>();
  readonly #index: TypeIndex;
  /** `group/version/kind` to the name in the tables. */
  readonly #kindTypes = new Map<string, string>();
  /** `group/version` to packages in which types of that version are. */
  readonly #versionFolders = new Map<string, Set<string>>();

  constructor(domain: ApiDomain) {
    this.domain = domain;
    this.#index = JSON.parse(readTable("type-index")) as TypeIndex; // a table of ours
    for (const [folder, kinds] of Object.entries(this.#index)) {
      this.#folders.set(domain.rename(folder), folder);
      for (const [short, gvks] of Object.entries(kinds)) {
        for (const [group, version, kind] of gvks) {
          const at = `${domain.rename(group)}/${version}`;
          this.#kindTypes.set(`${at}/${kind}`, `${folder}.${short}`);
          if (gvks.length > 1) continue; // an option type: says nothing about where the version lives
          const folders = this.#versionFolders.get(at) ?? new Set();
          this.#versionFolders.set(at, folders.add(folder));
        }
      }
    }
    this.#versionFolders.set(`${domain.rename("meta.k8s.io")}/v1`, new Set([metaFolder]));
    // Option types belong to all of them.
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

  /** Name in the tables of a type called `name` in this domain. */
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
      rows = JSON.parse(text) as Readonly<Record<string, TypeRow>>; // a table of ours
      this.#rows.set(folder, rows);
    }
    return rows;
  }

  /** `name` as the tables write it. */
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
    // Known before its fields are, since a type may contain itself.
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
    // A type the facts do not have is internal and never on the wire.
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

/** Types whose checks, or the texts of them, tell members without content from absent ones. */
const notingEmpty: readonly string[] = [
  `${crdFolder}.JSONSchemaProps`,
  "io.k8s.api.core.v1.Event",
  "io.k8s.api.core.v1.EventSeries",
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

/** Types whose JSON form does not follow from their fields. */
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

/** Protobuf type of a field by its type in the tables: upstream's message names follow from its package names. */
function protoType(type: string, folder: string): string {
  if (type.startsWith("[]")) return `repeated ${protoType(type.slice(2), folder)}`;
  if (type.startsWith("{}")) return `map<string,${protoType(type.slice(2), folder)}>`;
  const scalar = protoScalars[type];
  if (scalar !== undefined) return scalar;
  return (type.startsWith(".") ? folder + type : type).replace(/^io\.k8s\./, "k8s.io.").replaceAll("-", "_");
}

/**
 * A row of `tables/kinds.json`. Its fields mean what they mean in `KindFacts`; those left out have the defaults of
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
  /** Left out where it is the kind's own group. */
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

/** The first 8 bytes of the hash of the stored form's name. */
export function storageVersionHash({ group, version }: GroupVersion, kind: string): string {
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64");
}
