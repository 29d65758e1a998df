/** Admission policies and their bindings. What expressions mean comes with the policies' engine. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, integer, nameColumn, selectorText, text } from "../cells.ts";
import {
  editField,
  editItems,
  fillAbsent,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
} from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

export function validatingPolicies(): KindBehaviour {
  return policies("Validations", "How many checks there are.", "validations");
}

export function mutatingPolicies(): KindBehaviour {
  return policies("Mutations", "How many changes there are.", "mutations");
}

function policies(column: string, description: string, field: string): KindBehaviour {
  return {
    unenforced: { warning: "this server stores admission policies, but does not enforce them yet" },
    columns: [
      nameColumn,
      integer(column, description, (object) => listField(specOf(object), field).length),
      text("ParamKind", "Kind of the objects that hold settings.", (object) => {
        const kind = inside(object, "spec", "paramKind");
        return kind === undefined ? "<unset>" : `${textField(kind, "apiVersion")}/${textField(kind, "kind")}`;
      }),
      ageColumn,
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(fillAbsent(spec, { failurePolicy: "Fail" }), "matchConstraints", defaultMatch),
        ),
    },
  };
}

/** Bindings of both kinds of policies; the mutating ones default what a missing settings object means. */
export function policyBindings(options: { readonly denyWithoutParam: boolean }): KindBehaviour {
  return {
    unenforced: { warning: "this server stores admission policies, but does not enforce them yet" },
    columns: [
      nameColumn,
      text("PolicyName", "Policy that is put to use.", (object) => textField(specOf(object), "policyName")),
      text("ParamRef", "Object that holds the settings.", paramText),
      ageColumn,
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) => {
          const next = editField(spec, "matchResources", defaultMatch);
          if (!options.denyWithoutParam) return next;
          return editField(next, "paramRef", (ref) => fillAbsent(ref, { parameterNotFoundAction: "Deny" }));
        }),
    },
  };
}

function defaultMatch(match: Json): Json {
  const scoped = (rule: Json): Json => fillAbsent(rule, { scope: "*" });
  const next = fillAbsent(match, { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} });
  return editItems(editItems(next, "resourceRules", scoped), "excludeResourceRules", scoped);
}

function paramText(object: Unstructured): string {
  const ref = inside(object, "spec", "paramRef");
  if (ref === undefined) return "<unset>";
  const name = textField(ref, "name");
  return name === "" ? selectorText(ref["selector"]) : `${textField(ref, "namespace") || "*"}/${name}`;
}
