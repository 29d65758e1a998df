/** The path and method of a request, parsed. */
export interface RequestAttributes {
  /** False for health, metrics, discovery and OpenAPI paths. */
  readonly isResourceRequest: boolean;
  readonly path: string;
  /**
   * get, list, watch, create, update, patch, delete, deletecollection; for other paths the lower-case method. Empty for
   * a method no verb belongs to.
   */
  readonly verb: string;
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly resource: string;
  readonly subresource: string;
  readonly name: string;
}
