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
  /** The namespace in the path; empty at the cluster scope. */
  readonly namespace: string;
  /** The name of the object in the path, if the action is a subresource; otherwise empty. */
  readonly name: string;
  /** The body, decoded by its schema, after mutating admission. */
  readonly object: ApiObject;
  readonly dryRun: boolean;
  /** Runs validating admission. The action calls it after it has validated the object. */
  admit(object: ApiObject): MaybePromise<void>;
}

export interface Action {
  /** Returns the object to send (code 201), or throws a `StatusError`. */
  (request: ActionRequest): MaybePromise<ApiObject | Status>;
  /** Other kinds and versions of the same form that the body may have. */
  readonly accepted?: readonly GroupVersionKind[];
  /** Adds defaults to the body that its schema cannot express. */
  readonly defaults?: (object: Unstructured) => Unstructured;
}
