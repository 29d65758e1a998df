/** The parsed path and method of a request. */
export interface RequestAttributes {
  /** Whether the path is one of a resource; false for health, metrics, discovery and OpenAPI paths. */
  readonly isResourceRequest: boolean;
  readonly path: string;
  /**
   * The verb: get, list, watch, create, update, patch, delete, deletecollection; for other paths the lower-case method.
   * Empty for a method without a verb.
   */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}
