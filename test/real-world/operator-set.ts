/** The contents of a set of definitions for these tests, and helpers to write definitions. */
import type { ObjectBody } from "../objects.ts";
import type { Fields } from "../view.ts";
import { conditions, object, type Schema } from "./schema.ts";

export interface OperatorSet {
  readonly title: string;
  readonly definitions: readonly ObjectBody[];
  /** Valid objects, and the fields expected in them afterwards. */
  readonly accepted: readonly Accepted[];
  readonly refused: readonly Refused[];
  /** Unknown fields, added to the first accepted object. */
  readonly unknown?: { readonly fields: object; readonly named: readonly string[] };
  readonly shared: Shared;
  readonly upgrade: Upgrade;
  /** Schemas in the OpenAPI v3 document by name, and fields of them. */
  readonly explained: readonly Explained[];
}

interface Accepted {
  readonly object: ObjectBody;
  readonly shows?: Fields;
}

interface Refused {
  readonly object: ObjectBody;
  /** `field: message` of every cause. */
  readonly causes: readonly string[];
}

/** An object that two managers apply. */
interface Shared {
  readonly first: ObjectBody;
  readonly second: ObjectBody;
  readonly merged: Fields;
  /** A configuration that the second manager may apply only with `force`. */
  readonly disputed: ObjectBody;
  readonly disputedFields: readonly string[];
  readonly settled: Fields;
}

interface Upgrade {
  readonly kind: string;
  /** The definition's `spec.versions` afterwards; a new one is stored. */
  readonly versions: readonly VersionFields[];
  readonly stored: string;
  readonly storedVersions: readonly string[];
  /** An old object as seen in the new version. */
  readonly old: string;
  readonly shows: Fields;
  /** The same after a write, where that differs. */
  readonly rewritten?: Fields;
  /** One that is written in the new version, and how older clients see it. */
  readonly fresh: ObjectBody;
  readonly olderVersion: string;
  readonly freshInOlder: Fields;
}

interface Explained {
  readonly groupVersion: string;
  readonly schema: string;
  readonly shows: Fields;
}

export interface VersionFields {
  readonly name: string;
  readonly spec?: Schema;
  readonly status?: Schema;
  /** The whole schema instead of the two above. */
  readonly whole?: Schema;
  readonly served?: boolean;
  readonly storage?: boolean;
  readonly deprecationWarning?: string;
  readonly columns?: readonly (readonly [name: string, jsonPath: string, type?: string, priority?: number])[];
  readonly scale?: object;
  readonly withoutStatus?: boolean;
  readonly selectable?: readonly string[];
}

interface NamesAndVersions {
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  readonly scope?: "Cluster" | "Namespaced";
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly annotations?: object;
  readonly versions: readonly VersionFields[];
}

export function versionOf(fields: VersionFields): ObjectBody {
  const { name, served = true, storage = false, columns = [] } = fields;
  const schema =
    fields.whole ??
    object({
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      ...(fields.spec === undefined ? {} : { spec: fields.spec }),
      status: fields.status ?? object({ conditions, observedGeneration: { type: "integer", format: "int64" } }),
    });
  return {
    name,
    served,
    storage,
    schema: { openAPIV3Schema: schema },
    ...(fields.deprecationWarning === undefined
      ? {}
      : { deprecated: true, deprecationWarning: fields.deprecationWarning }),
    ...(fields.withoutStatus === true
      ? {}
      : { subresources: { status: {}, ...(fields.scale === undefined ? {} : { scale: fields.scale }) } }),
    additionalPrinterColumns: [
      ...columns.map(([title, jsonPath, type = "string", priority = 0]) => ({ name: title, jsonPath, type, priority })),
      { name: "Age", jsonPath: ".metadata.creationTimestamp", type: "date" },
    ],
    ...(fields.selectable === undefined
      ? {}
      : { selectableFields: fields.selectable.map((jsonPath) => ({ jsonPath })) }),
  };
}

export function definitionOf(fields: NamesAndVersions): ObjectBody {
  const { group, kind, plural, scope = "Namespaced", shortNames, categories, annotations, versions } = fields;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, ...(annotations === undefined ? {} : { annotations }) },
    spec: {
      group,
      scope,
      names: {
        plural,
        singular: kind.toLowerCase(),
        kind,
        listKind: `${kind}List`,
        ...(shortNames === undefined ? {} : { shortNames }),
        ...(categories === undefined ? {} : { categories }),
      },
      versions: versions.map(versionOf),
    },
  };
}

/** An object of a kind. */
export const thing = (apiVersion: string, kind: string, name: string, fields: object): ObjectBody => ({
  apiVersion,
  kind,
  metadata: { name },
  ...fields,
});
