/** Annotations of Endpoints and slices, with Kubernetes' names. */

/** The annotation with the time of the change that made endpoints change. */
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
/** The annotation of Endpoints that do not have all addresses. */
export const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";
/** The annotation of Endpoints that are only used for leader election, without a service and addresses. */
export const electionAnnotation = "control-plane.alpha.kubernetes.io/leader";
