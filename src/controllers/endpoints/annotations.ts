/** Annotations of Endpoints and slices, with Kubernetes' names. */

/** When the change happened that made endpoints change. */
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
/** Endpoints that have not all addresses have it. */
export const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";
/** The annotation of Endpoints that are only used for leader election, without a service and addresses. */
export const electionAnnotation = "control-plane.alpha.kubernetes.io/leader";
