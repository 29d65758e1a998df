/**
 * One custom resource definition as served: a `ResourceDefinition` for each version. Only what every request needs
 * stays decoded; schemas are decoded from the stored bytes on first use, because most definitions of a cluster are
 * rarely used.
 */
import { setMaxListeners } from "node:events";
import { isConditionTrue } from "#api/apiextensions/conditions.ts";
import { storageVersionHash } from "#api/definitions.ts";
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from "#api/apiextensions/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import type { RuleTimes } from "#cel/schema-rules.ts";
import { reshape, reshapeConverted } from "#codec/custom-object.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { goQuote } from "#meta/field-error.ts";
import { unclassified } from "#meta/status-error.ts";
import { compareVersions } from "#meta/version-order.ts";
import type {
  Column,
  Conversion,
  CustomResourceFacts,
  ResourceDefinition,
  SchemaEpoch,
  SubresourceDefinition,
  WebhookConversion,
} from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import { ByteBudget } from "#schema/json-values.ts";
import { mapCooperatively, type Steps } from "#std/cooperative.ts";
import type { ConvertObjects } from "./conversion-review.ts";
import { customStrategy } from "./custom-strategy.ts";
import { CustomVersion } from "./custom-version.ts";
import { printerColumns } from "./printer-columns.ts";

export interface CustomKindEnvironment {
  readonly domain: ApiDomain;
  /** The schema of every object's metadata. */
  readonly metadata: Schema;
  /** The maximum bytes of a stored object, also with defaults that later schemas add. */
  readonly objectBytesMax: number;
  /** Calls conversion webhooks. */
  readonly convert: ConvertObjects;
  /** Learns how long rules of schemas take. */
  readonly ruleTimes?: RuleTimes;
}

const allVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/** The verbs that work while the definition is being deleted. */
const lastVerbs = ["delete", "deletecollection", "get", "list", "watch"];
const partVerbs = ["get", "patch", "update"];

/** The number of versions after which other work has a turn: a definition may have thousands of versions. */
const versionsPerTurn = 64;

/** Reads the definition again from the store. */
type ReadDefinition = () => CustomResourceDefinition;

/** The same definition as it was served before. */
export interface ServedBefore {
  readonly kind: CustomKind;
  readonly definition: CustomResourceDefinition;
}

export class CustomKind {
  /** The definitions of the served versions, in the order of the custom resource definition. */
  readonly definitions: readonly ResourceDefinition[];
  /** The definition of the stored version, served or not. */
  readonly stored: ResourceDefinition;
  readonly #versions: ReadonlyMap<string, CustomVersion>;
  readonly #served: AbortController;
  readonly #conversions: readonly VersionConversion[];
  readonly #read: ReadDefinition;

  private constructor(read: ReadDefinition, { all, isServed, stored, ...parts }: Parts) {
    this.#read = read;
    this.#versions = parts.versions;
    this.#served = parts.served;
    this.#conversions = parts.conversions;
    this.definitions = all.filter((_definition, index) => isServed[index]);
    this.stored = all[stored]!;
  }

