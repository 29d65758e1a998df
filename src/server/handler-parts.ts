/** Parts of handlers that the event loop and the threads of large requests derive from the same inputs. */
import type { ApiTables } from "#api/definitions.ts";
import { ManagerNames } from "#apply/managed-fields.ts";
import type { FeatureGates } from "#api/feature-gates.ts";
import { cborGate } from "#codec/cbor-encoding.ts";
import type { Encoding } from "#codec/encoding.ts";
import { allEncodings } from "#codec/encodings.ts";
import { negotiator, resourceTransforms } from "#http/negotiation.ts";
import { plainOptions } from "#http/options.ts";
import type { HandlerParts } from "#http/scope.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type GroupVersionKind, parseApiVersion, qualifiedResource } from "#meta/group-version.ts";
import { Timestamps } from "#meta/time.ts";
import type { ResourceDefinition } from "#registry/resource-definition.ts";
import type { ResourceTable } from "#registry/resource-table.ts";
import type { Schema } from "#schema/schema.ts";
import { registeredKinds } from "./registered-kinds.ts";

interface Sources extends Pick<HandlerParts, "domain" | "clock"> {
  readonly tables: ApiTables;
  readonly gates: FeatureGates;
  /** The served resources. */
  table(): ResourceTable;
}

type GivenParts = Sources & Omit<HandlerParts, keyof ReturnType<typeof derivedParts>>;

export const handlerParts = (given: GivenParts): HandlerParts => ({ ...given, ...derivedParts(given) });

function derivedParts({ tables, gates, domain, clock, table }: Sources) {
  const otherVersion = (of: ResourceDefinition, apiVersion: string): ResourceDefinition | undefined => {
    if (of.custom !== undefined) return of.custom.versions.get(apiVersion);
    const gv = parseApiVersion(apiVersion);
    const kindDefinition = gv && table().findKind(gv.group, gv.version, of.kind);
    // A kind with the same name in another group is a different kind, unless both have the same keys.
    return kindDefinition !== undefined && qualifiedResource(kindDefinition.storage) === qualifiedResource(of.storage)
      ? kindDefinition
      : undefined;
  };
  return {
    managers: new ManagerNames(),
    timestamps: new Timestamps(clock),
    plainOptions: plainOptions(domain),
    negotiator: negotiator(servedEncodings(encodingsOf(tables, domain), tables, gates), true),
    transforms: resourceTransforms(domain),
    deleteOptionsSchema: requiredSchema(tables, { group: "", version: "v1", kind: "DeleteOptions" }),
    definitionOfVersion: otherVersion,
    schemaOf: (gvk: GroupVersionKind) => requiredSchema(tables, gvk),
    forcedDeletion: gates.isOn("AllowUnsafeMalformedObjectDeletion"),
    streamsLists: gates.isOn("WatchList"),
    splitsLogs: gates.isOn("PodLogsQuerySplitStreams"),
    acceptsCborPatches: gates.isOn(cborGate),
    isRegistered: registeredKinds(tables),
  };
}

/**
 * Returns the encodings without a feature gate, and those whose gate is on. Throws an `Error` for a gate that 1.32 does
 * not have.
 */
export function servedEncodings(
  all: readonly Encoding[],
  tables: Pick<ApiTables, "gates">,
  gates: FeatureGates,
): readonly Encoding[] {
  return all.filter(({ gate, mediaType }) => {
    if (gate === undefined) return true;
    if (!tables.gates.some(({ name }) => name === gate)) throw new Error(`${mediaType}: there is no gate ${gate}`);
    return gates.isOn(gate);
  });
}

/** Returns the schema of a built-in kind. Throws when there is none. */
export function requiredSchema(tables: ApiTables, gvk: GroupVersionKind): Schema {
  const schema = tables.schemaOf(gvk);
  if (schema === undefined) throw new Error(`the tables have no ${gvk.kind}`);
  return schema;
}

/** Returns the encodings of a server. */
export const encodingsOf = (tables: ApiTables, domain: ApiDomain): readonly Encoding[] =>
  allEncodings({
    Status: metaSchema(tables, domain, "Status"),
    ListMeta: metaSchema(tables, domain, "ListMeta"),
    PartialObjectMetadata: metaSchema(tables, domain, "PartialObjectMetadata"),
  });

/** Returns the schema of the metadata of custom resources. */
export const metadataSchema = (tables: ApiTables, domain: ApiDomain): Schema =>
  metaSchema(tables, domain, "ObjectMeta");

function metaSchema(tables: ApiTables, domain: ApiDomain, type: string): Schema {
  const name = domain.rename(`io.k8s.apimachinery.pkg.apis.meta.v1.${type}`);
  const schema = tables.schema(name);
  if (schema === undefined) throw new Error(`the tables have no ${name}`);
  return schema;
}
