/** IngressClass: who implements ingresses. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, text } from "../cells.ts";
import { editField, fillAbsent, type Json, noFields, objectField, textField } from "../json-edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateKept } from "../kept.ts";

export function ingressClasses(): KindBehaviour {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Controller", "Program that implements the class.", (object) =>
        textField(objectField(object, "spec"), "controller"),
      ),
      text("Parameters", "Object with more settings.", parametersText),
      ageColumn,
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(spec, "parameters", (parameters) => fillAbsent(parameters, { scope: "Cluster" })),
        ),
      validateUpdate: (object, old) => validateKept(specOf(object), specOf(old), ["controller"], "spec."),
    },
  };
}

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;

function parametersText(object: Unstructured): string {
  const parameters = inside(object, "spec", "parameters");
  if (parameters === undefined) return "<none>";
  const group = textField(parameters, "apiGroup");
  return `${textField(parameters, "kind")}${group === "" ? "" : `.${group}`}/${textField(parameters, "name")}`;
}
