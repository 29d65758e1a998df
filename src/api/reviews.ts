/** The reviews: resources whose objects are questions about users. They are answered and never stored. */

/** The resources, with Kubernetes' names of their groups. */
export const reviews: readonly { readonly group: string; readonly resource: string }[] = [
  { group: "authentication.k8s.io", resource: "selfsubjectreviews" },
  { group: "authentication.k8s.io", resource: "tokenreviews" },
  { group: "authorization.k8s.io", resource: "localsubjectaccessreviews" },
  { group: "authorization.k8s.io", resource: "selfsubjectaccessreviews" },
  { group: "authorization.k8s.io", resource: "selfsubjectrulesreviews" },
  { group: "authorization.k8s.io", resource: "subjectaccessreviews" },
];
