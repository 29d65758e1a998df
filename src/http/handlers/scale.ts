/**
 * The `scale` subresource: desired and current replicas of any kind. A scale shows a few fields of the object, at the
 * paths that its definition names, and writes to it change these fields. Writes use the ordinary code with the scale in
 * place of the object, so patches, apply, dry runs and preconditions work. Source: upstream's registries of workloads
 * and of custom resources.
 */
import type { Scale } from "#api/autoscaling/v1.ts";
import { parentManagedFields, type ReplicasPath, scaleManagedFields } from "#apply/scale-field-managers.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { fieldText } from "#meta/field-texts.ts";
import { apiVersionOf } from "#meta/group-version.ts";
import { ageOf } from "#meta/human-duration.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { badRequest, internalError, invalidObject, notFound, StatusError, unclassified } from "#meta/status-error.ts";
import { validateObjectMeta } from "#meta/validate-object-meta.ts";
import type { Column, ResourceDefinition, ScaleDefinition } from "#registry/resource-definition.ts";
import { servingRulesOf } from "#registry/serving-rules.ts";
import { checkUid, type Store } from "#registry/store.ts";
import { isJsonObject, nestedInteger, nestedText, pathNames } from "#schema/nested-field.ts";
import type { Entry } from "#storage/watch-cache.ts";
import type { Reply } from "../api-request.ts";
import { objectReply } from "../object-reply.ts";
import type { HandlerParts, Scope } from "../scope.ts";
import { viewKind } from "../view-kind.ts";
import { wantedVersion } from "./get.ts";

/** Makes the scope in which handlers write the scale as if it were a stored object. */
export function scaleScope(scope: Scope, scale: ScaleDefinition): Scope {
  const { definition, parts } = scope;
  const kind = scaleKind(definition, parts);
  return {
    ...scope,
    definition: kind,
    updates: kind.strategy,
    parent: definition,
    writes: new ScaleWrites(scope, scale),
  };
}

/** Answers a GET of the scale of an object. */
export async function getScale(scope: Scope, scale: ScaleDefinition): Promise<Reply> {
  const { request, parts, store, namespace, name } = scope;
  const negotiated = parts.negotiator.answer(request, parts.transforms);
  const resourceVersion = wantedVersion(request);
  let entry: Entry;
  try {
    entry = await store.get(namespace, name, resourceVersion);
  } catch (error) {
    throw scale.missing !== undefined && isNotFound(error) ? notFound(scale.missing, name) : error;
  }
  const { object, isFound } = shownAs(store.object(entry), scale);
  if (!isFound && !servingRulesOf(scope.definition).defaultsReplicas) {
    throw internalError(`the spec replicas field ${JSON.stringify(scale.specReplicasPath)} does not exist`);
  }
  return objectReply(scaleScope(scope, scale), negotiated, 200, object, undefined);
}

const isNotFound = (error: unknown): boolean => error instanceof StatusError && error.status.reason === "NotFound";

/** Stands for an absent number while a patch is applied; if it is still there afterwards, the patch gave none. */
const unset = -2147483648;

class ScaleWrites implements Pick<Store, "update"> {
  readonly #scope: Scope;
  readonly #scale: ScaleDefinition;

  constructor(scope: Scope, scale: ScaleDefinition) {
    this.#scope = scope;
    this.#scale = scale;
  }

  async update(
    namespace: string,
    name: string,
    attributes: Parameters<Store["update"]>[2],
    options: Parameters<Store["update"]>[3],
  ): ReturnType<Store["update"]> {
    const { validate } = options;
    const shown = (object: Unstructured): Unstructured => shownAs(object, this.#scale).object;
    // The rules of the object apply to the result of the write, so for the store it is a write of the object.
    const stored = await this.#scope.store.update(
      namespace,
      name,
      { ...attributes, subresource: "" },
      {
        allowCreate: false,
        // There is a current object: a scale creates nothing.
        transform: async (current) => this.#applyScale(current!, options.transform),
        ...(validate === undefined
          ? {}
          : {
              validate: (object: Unstructured, old: Unstructured | undefined) =>
                validate(shown(object), old === undefined ? undefined : shown(old)),
            }),
      },
    );
    try {
      return { ...stored, object: shown(stored.object), entry: undefined };
    } catch (error) {
      throw error instanceof StatusError ? badRequest(error.message, error) : error;
    }
  }

  /** Returns the object with the number of replicas that the writer wants. */
  async #applyScale(
    parent: Unstructured,
    transform: Parameters<Store["update"]>[3]["transform"],
  ): Promise<Unstructured> {
    const { definition, parts } = this.#scope;
    const { specReplicasPath } = this.#scale;
    const { defaultsReplicas } = servingRulesOf(definition);
    const replicasPath = replicasPathOf(definition, parts);
    const { object, isFound } = shownAs(parent, this.#scale);
    const shownManagers = scaleManagedFields(parent.metadata.managedFields, replicasPath);
    const scale = await transform({
      ...object,
      metadata: shownManagers === undefined ? object.metadata : { ...object.metadata, managedFields: shownManagers },
      ...(isFound || defaultsReplicas ? {} : { spec: { replicas: unset } }),
    });
    const { replicas = 0 } = (scale as Unstructured & Scale).spec; // decoded by its schema
    if (!defaultsReplicas && replicas === unset) {
      throw badRequest(`the spec replicas field ${JSON.stringify(specReplicasPath)} cannot be empty`);
    }
    if (defaultsReplicas) this.#check(scale, replicas, parent);
    const { managedFields: _old, ...metadata } = parent.metadata;
    const managedFields = parentManagedFields(
      parent.metadata.managedFields,
      scale.metadata.managedFields,
      replicasPath,
      apiVersionOf(definition),
    );
    const { resourceVersion } = scale.metadata;
    return {
      ...(withNumber(parent, pathNames(specReplicasPath), replicas) as Unstructured), // an object stays one
      metadata: {
        ...metadata,
        ...(resourceVersion === undefined || resourceVersion === "" ? {} : { resourceVersion }),
        ...(managedFields === undefined ? {} : { managedFields }),
      },
    };
  }

  /** Refuses a scale that is wrong by itself, or that names the uid of another object. */
  #check(scale: Unstructured, replicas: number, parent: Unstructured): void {
    const { definition } = this.#scope;
    const { name = "" } = parent.metadata;
    const errors = findings(scale, replicas);
    if (errors.length > 0) throw invalidObject({ group: "autoscaling", kind: "Scale" }, name, errors);
    checkUid({ ...definition, resource: `${definition.resource}/scale` }, scale, parent);
  }
}

