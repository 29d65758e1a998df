/**
 * One custom resource definition as served: a `ResourceDefinition` for each version. Only what every request needs
 * stays decoded; schemas are decoded from the stored bytes on first use, because most definitions of a cluster are
 * rarely used.
 */
import { setMaxListeners } from "node:events";
import { createHash } from "node:crypto";
import { isConditionTrue } from "#api/apiextensions/conditions.ts";
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
  CustomResourceDefinitionVersion,
} from "#api/apiextensions/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { reshape } from "#codec/custom-object.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { apiVersionOf, type GroupVersionKind, parseApiVersion } from "#meta/group-version.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { goQuote } from "#meta/field-error.ts";
import { unclassified } from "#meta/status-error.ts";
import { compareVersions } from "#meta/version-order.ts";
import type {
  Conversion,
  RemoteConversion,
  ResourceDefinition,
  SubresourceDefinition,
} from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import { Room } from "#schema/json-values.ts";
import { mapInTurns } from "#std/turn.ts";
import type { ConvertObjects } from "./conversion-review.ts";
import { customStrategy } from "./custom-strategy.ts";
import { CustomVersion } from "./custom-version.ts";
import { printerColumns } from "./printer-columns.ts";

export interface CustomKindEnvironment {
  readonly domain: ApiDomain;
  /** Of every object's metadata. */
  readonly metadata: Schema;
  /** The maximum size of a stored object, and of defaults added by later schemas. */
  readonly objectBytesMax: number;
  /** Calls conversion webhooks. */
  readonly convert: ConvertObjects;
}

const allVerbs = ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
/** The verbs that remain while the definition is being deleted. */
const lastVerbs = ["delete", "deletecollection", "get", "list", "watch"];
const partVerbs = ["get", "patch", "update"];

/** Reads the definition again from where it is stored. */
export type ReadDefinition = () => CustomResourceDefinition;

export class CustomKind {
  /** Of the versions that are served, in the definition's order. */
  readonly definitions: readonly ResourceDefinition[];
  /** The stored version, served or not. */
  readonly stored: ResourceDefinition;
  readonly #versions: ReadonlyMap<string, CustomVersion>;
  readonly #served: AbortController;
  readonly #conversions: Conversion[];

  /** `old` is the same definition as served before; unchanged parts are reused. */
  constructor(
    definition: CustomResourceDefinition,
    read: ReadDefinition,
    environment: CustomKindEnvironment,
    old?: { readonly kind: CustomKind; readonly definition: CustomResourceDefinition },
  ) {
    const isSame = old !== undefined && servesTheSame(old.definition, definition);
    const versions = definition.spec.versions ?? [];
    this.#versions = new Map(
      versions.map((version) => {
        const load = () => schemaOf(read(), version.name);
        const before = old === undefined ? undefined : old.kind.#versions.get(version.name);
        const kept =
          before !== undefined && (isSame || jsonEquals(version.schema, schemaPart(old?.definition, version.name)));
        if (kept) before.movedTo(load);
        return [version.name, kept ? before : new CustomVersion(environment.metadata, load)];
      }),
    );
    const storage = versions.find((version) => version.storage) ?? versions[0];
    if (storage === undefined) throw new Error("a definition without versions was stored");
    this.#served = isSame ? old.kind.#served : new AbortController();
    // Every watch of the kind listens.
    setMaxListeners(0, this.#served.signal);
    this.#conversions = isSame ? old.kind.#conversions : [];
    const byApiVersion = new Map<string, ResourceDefinition>();
    const all = versions.map((version, index) => {
      const conversion = (this.#conversions[index] ??= this.#conversion(
        definition,
        version.name,
        storage.name,
        environment,
      ));
      const defined = this.#define(definition, { version, storage, conversion, byApiVersion }, environment);
      byApiVersion.set(apiVersionOf(defined), defined);
      return defined;
    });
    this.definitions = all.filter((_definition, index) => versions[index]!.served);
    this.stored = all[versions.indexOf(storage)]!;
    if (old !== undefined && !isSame) old.kind.retire();
  }

  /** Ends what lasts: this is served no longer, or in another way. */
  retire(): void {
    for (const { epoch } of this.#conversions) if (epoch !== undefined) epoch.retired = true;
    this.#served.abort();
  }

  #conversion(
    definition: CustomResourceDefinition,
    version: string,
    storage: string,
    environment: CustomKindEnvironment,
  ): Conversion {
    const { objectBytesMax } = environment;
    const own = this.#versions.get(version)!;
    const hub = this.#versions.get(storage)!;
    const { group } = definition.spec;
    const known = new Map([...this.#versions].map(([name, other]) => [apiVersionOf({ group, version: name }), other]));
    const served = apiVersionOf({ group, version });
    const { uid = "", resourceVersion = "" } = definition.metadata;
    const remote = this.#remote(definition, known, environment);
    return {
      ...(remote === undefined ? {} : { remote }),
      epoch: { name: ` ${uid} ${resourceVersion} ${version}`, retired: false },
      // Upstream prunes what it stores by the stored version, and fills in nothing then.
      toHub: (object) => (own === hub ? object : reshape(object, hub.structural)),
      fromHub(object) {
        const shaped = filled(object, known, objectBytesMax);
        return object.apiVersion === served ? shaped : reshape(shaped, own.structural);
      },
    };
  }

  #remote(
    { spec }: CustomResourceDefinition,
    known: KnownVersions,
    { convert, objectBytesMax }: CustomKindEnvironment,
  ): RemoteConversion | undefined {
    const { strategy, webhook } = spec.conversion ?? {};
    if (strategy !== "Webhook" || webhook === undefined) return undefined;
    return {
      async convert(objects, apiVersion, signal) {
        // Upstream: what is stored is given defaults, what a webhook made of it is not.
        const sent = await mapInTurns(objects, (object) => filled(object, known, objectBytesMax));
        const converted = await convert(webhook, sent, apiVersion, signal);
        const { structural } = known.get(apiVersion)!; // one of the known
        return mapInTurns(converted, (object) => reshape(object, structural));
      },
      asMade: (objects, apiVersion, signal) => convert(webhook, objects, apiVersion, signal),
    };
  }

  #define(
    definition: CustomResourceDefinition,
    { version, storage, conversion, byApiVersion }: VersionParts,
    { domain }: CustomKindEnvironment,
  ): ResourceDefinition {
    const { group, scope } = definition.spec;
    const names = namesOf(definition);
    const { kind, plural: resource } = names;
    const own = this.#versions.get(version.name)!;
    const terminating = isConditionTrue(definition, "Terminating");
    const { subresources, selectableFields = [] } = version;
    const selectable = selectableFields.map(({ jsonPath }) => jsonPath.replace(/^\./, ""));
    const gvk = { group, version: version.name, kind };
    return {
      ...gvk,
      resource,
      singular: names.singular ?? "",
      listKind: names.listKind ?? "",
      namespaced: scope === "Namespaced",
      verbs: terminating ? lastVerbs : allVerbs,
      shortNames: names.shortNames ?? [],
      categories: names.categories ?? [],
      subresources: partsOf(version, gvk),
      get schema() {
        return own.schema;
      },
      storage: { group, version: storage.name, kind, resource },
      storageVersionHash: storage.served ? versionHash(group, storage.name, kind) : "",
      conversion,
      renamesVersions: true,
      versions: byApiVersion,
      stored: true,
      nameRule: "dns1123subdomain",
      anyFinalizers: true,
      generation: true,
      defaultPropagation: "Background",
      returnDeletedObject: false,
      returnDeletedList: true,
      createOnUpdate: false,
      unconditionalUpdate: false,
      selectableFields: selectable,
      fieldAliases: {},
      declaresFields: true,
      columns: printerColumns(version.additionalPrinterColumns, domain),
      strategy: customStrategy({
        group,
        resource,
        version: own,
        hasStatus: subresources?.status !== undefined,
        scale: subresources?.scale,
        selectable,
        terminating,
      }),
      published: () => own.published() as Readonly<Record<string, unknown>> | undefined,
      ...(version.deprecated === true ? { deprecation: deprecationOf(definition, version) } : {}),
      decoder: own.decoder,
      served: this.#served.signal,
      terminating,
      routes: "dispatched",
      untyped: true,
    };
  }
}

