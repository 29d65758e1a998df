/** Descriptions of workloads. `../descriptions.ts` explains the format. */
export const workloads = `
package io.k8s.api.apps.v1
Deployment: Keeps a number of equal pods running and replaces them step by step when their template changes.
  spec: Which pods, how many, and how they are replaced.
  status: What was observed of the pods.
DeploymentSpec:
  replicas: How many pods are wanted; 1 by default.
  selector: Labels by which the pods are known. They must be among the template's, and cannot be changed.
  template: Pattern of the pods.
  strategy: How old pods are replaced by new ones.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  revisionHistoryLimit: How many old replica sets are kept for going back; 10 by default.
  paused: Whether changes of the template wait.
  progressDeadlineSeconds: Seconds without progress after which the condition Progressing says so; 600 by default.
DeploymentStrategy:
  type: RollingUpdate (the default), or Recreate to end all old pods first.
  rollingUpdate: Settings of RollingUpdate.
RollingUpdateDeployment: Bounds of a rolling update, as numbers or percentages of the wanted pods.
  maxUnavailable: How many may be missing meanwhile, rounded down; 25% by default.
  maxSurge: How many there may be above the wanted number, rounded up; 25% by default.
DeploymentStatus:
  observedGeneration: Generation of the deployment that the controller has seen.
  replicas: Pods there are, old and new.
  updatedReplicas: Pods made from the present template.
  readyReplicas: Pods that are ready.
  availableReplicas: Pods that have been ready for minReadySeconds.
  unavailableReplicas: Pods that are missing until all are available.
  conditions: What holds of the deployment: Available, Progressing, ReplicaFailure.
  collisionCount: How often the name of a new replica set was taken.
DeploymentCondition: One statement about a deployment.
  type: Available, Progressing or ReplicaFailure.
  status: True, False or Unknown.
  lastUpdateTime: When it was last written.
  lastTransitionTime: When the status last became another one.
  reason: Why, in one word.
  message: Why, in a sentence.
ReplicaSet: Keeps a number of equal pods running. Mostly made by a Deployment.
  spec: Which pods, and how many.
  status: What was observed of the pods.
ReplicaSetSpec:
  replicas: How many pods are wanted; 1 by default.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  selector: Labels by which the pods are known. They must be among the template's, and cannot be changed.
  template: Pattern of the pods.
ReplicaSetStatus:
  replicas: Pods there are.
  fullyLabeledReplicas: Pods that have all labels of the template.
  readyReplicas: Pods that are ready.
  availableReplicas: Pods that have been ready for minReadySeconds.
  observedGeneration: Generation of the replica set that the controller has seen.
  conditions: What holds of the replica set.
StatefulSet: Keeps pods with lasting names and storage, made and ended in order.
  spec: Which pods, how many, and with what storage.
  status: What was observed of the pods.
StatefulSetSpec:
  replicas: How many pods are wanted; 1 by default.
  selector: Labels by which the pods are known. They must be among the template's, and cannot be changed.
  template: Pattern of the pods. Each is named after the set and its number.
  volumeClaimTemplates: Claims that every pod gets of its own; they stay when a pod is replaced.
  serviceName: Headless service under which the pods can be looked up by name.
  podManagementPolicy: OrderedReady (the default) makes pods one after the other, Parallel all at once.
  updateStrategy: How pods are replaced when the template changes.
  revisionHistoryLimit: How many old revisions are kept; 10 by default.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  persistentVolumeClaimRetentionPolicy: Whether claims go with their pods or the set.
  ordinals: With which number the pods begin; 0 unless said.
StatefulSetStatus:
  observedGeneration: Generation of the set that the controller has seen.
  replicas: Pods there are.
  readyReplicas: Pods that are ready.
  currentReplicas: Pods of the current revision.
  updatedReplicas: Pods of the update revision.
  availableReplicas: Pods that have been ready for minReadySeconds.
  currentRevision: Revision of pods that were not replaced yet.
  updateRevision: Revision that pods are replaced by.
  collisionCount: How often the name of a new revision was taken.
  conditions: What holds of the set.
StatefulSetUpdateStrategy: How pods are replaced.
  type: RollingUpdate (the default), or OnDelete to wait until somebody deletes them.
  rollingUpdate: Settings of RollingUpdate.
DaemonSet: Runs one pod on every node, or on those that are selected.
  spec: Which pods, and how they are replaced.
  status: What was observed of the pods.
DaemonSetSpec:
  selector: Labels by which the pods are known. They must be among the template's, and cannot be changed.
  template: Pattern of the pods; its node selector says on which nodes they run.
  updateStrategy: How pods are replaced when the template changes.
  minReadySeconds: Seconds a new pod must be ready before it counts as available; 0 by default.
  revisionHistoryLimit: How many old revisions are kept; 10 by default.
DaemonSetStatus:
  currentNumberScheduled: Nodes that run a pod and should.
  numberMisscheduled: Nodes that run a pod and should not.
  desiredNumberScheduled: Nodes that should run a pod.
  numberReady: Nodes whose pod is ready.
  observedGeneration: Generation of the set that the controller has seen.
  updatedNumberScheduled: Nodes whose pod is made from the present template.
  numberAvailable: Nodes whose pod has been ready for minReadySeconds.
  numberUnavailable: Nodes whose pod is missing or not available.
  collisionCount: How often the name of a new revision was taken.
  conditions: What holds of the set.
DaemonSetUpdateStrategy: How pods are replaced.
  type: RollingUpdate (the default), or OnDelete to wait until somebody deletes them.
  rollingUpdate: Settings of RollingUpdate.

package io.k8s.api.batch.v1
Job: Runs pods until enough of them have ended well.
  spec: Which pods, how many, and when to give up.
  status: What was observed of the pods.
JobSpec:
  parallelism: Most pods at a time; 1 by default.
  completions: How many pods must end well. Unset, the first one that does ends the job.
  completionMode: NonIndexed (the default), or Indexed to give each pod a number.
  activeDeadlineSeconds: Seconds after the start at which the job is ended and counts as failed.
  podFailurePolicy: What follows from a failed pod, by exit code or condition.
  successPolicy: When an indexed job counts as done before all its pods have ended well.
  backoffLimit: Failures after which the job counts as failed; 6 by default.
  backoffLimitPerIndex: The same for each number of an indexed job.
  maxFailedIndexes: Numbers that may fail before the job does.
  selector: Labels by which the pods are known. The server makes it unless manualSelector is set.
  manualSelector: Whether labels and selector are the writer's own affair.
  template: Pattern of the pods. Its restartPolicy is Never or OnFailure.
  ttlSecondsAfterFinished: Seconds after its end at which the job is deleted; never unless said.
  suspend: Whether no pods are to run for now.
  podReplacementPolicy: When a pod is replaced: TerminatingOrFailed (the default) or Failed.
  managedBy: Name of the controller that runs the job, when it is not the built-in one.
JobStatus:
  conditions: What holds of the job: Complete, Failed, Suspended and others.
  startTime: When the job was begun.
  completionTime: When it ended well.
  active: Pods that run or wait.
  succeeded: Pods that ended well.
  failed: Pods that failed.
  terminating: Pods that are on their way out.
  ready: Pods that are ready.
  completedIndexes: Numbers that are done, such as 1,3-5.
  failedIndexes: Numbers that have failed.
  uncountedTerminatedPods: Ended pods that are not in the counts yet.
JobCondition: One statement about a job.
  type: Complete, Failed, Suspended, FailureTarget or SuccessCriteriaMet.
  status: True, False or Unknown.
  lastProbeTime: When it was last looked at.
  lastTransitionTime: When the status last became another one.
  reason: Why, in one word.
  message: Why, in a sentence.
CronJob: Makes jobs at set times.
  spec: Which jobs, and when.
  status: What was observed of the jobs.
CronJobSpec:
  schedule: When, as five fields of cron: minute, hour, day of the month, month, day of the week.
  timeZone: Time zone of the schedule, such as Europe/Berlin; that of the controller unless said.
  startingDeadlineSeconds: Seconds by which a job may begin late; a later one is left out.
  concurrencyPolicy: What happens when the job before still runs: Allow (the default), Forbid or Replace.
  suspend: Whether no jobs are to be made for now.
  jobTemplate: Pattern of the jobs.
  successfulJobsHistoryLimit: How many jobs that ended well are kept; 3 by default.
  failedJobsHistoryLimit: How many failed jobs are kept; 1 by default.
CronJobStatus:
  active: Jobs that run.
  lastScheduleTime: When a job was last begun.
  lastSuccessfulTime: When a job last ended well.
JobTemplateSpec: The pattern of jobs.
  metadata: Labels and annotations of the jobs.
  spec: What the jobs are to run.

package io.k8s.api.autoscaling.v1
Scale: How many pods something has, and should have.
  spec: How many are wanted.
  status: How many there are.
ScaleSpec: How many pods are wanted.
  replicas: The number.
ScaleStatus: How many pods there are.
  replicas: The number.
  selector: Labels of the pods, as text.

package io.k8s.api.autoscaling.v2
HorizontalPodAutoscaler: Changes the number of pods of a workload by what is measured.
  spec: Of what, between which bounds, and by which measures.
  status: What was measured and done.
HorizontalPodAutoscalerSpec:
  scaleTargetRef: The workload.
  minReplicas: Least pods; 1 by default.
  maxReplicas: Most pods.
  metrics: What is measured and what it should be; the largest number that follows is taken.
  behavior: How fast the number grows and shrinks.
HorizontalPodAutoscalerStatus:
  observedGeneration: Generation of the autoscaler that the controller has seen.
  lastScaleTime: When the number was last changed.
  currentReplicas: Pods there are.
  desiredReplicas: Pods that should be there.
  currentMetrics: What was measured.
  conditions: What holds of the autoscaler.

package io.k8s.api.policy.v1
PodDisruptionBudget: Bounds how many pods of a group may be evicted at a time.
  spec: Which pods, and how many.
  status: What was observed of the pods.
PodDisruptionBudgetSpec: Which pods, and how many. One of the two numbers is given.
  minAvailable: Pods that must stay, as a number or a percentage.
  maxUnavailable: Pods that may be missing, as a number or a percentage.
  selector: Labels of the pods.
  unhealthyPodEvictionPolicy: Whether pods that are not ready may always be evicted: IfHealthyBudget (the default) or AlwaysAllow.
PodDisruptionBudgetStatus:
  observedGeneration: Generation of the budget that the controller has seen.
  disruptedPods: Pods whose eviction was allowed and that are still there.
  disruptionsAllowed: How many may be evicted now.
  currentHealthy: Pods that are ready.
  desiredHealthy: Pods that must be ready.
  expectedPods: Pods that are counted.
  conditions: What holds of the budget.
`;