  /**
   * Makes a kind, using what has not changed since `old`, which stays as it is until `follow` is called. The work for each
   * version is small, and others have a turn after some of them. Versions with the same schema share what is made of it.
   */
  static *inPieces(
    definition: CustomResourceDefinition,
    read: ReadDefinition,
    environment: CustomKindEnvironment,
    old?: ServedBefore,
  ): Steps<CustomKind> {
    const specVersions = definition.spec.versions ?? [];
    const stored = Math.max(
      specVersions.findIndex(({ storage }) => storage),
      0,
    );
    const storage = specVersions[stored];
    if (storage === undefined) throw new Error("a definition without versions was stored");
    const isSame = old !== undefined && servesTheSame(old.definition, definition);
    const versions = isSame ? old.kind.#versions : yield* versionsOf(specVersions, read, environment, old);
    const served = isSame ? old.kind.#served : new AbortController();
    // Every watch of the kind listens to this signal.
    setMaxListeners(0, served.signal);
    const byApiVersion = new Map<string, ResourceDefinition>();
    const shared = sharedParts(definition, storage, environment.domain, {
      versions: byApiVersion,
      isTerminating: isConditionTrue(definition, "Terminating"),
      endOfService: served.signal,
    });
    const versionsByName = new Map<string, CustomVersion>();
    for (const [name, version] of versions)
      versionsByName.set(apiVersionOf({ group: shared.group, version: name }), version);
    const convert = isSame ? undefined : conversions(definition, storage.name, versions, versionsByName, environment);
    const keptConversions = isSame ? old.kind.#conversions : [];
    const newConversions: VersionConversion[] = [];
    const all: ResourceDefinition[] = [];
    for (const [index, version] of specVersions.entries()) {
      if (index > 0 && index % versionsPerTurn === 0) yield undefined;
      const conversion = convert === undefined ? keptConversions[index]! : convert(version.name);
      newConversions.push(conversion);
      const defined = definitionOf(version, versions.get(version.name)!, conversion, shared);
      byApiVersion.set(apiVersionOf(defined), defined);
      all.push(defined);
    }
    const isServed = specVersions.map((version) => version.served);
    return new CustomKind(read, { all, isServed, stored, versions, served, conversions: newConversions });
  }

  /** Returns the owner of the schema of a version. */
  schemaOwner(version: string): CustomVersion | undefined {
    return this.#versions.get(version);
  }