/** Returns the findings about the scale of a built-in kind. */
function findings({ metadata }: Unstructured, replicas: number): readonly FieldError[] {
  const errors = validateObjectMeta(metadata, {
    namespaced: true,
    nameRule: "dns1123subdomain",
    standardFinalizers: true,
  });
  if (replicas >= 0) return errors;
  return [...errors, invalid(FieldPath.of("spec", "replicas"), replicas, "must be greater than or equal to 0")];
}

/** Returns the paths at which the versions of a kind keep the number of replicas. */
function replicasPathOf(definition: ResourceDefinition, parts: HandlerParts): ReplicasPath {
  return (apiVersion) => {
    const of = apiVersion === apiVersionOf(definition) ? definition : parts.definitionOfVersion(definition, apiVersion);
    return of === undefined ? undefined : elementsOf(of);
  };
}

function elementsOf({ subresources }: ResourceDefinition): readonly string[] | null {
  const scale = subresources.find((part) => part.scale !== undefined)?.scale;
  return scale === undefined ? null : pathNames(scale.specReplicasPath).map((name) => `f:${name}`);
}

/** Returns the scale of an object, without managedFields; `isFound` says whether the object has the desired number. */
function shownAs(
  object: Unstructured,
  scale: ScaleDefinition,
): { readonly object: Unstructured; readonly isFound: boolean } {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const wanted = numberAt(object, scale.specReplicasPath);
  const present = numberAt(object, scale.statusReplicasPath);
  const selector =
    scale.labelSelectorPath === undefined ? (scale.selector?.(object) ?? "") : textAt(object, scale.labelSelectorPath);
  const shown: Unstructured = {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: {
      ...(name === undefined ? {} : { name }),
      ...(namespace === undefined || namespace === "" ? {} : { namespace }),
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
    spec: wanted === undefined || wanted === 0 ? {} : { replicas: wanted },
    status: { replicas: present ?? 0, ...(selector === "" ? {} : { selector }) },
  };
  return { object: shown, isFound: wanted !== undefined };
}

/**
 * Reads a whole number, cut to the 32 bits that a scale has; `undefined` when there is none. Throws for another value.
 */
function numberAt(object: Unstructured, path: string): number | undefined {
  const { value, problem } = nestedInteger(object, path);
  if (problem !== undefined) throw unclassified(problem);
  return value === undefined ? undefined : Number(BigInt.asIntN(32, BigInt(value)));
}

function textAt(object: Unstructured, path: string): string {
  const { value = "", problem } = nestedText(object, path);
  if (problem !== undefined) throw unclassified(problem);
  return value;
}

/** Returns a copy of `value` with the number at the path; missing parents are created. */
function withNumber(value: unknown, path: readonly string[], number: number, at = 0): unknown {
  if (at === path.length) return number;
  if (value !== undefined && !isJsonObject(value)) {
    throw unclassified(`value cannot be set because .${path.slice(0, at).join(".")} is not a map[string]interface{}`);
  }
  const name = path[at]!; // checked above
  const inner = value !== undefined && Object.hasOwn(value, name) ? value[name] : undefined;
  return { ...value, [name]: withNumber(inner, path, number, at + 1) };
}

const scaleGvk = { group: "autoscaling", version: "v1", kind: "Scale" };

/** Makes the definition of the kind Scale, in place of that of the resource. */
const scaleKind = (definition: ResourceDefinition, parts: HandlerParts): ResourceDefinition =>
  viewKind(definition, scaleGvk, parts, () => scaleColumns(parts.domain, definition));

function scaleColumns(domain: ApiDomain, definition: ResourceDefinition): readonly Column[] {
  const { defaultsReplicas } = servingRulesOf(definition);
  const none = defaultsReplicas ? 0 : null;
  const replicas = (object: Unstructured, part: string): number | null =>
    (object[part] as { readonly replicas?: number }).replicas ?? none; // as `shownAs` made it
  const column = (name: string, type: Column["type"], description: string, cell: Column["cell"]): Column => ({
    name,
    type,
    format: name === "Name" && !defaultsReplicas ? "name" : "",
    description,
    priority: 0,
    cell,
  });
  return [
    column("Name", "string", fieldText(domain, "name"), (object) => object.metadata.name ?? ""),
    column("Desired", "integer", "Number of desired replicas", (object) => replicas(object, "spec")),
    column("Available", "integer", "Number of actual replicas", (object) => replicas(object, "status")),
    column("Age", defaultsReplicas ? "string" : "date", fieldText(domain, "creationTimestamp"), (object, nowMs) =>
      ageOf(object.metadata.creationTimestamp, nowMs),
    ),
  ];
}
