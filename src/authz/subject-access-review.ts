/**
 * SubjectAccessReview and its variants: authorization decisions over the API. Source: upstream's
 * `registry/authorization` and `apis/authorization/validation`.
 */
import type {
  NonResourceAttributes,
  SelfSubjectRulesReview,
  SubjectAccessReview,
  SubjectAccessReviewSpec,
  SubjectAccessReviewStatus,
} from "#api/authorization/v1.ts";
import { aggregate, type FieldError, goQuote, GoSyntax, invalid, required } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import type { Action } from "#meta/action.ts";
import { validateLabelRequirement, validateSelectorValues } from "#meta/label-selector.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { badRequest, invalidObject } from "#meta/status-error.ts";
import type { UserInfo } from "#meta/user-info.ts";
import { andThen, type MaybePromise } from "#std/maybe-promise.ts";
import { yieldToEventLoop } from "#std/cooperative.ts";
import { type Attributes, type Authorizer } from "./authorizer.ts";
import {
  type ReviewSelectors,
  reviewSelectors,
  type SelectorAttributes,
  type SelectorRequirement,
} from "./review-selectors.ts";

/** The common form of the three access reviews; SelfSubjectAccessReview names no user. */
type Review = SubjectAccessReview;
type Spec = SubjectAccessReviewSpec;

/**
 * Makes the actions by resource. `group` is the API group of the reviews; without `hasSelectors` questions have no
 * selectors.
 */
export function accessReviews(
  authorizer: Authorizer,
  group: string,
  hasSelectors: boolean,
): Readonly<Record<string, Action>> {
  const review =
    (
      check: (review: Review, namespace: string) => readonly FieldError[],
      subject: (spec: Spec, asking: UserInfo) => UserInfo,
    ): Action =>
    ({ context, object, namespace, admit }) => {
      const sentReview = object as Review; // by its schema
      const asked = hasSelectors ? sentReview : { ...sentReview, spec: withoutSelectors(sentReview.spec) };
      const { spec } = asked;
      const errors = check(asked, namespace);
      // Upstream: the kind of these reviews is unknown to the code that refuses them.
      if (errors.length > 0) throw invalidObject({ group: group, kind: "" }, "", errors);
      return andThen(admit(asked), () =>
        andThen(decide(authorizer, subject(spec, context.user), spec), (status): Review => ({ ...asked, status })),
      );
    };
  return {
    selfsubjectaccessreviews: review(
      ({ metadata, spec }) => [...validateQuestion(spec), ...emptyMetadata(metadata)],
      (_spec, asking) => asking,
    ),
    subjectaccessreviews: review(
      ({ metadata, spec }) => [...validateQuestion(spec), ...validateSubject(spec), ...emptyMetadata(metadata)],
      subjectOf,
    ),
    localsubjectaccessreviews: review(
      ({ metadata, spec }, namespace) => [
        ...validateQuestion(spec),
        ...validateSubject(spec),
        ...validateLocal(metadata, spec, namespace),
      ],
      subjectOf,
    ),
  };
}

function withoutSelectors(spec: Spec): Spec {
  const { resourceAttributes } = spec;
  if (resourceAttributes === undefined) return spec;
  const { fieldSelector: _fields, labelSelector: _labels, ...rest } = resourceAttributes;
  return { ...spec, resourceAttributes: rest };
}

/** Answers SelfSubjectRulesReview: the caller's rules in a namespace that can be listed. */
export function rulesReview(authorizer: Required<Authorizer>): Action {
  return ({ context, object, admit }) => {
    const { namespace = "" } = (object as SelfSubjectRulesReview).spec; // by its schema
    if (namespace === "") throw badRequest("no namespace on request");
    // Rules of users with many of them take milliseconds.
    return andThen(admit(object), async () => {
      await yieldToEventLoop();
      const { resourceRules, nonResourceRules, incomplete, errors } = authorizer.rulesFor(context.user, namespace);
      const status = {
        resourceRules: resourceRules.map(({ verbs, apiGroups, resources, resourceNames }) => ({
          verbs: verbs ?? [],
          ...(apiGroups === undefined ? {} : { apiGroups }),
          ...(resources === undefined ? {} : { resources }),
          ...(resourceNames === undefined ? {} : { resourceNames }),
        })),
        nonResourceRules: nonResourceRules.map(({ verbs, nonResourceURLs }) => ({
          verbs: verbs ?? [],
          ...(nonResourceURLs === undefined ? {} : { nonResourceURLs }),
        })),
        incomplete,
        ...(errors.length === 0 ? {} : { evaluationError: aggregate(errors) }),
      };
      // Upstream answers with a new object, without the question.
      const { kind = "", apiVersion = "" } = object;
      const answer: SelfSubjectRulesReview = {
        kind,
        apiVersion,
        metadata: { creationTimestamp: null },
        spec: {},
        status,
      };
      return answer;
    });
  };
}

/** Returns the decision as the status of a review. */
function decide(authorizer: Authorizer, user: UserInfo, spec: Spec): MaybePromise<SubjectAccessReviewStatus> {
  const { fieldSelector, labelSelector } = spec.resourceAttributes ?? {};
  const { selectors, errors } = reviewSelectors(fieldSelector, labelSelector);
  return andThen(authorizer.authorize(attributesOf(user, spec, selectors)), ({ decision, reason, error }) => {
    const evaluationError = [...(error === undefined ? [] : [error]), ...errors].join("; ");
    return {
      allowed: decision === "allow",
      ...(decision === "deny" ? { denied: true } : {}),
      ...(reason === "" ? {} : { reason }),
      ...(evaluationError === "" ? {} : { evaluationError }),
    };
  });
}