  /** Replaces the kind from which this one was made, and ends it unless it served the same. */
  follow(old: CustomKind): void {
    for (const [name, version] of this.#versions) version.movedTo(() => schemaOf(this.#read(), name));
    if (old.#served !== this.#served) old.retire();
  }

  /** Ends watches: the kind is no longer served, or is served differently. */
  retire(): void {
    for (const { epoch } of this.#conversions) epoch.retired = true;
    this.#served.abort();
  }
}

/** The parts of a kind; lists are in the order of the definition. */
interface Parts {
  readonly all: readonly ResourceDefinition[];
  readonly isServed: readonly boolean[];
  /** The index of the stored version. */
  readonly stored: number;
  readonly versions: ReadonlyMap<string, CustomVersion>;
  readonly served: AbortController;
  readonly conversions: readonly VersionConversion[];
}

/** The conversion of a version, with the epoch for which its results stay valid. */
interface VersionConversion {
  readonly conversion: Conversion;
  readonly epoch: SchemaEpoch;
}

/** Returns the versions by name. Versions with equal schemas share one, also with `old`. */
function* versionsOf(
  declaredVersions: readonly CustomResourceDefinitionVersion[],
  read: ReadDefinition,
  { metadata, ruleTimes }: CustomKindEnvironment,
  old: ServedBefore | undefined,
): Steps<ReadonlyMap<string, CustomVersion>> {
  const bySchema = new Map<string, CustomVersion>();
  let count = 0;
  for (const { name, schema } of old?.definition.spec.versions ?? []) {
    if (++count % versionsPerTurn === 0) yield undefined;
    const before = old?.kind.schemaOwner(name);
    if (before !== undefined) bySchema.set(textOf(schema), before);
  }
  const versions = new Map<string, CustomVersion>();
  for (const { name, schema } of declaredVersions) {
    if (++count % versionsPerTurn === 0) yield undefined;
    const text = textOf(schema);
    let version = bySchema.get(text);
    if (version === undefined) {
      version = new CustomVersion(metadata, () => schemaOf(read(), name), ruleTimes);
      bySchema.set(text, version);
    }
    versions.set(name, version);
  }
  return versions;
}

/** Returns the schema as text, whose members keep the order of their author, since OpenAPI shows it. */
const textOf = (schema: CustomResourceDefinitionVersion["schema"]): string => JSON.stringify(schema ?? null);

/** Returns the conversion of each version. */
function conversions(
  { metadata: { uid = "", resourceVersion = "" }, spec }: CustomResourceDefinition,
  storage: string,
  versions: ReadonlyMap<string, CustomVersion>,
  byApiVersion: KnownVersions,
  environment: CustomKindEnvironment,
): (version: string) => VersionConversion {
  const { group } = spec;
  const { objectBytesMax } = environment;
  const hub = versions.get(storage)!;
  const remote = remoteConversion(spec.conversion, byApiVersion, environment);
  return (version) => {
    const own = versions.get(version)!;
    const served = apiVersionOf({ group, version });
    const conversion: Conversion = {
      ...(remote === undefined ? {} : { webhook: remote }),
      // Objects to be stored are pruned by the stored version, without defaults, as upstream.
      toHub: (object) => (own === hub ? object : reshape(object, hub.structural)),
      fromHub(object) {
        const shaped = applyOwnSchema(object, byApiVersion, objectBytesMax);
        return object.apiVersion === served ? shaped : reshape(shaped, own.structural);
      },
    };
    return { conversion, epoch: { name: ` ${uid} ${resourceVersion} ${version}`, retired: false } };
  };
}

function remoteConversion(
  conversion: CustomResourceDefinition["spec"]["conversion"],
  byApiVersion: KnownVersions,
  { convert, objectBytesMax }: CustomKindEnvironment,
): WebhookConversion | undefined {
  const { strategy, webhook } = conversion ?? {};
  if (strategy !== "Webhook" || webhook === undefined) return undefined;
  return {
    async convert(objects, apiVersion, caller) {
      // Stored objects get defaults, but results of a webhook do not, as upstream.
      const sent = await mapCooperatively(objects, (object) => applyOwnSchema(object, byApiVersion, objectBytesMax));
      const converted = await convert(webhook, sent, apiVersion, caller);
      const { structural } = byApiVersion.get(apiVersion)!; // one of the known
      return mapCooperatively(converted, (object) => reshapeConverted(object, structural));
    },
    convertRaw: (objects, apiVersion, caller) => convert(webhook, objects, apiVersion, caller),
  };
}

/** The parts that all versions of a definition share. */
type SharedParts = ReturnType<typeof sharedParts>;

function sharedParts(
  definition: CustomResourceDefinition,
  storage: CustomResourceDefinitionVersion,
  domain: ApiDomain,
  facts: Omit<CustomResourceFacts, "epoch" | "publishedSchema">,
) {
  const { group, scope, versions } = definition.spec;
  const names = namesOf(definition);
  const { kind, plural: resource } = names;
  return {
    group,
    kind,
    resource,
    names: {
      singular: names.singular ?? "",
      listKind: names.listKind ?? "",
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
    },
    namespaced: scope === "Namespaced",
    verbs: facts.isTerminating ? lastVerbs : allVerbs,
    storage: { group, version: storage.name, kind, resource },
    storageVersionHash: storage.served ? storageVersionHash({ group, version: storage.name }, kind) : "",
    recommended: recommendedVersion(versions ?? []),
    domain,
    facts,
  };
}

function definitionOf(
  version: CustomResourceDefinitionVersion,
  own: CustomVersion,
  { conversion, epoch }: VersionConversion,
  { group, kind, resource, names, namespaced, verbs, storage, domain, facts, ...shared }: SharedParts,
): ResourceDefinition {
  const { subresources, selectableFields = [], additionalPrinterColumns } = version;
  const selectable = selectableFields.map(({ jsonPath }) => jsonPath.replace(/^\./, ""));
  const gvk = { group, version: version.name, kind };
  let columns: readonly Column[] | undefined;
  return {
    ...gvk,
    custom: {
      ...facts,
      epoch,
      publishedSchema: () => own.publishedSchema() as Readonly<Record<string, unknown>> | undefined,
    },
    resource,
    ...names,
    namespaced,
    verbs,
    subresources: partsOf(version, gvk),
    get schema() {
      return own.schema;
    },
    storage,
    storageVersionHash: shared.storageVersionHash,
    conversion,
    stored: true,
    nameRule: "dns1123subdomain",
    anyFinalizers: true,
    generation: true,
    defaultPropagation: "Background",
    returnDeletedObject: false,
    createOnUpdate: false,
    unconditionalUpdate: false,
    selectableFields: selectable,
    fieldAliases: {},
    // Most columns are never used.
    get columns() {
      return (columns ??= printerColumns(additionalPrinterColumns, domain));
    },
    strategy: customStrategy({
      group,
      resource,
      version: own,
      hasStatus: subresources?.status !== undefined,
      scale: subresources?.scale,
      selectable,
      isTerminating: facts.isTerminating,
    }),
    ...(version.deprecated === true ? { deprecation: deprecationOf(version, gvk, shared.recommended) } : {}),
    decoder: own.decoder,
  };
}

type KnownVersions = ReadonlyMap<string, CustomVersion>;

/** Returns a stored object as the current schema of its own version shows it. */
function applyOwnSchema(object: Unstructured, byApiVersion: KnownVersions, bytesMax: number): Unstructured {
  const from = byApiVersion.get(object.apiVersion ?? "");
  if (from === undefined) throw unknownVersion(object);
  return reshape(object, from.structural, new ByteBudget(bytesMax, () => outgrown(object, bytesMax)));
}

/** Returns the subresources that a version declares. */
function partsOf({ subresources }: CustomResourceDefinitionVersion, gvk: GroupVersionKind): SubresourceDefinition[] {
  const parts: SubresourceDefinition[] = [];
  if (subresources?.status !== undefined) parts.push({ name: "status", ...gvk, verbs: partVerbs });
  if (subresources?.scale !== undefined) {
    const { scale } = subresources;
    parts.push({ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs: partVerbs, scale });
  }
  return parts;
}

/** Returns the names of a definition: the accepted ones, or the requested ones while none were ever accepted. */
function namesOf({ spec, status }: CustomResourceDefinition): CustomResourceDefinitionNames {
  const accepted = status?.acceptedNames;
  return accepted === undefined || accepted.plural === "" ? spec.names : accepted;
}

const servesTheSame = (one: CustomResourceDefinition, other: CustomResourceDefinition): boolean =>
  jsonEquals(one.spec, other.spec) && jsonEquals(namesOf(one), namesOf(other));

const schemaPart = (
  definition: CustomResourceDefinition | undefined,
  name: string,
): CustomResourceDefinitionVersion["schema"] =>
  definition?.spec.versions?.find((version) => version.name === name)?.schema;

const schemaOf = (definition: CustomResourceDefinition, name: string) => schemaPart(definition, name)?.openAPIV3Schema;

/** Returns the version that upstream's warnings recommend: the first one that is served and not deprecated. */
function recommendedVersion(versions: readonly CustomResourceDefinitionVersion[]): string | undefined {
  let first: string | undefined;
  for (const { name, served, deprecated } of versions) {
    if (!served || deprecated === true) continue;
    if (first === undefined || compareVersions(name, first) < 0) first = name;
  }
  return first;
}

function deprecationOf(
  { name, deprecationWarning }: CustomResourceDefinitionVersion,
  { group, kind }: GroupVersionKind,
  recommended: string | undefined,
): NonNullable<ResourceDefinition["deprecation"]> {
  const isBetter = recommended !== undefined && compareVersions(recommended, name) < 0;
  const text = `${group}/${name} ${kind} is deprecated`;
  const warning = isBetter ? `${text}; use ${group}/${recommended} ${kind}` : text;
  return { warning: deprecationWarning ?? warning, removedRelease: "" };
}

/** Returns the error about a stored object that becomes too large by defaults of the current schema. */
function outgrown({ metadata: { name = "" } }: Unstructured, bytesMax: number): Error {
  return unclassified(`defaults of the present schema make ${goQuote(name)} larger than ${bytesMax} bytes`);
}

/** Returns the error about a stored object whose version its definition no longer has, in upstream's words. */
function unknownVersion(object: Unstructured): Error {
  const gv = parseApiVersion(object.apiVersion ?? "");
  const shown = gv === undefined ? (object.apiVersion ?? "") : apiVersionOf(gv);
  return unclassified(`request to convert CR from an invalid group/version: ${shown}`);
}
