/**
 * PodSecurity: the Pod Security Standards. Labels of a namespace say which standard its pods must meet (`enforce`), and
 * which standards only cause audit annotations or warnings; controllers of pods only cause these two. Source of rules
 * and texts: https://kubernetes.io/docs/concepts/security/pod-security-admission/ and the answers of kube-apiserver.
 */
import type { Namespace, Pod, PodSpec } from "#api/core/v1.ts";
import type { ApiDomain } from "#meta/api-domain.ts";
import { aggregate, printFieldError } from "#meta/field-error.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import type { Clock } from "#std/clock.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";
import { runCooperatively, type Steps } from "#std/cooperative.ts";
import { toCheckedPod, type CheckedPod, type Finding, findingText } from "./pod-security/check.ts";
import { checkNamespace, type NamespaceOptions, type NamespacePods } from "./pod-security/namespaces.ts";
import {
  isPrivileged,
  type Mode,
  type SecurityPolicy,
  PolicyLabels,
  privilegedLatest,
  type ReadPolicy,
  type Standard,
  standardText,
} from "./pod-security/policy.ts";
import { controllers, harmlessSubresources, isSignificant } from "./pod-security/requests.ts";
import { newestMinor, Standards } from "./pod-security/standards.ts";
import { type AdmissionAttributes, type AdmissionPlugin, isPods, refusal } from "./plugin.ts";

export type { NamespacePods } from "./pod-security/namespaces.ts";
export {
  levelMessage,
  type Mode,
  modes,
  type SecurityPolicy,
  privilegedLatest,
  readLevel,
  readVersion,
  versionMessage,
} from "./pod-security/policy.ts";

/** The labels of metrics about a request. */
export interface ObservedRequest {
  readonly operation: "create" | "update";
  readonly resource: "pod" | "controller";
  readonly subresource: string;
}

interface ObservedEvaluation extends ObservedRequest {
  readonly decision: "allow" | "deny";
  readonly mode: Mode;
  readonly level: string;
  /** `latest`, `v1.8`, or `future` for a release that is not out yet. */
  readonly version: string;
}

export interface PodSecurityObserver {
  /** Called when the policy of the namespace forbids nothing. Hot path. */
  passed(operation: ObservedRequest["operation"], subresource: string): void;
  evaluated(evaluation: ObservedEvaluation): void;
  exempted(request: ObservedRequest): void;
  /** Called when the labels of the namespace could not be read. */
  failed(request: ObservedRequest): void;
}

export interface PodSecuritySettings {
  readonly defaults: SecurityPolicy;
  /** Names of users whose requests are not checked. */
  readonly exemptUsers: ReadonlySet<string>;
  readonly exemptNamespaces: ReadonlySet<string>;
  readonly exemptRuntimeClasses: ReadonlySet<string>;
}

/** The settings when there is no configuration: nothing is forbidden, and nobody is exempt. */
export const initialPodSecurity: PodSecuritySettings = {
  defaults: { enforce: privilegedLatest, audit: privilegedLatest, warn: privilegedLatest },
  exemptUsers: new Set(),
  exemptNamespaces: new Set(),
  exemptRuntimeClasses: new Set(),
};

export interface PodSecurityOptions extends PodSecuritySettings {
  readonly domain: ApiDomain;
  readonly clock: Clock;
  /** Whether checks that concern users are left out for pods with `hostUsers: false`. */
  readonly relaxesUserNamespaces: boolean;
  /** Returns the namespace from memory; `undefined` when there is none. */
  getNamespace(name: string): Namespace | undefined;
  podsOf(namespace: string): NamespacePods;
  readonly observer: PodSecurityObserver;
}

export function podSecurity(options: PodSecurityOptions): AdmissionPlugin {
  const plugin = new PodSecurity(options);
  return {
    name: "PodSecurity",
    operations: ["CREATE", "UPDATE"],
    validate: (attributes) => plugin.validate(attributes),
  };
}

const nothingForbidden = standardText(privilegedLatest);

/** The policy for one request, and the request. */
interface Decision {
  readonly attributes: AdmissionAttributes;
  readonly request: ObservedRequest;
  readonly read: ReadPolicy;
  readonly pod: CheckedPod;
}

class PodSecurity {
  readonly #options: PodSecurityOptions;
  readonly #labels: PolicyLabels;
  readonly #standards: Standards;
  readonly #namespaces: NamespaceOptions;
  readonly #annotations: Readonly<Record<"enforced" | "violations" | "exempt" | "error", string>>;

