/** Descriptions of autoscalers and their metrics. `../descriptions.ts` explains the format. */
export const autoscaling = `
package io.k8s.api.autoscaling.v1, io.k8s.api.autoscaling.v2
CrossVersionObjectReference: A reference to an object of the same namespace, such as a Deployment.
  kind: The kind of the object.
  name: The name of the object.
  apiVersion: The group and version of the object; the core group when absent.

package io.k8s.api.autoscaling.v1
HorizontalPodAutoscaler: A rule that changes the number of pods of a workload according to their use of CPU.
  spec: The workload, the bounds of its number of pods, and the wanted use of CPU.
  status: The last measurement, and the number of pods that follows.
HorizontalPodAutoscalerSpec:
  scaleTargetRef: The workload whose number of pods is changed; it needs a subresource "scale".
  minReplicas: The least number of pods; 1 by default. Zero needs the gate HPAScaleToZero and a metric of an object or from outside.
  maxReplicas: The greatest number of pods; it is not below minReplicas.
  targetCPUUtilizationPercentage: The wanted average use of CPU, in percent of the pods' requests; the controller decides when it is absent.
HorizontalPodAutoscalerStatus:
  observedGeneration: Generation of the autoscaler that the controller has seen.
  lastScaleTime: The time at which the number was last changed.
  currentReplicas: The number of pods that the controller last saw.
  desiredReplicas: The number of pods that the controller last asked for.
  currentCPUUtilizationPercentage: The average use of CPU, in percent of the pods' requests; absent when it is not known.

package io.k8s.api.autoscaling.v2
HorizontalPodAutoscaler: A rule that changes the number of pods of a workload according to measurements.
  spec: The workload, the bounds of its number of pods, and the metrics.
  status: The last measurements, and the number of pods that follows.
HorizontalPodAutoscalerSpec:
  scaleTargetRef: The workload whose number of pods is changed; it needs a subresource "scale".
  minReplicas: The least number of pods; 1 by default.
  maxReplicas: The greatest number of pods.
  metrics: The metrics and their target values; the largest number of pods that follows is taken.
  behavior: The rules for how fast the number grows and shrinks.
HorizontalPodAutoscalerStatus:
  observedGeneration: Generation of the autoscaler that the controller has seen.
  lastScaleTime: The time at which the number was last changed.
  currentReplicas: The number of pods that there are.
  desiredReplicas: The number of pods that there should be.
  currentMetrics: The metrics as they were measured last.
  conditions: The conditions of the autoscaler.
HorizontalPodAutoscalerCondition: One statement about an autoscaler.
  type: The name of the condition: ScalingActive, AbleToScale or ScalingLimited.
  status: The status of the condition: True, False or Unknown.
  lastTransitionTime: The time at which the status last changed.
  reason: The reason for the status, in one word.
  message: The reason for the status, in a sentence.
HorizontalPodAutoscalerBehavior:
  scaleUp: The rules for growing. By default, 4 pods or 100 percent are added in 15 seconds, whichever is more.
  scaleDown: The rules for shrinking. By default, the number may fall to the minimum, after 300 seconds of lower need.
HPAScalingRules: Rules for one direction.
  stabilizationWindowSeconds: The seconds of the past whose results count, so that the number does not swing: 0 by default for growing, 300 for shrinking.
  selectPolicy: The policy that is taken: Max (the default) for the largest change, Min for the smallest, Disabled for no change.
  policies: The policies that bound a change; there must be one at least.
HPAScalingPolicy: A bound for the change in a period.
  type: The unit of the value: Pods or Percent.
  value: The amount by which the number may change in the period; it is greater than 0.
  periodSeconds: The length of the period in seconds, from 1 to 1800.
MetricIdentifier: A metric that is not built in.
  name: The name of the metric.
  selector: The labels of the series that are meant; the name alone decides when it is absent.
MetricSpec: A metric and its target value. One field is given, which the type names.
  type: The kind of metric: Resource, ContainerResource, Pods, Object or External.
MetricStatus: A metric and its last value. One field is given, which the type names.
  type: The kind of metric: Resource, ContainerResource, Pods, Object or External.
MetricSpec, MetricStatus:
  object: A metric that describes one other object, such as the requests that an Ingress gets.
  pods: A metric that every pod of the workload reports, and whose average counts.
  resource: The use of CPU or memory by the pods, which the requests of their containers can be compared with.
  containerResource: The use of CPU or memory by one container of each pod.
  external: A metric from outside the cluster, such as the length of a queue.
MetricTarget: The value that a metric should have. One of the three values is given.
  type: The kind of target: Utilization, Value or AverageValue.
  value: The wanted value of the metric itself.
  averageValue: The wanted value of the metric, divided by the number of pods.
  averageUtilization: The wanted average use, in percent of the pods' requests; for resources only.
MetricValueStatus: The value that a metric has.
  value: The last value of the metric itself.
  averageValue: The last value of the metric, divided by the number of pods.
  averageUtilization: The last average use, in percent of the pods' requests; for resources only.
ObjectMetricSource, ObjectMetricStatus:
  describedObject: The object that the metric describes.
ObjectMetricSource, ObjectMetricStatus, PodsMetricSource, PodsMetricStatus, ExternalMetricSource, ExternalMetricStatus:
  metric: The metric, by name and labels.
ResourceMetricSource, ResourceMetricStatus, ContainerResourceMetricSource, ContainerResourceMetricStatus:
  name: The name of the resource: cpu or memory.
ContainerResourceMetricSource, ContainerResourceMetricStatus:
  container: The container that is measured, by its name.
ObjectMetricSource, PodsMetricSource, ExternalMetricSource, ResourceMetricSource, ContainerResourceMetricSource:
  target: The value that the metric should have.
ObjectMetricStatus, PodsMetricStatus, ExternalMetricStatus, ResourceMetricStatus, ContainerResourceMetricStatus:
  current: The value that the metric had at the last look.
`;
