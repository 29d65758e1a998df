/** Descriptions of workloads. `../descriptions.ts` explains the format. */
export const workloads = `
package io.k8s.api.apps.v1
Deployment: A workload that keeps a number of equal pods running and replaces them step by step when their template changes.
  spec: The pods that are wanted, and the way in which they are replaced.
  status: The observed state of the pods.
DeploymentSpec:
  replicas: The number of pods that are wanted; 1 by default.
  selector: Labels by which the pods are recognised. They must be among the template's, and cannot be changed.
  template: The template of the pods.
  strategy: The strategy for replacing old pods with new ones.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  revisionHistoryLimit: The number of old replica sets that are kept for going back; 10 by default.
  paused: Whether changes of the template wait.
  progressDeadlineSeconds: Seconds without progress after which the condition Progressing says so; 600 by default.
DeploymentStrategy:
  type: The type of the strategy: RollingUpdate (the default), or Recreate to end all old pods first.
  rollingUpdate: The bounds of the update, for RollingUpdate only.
RollingUpdateDeployment: The bounds of a rolling update, as numbers or percentages of the wanted pods.
  maxUnavailable: The number of pods that may be missing meanwhile, rounded down; 25% by default.
  maxSurge: The number of pods that may run above the wanted number, rounded up; 25% by default.
DeploymentStatus:
  observedGeneration: Generation of the deployment that the controller has seen.
  replicas: The number of pods, old and new.
  updatedReplicas: The number of pods made from the present template.
  readyReplicas: The number of pods that are ready.
  availableReplicas: The number of pods that have been ready for minReadySeconds.
  unavailableReplicas: The number of pods that are missing until all are available.
  conditions: The conditions of the deployment: Available, Progressing, ReplicaFailure.
  collisionCount: The number of times that the name of a new replica set was taken.
DeploymentCondition: One statement about a deployment.
  type: The name of the condition: Available, Progressing or ReplicaFailure.
  status: The status of the condition: True, False or Unknown.
  lastUpdateTime: The time at which the condition was last written.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
ReplicaSet: A workload that keeps a number of equal pods running. It is mostly made by a Deployment.
  spec: The pods that are wanted, and their number.
  status: The observed state of the pods.
ReplicaSetSpec:
  replicas: The number of pods that are wanted; 1 by default.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  selector: Labels by which the pods are recognised. They must be among the template's, and cannot be changed.
  template: The template of the pods.
ReplicaSetStatus:
  replicas: The number of pods that the set has now.
  fullyLabeledReplicas: The number of pods that have all labels of the template.
  readyReplicas: The number of pods that are ready.
  availableReplicas: The number of pods that have been ready for minReadySeconds.
  observedGeneration: Generation of the replica set that the controller has seen.
  conditions: The conditions of the replica set.
StatefulSet: A workload whose pods have lasting names and storage, and are made and ended in order.
  spec: The pods that are wanted, their number and their storage.
  status: The observed state of the pods.
StatefulSetSpec:
  replicas: The number of pods that are wanted; 1 by default.
  selector: Labels by which the pods are recognised. They must be among the template's, and cannot be changed.
  template: The template of the pods. Each is named after the set and its number.
  volumeClaimTemplates: The templates of the claims that every pod gets of its own; the claims stay when a pod is replaced.
  serviceName: Headless service under which the pods can be looked up by name.
  podManagementPolicy: The order in which pods are made: OrderedReady (the default) for one after the other, Parallel for all at once.
  updateStrategy: The strategy for replacing pods when the template changes.
  revisionHistoryLimit: The number of old revisions that are kept; 10 by default.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  persistentVolumeClaimRetentionPolicy: Whether claims are deleted with their pods or the set.
  ordinals: The numbering of the pods; it starts at 0 by default.
StatefulSetStatus:
  observedGeneration: Generation of the set that the controller has seen.
  replicas: The number of pods that the set has now.
  readyReplicas: The number of pods that are ready.
  currentReplicas: The number of pods of the current revision.
  updatedReplicas: The number of pods of the update revision.
  availableReplicas: The number of pods that have been ready for minReadySeconds.
  currentRevision: Revision of the pods that were not replaced yet.
  updateRevision: Revision of the pods that replace them.
  collisionCount: The number of times that the name of a new revision was taken.
  conditions: The conditions of the set.
StatefulSetUpdateStrategy:
  type: The type of the strategy: RollingUpdate (the default), or OnDelete to wait until somebody deletes the pods.
  rollingUpdate: The bounds of the update, for RollingUpdate only.
DaemonSet: A workload that runs one pod on every node, or on those that are selected.
  spec: The pods that are wanted, and the way in which they are replaced.
  status: The observed state of the pods.
DaemonSetSpec:
  selector: Labels by which the pods are recognised. They must be among the template's, and cannot be changed.
  template: The template of the pods; its node selector says on which nodes they run.
  updateStrategy: The strategy for replacing pods when the template changes.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  revisionHistoryLimit: The number of old revisions that are kept; 10 by default.
DaemonSetStatus:
  currentNumberScheduled: The number of nodes that run a pod and should.
  numberMisscheduled: The number of nodes that run a pod and should not.
  desiredNumberScheduled: The number of nodes that should run a pod.
  numberReady: The number of nodes whose pod is ready.
  observedGeneration: Generation of the set that the controller has seen.
  updatedNumberScheduled: The number of nodes whose pod is made from the present template.
  numberAvailable: The number of nodes whose pod has been ready for minReadySeconds.
  numberUnavailable: The number of nodes whose pod is missing or not available.
  collisionCount: The number of times that the name of a new revision was taken.
  conditions: The conditions of the set.
DaemonSetUpdateStrategy:
  type: The type of the strategy: RollingUpdate (the default), or OnDelete to wait until somebody deletes the pods.
  rollingUpdate: The bounds of the update, for RollingUpdate only.

package io.k8s.api.batch.v1
Job: A workload that runs pods until enough of them have ended successfully.
  spec: The pods that are wanted, their number, and the bounds for failures and time.
  status: The observed state of the pods.
JobSpec:
  parallelism: The greatest number of pods at a time; 1 by default.
  completions: The number of pods that must end successfully. When it is not set, the first success ends the job.
  completionMode: The mode of counting successes: NonIndexed (the default), or Indexed to give each pod a number.
  activeDeadlineSeconds: Seconds after the start at which the job is ended and counts as failed.
  podFailurePolicy: The policy for failed pods, by exit code or condition.
  successPolicy: The rules by which an indexed job counts as done before all its pods have ended successfully.
  backoffLimit: The number of failures after which the job counts as failed; 6 by default.
  backoffLimitPerIndex: The number of failures after which one index of an indexed job counts as failed.
  maxFailedIndexes: The number of indexes that may fail before the job does.
  selector: Labels by which the pods are recognised. The server makes it unless manualSelector is set.
  manualSelector: Whether the writer of the job sets the labels and the selector, instead of the server.
  template: The template of the pods. Its restartPolicy is Never or OnFailure.
  ttlSecondsAfterFinished: Seconds after its end at which the job is deleted; never by default.
  suspend: Whether no pods are to run for now.
  podReplacementPolicy: The state of a pod that lets it be replaced: TerminatingOrFailed (the default) or Failed.
  managedBy: Name of the controller that runs the job, when it is not the built-in one.
JobStatus:
  conditions: The conditions of the job: Complete, Failed, Suspended and others.
  startTime: The time at which the job was started.
  completionTime: The time at which the job ended successfully.
  active: The number of pods that run or wait.
  succeeded: The number of pods that ended successfully.
  failed: The number of pods that failed.
  terminating: The number of pods that are being deleted.
  ready: The number of pods that are ready.
  completedIndexes: The indexes that have ended successfully, such as 1,3-5.
  failedIndexes: The indexes that have failed.
  uncountedTerminatedPods: Ended pods that are not in the counts yet.
JobCondition: One statement about a job.
  type: The name of the condition: Complete, Failed, Suspended, FailureTarget or SuccessCriteriaMet.
  status: The status of the condition: True, False or Unknown.
  lastProbeTime: The time at which the condition was last checked.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
CronJob: A workload that makes jobs at set times.
  spec: The template of the jobs, and their schedule.
  status: The observed state of the jobs.
CronJobSpec:
  schedule: The times at which jobs are made, as five fields of cron: minute, hour, day of the month, month, day of the week.
  timeZone: Time zone of the schedule, such as Europe/Berlin; by default that of the controller.
  startingDeadlineSeconds: Seconds by which a job may start late; a later one is left out.
  concurrencyPolicy: The policy for a new job while the one before still runs: Allow (the default), Forbid or Replace.
  suspend: Whether no jobs are to be made for now.
  jobTemplate: The template of the jobs.
  successfulJobsHistoryLimit: The number of successful jobs that are kept; 3 by default.
  failedJobsHistoryLimit: The number of failed jobs that are kept; 1 by default.
CronJobStatus:
  active: References to the jobs that run now.
  lastScheduleTime: The time at which a job was last started.
  lastSuccessfulTime: The time at which a job last ended successfully.
JobTemplateSpec:
  metadata: The labels and annotations of the jobs.
  spec: The pods that the jobs run.

package io.k8s.api.autoscaling.v1
Scale: The number of pods of a workload, wanted and observed.
  spec: The number of pods that are wanted.
  status: The number of pods that there are, and their labels.
ScaleSpec:
  replicas: The number of pods that are wanted; 0 by default.
ScaleStatus:
  replicas: The number of pods that there are.
  selector: Labels of the pods, as text.

package io.k8s.api.policy.v1
PodDisruptionBudget: A bound for the number of pods of a group that may be evicted at a time.
  spec: The pods, and the bound.
  status: The observed state of the pods.
PodDisruptionBudgetSpec: The pods, and the bound. One of the two numbers is given.
  minAvailable: The number of pods that must stay, as a number or a percentage.
  maxUnavailable: The number of pods that may be missing, as a number or a percentage.
  selector: Labels of the pods; all pods of the namespace match when it is empty, none when absent.
  unhealthyPodEvictionPolicy: Whether pods that are not ready may always be evicted: IfHealthyBudget (the default) or AlwaysAllow.
PodDisruptionBudgetStatus:
  observedGeneration: Generation of the budget that the controller has seen.
  disruptedPods: Pods whose eviction was allowed and that are still there.
  disruptionsAllowed: The number of pods that may be evicted now.
  currentHealthy: The number of pods that are ready.
  desiredHealthy: The number of pods that must be ready.
  expectedPods: The number of pods that are counted.
  conditions: The conditions of the budget.

package io.k8s.api.core.v1
ReplicationController: A workload that keeps a number of equal pods running. Deployments and replica sets have replaced it.
  spec: The pods that are wanted, and their number.
  status: The observed state of the pods.
ReplicationControllerSpec:
  replicas: The number of pods that are wanted; 1 by default.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  selector: Labels by which the pods are recognised; they are those of the template by default.
  template: The template of the pods.
ReplicationControllerStatus:
  replicas: The number of pods that there are.
  fullyLabeledReplicas: The number of pods that have all labels of the template.
  readyReplicas: The number of pods that are ready.
  availableReplicas: The number of pods that have been ready for minReadySeconds.
  observedGeneration: Generation of the object that the controller has seen.
  conditions: The conditions of the controller, such as ReplicaFailure.
ReplicationControllerCondition: One statement about a replication controller.
  type: The name of the condition, such as ReplicaFailure.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.

package io.k8s.api.apps.v1
ControllerRevision: A template of a workload as it once was, which its controller keeps for going back.
  data: The template of the workload. It cannot be changed.
  revision: The number of the revision; a later one has a greater number.
DaemonSetCondition, ReplicaSetCondition, StatefulSetCondition: One statement about a workload.
  type: The name of the condition.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
RollingUpdateDaemonSet: The bounds of a rolling update, as numbers or percentages of the nodes.
  maxUnavailable: The number of nodes whose pod may be missing meanwhile, rounded up; 1 by default.
  maxSurge: The number of nodes that may run an old and a new pod meanwhile, rounded up; 0 by default.
RollingUpdateStatefulSetStrategy: The bounds of a rolling update.
  partition: The number from which on pods are replaced; pods with lower numbers keep the old template. It is 0 by default.
  maxUnavailable: The number of pods that may be missing meanwhile; 1 by default. Other numbers need the gate MaxUnavailableStatefulSet.
StatefulSetOrdinals:
  start: The number of the first pod; 0 by default.
StatefulSetPersistentVolumeClaimRetentionPolicy: The policy for the claims of pods that are gone.
  whenDeleted: The fate of the claims when the set is deleted: Retain (the default) or Delete.
  whenScaled: The fate of a pod's claims when the set shrinks: Retain (the default) or Delete.

package io.k8s.api.batch.v1
PodFailurePolicy:
  rules: The rules, in order. The first that matches a failed pod decides; the failure is counted when none does. At most 20.
PodFailurePolicyRule: A rule for failed pods. It is either about exit codes or about conditions.
  action: The consequence: FailJob, FailIndex, Ignore (the failure is not counted) or Count.
  onExitCodes: The exit codes that the rule is for.
  onPodConditions: The conditions that the rule is for; one of them must match. At most 20.
PodFailurePolicyOnExitCodesRequirement: A requirement on the exit codes of a pod's containers.
  containerName: The container whose exit code counts; all containers count when absent.
  operator: The comparison: In for codes that are listed, NotIn for others. Code 0 never matches.
  values: The exit codes, in ascending order, without repetition; 1 to 255 codes.
PodFailurePolicyOnPodConditionsPattern: A condition of a pod, such as DisruptionTarget.
  type: The name of the condition.
  status: The status that the condition must have; True by default.
SuccessPolicy:
  rules: The rules, in order; the job succeeds with the first that is met. At least 1, at most 20.
SuccessPolicyRule: A rule for success. One of the two fields is given at least.
  succeededIndexes: The indexes that must succeed, such as 0,2-4; all indexes count when absent.
  succeededCount: The number of these indexes that must succeed; all of them when absent.
UncountedTerminatedPods:
  succeeded: The uids of pods that ended successfully.
  failed: The uids of pods that failed.

package io.k8s.api.policy.v1
Eviction: A request to delete a pod that respects disruption budgets. It is written to the subresource "eviction" of the pod.
  deleteOptions: The options of the deletion, such as its grace period.
`;
