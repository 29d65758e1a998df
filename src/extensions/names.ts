/**
 * Accepted names of custom kinds: conflicts within a group, and the conditions that report them. Source of rules and
 * wording: upstream's naming and establishing controllers.
 */
import { type ConditionContent, findCondition, isConditionTrue, sameContent } from "#api/apiextensions/conditions.ts";
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from "#api/apiextensions/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { aggregate, goQuote } from "#meta/field-error.ts";

/** The names that the definitions of a group have. */
interface TakenNames {
  /** The plural, singular and short names. */
  readonly resources: ReadonlySet<string>;
  /** The kinds and the kinds of lists. */
  readonly kinds: ReadonlySet<string>;
}

export function takenNames(accepted: Iterable<CustomResourceDefinitionNames>): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const names of accepted) {
    resources.add(names.plural).add(names.singular ?? "");
    for (const name of names.shortNames ?? []) resources.add(name);
    kinds.add(names.kind).add(names.listKind ?? "");
  }
  return { resources, kinds };
}

export interface NamesDecision {
  readonly acceptedNames: CustomResourceDefinitionNames;
  readonly conditions: readonly ConditionContent[];
}

/**
 * Returns the accepted names of a definition and its conditions; `undefined` when it has all its names, or its status
 * says what is decided already. `taken` may include its own names.
 */
export function decideNames(definition: CustomResourceDefinition, taken: TakenNames): NamesDecision | undefined {
  const wanted = definition.spec.names;
  const accepted: CustomResourceDefinitionNames = definition.status?.acceptedNames ?? { plural: "", kind: "" };
  if (sameNames(wanted, accepted)) return undefined;
  const next: Record<string, unknown> = { ...accepted };
  let conflict: { readonly reason: string; readonly message: string } | undefined;
  const decide = (
    key: "plural" | "singular" | "kind" | "listKind",
    reason: string,
    used: ReadonlySet<string>,
  ): void => {
    const name = wanted[key] ?? "";
    if (name === (accepted[key] ?? "") || !used.has(name)) next[key] = name;
    else conflict = { reason, message: inUse(name) };
  };
  decide("plural", "PluralConflict", taken.resources);
  decide("singular", "SingularConflict", taken.resources);
  const wantedShort = wanted.shortNames ?? [];
  const own = new Set(accepted.shortNames ?? []);
  if (!jsonEquals(wantedShort, accepted.shortNames ?? [])) {
    const used = wantedShort.filter((name) => !own.has(name) && taken.resources.has(name)).map(inUse);
    if (used.length === 0) next["shortNames"] = wanted.shortNames;
    else conflict = { reason: "ShortNamesConflict", message: aggregate(used) };
  }
  decide("kind", "KindConflict", taken.kinds);
  decide("listKind", "ListKindConflict", taken.kinds);
  next["categories"] = wanted.categories;
  const acceptedNames = orderMembers(next);
  const conditions = conditionsOf(definition, conflict);
  const said = findCondition(definition.status?.conditions, "NamesAccepted");
  if (sameNames(acceptedNames, accepted) && said !== undefined && sameContent(said, conditions[0])) return undefined;
  return { acceptedNames, conditions };
}

/** Returns the condition of a definition whose names are accepted and that is not established; else nothing. */
export const establishing = (definition: CustomResourceDefinition): readonly ConditionContent[] =>
  isConditionTrue(definition, "NamesAccepted") && !isConditionTrue(definition, "Established") ? [isEstablished] : [];

const isEstablished: ConditionContent = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted",
};

const inUse = (name: string): string => `${goQuote(name)} is already in use`;

/** Returns the members in upstream's order, without absent ones. */
function orderMembers(names: Readonly<Record<string, unknown>>): CustomResourceDefinitionNames {
  const out: Record<string, unknown> = {};
  for (const key of ["plural", "singular", "shortNames", "kind", "listKind", "categories"]) {
    const value = names[key];
    const isEmpty = value === undefined || value === null || (Array.isArray(value) && value.length === 0);
    if (!isEmpty && (value !== "" || key === "plural" || key === "kind")) out[key] = value;
  }
  return out as unknown as CustomResourceDefinitionNames; // plural and kind are always there
}

export const sameNames = (one: CustomResourceDefinitionNames, other: CustomResourceDefinitionNames): boolean =>
  jsonEquals(orderMembers({ ...one }), orderMembers({ ...other }));

function conditionsOf(
  definition: CustomResourceDefinition,
  conflict: { readonly reason: string; readonly message: string } | undefined,
): readonly [ConditionContent, ConditionContent] {
  const namesAccepted: ConditionContent =
    conflict === undefined
      ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
      : { type: "NamesAccepted", status: "False", ...conflict };
  const old = findCondition(definition.status?.conditions, "Established");
  let established: ConditionContent = old ?? {
    type: "Established",
    status: "False",
    reason: "NotAccepted",
    message: "not all names are accepted",
  };
  // Upstream says "Installing" for a moment; here accepted names are served at once.
  if (established.status !== "True" && conflict === undefined) established = isEstablished;
  return [namesAccepted, established];
}
