/** Descriptions of priority and fairness, and of what servers write about themselves. `../descriptions.ts` explains the format. */
export const flowcontrol = `
package io.k8s.api.flowcontrol.v1
FlowSchema: A rule that assigns requests to a priority level and to a flow.
  spec: The requests, and their priority level.
  status: The state of the schema.
FlowSchemaSpec:
  priorityLevelConfiguration: The priority level of the requests; the schema counts as dangling while there is no such level.
  matchingPrecedence: The rank among schemas, from 1 to 10000; of several that match, the lowest number decides. It is 1000 by default.
  distinguisherMethod: The way in which requests are divided into flows; all belong to one flow when absent.
  rules: The requests of the schema; one of the rules must match.
FlowDistinguisherMethod:
  type: The kind of division: ByUser or ByNamespace.
FlowSchemaStatus:
  conditions: The conditions of the schema, such as Dangling.
FlowSchemaCondition, PriorityLevelConfigurationCondition: One statement about the object.
  type: The name of the condition, such as Dangling.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
PriorityLevelConfigurationReference: A reference to a priority level.
  name: The name of the priority level.
PolicyRulesWithSubjects: Requests of some users. A rule about resources or one about other paths must match.
  subjects: The users, groups and service accounts who make the requests; one must match.
  resourceRules: The requests for resources that match; one of the rules must.
  nonResourceRules: The requests to other paths that match; one of the rules must.
Subject: A user, group or service account; the kind says which field is given.
  kind: The kind of the subject: User, Group or ServiceAccount.
  user: The user who makes the requests, by name.
  group: The group whose users make the requests, by name.
  serviceAccount: A service account by namespace and name.
UserSubject:
  name: The name of the user; * for all.
GroupSubject:
  name: The name of the group; * for all.
ServiceAccountSubject:
  namespace: The namespace of the account.
  name: The name of the account; * for all of the namespace.
ResourcePolicyRule: Requests for resources. Every field must match.
  verbs: The actions of the requests, in lower case; * for all.
  apiGroups: The groups of the resources; * for all.
  resources: The names of the resources, such as pods or nodes/status; * for all.
  clusterScope: Whether requests without a namespace match; they do not by default.
  namespaces: The namespaces of the requests; * for all. Requests with a namespace do not match when it is empty.
NonResourcePolicyRule: Requests to paths outside of the resources. Every field must match.
  verbs: The methods of the requests, in lower case; * for all.
  nonResourceURLs: The paths of the requests, such as /healthz or /healthz/*; * for all.
PriorityLevelConfiguration: A priority level: a share of the requests that a server handles at a time.
  spec: The share, and the queues for requests that have to wait.
  status: The state of the level.
PriorityLevelConfigurationSpec:
  type: The kind of level: Exempt for requests that never wait, or Limited.
  limited: The settings of a level of the kind Limited.
  exempt: The settings of a level of the kind Exempt.
PriorityLevelConfigurationStatus:
  conditions: The conditions of the level.
LimitedPriorityLevelConfiguration: The settings of a level whose requests are limited.
  nominalConcurrencyShares: The share of the server's concurrency that the level gets, beside the shares of the others; 30 by default.
  limitResponse: The fate of requests for which there is no room now.
  lendablePercent: The part of its concurrency, in percent, that the level lends to others while it is free; 0 by default.
  borrowingLimitPercent: The part, in percent of its own concurrency, that the level may borrow from others; without limit when absent.
ExemptPriorityLevelConfiguration: The settings of a level whose requests never wait.
  nominalConcurrencyShares: The share of the server's concurrency that is set aside for the level; 0 by default.
  lendablePercent: The part of this concurrency, in percent, that the level lends to others while it is free; 0 by default.
LimitResponse:
  type: The fate of the requests: Queue to let them wait, or Reject to refuse them.
  queuing: The settings of the queues, for Queue only.
QueuingConfiguration: The queues for waiting requests.
  queues: The number of queues; 64 by default. With one queue, flows are not kept apart.
  handSize: The number of queues among which a flow may choose; 8 by default. It is not above the number of queues.
  queueLengthLimit: The number of requests that may wait in a queue; a further one is refused. It is 50 by default.

package io.k8s.api.storagemigration.v1alpha1
StorageVersionMigration: A request to write all objects of a resource again, in the version in which they are stored now.
  spec: The resource whose objects are written again.
  status: The progress of the migration.
StorageVersionMigrationSpec:
  resource: The resource whose objects are written again. It cannot be changed.
  continueToken: The token of the page at which the migration goes on.
StorageVersionMigrationStatus:
  conditions: The conditions of the migration: Running, Succeeded or Failed.
  resourceVersion: The version of the collection at the start; objects that are newer need no migration.
MigrationCondition: One statement about a migration.
  type: The name of the condition: Running, Succeeded or Failed.
  status: The status of the condition: True, False or Unknown.
  lastUpdateTime: The time at which the condition was last written.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
GroupVersionResource: The name of a resource.
  group: The group of the resource.
  version: The version of the resource.
  resource: The resource itself, such as deployments.

package io.k8s.api.apiserverinternal.v1alpha1
StorageVersion: The versions in which servers write and read the objects of a resource.
  spec: An empty object; nothing is asked for.
  status: The versions, as the servers report them.
StorageVersionStatus:
  storageVersions: The versions of each server.
  commonEncodingVersion: The version that all servers write; absent while they differ.
  conditions: The conditions of the servers' agreement, such as AllEncodingVersionsEqual.
ServerStorageVersion: The versions of one server.
  apiServerID: The identity of the server.
  encodingVersion: The version that the server writes.
  decodableVersions: The versions that the server can read.
  servedVersions: The versions that the server offers to clients.
StorageVersionCondition: One statement about the versions.
  type: The name of the condition, such as AllEncodingVersionsEqual.
  status: The status of the condition: True, False or Unknown.
  observedGeneration: The generation of the object for which the statement was made.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
`;