/** One version of a kind, with what the others have in common with it. */
interface VersionParts {
  readonly version: CustomResourceDefinitionVersion;
  readonly storage: CustomResourceDefinitionVersion;
  readonly conversion: Conversion;
  /** All versions of the kind; complete when they are used. */
  readonly byApiVersion: ReadonlyMap<string, ResourceDefinition>;
}

type KnownVersions = ReadonlyMap<string, CustomVersion>;

/** A stored object as its own version's schema shows it now. */
function filled(object: Unstructured, known: KnownVersions, bytesMax: number): Unstructured {
  const from = known.get(object.apiVersion ?? "");
  if (from === undefined) throw unknownVersion(object);
  return reshape(object, from.structural, new Room(bytesMax, () => outgrown(object, bytesMax)));
}

/** The subresources that a version declares. */
function partsOf({ subresources }: CustomResourceDefinitionVersion, gvk: GroupVersionKind): SubresourceDefinition[] {
  const parts: SubresourceDefinition[] = [];
  if (subresources?.status !== undefined) parts.push({ name: "status", ...gvk, verbs: partVerbs });
  if (subresources?.scale !== undefined) {
    const scale = { ...subresources.scale, isUntyped: true };
    parts.push({ name: "scale", group: "autoscaling", version: "v1", kind: "Scale", verbs: partVerbs, scale });
  }
  return parts;
}

/** The names a definition has: those it was given, or asks for while it never had any. */
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

function versionHash(group: string, version: string, kind: string): string {
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64");
}

/** Upstream's default warning names a better version, if there is one. */
function deprecationOf(
  definition: CustomResourceDefinition,
  { name, deprecationWarning }: CustomResourceDefinitionVersion,
): NonNullable<ResourceDefinition["deprecation"]> {
  const { group, versions } = definition.spec;
  const { kind } = namesOf(definition);
  const [better] = (versions ?? [])
    .filter((other) => other.served && other.deprecated !== true && compareVersions(other.name, name) < 0)
    .map((other) => other.name)
    .sort(compareVersions);
  const text = `${group}/${name} ${kind} is deprecated`;
  const warning = better === undefined ? text : `${text}; use ${group}/${better} ${kind}`;
  return { warning: deprecationWarning ?? warning, removedRelease: "" };
}

/** The error about a stored object that the present schema's defaults make too large to be shown. */
function outgrown({ metadata: { name = "" } }: Unstructured, bytesMax: number): Error {
  return unclassified(`defaults of the present schema make ${goQuote(name)} larger than ${bytesMax} bytes`);
}

/** A stored object of a version that its definition no longer has. Upstream's words. */
function unknownVersion(object: Unstructured): Error {
  const gv = parseApiVersion(object.apiVersion ?? "");
  const shown = gv === undefined ? (object.apiVersion ?? "") : apiVersionOf(gv);
  return unclassified(`request to convert CR from an invalid group/version: ${shown}`);
}
