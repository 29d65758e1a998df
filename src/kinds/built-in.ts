/**
 * Definitions of built-in kinds: the tables of `api/` joined with the behaviour in this folder. A schema is built on
 * first use.
 */
import type { Deployment, ReplicaSet, StatefulSet } from "#api/apps/v1.ts";
import type { ApiTables, KindFacts } from "#api/definitions.ts";
import { zeroOf } from "#apply/typed-fields.ts";
import { typedDecoder } from "#registry/object-decoder.ts";
import { apiVersionOf, parseApiVersion } from "#meta/group-version.ts";
import { compileLabelSelector } from "#meta/label-selector.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { compareVersions } from "#meta/version-order.ts";
import type { ResourceDefinition, ScaleDefinition } from "#registry/resource-definition.ts";
import type { Schema } from "#schema/schema.ts";
import { builtInKinds } from "./all.ts";
import { dropFields } from "./drop-fields.ts";
import { gatedParts } from "./gated-fields.ts";
import { checksGenerateName } from "./generate-name.ts";
import {
  genericStrategy,
  type KindBehaviour,
  type KindEnvironment,
  type KindRow,
  type MakeBehaviour,
} from "./generic.ts";

type Behaviours = ReadonlyMap<string, MakeBehaviour>;

/**
 * Returns the definitions of the kinds that `serves` accepts, in the order of the tables (group, version, resource).
 */
export function builtInDefinitions(
  tables: ApiTables,
  environment: KindEnvironment,
  serves: (facts: KindFacts) => boolean = () => true,
  kinds: readonly KindRow[] = builtInKinds,
): readonly ResourceDefinition[] {
  const behaviours: Behaviours = new Map(kinds.map(([group, kind, make]) => [`${group}/${kind}`, make]));
  return tables.kinds.filter(serves).map((facts) => definitionOf(facts, tables, environment, behaviours));
}

function definitionOf(
  facts: KindFacts,
  tables: ApiTables,
  environment: KindEnvironment,
  behaviours: Behaviours,
): ResourceDefinition {
  const schemas = new Map<string, Schema>();
  const schemaOf = (version = facts.version, type = facts.kind): Schema => {
    const name = `${version} ${type}`;
    let schema = schemas.get(name);
    if (schema !== undefined) return schema;
    schema = tables.schemaOf({ group: facts.group, version, kind: type });
    if (schema === undefined) throw new Error(`no type for ${apiVersionOf({ ...facts, version })} ${type}`);
    schemas.set(name, schema);
    return schema;
  };
  const { kubernetesGroup: group, version, kind } = facts;
  const make = behaviours.get(`${group}/${version}/${kind}`) ?? behaviours.get(`${group}/${kind}`);
  const behaviour = make?.(environment, schemaOf) ?? {};
  const parts = gatedParts(group, kind);
  const generation = behaviour.generation ?? facts.generation;
  const strategy = genericStrategy(
    {
      hasStatus: facts.statusSubresource,
      generation,
      checksGenerateName: checksGenerateName(group, kind),
      zeroStatus: () => {
        const field = schemaOf().fields?.get("status");
        return field?.keep === true ? zeroOf(field.schema) : undefined;
      },
      drops: {
        create: dropFields(parts, "create", environment.gate),
        update: dropFields(parts, "update", environment.gate),
        status: dropFields(parts, "status", environment.gate),
      },
    },
    behaviour,
  );
  const deprecation = deprecationOf(facts, behaviour.deprecated);
  return {
    ...facts,
    generation,
    subresources: facts.subresources
      .filter(({ gate }) => gate === undefined || environment.gate(gate))
      .map((part) => (part.kind === "Scale" ? { ...part, scale: scaleOf(behaviour) } : part)),
    get schema() {
      return schemaOf();
    },
    decoder: typedDecoder(() => schemaOf()),
    storage: storageOf(facts, tables),
    ...(behaviour.conversion === undefined ? {} : { conversion: behaviour.conversion }),
    anyFinalizers: behaviour.anyFinalizers ?? false,
    returnDeletedObject: behaviour.returnsDeleted ?? false,
    nameRule: behaviour.nameRule ?? facts.nameRule,
    createOnUpdate: behaviour.createOnUpdate ?? facts.createOnUpdate,
    unconditionalUpdate: behaviour.unconditionalUpdate ?? facts.unconditionalUpdate,
    selectableFields: behaviour.selectableFields ?? facts.selectableFields ?? [],
    namesKindOfFields: behaviour.namesKindOfFields ?? false,
    columns: behaviour.columns ?? [],
    ...(behaviour.rowConditions === undefined ? {} : { rowConditions: behaviour.rowConditions }),
    ...(behaviour.rowOrder === undefined ? {} : { rowOrder: behaviour.rowOrder }),
    ...(behaviour.fieldAnnotations === undefined ? {} : { fieldAnnotations: behaviour.fieldAnnotations }),
    strategy,
    ...(deprecation === undefined ? {} : { deprecation }),
  };
}

/** Returns the scale of a workload. The paths of its numbers are the same for all kinds. */
function scaleOf({ scaleSelector = selectorText, missingScale }: KindBehaviour): ScaleDefinition {
  return {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    selector: scaleSelector,
    ...(missingScale === undefined ? {} : { missing: missingScale }),
  };
}

function selectorText(object: ApiObject): string {
  // Kinds with `scale` and another selector have `scaleSelector`.
  const { selector } = (object as Deployment | ReplicaSet | StatefulSet).spec;
  return selector === null ? "" : (compileLabelSelector(selector)?.text ?? "");
}

/**
 * Returns the type as which a kind is stored. Its version is the preferred one of all versions, served or not, so that
 * the type does not depend on the versions that are enabled today.
 */
function storageOf(facts: KindFacts, tables: ApiTables): ResourceDefinition["storage"] {
  const { kind, resource } = facts;
  const { group } = facts.storage ?? facts;
  let best = facts.version;
  for (const other of tables.kinds) {
    if (other.group === group && other.kind === kind && compareVersions(other.version, best) < 0) best = other.version;
  }
  return { group, version: best, kind, resource };
}

const release = "1.32";

/** Returns the warning of a version that is deprecated in this release; `undefined` for other versions. */
function deprecationOf(facts: KindFacts, since?: string): ResourceDefinition["deprecation"] {
  const { deprecated = since, removed, replacement } = facts.lifecycle;
  if (deprecated === undefined || isLater(deprecated, release)) return undefined;
  const parts = [`${apiVersionOf(facts)} ${facts.kind} is deprecated in v${deprecated}+`];
  if (removed !== undefined) parts.push(`, unavailable in v${removed}+`);
  if (replacement !== undefined) {
    const slash = replacement.lastIndexOf("/");
    const gv = parseApiVersion(replacement.slice(0, slash));
    parts.push(
      `; use ${gv === undefined ? replacement.slice(0, slash) : apiVersionOf(gv)} ${replacement.slice(slash + 1)}`,
    );
  }
  return { warning: parts.join(""), removedRelease: removed ?? "" };
}

function isLater(one: string, other: string): boolean {
  const [major = 0, minor = 0] = one.split(".").map(Number);
  const [otherMajor = 0, otherMinor = 0] = other.split(".").map(Number);
  return major === otherMajor ? minor > otherMinor : major > otherMajor;
}
