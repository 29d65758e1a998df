/**
 * Validates the specs of pods and of pod templates. Source: `ValidatePodSpec` in upstream's `pkg/apis/core/validation`,
 * and the answers of kube-apiserver.
 */
import type { Pod, PodSpec, PodTemplateSpec } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { type FieldError, forbidden, invalid } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { dns1123Label, dns1123Subdomain } from "#meta/names.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import { validateAnnotations, validateLabels } from "#meta/validate-object-meta.ts";
import { addAll } from "#std/add-all.ts";
import { checkEach, checkName, checkOptionalName, checkRange, checkRequiredOneOf, type Errors } from "../checks.ts";
import { checkContainers, checkImages } from "./pod-validation/containers.ts";
import { checkDns, checkHostAliases } from "./pod-validation/name-resolution.ts";
import { checkOldTolerations } from "./pod-validation/old-tolerations.ts";
import { checkPodResources } from "./pod-validation/pod-resources.ts";
import { checkResourceClaims } from "./pod-validation/resource-claims.ts";
import { checkResources } from "./pod-validation/resources.ts";
import {
  checkAffinity,
  checkReadinessGates,
  checkSchedulingGates,
  checkSpread,
  checkToleration,
} from "./pod-validation/scheduling.ts";
import { checkHostProcess, checkPodSecurity, checkSystem } from "./pod-validation/security.ts";
import { isDeletionCost, type PodRules } from "./pod-validation/rules.ts";
import { checkImageReferences, checkVolumes } from "./pod-validation/volumes.ts";
import { checkAgreement, checkSecurityAnnotations, validateAppArmorUpdate } from "./security-annotations.ts";
import { ownPrefix } from "./resource-names.ts";

const restartPolicies = ["Always", "OnFailure", "Never"];
const dnsPolicies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const preemptionPolicies = ["PreemptLowerPriority", "Never"];
const deadlineMax = 2 ** 31 - 1;

/** Returns findings about a template of pods at `path`, whose defaults are filled in. */
export function validatePodTemplateSpec(template: PodTemplateSpec, path: FieldPath, rules: PodRules): FieldError[] {
  const { metadata, spec } = template;
  const specPath = path.child("spec");
  const errors = validateLabels(metadata.labels, path.child("labels"));
  const annotationsPath = path.child("annotations");
  validateAnnotations(metadata.annotations, annotationsPath, errors);
  addAll(errors, validateKnownAnnotations(template, annotationsPath, rules));
  checkSpec({ spec, podName: "", rules }, specPath, errors);
  checkAgreement(metadata.annotations, spec, specPath, podAnnotations(rules.domain), errors);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(specPath.child("ephemeralContainers"), "ephemeral containers not allowed in pod template"));
    checkImages({ ...spec, containers: [], initContainers: [] }, specPath, errors);
  }
  return errors;
}

const podSpecPath = FieldPath.of("spec");
const annotationsPath = FieldPath.of("metadata", "annotations");

/** Returns findings about the metadata and spec of a pod, whose defaults are filled in. */
export function validatePod(pod: Pod, rules: PodRules): FieldError[] {
  const { metadata, spec } = pod;
  const errors = validatePodAnnotations(pod, rules);
  checkSpec({ spec, podName: metadata.name ?? "", rules }, podSpecPath, errors);
  checkTokenSources(spec, podSpecPath.child("volumes"), errors);
  checkImages(spec, podSpecPath, errors);
  checkImageReferences(spec.volumes, podSpecPath.child("volumes"), errors);
  return errors;
}

/**
 * Checks that a pod with projected service account tokens has an account. New pods always have one; an update may omit
 * it.
 */
function checkTokenSources({ serviceAccountName, volumes = [] }: PodSpec, path: FieldPath, errors: Errors): void {
  if (serviceAccountName) return;
  for (const [i, { projected }] of volumes.entries()) {
    for (const [j, { serviceAccountToken }] of (projected?.sources ?? []).entries()) {
      if (serviceAccountToken === undefined) continue;
      const at = path.index(i).child("projected", "sources").index(j).child("serviceAccountToken");
      errors.push(forbidden(at, "must not be specified when serviceAccountName is not set"));
    }
  }
}

/** Returns findings about settings that are refused on create only. */
export function validateNewPod({ metadata, spec }: Pod, domain: ApiDomain): FieldError[] {
  const errors: FieldError[] = [];
  checkAgreement(metadata.annotations, spec, podSpecPath, podAnnotations(domain), errors);
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(forbidden(podSpecPath.child("ephemeralContainers"), "cannot be set on create"));
  }
  if (spec.nodeName && (spec.schedulingGates ?? []).length > 0) {
    const detail = "cannot be set until all schedulingGates have been cleared";
    errors.push(forbidden(podSpecPath.child("nodeName"), detail));
  }
  return errors;
}

