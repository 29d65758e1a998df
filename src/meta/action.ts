/**
 * A POST that stores nothing: a review or a token request. The interface between the folders that compute the answer
 * (`authn/`, `authz/`) and the handler that reads bodies and writes replies.
 */
import type { MaybePromise } from "#std/maybe-promise.ts";
import type { GroupVersionKind } from "./group-version.ts";
import type { ApiObject, Unstructured } from "./object-meta.ts";
import type { RequestContext } from "./request-context.ts";
import type { Status } from "./status-error.ts";

export interface ActionRequest {
  readonly context: RequestContext;
  /** The path names it; empty at the cluster scope. */
  readonly namespace: string;
  /** The path names the object whose part this is. Empty for a resource of its own. */
  readonly name: string;
  /** The body, decoded by its schema, as mutating admission leaves it. */
  readonly object: ApiObject;
  readonly dryRun: boolean;
  /** Validating admission; call it once the action has validated the object. */
  admit(object: ApiObject): MaybePromise<void>;
}

export interface Action {
  /** Answers with the object to send (code 201), or throws a `StatusError`. */
  (request: ActionRequest): MaybePromise<ApiObject | Status>;
  /** Other kinds and versions of the same form that bodies may have. */
  readonly accepted?: readonly GroupVersionKind[];
  /** Defaults of the body that its schema cannot say. */
  readonly defaults?: (object: Unstructured) => Unstructured;
}
