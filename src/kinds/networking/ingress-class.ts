/** IngressClass: the controller of ingresses. */
import type { IngressClass } from "#api/networking/v1.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { editField, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";

const specPath = FieldPath.of("spec");

export function ingressClasses(): KindBehaviour<IngressClass> {
  return {
    metadataRepeats: 1,
    columns: [
      nameColumn,
      text("Controller", "Program that implements the class.", ({ spec }) => spec.controller ?? ""),
      text("Parameters", "Object with more settings.", parametersText),
      ageColumn,
    ],
    strategy: {
      defaults: (object) =>
        editField(object, "spec", (spec) =>
          editField(spec, "parameters", (parameters) => fillAbsent(parameters, { scope: "Cluster" })),
        ),
      validateUpdate: (object, old) => validateImmutable(object.spec, old.spec, ["controller"], specPath),
    },
  };
}

function parametersText({ spec: { parameters } }: IngressClass): string {
  if (parameters === undefined) return "<none>";
  const { apiGroup = "", kind, name } = parameters;
  return `${kind}${apiGroup === "" ? "" : `.${apiGroup}`}/${name}`;
}