/** Returns findings about changes of immutable annotations. */
export function validateAnnotationsUpdate(pod: Pod, old: Pod, domain: ApiDomain): FieldError[] {
  const [now = {}, before = {}] = [pod.metadata.annotations, old.metadata.annotations];
  const names = podAnnotations(domain);
  const { mirror } = names;
  const errors = validateAppArmorUpdate(now, before, annotationsPath, names);
  if (now[mirror] !== before[mirror]) {
    const change = before[mirror] === undefined ? "may not add" : "may not remove or update";
    errors.push(forbidden(annotationsPath.key(mirror), `${change} mirror pod annotation`));
  }
  return errors;
}

/** Returns findings about the annotations of a pod that have a meaning. */
export const validatePodAnnotations = (pod: Pod, rules: PodRules): FieldError[] =>
  validateKnownAnnotations(pod, annotationsPath, rules);

function validateKnownAnnotations(
  { metadata: { annotations }, spec }: Pick<PodTemplateSpec, "metadata" | "spec">,
  path: FieldPath,
  { domain, allowsAnyDeletionCost }: PodRules,
): FieldError[] {
  if (annotations === undefined) return [];
  const errors: FieldError[] = [];
  const names = podAnnotations(domain);
  const { mirror, deletionCost } = names;
  const mirrored = annotations[mirror];
  if (mirrored !== undefined && !spec.nodeName) {
    const detail = "must set spec.nodeName if mirror pod annotation is set";
    errors.push(invalid(path.key(mirror), mirrored, detail));
  }
  const tolerations = annotations[names.tolerations];
  if (tolerations) checkOldTolerations(tolerations, names.tolerations, path, errors);
  const cost = annotations[deletionCost];
  if (cost !== undefined && !allowsAnyDeletionCost && !isDeletionCost(cost)) {
    errors.push(invalid(path.key(deletionCost), cost, "must be a 32bit integer"));
  }
  checkSecurityAnnotations(annotations, spec, path, names, errors);
  return errors;
}

interface SpecCheck {
  readonly spec: PodSpec;
  /** The name of the pod; empty for a template. */
  readonly podName: string;
  readonly rules: PodRules;
}

function checkSpec({ spec, podName, rules }: SpecCheck, path: FieldPath, errors: Errors): void {
  const own = ownPrefix(rules.domain);
  const volumes = checkVolumes(spec, { podName, hasAttributesClasses: rules.hasAttributesClasses }, path, errors);
  const claims = checkResourceClaims(spec.resourceClaims, path.child("resourceClaims"), errors);
  checkContainers({ spec, volumes, claims, own, rules, errors }, path);
  checkPodResources(spec, claims, path, own, errors);
  checkRequiredOneOf(spec.restartPolicy, restartPolicies, path.child("restartPolicy"), errors);
  checkRequiredOneOf(spec.dnsPolicy, dnsPolicies, path.child("dnsPolicy"), errors);
  validateLabels(spec.nodeSelector, path.child("nodeSelector"), errors);
  checkPodSecurity(spec, path, rules, errors);
  checkAffinity(spec.affinity, path.child("affinity"), errors);
  checkDns(spec, rules, path, errors);
  checkReadinessGates(spec.readinessGates, path.child("readinessGates"), errors);
  checkSchedulingGates(spec.schedulingGates, path.child("schedulingGates"), errors);
  checkSpread(spec.topologySpreadConstraints, path.child("topologySpreadConstraints"), errors);
  checkHostProcess(spec, path, errors);
  checkOptionalName(spec.serviceAccountName, dns1123Subdomain, path.child("serviceAccountName"), errors);
  checkOptionalName(spec.nodeName, dns1123Subdomain, path.child("nodeName"), errors);
  checkRange(spec.activeDeadlineSeconds, 1, deadlineMax, path.child("activeDeadlineSeconds"), errors);
  checkOptionalName(spec.hostname, dns1123Label, path.child("hostname"), errors);
  checkOptionalName(spec.subdomain, dns1123Label, path.child("subdomain"), errors);
  checkEach(spec.tolerations, checkToleration, path.child("tolerations"), errors);
  checkHostAliases(spec.hostAliases, path.child("hostAliases"), errors);
  checkOptionalName(spec.priorityClassName, dns1123Subdomain, path.child("priorityClassName"), errors);
  if (spec.runtimeClassName !== undefined) {
    checkName(spec.runtimeClassName, dns1123Subdomain, path.child("runtimeClassName"), errors);
  }
  if (spec.preemptionPolicy !== undefined) {
    checkRequiredOneOf(spec.preemptionPolicy, preemptionPolicies, path.child("preemptionPolicy"), errors);
  }
  if (spec.overhead !== undefined) checkResources({ limits: spec.overhead }, path.child("overhead"), own, errors);
  checkSystem(spec, path, errors);
}
