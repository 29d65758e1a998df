/** IngressClass: the controller of a class of ingresses. */
import type { IngressClass, IngressClassParametersReference } from "#api/networking/v1.ts";
import { type FieldError, forbidden, required, tooLong } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label } from "#meta/names.ts";
import { validatePrefixedPath } from "#meta/prefixed-path.ts";
import { addAll } from "#std/add-all.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { checkName, checkOneOf, type Errors } from "../checks.ts";
import { editField, fillAbsent } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";
import { validateImmutable } from "../immutable.ts";
import { checkTypedReference } from "./typed-reference.ts";

const specPath = FieldPath.of("spec");
const controllerBytesMax = 250;
const scopes = ["Cluster", "Namespace"];

export function ingressClasses(): KindBehaviour<IngressClass> {
  return {
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
      validate,
      validateUpdate: (object, old) => [
        ...validateImmutable(
          { controller: object.spec.controller ?? "" },
          { controller: old.spec.controller ?? "" },
          ["controller"],
          specPath,
        ),
        ...validate(object),
      ],
    },
  };
}

function validate({ spec: { controller = "", parameters } }: IngressClass): FieldError[] {
  const errors: Errors = [];
  const path = specPath.child("controller");
  if (Buffer.byteLength(controller) > controllerBytesMax) errors.push(tooLong(path, controllerBytesMax));
  addAll(errors, validatePrefixedPath(controller, path));
  if (parameters !== undefined) checkParameters(parameters, specPath.child("parameters"), errors);
  return errors;
}

function checkParameters(parameters: IngressClassParametersReference, path: FieldPath, errors: Errors): void {
  checkTypedReference(parameters, path, errors);
  const { scope, namespace } = parameters;
  const namespacePath = path.child("namespace");
  if (scope === null) errors.push(required(path.child("scope")));
  else checkOneOf(scope, scopes, path.child("scope"), errors);
  const saysScope = `\`parameters.scope\` is set to '${scope}'`;
  if (scope === "Cluster" && namespace !== undefined) errors.push(forbidden(namespacePath, saysScope));
  if (scope !== "Namespace") return;
  if (namespace === undefined) errors.push(required(namespacePath, saysScope));
  else checkName(namespace, dns1123Label, namespacePath, errors);
}

function parametersText({ spec: { parameters } }: IngressClass): string {
  if (parameters === undefined) return "<none>";
  const { apiGroup = "", kind, name } = parameters;
  return `${kind}${apiGroup === "" ? "" : `.${apiGroup}`}/${name}`;
}
