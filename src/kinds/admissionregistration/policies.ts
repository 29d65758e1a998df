/** Admission policies and their bindings: defaults and columns. `validate-policy.ts` validates them. */
import type {
  MatchResources,
  ParamRef,
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from "#api/admissionregistration/v1.ts";
import type { MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding } from "#api/admissionregistration/v1alpha1.ts";
import { formatLabelSelector } from "#meta/label-selector.ts";
import { lazy } from "#std/lazy.ts";
import { andThen } from "#std/maybe-promise.ts";
import { ageColumn, integer, nameColumn, text } from "../cells.ts";
import { editField, editItems, fillAbsent } from "../edit.ts";
import { expressionWeight } from "../expression-weight.ts";
import { type KindBehaviour, type KindEnvironment, keptByStatus } from "../generic.ts";

/** The modules that validate policies. They need the expression language, which is loaded for the first policy. */
const ofValidating = lazy(() => import("./validate-policy.ts"));
const ofMutating = lazy(() => import("./validate-mutating-policy.ts"));

const paramKindColumn = text(
  "ParamKind",
  "Kind of the objects that hold settings.",
  ({ spec: { paramKind } }: MutatingAdmissionPolicy) =>
    paramKind === undefined ? "<unset>" : `${paramKind.apiVersion ?? ""}/${paramKind.kind ?? ""}`,
);

export function validatingPolicies({ gate }: KindEnvironment): KindBehaviour<ValidatingAdmissionPolicy> {
  const check = { hasSelectors: gate("AuthorizeWithSelectors") };
  return {
    anyFinalizers: true,
    statusKeeps: keptByStatus,
    statusResetsMetadata: true,
    columns: [
      nameColumn,
      integer("Validations", "How many checks there are.", ({ spec }) => spec.validations?.length ?? 0),
      paramKindColumn,
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      weight: ({ spec }) =>
        expressionWeight([
          ...commonExpressions(spec),
          ...(spec.validations ?? []).flatMap(({ expression, messageExpression }) => [expression, messageExpression]),
          ...(spec.auditAnnotations ?? []).map(({ valueExpression }) => valueExpression),
        ]),
      checkRules: (policy, old) => andThen(ofValidating(), (loaded) => loaded.validatePolicy(policy, old, check)),
      subresources: {
        status: { checkRules: (policy) => andThen(ofValidating(), (loaded) => loaded.validatePolicyStatus(policy)) },
      },
    },
  };
}

export function mutatingPolicies({ gate }: KindEnvironment): KindBehaviour<MutatingAdmissionPolicy> {
  const check = { hasSelectors: gate("AuthorizeWithSelectors") };
  return {
    anyFinalizers: true,
    columns: [
      nameColumn,
      integer("Mutations", "How many changes there are.", ({ spec }) => spec.mutations?.length ?? 0),
      paramKindColumn,
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      weight: ({ spec }) =>
        expressionWeight([
          ...commonExpressions(spec),
          ...(spec.mutations ?? []).flatMap(({ applyConfiguration, jsonPatch }) => [
            applyConfiguration?.expression,
            jsonPatch?.expression,
          ]),
        ]),
      checkRules: (policy, old) => andThen(ofMutating(), (loaded) => loaded.validateMutatingPolicy(policy, old, check)),
    },
  };
}

type PolicySpec = MutatingAdmissionPolicy["spec"];

const commonExpressions = ({ matchConditions, variables }: Pick<PolicySpec, "matchConditions" | "variables">) =>
  [...(matchConditions ?? []), ...(variables ?? [])].map(({ expression }) => expression);

const defaultSpec = (spec: PolicySpec): PolicySpec =>
  editField(fillAbsent(spec, { failurePolicy: "Fail" }), "matchConstraints", defaultMatch);

export function validatingBindings(): KindBehaviour<ValidatingAdmissionPolicyBinding> {
  const behaviour = policyBindings((spec) => spec);
  return {
    ...behaviour,
    strategy: {
      ...behaviour.strategy,
      checkRules: (binding) => andThen(ofValidating(), (loaded) => loaded.validateBinding(binding)),
    },
  };
}

/**
 * Returns the behaviour of bindings of mutating policies. Unlike validating ones, they have a default for
 * `parameterNotFoundAction`.
 */
export function mutatingBindings(): KindBehaviour<MutatingAdmissionPolicyBinding> {
  const behaviour = policyBindings((spec) =>
    editField(spec, "paramRef", (ref) => fillAbsent(ref, { parameterNotFoundAction: "Deny" })),
  );
  return {
    ...behaviour,
    strategy: {
      ...behaviour.strategy,
      checkRules: (binding) => andThen(ofMutating(), (loaded) => loaded.validateMutatingBinding(binding)),
    },
  };
}

type BindingSpec = MutatingAdmissionPolicyBinding["spec"];

/** Returns the behaviour that bindings of both kinds of policies share. `more` adds defaults of one kind. */
function policyBindings(more: (spec: BindingSpec) => BindingSpec): KindBehaviour<MutatingAdmissionPolicyBinding> {
  return {
    anyFinalizers: true,
    columns: [
      nameColumn,
      text("PolicyName", "Policy that is put to use.", ({ spec }) => spec.policyName ?? ""),
      text("ParamRef", "Object that holds the settings.", ({ spec }) => paramText(spec.paramRef)),
      ageColumn,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => more(editField(spec, "matchResources", defaultMatch))),
    },
  };
}

function defaultMatch(match: MatchResources): MatchResources {
  const next = fillAbsent(match, { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} });
  return editItems(
    editItems(next, "resourceRules", (rule) => fillAbsent(rule, { scope: "*" })),
    "excludeResourceRules",
    (rule) => fillAbsent(rule, { scope: "*" }),
  );
}

function paramText(ref: ParamRef | undefined): string {
  if (ref === undefined) return "<unset>";
  const { name = "", namespace, selector } = ref;
  return name === "" ? formatLabelSelector(selector) : `${namespace || "*"}/${name}`;
}