function attributesOf(
  user: UserInfo,
  { resourceAttributes, nonResourceAttributes }: Spec,
  selectors: ReviewSelectors,
): Attributes {
  const isResourceRequest = resourceAttributes !== undefined;
  const about = resourceAttributes ?? {};
  const { group = "", version = "", resource = "", subresource = "", namespace = "", name = "" } = about;
  return {
    ...selectors,
    user,
    isResourceRequest,
    verb: (resourceAttributes ?? nonResourceAttributes)?.verb ?? "",
    path: nonResourceAttributes?.path ?? "",
    group,
    version: isResourceRequest && version === "" ? "*" : version,
    resource,
    subresource,
    namespace,
    name,
  };
}

function subjectOf({ user = "", groups = [], uid = "", extra }: Spec): UserInfo {
  return {
    name: user,
    groups,
    ...(uid === "" ? {} : { uid }),
    ...(extra === undefined ? {} : { extra }),
  };
}

const specPath = FieldPath.of("spec");
const resourcePath = specPath.child("resourceAttributes");
const nonResourcePath = specPath.child("nonResourceAttributes");
const fieldSelectorPath = resourcePath.child("fieldSelector");
const labelSelectorPath = resourcePath.child("labelSelector");

function validateQuestion({ resourceAttributes, nonResourceAttributes }: Spec): FieldError[] {
  const errors: FieldError[] = [];
  if (resourceAttributes !== undefined && nonResourceAttributes !== undefined) {
    const detail = "cannot be specified in combination with resourceAttributes";
    errors.push(invalid(nonResourcePath, goAttributes(nonResourceAttributes), detail));
  } else if (resourceAttributes === undefined && nonResourceAttributes === undefined) {
    const detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
    errors.push(invalid(resourcePath, null, detail));
  }
  const { fieldSelector, labelSelector } = resourceAttributes ?? {};
  return [
    ...errors,
    ...validateSelector(fieldSelector, fieldSelectorPath, fieldRequirement),
    ...validateSelector(labelSelector, labelSelectorPath, labelRequirement),
  ];
}

/** Validates a selector. Unknown operators are accepted, since newer clients may use them. */
function validateSelector(
  selector: SelectorAttributes | undefined,
  field: FieldPath,
  check: (requirement: SelectorRequirement, path: FieldPath) => readonly FieldError[],
): FieldError[] {
  if (selector === undefined) return [];
  const { rawSelector = "", requirements = [] } = selector;
  const requirementsPath = field.child("requirements");
  const errors: FieldError[] = [];
  if (rawSelector !== "" && requirements.length > 0) {
    const detail = "may not specified at the same time as requirements";
    errors.push(invalid(field.child("rawSelector"), rawSelector, detail));
  }
  if (rawSelector === "" && requirements.length === 0) {
    const detail = `when ${String(field)} is specified, requirements or rawSelector is required`;
    errors.push(required(requirementsPath, detail));
  }
  for (const [at, requirement] of requirements.entries()) {
    errors.push(...check(requirement, requirementsPath.index(at)));
  }
  return errors;
}

function fieldRequirement({ key, ...rest }: SelectorRequirement, path: FieldPath): FieldError[] {
  const missing = key === "" ? [required(path.child("key"), "must be specified")] : [];
  return [...missing, ...validateSelectorValues(rest, path)];
}

const labelRequirement = (requirement: SelectorRequirement, path: FieldPath): FieldError[] => [
  ...validateSelectorValues(requirement, path),
  ...validateLabelRequirement(requirement, path),
];

function validateSubject({ user = "", groups = [] }: Spec): FieldError[] {
  if (user !== "" || groups.length > 0) return [];
  return [invalid(specPath.child("user"), user, "at least one of user or group must be specified")];
}

function validateLocal(metadata: ObjectMeta, spec: Spec, namespace: string): FieldError[] {
  const { namespace: _own, ...other } = metadata;
  const errors = emptyMetadata(other, "must be empty except for namespace");
  const asked = spec.resourceAttributes?.namespace ?? "";
  if (spec.resourceAttributes !== undefined && asked !== namespace) {
    errors.push(invalid(resourcePath.child("namespace"), asked, "must match metadata.namespace"));
  }
  if (spec.nonResourceAttributes !== undefined) {
    const detail = "disallowed on this kind of request";
    errors.push(invalid(nonResourcePath, goAttributes(spec.nonResourceAttributes), detail));
  }
  return errors;
}

/** Prints the structure as Go does. */
const goAttributes = ({ path = "", verb = "" }: NonResourceAttributes): GoSyntax =>
  new GoSyntax(`authorization.NonResourceAttributes{Path:${goQuote(path)}, Verb:${goQuote(verb)}}`);

/** Checks that a review has no metadata: reviews are no objects, and have no name, labels or anything else. */
function emptyMetadata(metadata: ObjectMeta, detail = "must be empty"): FieldError[] {
  const { managedFields: _managers, ...other } = metadata;
  const isGiven = (value: unknown): boolean => {
    if (value === undefined || value === null || value === "" || value === 0) return false;
    return typeof value !== "object" || Object.keys(value).length > 0;
  };
  return Object.values(other).some(isGiven) ? [invalid(FieldPath.of("metadata"), other, detail)] : [];
}
