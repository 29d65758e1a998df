/** Annotations of Endpoints and slices, with Kubernetes' names. */

/** When the change happened that made endpoints change. */
export const triggerTimeAnnotation = "endpoints.kubernetes.io/last-change-trigger-time";
/** Of Endpoints that have not all addresses. */
export const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";
/** Of Endpoints that only serve an election: there is no service, and nobody wants their addresses. */
export const electionAnnotation = "control-plane.alpha.kubernetes.io/leader";
