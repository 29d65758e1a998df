/** RoleBinding and ClusterRoleBinding: grant a role to subjects. The role reference never changes. */
import type { ClusterRoleBinding, RoleBinding, RoleRef, Subject } from "#api/rbac/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, goQuote, GoSyntax, invalid, notSupported, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Subdomain, pathSegment } from "#meta/names.ts";
import type { Column } from "#registry/resource-definition.ts";
import { ageColumn, nameColumn, text, wideText } from "../cells.ts";
import { checkName, checkRequiredName } from "../checks.ts";
import { editItems, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";

export function roleBindings(environment: KindEnvironment): KindBehaviour<RoleBinding> {
  return bindings(environment, ["Role", "ClusterRole"], true);
}

export function clusterRoleBindings(environment: KindEnvironment): KindBehaviour<ClusterRoleBinding> {
  return bindings(environment, ["ClusterRole"], false);
}

const subjectsPath = FieldPath.of("subjects");

/** Returns the behaviour of both kinds, which have the same fields. */
function bindings(
  { domain }: KindEnvironment,
  roleKinds: readonly string[],
  namespaced: boolean,
): KindBehaviour<RoleBinding> {
  const group = domain.rename("rbac.authorization.k8s.io");
  const validate = ({ roleRef, subjects = [] }: RoleBinding): FieldError[] => [
    ...validateRole(roleRef, group, roleKinds),
    ...subjects.flatMap((subject, index) => validateSubject(subject, subjectsPath.index(index), { group, namespaced })),
  ];
  return {
    columns,
    strategy: {
      defaults(object) {
        const next = withField(object, "roleRef", fillZero(object.roleRef, { apiGroup: group }));
        return editItems(next, "subjects", (subject) =>
          isPerson(subject.kind) ? fillZero(subject, { apiGroup: group }) : subject,
        );
      },
      validate,
      validateUpdate: (object, old) => [...validate(object), ...validateRoleUpdate(object.roleRef, old.roleRef)],
    },
  };
}

const isPerson = (kind: string): boolean => kind === "User" || kind === "Group";

function validateRole({ apiGroup, kind, name }: RoleRef, group: string, kinds: readonly string[]): FieldError[] {
  const errors: FieldError[] = [];
  if (apiGroup !== group) errors.push(notSupported(FieldPath.of("roleRef", "apiGroup"), apiGroup, [group]));
  if (!kinds.includes(kind)) errors.push(notSupported(FieldPath.of("roleRef", "kind"), kind, kinds));
  checkRequiredName(name, pathSegment, FieldPath.of("roleRef", "name"), errors);
  return errors;
}

function validateSubject(
  { kind, apiGroup = "", name, namespace = "" }: Subject,
  path: FieldPath,
  options: { readonly group: string; readonly namespaced: boolean },
): FieldError[] {
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(path.child("name")));
  const isAccount = kind === "ServiceAccount";
  if (isAccount && name !== "") {
    checkName(name, dns1123Subdomain, path.child("name"), errors);
  }
  if (!isAccount && !isPerson(kind)) {
    return [...errors, notSupported(path.child("kind"), kind, ["ServiceAccount", "User", "Group"])];
  }
  const group = isAccount ? "" : options.group;
  if (apiGroup !== group) errors.push(notSupported(path.child("apiGroup"), apiGroup, [group]));
  if (isAccount && !options.namespaced && namespace === "") errors.push(required(path.child("namespace")));
  return errors;
}

function validateRoleUpdate(ref: RoleRef, old: RoleRef): FieldError[] {
  if (jsonEquals(ref, old)) return [];
  const [group, kind, name] = [ref.apiGroup, ref.kind, ref.name].map(goQuote);
  const printed = new GoSyntax(`rbac.RoleRef{APIGroup:${group}, Kind:${kind}, Name:${name}}`);
  return [invalid(FieldPath.of("roleRef"), printed, "cannot change roleRef")];
}

const subjectsText = ({ subjects = [] }: RoleBinding, kind: string): string =>
  subjects
    .filter((subject) => subject.kind === kind)
    .map(({ name, namespace = "" }) => (kind === "ServiceAccount" ? `${namespace}/${name}` : name))
    .join(", ");

const columns: readonly Column<RoleBinding>[] = [
  nameColumn,
  text("Role", "Role that is bound.", ({ roleRef }) => `${roleRef.kind}/${roleRef.name}`),
  ageColumn,
  wideText("Users", "Users that have the role.", (object) => subjectsText(object, "User")),
  wideText("Groups", "Groups that have the role.", (object) => subjectsText(object, "Group")),
  wideText("ServiceAccounts", "Accounts of programs that have the role.", (object) =>
    subjectsText(object, "ServiceAccount"),
  ),
];
