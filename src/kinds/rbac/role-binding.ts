/** RoleBinding and ClusterRoleBinding: who may do what a role says. The role that is bound never changes. */
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, goQuote, invalid, notSupported, required } from "#meta/field-error.ts";
import { dns1123Subdomain, pathSegment } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { Column } from "#registry/resource-definition.ts";
import { ageColumn, nameColumn, text, wideText } from "../cells.ts";
import {
  editField,
  editItems,
  fillZero,
  type Json,
  listField,
  noFields,
  objectField,
  textField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { twice } from "./twice.ts";

export function roleBindings(environment: KindEnvironment): KindBehaviour {
  return bindings(environment, ["Role", "ClusterRole"], true);
}

export function clusterRoleBindings(environment: KindEnvironment): KindBehaviour {
  return bindings(environment, ["ClusterRole"], false);
}

function bindings(environment: KindEnvironment, roleKinds: readonly string[], namespaced: boolean): KindBehaviour {
  const group = environment.domain.rename("rbac.authorization.k8s.io");
  const validate = (object: Unstructured): FieldError[] => [
    ...validateRole(objectField(object, "roleRef") ?? noFields, group, roleKinds),
    ...listField(object, "subjects").flatMap((subject, index) =>
      validateSubject(subject, `subjects[${index}]`, { group, namespaced }),
    ),
  ];
  return {
    metadataRepeats: 2,
    columns,
    strategy: {
      defaults(object) {
        const next = editField(object, "roleRef", (ref) => fillZero(ref, { apiGroup: group }));
        return editItems(next, "subjects", (subject) =>
          isPerson(textField(subject, "kind")) ? fillZero(subject, { apiGroup: group }) : subject,
        );
      },
      validate,
      validateUpdate: (object, old) => [...twice(validate(object)), ...validateKept(object, old)],
    },
  };
}

const isPerson = (kind: string): boolean => kind === "User" || kind === "Group";

function validateRole(ref: Json, group: string, kinds: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  const apiGroup = textField(ref, "apiGroup");
  if (apiGroup !== group) errors.push(notSupported("roleRef.apiGroup", apiGroup, [group]));
  const kind = textField(ref, "kind");
  if (!kinds.includes(kind)) errors.push(notSupported("roleRef.kind", kind, kinds));
  const name = textField(ref, "name");
  if (name === "") errors.push(required("roleRef.name"));
  else errors.push(...pathSegment(name).map((message) => invalid("roleRef.name", name, message)));
  return errors;
}

function validateSubject(
  subject: Json,
  field: string,
  options: { readonly group: string; readonly namespaced: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  const kind = textField(subject, "kind");
  const name = textField(subject, "name");
  if (name === "") errors.push(required(`${field}.name`));
  const isAccount = kind === "ServiceAccount";
  if (isAccount && name !== "") {
    errors.push(...dns1123Subdomain(name).map((message) => invalid(`${field}.name`, name, message)));
  }
  if (!isAccount && !isPerson(kind)) {
    return [...errors, notSupported(`${field}.kind`, kind, ["ServiceAccount", "User", "Group"])];
  }
  const group = isAccount ? "" : options.group;
  const apiGroup = textField(subject, "apiGroup");
  if (apiGroup !== group) errors.push(notSupported(`${field}.apiGroup`, apiGroup, [group]));
  if (isAccount && !options.namespaced && textField(subject, "namespace") === "") {
    errors.push(required(`${field}.namespace`));
  }
  return errors;
}

function validateKept(object: Unstructured, old: Unstructured): FieldError[] {
  const ref = objectField(object, "roleRef") ?? noFields;
  if (jsonEquals(ref, objectField(old, "roleRef") ?? noFields)) return [];
  const [group, kind, name] = ["apiGroup", "kind", "name"].map((key) => goQuote(textField(ref, key)));
  const printed = `rbac.RoleRef{APIGroup:${group}, Kind:${kind}, Name:${name}}`;
  return [{ type: "FieldValueInvalid", field: "roleRef", message: `Invalid value: ${printed}: cannot change roleRef` }];
}

function subjectsText(object: Unstructured, kind: string): string {
  return listField(object, "subjects")
    .filter((subject) => subject["kind"] === kind)
    .map((subject) => {
      const name = textField(subject, "name");
      return kind === "ServiceAccount" ? `${textField(subject, "namespace")}/${name}` : name;
    })
    .join(", ");
}

const columns: readonly Column[] = [
  nameColumn,
  text("Role", "Role that is bound.", (object) => {
    const ref = objectField(object, "roleRef");
    return `${textField(ref, "kind")}/${textField(ref, "name")}`;
  }),
  ageColumn,
  wideText("Users", "Users that have the role.", (object) => subjectsText(object, "User")),
  wideText("Groups", "Groups that have the role.", (object) => subjectsText(object, "Group")),
  wideText("ServiceAccounts", "Accounts of programs that have the role.", (object) =>
    subjectsText(object, "ServiceAccount"),
  ),
];
