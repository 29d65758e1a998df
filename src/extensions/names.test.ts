/** Names of custom kinds: conflicts and conditions. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CustomResourceDefinition, CustomResourceDefinitionNames } from "#api/apiextensions/v1.ts";
import { decideNames, takenNames } from "./names.ts";

const wanted = { plural: "widgets", singular: "widget", shortNames: ["wi"], kind: "Widget", listKind: "WidgetList" };

const definition = (
  names: CustomResourceDefinitionNames,
  status: Partial<CustomResourceDefinition["status"]> = {},
): CustomResourceDefinition => ({
  metadata: { name: `${names.plural}.example.com` },
  spec: { group: "example.com", names, scope: "Cluster", versions: [] },
  status: { conditions: null, acceptedNames: { plural: "", kind: "" }, storedVersions: null, ...status },
});

/** Returns type, status, reason and message of the conditions. */
const check = (of: CustomResourceDefinition, others: readonly CustomResourceDefinitionNames[]): unknown =>
  decideNames(of, takenNames(others))?.conditions.map(({ type, status, reason, message }) =>
    [type, status, reason, message].join("|"),
  );

test("free names are accepted, and a definition with all its names is established", () => {
  assert.deepEqual(check(definition(wanted), []), [
    "NamesAccepted|True|NoConflicts|no conflicts found",
    "Established|True|InitialNamesAccepted|the initial names have been accepted",
  ]);
  assert.deepEqual(decideNames(definition(wanted), takenNames([]))?.acceptedNames, wanted);
});

test("nothing is decided for a definition that has the names it asks for", () => {
  const status = { acceptedNames: { ...wanted, categories: [] } };
  assert.equal(decideNames(definition(wanted, status), takenNames([wanted])), undefined);
});

test("a taken name is refused by its last conflict, the other names are given", () => {
  const other = { plural: "gadgets", singular: "widget", shortNames: ["wi", "ga"], kind: "Gadget", listKind: "Things" };
  const decision = decideNames(definition({ ...wanted, shortNames: ["wi", "ga", "wi"] }), takenNames([other]));
  assert.deepEqual(decision?.acceptedNames, { plural: "widgets", kind: "Widget", listKind: "WidgetList" });
  assert.deepEqual(check(definition({ ...wanted, shortNames: ["wi", "ga", "wi"] }), [other]), [
    'NamesAccepted|False|ShortNamesConflict|["wi" is already in use, "ga" is already in use]',
    "Established|False|NotAccepted|not all names are accepted",
  ]);
  assert.deepEqual(check(definition({ ...wanted, kind: "Gadget" }), [{ ...other, shortNames: [] }]), [
    'NamesAccepted|False|KindConflict|"Gadget" is already in use',
    "Established|False|NotAccepted|not all names are accepted",
  ]);
});

test("names a definition has stay its own, and it stays established while new ones are refused", () => {
  const established = {
    type: "Established",
    status: "True",
    lastTransitionTime: null,
    reason: "InitialNamesAccepted",
    message: "m",
  } as const;
  const status = { acceptedNames: wanted, conditions: [established] };
  const of = definition({ ...wanted, shortNames: ["wi", "gg"] }, status);
  const other = { plural: "gadgets", kind: "Gadget", shortNames: ["gg"] };
  assert.deepEqual(check(of, [wanted, other]), [
    'NamesAccepted|False|ShortNamesConflict|"gg" is already in use',
    "Established|True|InitialNamesAccepted|m",
  ]);
  assert.deepEqual(decideNames(of, takenNames([wanted, other]))?.acceptedNames, wanted);
});