  constructor(options: PodSecurityOptions) {
    const { domain, defaults } = options;
    const annotation = (name: string): string => domain.rename(`pod-security.kubernetes.io/${name}`);
    this.#options = options;
    this.#labels = new PolicyLabels(domain, defaults);
    this.#standards = new Standards(domain);
    this.#namespaces = { ...options, labels: this.#labels, standards: this.#standards };
    this.#annotations = {
      enforced: annotation("enforce-policy"),
      violations: annotation("audit-violations"),
      exempt: annotation("exempt"),
      error: annotation("error"),
    };
  }

  validate(attributes: AdmissionAttributes): MaybePromise<void> {
    const { group, resource } = attributes.resource;
    if (isPods(attributes.resource)) return this.#checkPod(attributes);
    if (group === "" && resource === "namespaces") return checkNamespace(attributes, this.#namespaces);
    const controller = controllers.get(resource);
    return controller === undefined || controller.group !== group ? undefined : this.#checkController(attributes);
  }

  /** Checks a write of a pod. Hot path: in a namespace without labels it costs an annotation and a metric. */
  #checkPod(attributes: AdmissionAttributes): MaybePromise<void> {
    const { operation, subresource, context } = attributes;
    if (harmlessSubresources.has(subresource) || this.#isExempt(attributes, "pod")) return undefined;
    const read = this.#policyOf(attributes);
    if (read.isPrivileged) {
      context.annotate(this.#annotations.enforced, nothingForbidden);
      this.#options.observer.passed(operation === "CREATE" ? "create" : "update", subresource);
      return undefined;
    }
    const pod = attributes.object as Pod; // of the resource
    if (operation === "UPDATE" && !isSignificant(pod, attributes.oldObject as Pod)) return undefined; // of it, too
    return this.#decide(attributes, "pod", read, pod);
  }

  #checkController(attributes: AdmissionAttributes): MaybePromise<void> {
    if (attributes.subresource !== "" || this.#isExempt(attributes, "controller")) return undefined;
    const read = this.#policyOf(attributes);
    const { audit, warn } = read.policy;
    if (read.errors.length === 0 && isPrivileged(audit) && isPrivileged(warn)) return undefined;
    const template = controllers.get(attributes.resource.resource)!.template(attributes.object!); // creates and updates have one
    if (template === undefined) return undefined;
    return this.#decide(attributes, "controller", read, template);
  }

  #policyOf({ namespace }: AdmissionAttributes): ReadPolicy {
    return this.#labels.read(this.#options.getNamespace(namespace)?.metadata.labels);
  }

  /** Whether the request is exempt by its namespace or user. */
  #isExempt(attributes: AdmissionAttributes, resource: ObservedRequest["resource"]): boolean {
    const { exemptNamespaces, exemptUsers } = this.#options;
    const { namespace, context } = attributes;
    if (exemptNamespaces.has(namespace)) this.#exempt(attributes, resource, "namespace");
    else if (exemptUsers.has(context.user.name)) this.#exempt(attributes, resource, "user");
    else return false;
    return true;
  }

  #exempt(attributes: AdmissionAttributes, resource: ObservedRequest["resource"], by: string): void {
    attributes.context.annotate(this.#annotations.exempt, by);
    this.#options.observer.exempted(observedRequest(attributes, resource));
  }

  #decide(
    attributes: AdmissionAttributes,
    resource: ObservedRequest["resource"],
    read: ReadPolicy,
    { metadata, spec }: { readonly metadata: Pick<ObjectMeta, "annotations">; readonly spec: PodSpec },
  ): MaybePromise<void> {
    const { exemptRuntimeClasses, relaxesUserNamespaces } = this.#options;
    if (exemptRuntimeClasses.has(spec.runtimeClassName ?? "")) {
      this.#exempt(attributes, resource, "runtimeClass");
      return undefined;
    }
    const pod = toCheckedPod(metadata, spec, relaxesUserNamespaces);
    return runCooperatively(this.#evaluate({ attributes, request: observedRequest(attributes, resource), read, pod }));
  }

  *#evaluate({ attributes, request, read, pod }: Decision): Steps<void> {
    const { context } = attributes;
    const { policy, errors } = read;
    if (errors.length > 0) {
      const list = aggregate(errors.map(printFieldError));
      context.annotate(this.#annotations.error, `Failed to parse policy: ${list}`);
      this.#options.observer.failed(request);
    }
    const violationsByLevel = new Map<string, string>();
    if (request.resource === "pod") context.annotate(this.#annotations.enforced, standardText(policy.enforce));
    const enforceText =
      request.resource === "pod"
        ? yield* this.#violations(policy.enforce, "enforce", request, pod, violationsByLevel)
        : "";
    const auditText = yield* this.#violations(policy.audit, "audit", request, pod, violationsByLevel);
    if (auditText !== "") context.annotate(this.#annotations.violations, `would violate ${auditText}`);
    if (enforceText !== "") throw refusal(attributes, `violates ${enforceText}`);
    const warnText = yield* this.#violations(policy.warn, "warn", request, pod, violationsByLevel);
    if (warnText !== "") context.warn(`would violate ${warnText}`, "admission");
  }

  /**
   * Returns the text of the violations, `PodSecurity "baseline:latest": …`; empty if there are none.
   * `textsByStandard` caches the texts of the standards that were evaluated before.
   */
  *#violations(
    standard: Standard,
    mode: Mode,
    request: ObservedRequest,
    pod: CheckedPod,
    textsByStandard: Map<string, string>,
  ): Steps<string> {
    const name = standardText(standard);
    let text = textsByStandard.get(name);
    if (text === undefined) {
      const findings: readonly Finding[] = yield* this.#standards.evaluate(standard, pod);
      text = findings.length === 0 ? "" : `PodSecurity "${name}": ${findings.map(findingText).join(", ")}`;
      textsByStandard.set(name, text);
    }
    // Upstream counts allowed requests for the enforced standard only.
    if (text !== "") this.#observe(request, "deny", mode, standard);
    else if (mode === "enforce") this.#observe(request, "allow", mode, standard);
    return text;
  }

  #observe(request: ObservedRequest, decision: "allow" | "deny", mode: Mode, standard: Standard): void {
    const { level } = standard;
    this.#options.observer.evaluated({ ...request, decision, mode, level, version: shownVersion(standard) });
  }
}

function shownVersion({ level, version, minor }: Standard): string {
  if (level === "privileged") return "latest"; // alike in all versions
  return minor > newestMinor && minor !== Number.POSITIVE_INFINITY ? "future" : version;
}

const observedRequest = (
  { operation, subresource }: AdmissionAttributes,
  resource: ObservedRequest["resource"],
): ObservedRequest => ({ operation: operation === "CREATE" ? "create" : "update", resource, subresource });
