/** A request as policies see it: the object in each version, its namespace, and the variables of expressions. */
import { awaited, type Steps } from "#std/cooperative.ts";
import type { Namespace } from "#api/core/v1.ts";
import type { AuthorizationChecks } from "#cel/authorizer.ts";
import type { ApiObject } from "#meta/object-meta.ts";
import { notFound } from "#meta/status-error.ts";
import { authorizationChecks, RequestValues } from "../admission-expressions.ts";
import { admissionRequest } from "../admission-request.ts";
import type { Matched } from "../matching.ts";
import type { AdmissionAttributes } from "../plugin.ts";
import type { PolicyOptions } from "./policy-options.ts";

export class PolicyRequest {
  readonly attributes: AdmissionAttributes;
  readonly #options: PolicyOptions;
  readonly #checks: AuthorizationChecks;
  /** The values for expressions, by the form of the object that a policy sees. */
  readonly #values = new Map<string, RequestValues>();
  #namespace: Namespace | undefined;

  /** `before` is the same request with another object; its answers of the authorizer are used again. */
  constructor(attributes: AdmissionAttributes, options: PolicyOptions, before?: PolicyRequest) {
    this.attributes = attributes;
    this.#options = options;
    this.#checks = before === undefined ? authorizationChecks(options.authorizer) : before.#checks;
  }

  /** The namespace of the request. Upstream: a request about a namespace is one in this namespace. */
  get namespaceName(): string {
    const { namespace, resource, name } = this.attributes;
    return namespace === "" && resource.group === "" && resource.resource === "namespaces" ? name : namespace;
  }

  *valuesFor(matched: Matched): Steps<RequestValues> {
    const { resource, kind } = matched;
    const key = `${resource.group}/${resource.version} ${kind.group}/${kind.version}/${kind.kind}`;
    const cached = this.#values.get(key);
    if (cached !== undefined) return cached;
    const { object, oldObject } = this.attributes;
    const requestValues = new RequestValues({
      attributes: this.attributes,
      object: yield* this.inForm(object, kind),
      oldObject: yield* this.inForm(oldObject, kind),
      // Upstream: `object` and `oldObject` are there, but null.
      request: () => ({ uid: "", ...admissionRequest(this.attributes, matched), object: null, oldObject: null }),
      checks: this.#checks,
      namespace: () => this.#namespaceObject(),
    });
    this.#values.set(key, requestValues);
    return requestValues;
  }

  /** Returns the object as one of `kind`, which is that of the request or an equivalent one. */
  *inForm(object: ApiObject | undefined, kind: Matched["kind"]): Steps<ApiObject | undefined> {
    if (object === undefined || isSameKind(kind, this.attributes.kind)) return object;
    return yield* awaited(this.#options.forms.convertTo(object, kind));
  }

  #namespaceObject(): Namespace | undefined {
    const { namespace } = this.attributes;
    if (namespace === "" || this.attributes.kind.kind === "Namespace") return undefined;
    this.#namespace ??= this.#options.environment.getNamespace(namespace);
    if (this.#namespace === undefined) throw notFound({ group: "", resource: "namespaces" }, namespace);
    return this.#namespace;
  }
}

const isSameKind = (one: Matched["kind"], other: Matched["kind"]): boolean =>
  one === other || (one.group === other.group && one.version === other.version && one.kind === other.kind);
