/** Descriptions of certificates, of who somebody is and of what somebody may do. `../descriptions.ts` explains the format. */
export const certificates = `
package io.k8s.api.certificates.v1
CertificateSigningRequest: A request for a certificate. Somebody approves it, and a signer issues the certificate.
  spec: The request. It cannot be changed.
  status: The approval, and the certificate.
CertificateSigningRequestSpec:
  request: The request in PKCS #10 form, as PEM in base64.
  signerName: The name of the signer that is asked, such as kubernetes.io/kube-apiserver-client.
  expirationSeconds: The seconds for which the certificate should be valid, at least 600; the signer may issue another duration.
  usages: The uses that the key is for, such as "digital signature" and "client auth".
  username: The name of the user who made the request; the server sets it.
  uid: The identity of the user who made the request; the server sets it.
  groups: The groups of the user who made the request; the server sets them.
  extra: The further facts about the user who made the request; the server sets them.
CertificateSigningRequestStatus:
  conditions: The conditions of the request: Approved, Denied, Failed.
  certificate: The chain of certificates that the signer issued, as PEM in base64. Once set, it cannot be changed.
CertificateSigningRequestCondition: One statement about a request. Approved and Denied exclude each other and stay.
  type: The name of the condition: Approved, Denied or Failed.
  status: The status of the condition; Approved, Denied and Failed are always True.
  reason: The reason for the condition, in one word.
  message: The reason for the condition, in a sentence.
  lastUpdateTime: The time at which the condition was last written.
  lastTransitionTime: The time at which the status last changed; the server sets it when it is absent.

package io.k8s.api.certificates.v1alpha1
ClusterTrustBundle: Certificates of authorities that the whole cluster can trust.
  spec: The certificates, and the signer that they belong to.
ClusterTrustBundleSpec:
  signerName: The name of the signer that uses the bundle; the object's name then begins with it. It cannot be changed.
  trustBundle: The certificates of the authorities, as PEM blocks; their order has no meaning.

package io.k8s.api.authentication.v1, io.k8s.api.authentication.v1beta1
SelfSubjectReview: A question about who the asking user is. It is answered and not stored.
  status: The answer of the server.
SelfSubjectReviewStatus:
  userInfo: The name, groups and further facts of the asking user.

package io.k8s.api.authentication.v1
TokenReview: A question about a token. It is answered and not stored.
  spec: The token that is asked about, and its audiences.
  status: The answer of the server.
TokenReviewSpec:
  token: The token that is asked about.
  audiences: The audiences that the asking program stands for; the API server's when absent.
TokenReviewStatus:
  authenticated: Whether the token is valid.
  user: The user that the token stands for.
  audiences: The asked audiences that the token is good for. A program that asked for audiences must check it.
  error: The reason why the token could not be checked.
UserInfo: A user, as the server knows it.
  username: The name of the user, unique among all users.
  uid: The identity of the user; another user of the same name later has another one.
  groups: The groups that the user belongs to.
  extra: The further facts that the authenticator gave about the user.
TokenRequest: A request for a token of a service account. It is written to the subresource "token" of the account.
  spec: The properties that the token should have.
  status: The token, and the time at which it ends.
TokenRequestSpec:
  audiences: The audiences that accept the token; the API server's when empty.
  expirationSeconds: The seconds for which the token should be valid, at least 600; 3600 by default. The server may give less.
  boundObjectRef: The object that the token is bound to; once it is deleted, the token is no longer valid.
TokenRequestStatus:
  token: The token. It is shown only once.
  expirationTimestamp: The time from which the token is no longer valid.
BoundObjectReference: A reference to an object with which a token ends.
  kind: The kind of the object: Pod, Secret or Node.
  apiVersion: The group and version of the object; it is v1.
  name: The name of the object.
  uid: The identity of the object; it must be right if it is given.

package io.k8s.api.authorization.v1
SubjectAccessReview, LocalSubjectAccessReview: A question about whether a user may do something. It is answered and not stored.
  spec: The user, and the action in question.
SelfSubjectAccessReview: A question about whether the asking user may do something. It is answered and not stored.
  spec: The action that is asked about.
LocalSubjectAccessReview: A question about whether a user may do something in one namespace. It is answered and not stored.
SubjectAccessReview, LocalSubjectAccessReview, SelfSubjectAccessReview:
  status: The answer of the server.
SubjectAccessReviewSpec, SelfSubjectAccessReviewSpec: The action in question; exactly one of the two kinds is given.
  resourceAttributes: An action on a resource.
  nonResourceAttributes: A request to a path outside of the resources.
SubjectAccessReviewSpec: The user, and the action in question. A user or a group is given.
  user: The name of the user; only the groups count when it is empty.
  groups: The groups of the user.
  extra: The further facts about the user.
  uid: The identity of the user.
SubjectAccessReviewStatus: The answer to a question about rights.
  allowed: Whether the action is allowed.
  denied: Whether an authorizer refused the action; without it, a refusal means that nobody allowed the action.
  reason: The reason for the answer, for people.
  evaluationError: The error of a check that failed; the answer can be right nevertheless.
ResourceAttributes:
  namespace: The namespace of the action; all namespaces, or the whole cluster, when empty.
  verb: The action, such as get, list, watch, create, update, patch or delete; * for all.
  group: The group of the resource; * for all.
  version: The version of the resource; * for all.
  resource: The name of the resource, such as pods; * for all.
  subresource: The name of the subresource, such as log; the resource itself when empty.
  name: The name of the object; all objects when empty.
  fieldSelector: The fields to which a list, a watch or a deletion is narrowed.
  labelSelector: The labels to which a list, a watch or a deletion is narrowed.
FieldSelectorAttributes, LabelSelectorAttributes: The narrowing of a request; one of the two forms is given.
  rawSelector: The selector as a request has it in its query. Webhooks do not get this form.
  requirements: The single requirements; all must hold.
NonResourceAttributes:
  path: The path of the request, such as /healthz.
  verb: The method of the request in lower case, such as get.
SelfSubjectRulesReview: A question about all rights of the asking user in a namespace. It is answered and not stored.
  spec: The namespace that is asked about.
  status: The answer of the server.
SelfSubjectRulesReviewSpec:
  namespace: The namespace in question; it must be given.
SubjectRulesReviewStatus: The rights of a user, as far as they are known. Use it to show what is possible, not to decide.
  resourceRules: The rights on resources, in no order.
  nonResourceRules: The rights on other paths, in no order.
  incomplete: Whether rights are missing, as when an authorizer cannot list them.
  evaluationError: The error of a check that failed, if some rights could not be found out.
ResourceRule: Rights on resources.
  verbs: The allowed actions; * for all.
  apiGroups: The groups of the resources; * for all.
  resources: The names of the resources; * for all.
  resourceNames: The names of single objects; all objects when empty.
NonResourceRule: Rights on paths outside of the resources.
  verbs: The allowed methods in lower case; * for all.
  nonResourceURLs: The paths, where * can stand at the end; * for all.
`;
