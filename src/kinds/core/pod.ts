/** Pod: defaults, initial status, columns and validation of containers. */
import type {
  ContainerState,
  ContainerStateTerminated,
  ContainerStatus,
  Pod,
  PodCondition,
  PodSpec,
  PodStatus,
} from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden, goQuote } from "#meta/field-error.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageOf } from "#meta/human-duration.ts";
import { podAnnotations } from "#meta/pod-annotations.ts";
import { timestampOf } from "#meta/time.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import type { Column, RowCondition } from "#registry/resource-definition.ts";
import { podRules } from "./pod-validation/rules.ts";
import { ageColumn, nameColumn, orNone, text, wideText } from "../cells.ts";
import { editField, editItems, isZero, withField, withFields } from "../edit.ts";
import { type KindBehaviour, type KindEnvironment, withMetadataOf } from "../generic.ts";
import { withKeyRequirements } from "./affinity-keys.ts";
import { roundAmounts, roundResources } from "./amounts.ts";
import { qosClass } from "./pod-qos.ts";
import { resizePod, validateResize } from "./pod-resize.ts";
import { defaultPod, type PodDefaults, withoutOldAnnotations } from "./pod-spec.ts";
import { validatePodSpecUpdate } from "./pod-update.ts";
import { validatePodStatus } from "./pod-status.ts";
import { validateAnnotationsUpdate, validateNewPod, validatePod, validatePodAnnotations } from "./pod-validation.ts";
import { nameWarnings, podWarnings } from "./pod-warnings.ts";
import { appArmorWarning, withAppArmor } from "./security-annotations.ts";

const specPath = FieldPath.of("spec");
const annotationsPath = FieldPath.of("metadata", "annotations");
const ephemeralPath = specPath.child("ephemeralContainers");

export function pods(environment: KindEnvironment): KindBehaviour<Pod> {
  const { domain } = environment;
  const has: PodDefaults = {
    resizePolicy: environment.gate("InPlacePodVerticalScaling"),
    podResources: environment.gate("PodLevelResources"),
  };
  const rulesOf = podRules(environment);
  const annotations = podAnnotations(domain);
  const warnings = podWarnings(domain, { hasAppArmor: false });
  return {
    returnsDeleted: true,
    columns,
    rowConditions: ({ status: { phase = "" } }) => completed[phase] ?? [],
    statusOnCreate: true,
    statusKeeps: ["ownerReferences", "deletionTimestamp"],
    strategy: {
      defaults: (object) => setDefaults(object, has),
      prepareForCreate(object, { context }) {
        const status = firstStatus(object, () => timestampOf(environment.now()));
        const pod = withKeyRequirements({ ...object, spec: withGraceSeconds(object.spec), status });
        return withAppArmor(pod, annotations, (key) => context.warn(appArmorWarning(key, annotationsPath)));
      },
      warningsOnCreate: (object) => [
        ...nameWarnings(object, "this is used in the Pod's hostname"),
        ...warnings(object, specPath, annotationsPath),
      ],
      validate: (object) => [...validatePod(object, rulesOf(object)), ...validateNewPod(object, domain)],
      validateUpdate: (object, old) => [
        ...validatePod(object, rulesOf(object, old)),
        ...validateAnnotationsUpdate(object, old, domain),
        ...validatePodSpecUpdate(object.spec, old.spec),
      ],
      subresources: {
        ephemeralcontainers: {
          prepareForUpdate: (object, old) => withEphemeralContainers(withMetadataOf(object, old, ["uid"]), object),
          validateUpdate: (object, old) => [
            ...validatePod(object, rulesOf(object, old)),
            ...validateEphemeralContainers(object.spec, old.spec),
          ],
        },
        resize: {
          prepareForUpdate: (object, old) => resizePod(withMetadataOf(object, old, ["uid"]), object),
          validateUpdate: (object, old) =>
            object.spec.os?.name === "windows"
              ? [forbidden(FieldPath.of("[]"), "windows pods cannot be resized")]
              : [...validatePod(object, rulesOf(object, old)), ...validateResize(object, old)],
        },
        status: {
          // The class stays if the client omits it.
          prepareForUpdate: (object, old) =>
            editField(object, "status", (status) =>
              isZero(status.qosClass) ? withField(status, "qosClass", old.status.qosClass) : status,
            ),
          validateUpdate: (object, old) => [
            ...validateAnnotationsUpdate(object, old, domain),
            ...validatePodAnnotations(object, rulesOf(object, old)),
            ...validatePodStatus(object, old),
          ],
        },
      },
      graceSeconds,
      fields,
    },
  };
}

/**
 * Returns the status with equal addresses in both fields. If they differ, the single field wins, since older agents
 * write no other. Source: upstream's conversion of pod status.
 */
function withAgreeingAddresses(status: PodStatus): PodStatus {
  const { podIP, podIPs = [] } = status;
  const first = podIPs[0]?.ip;
  if (!podIP) return first === undefined ? status : withField(status, "podIP", first);
  return first === podIP ? status : withField(status, "podIPs", [{ ip: podIP }]);
}

const statusLists = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] as const;

/** Returns the status with rounded amounts. */
function withRoundedAmounts(status: PodStatus): PodStatus {
  return statusLists.reduce(
    (next, list) =>
      editItems(next, list, (container) =>
        editField(editField(container, "allocatedResources", roundAmounts), "resources", roundResources),
      ),
    status,
  );
}

/** Returns the pod with the ephemeral containers of another object, since their subresource changes nothing else. */
function withEphemeralContainers(pod: Pod, from: Pod): Pod {
  const ephemeralContainers = from.spec.ephemeralContainers ?? [];
  return {
    ...pod,
    spec: withField(
      pod.spec,
      "ephemeralContainers",
      ephemeralContainers.length === 0 ? undefined : ephemeralContainers,
    ),
  };
}

/** Returns findings about changed or removed ephemeral containers. Upstream: the message ends with a line feed. */
function validateEphemeralContainers(
  { ephemeralContainers = [] }: PodSpec,
  { ephemeralContainers: old = [] }: PodSpec,
): FieldError[] {
  const givenByName = new Map(ephemeralContainers.map((container) => [container.name, container]));
  const errors: FieldError[] = [];
  for (const container of old) {
    const now = givenByName.get(container.name);
    if (now !== undefined && jsonEquals(now, container)) continue;
    const what = now === undefined ? "removed" : "changed";
    const detail = `existing ephemeral containers ${goQuote(container.name)} may not be ${what}\n`;
    errors.push(forbidden(ephemeralPath, detail));
  }
  return errors;
}

/** Returns the spec with a valid grace period: a negative period becomes one second. */
const withGraceSeconds = (spec: PodSpec): PodSpec =>
  nearestNumber(spec.terminationGracePeriodSeconds ?? 0) < 0
    ? withField(spec, "terminationGracePeriodSeconds", 1)
    : spec;

/**
 * Returns the pod with its defaults, without annotations that have no meaning any more, and with consistent addresses
 * in its status.
 */
const setDefaults = (object: Pod, has: PodDefaults): Pod =>
  withFields(
    object,
    {
      spec: defaultPod(object.spec, has),
      metadata: withoutOldAnnotations(object.metadata),
      status: withRoundedAmounts(withAgreeingAddresses(object.status)),
    },
    (one) => ({ ...one }),
  );

/**
 * Returns the status of a new pod, with fields in the order of the wire. Upstream: the QoS class of the body is
 * trusted.
 */
function firstStatus({ spec, status }: Pod, now: () => string): PodStatus {
  const isGated = (spec.schedulingGates ?? []).length > 0;
  const gated = (): PodCondition => ({
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: now(),
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  });
  return {
    phase: "Pending",
    ...(isGated ? { conditions: [gated()] } : {}),
    qosClass: status.qosClass || qosClass(spec),
  };
}

/** Returns the grace period in seconds; 0 for a pod that is unscheduled or finished. */
function graceSeconds({ spec, status: { phase } }: Pod, requested: Int64 | undefined): Int64 {
  if (!spec.nodeName || phase === "Failed" || phase === "Succeeded") return 0;
  const grace = requested ?? spec.terminationGracePeriodSeconds ?? 30;
  return nearestNumber(grace) < 0 ? 1 : grace;
}

const fields = ({ spec, status }: Pod): Readonly<Record<string, string>> => ({
  "spec.nodeName": spec.nodeName ?? "",
  "spec.restartPolicy": spec.restartPolicy ?? "",
  "spec.schedulerName": spec.schedulerName ?? "",
  "spec.serviceAccountName": spec.serviceAccountName ?? "",
  "spec.hostNetwork": String(spec.hostNetwork === true),
  "status.phase": status.phase ?? "",
  "status.podIP": status.podIPs?.[0]?.ip || status.podIP || "",
  "status.nominatedNodeName": status.nominatedNodeName ?? "",
});

/** The values of the columns Ready, Status and Restarts. */
interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly reason: string;
  readonly restarts: number;
  /** The time at which a counted container last ended; empty if none has. */
  readonly lastRestart: string;
}

class Counter {
  restarts = 0;
  lastRestart = "";

  count({ restartCount, lastState }: ContainerStatus): void {
    this.restarts += restartCount;
    const ended = lastState.terminated?.finishedAt ?? "";
    if (ended > this.lastRestart) this.lastRestart = ended;
  }
}

/** Returns the values for the columns. Source: upstream's `printPod`. */
function summaryOf({ metadata, spec, status }: Pod): Summary {
  const { initContainers = [] } = spec;
  const sidecars = new Set(initContainers.filter((one) => one.restartPolicy === "Always").map(({ name }) => name));
  let reason = status.reason || status.phase || "";
  if (conditionOf(status, "PodScheduled")?.reason === "SchedulingGated") reason = "SchedulingGated";
  const all = new Counter();
  const ofSidecars = new Counter();
  let ready = 0;
  let initializing: string | undefined;
  for (const [index, init] of (status.initContainerStatuses ?? []).entries()) {
    const isSidecar = sidecars.has(init.name);
    all.count(init);
    if (isSidecar) ofSidecars.count(init);
    if (init.state.terminated?.exitCode === 0) continue;
    if (isSidecar && init.started === true) {
      if (init.ready) ready++;
      continue;
    }
    initializing = initReason(init.state, index, initContainers.length);
    break;
  }
  let counted = all;
  if (initializing === undefined || conditionOf(status, "Initialized")?.status === "True") {
    counted = ofSidecars;
    let isRunning = false;
    for (const container of (status.containerStatuses ?? []).toReversed()) {
      counted.count(container);
      reason = containerReason(container.state) ?? reason;
      if (container.ready && container.state.running !== undefined) {
        isRunning = true;
        ready++;
      }
    }
    if (reason === "Completed" && isRunning) {
      reason = conditionOf(status, "Ready")?.status === "True" ? "Running" : "NotReady";
    }
  } else reason = initializing;
  if (metadata.deletionTimestamp !== undefined) {
    if (status.reason === "NodeLost") reason = "Unknown";
    else if (status.phase !== "Failed" && status.phase !== "Succeeded") reason = "Terminating";
  }
  return {
    ready,
    total: (spec.containers ?? []).length + sidecars.size,
    reason,
    restarts: counted.restarts,
    lastRestart: counted.lastRestart,
  };
}

const conditionOf = ({ conditions = [] }: PodStatus, wanted: string): PodCondition | undefined =>
  conditions.find(({ type }) => type === wanted);

function initReason({ terminated, waiting }: ContainerState, index: number, count: number): string {
  if (terminated !== undefined) return `Init:${terminated.reason || exitText(terminated)}`;
  return waiting?.reason && waiting.reason !== "PodInitializing" ? `Init:${waiting.reason}` : `Init:${index}/${count}`;
}

function containerReason({ waiting, terminated }: ContainerState): string | undefined {
  if (waiting?.reason) return waiting.reason;
  return terminated === undefined ? undefined : terminated.reason || exitText(terminated);
}

const exitText = ({ signal = 0, exitCode }: ContainerStateTerminated): string =>
  signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;

const completion = (reason: string, message: string): readonly RowCondition[] => [
  { type: "Completed", status: "True", reason, message },
];

/** The conditions of rows by the phase of the pod. */
const completed: Readonly<Record<string, readonly RowCondition[]>> = {
  Succeeded: completion("Succeeded", "The pod has completed successfully."),
  Failed: completion("Failed", "The pod failed."),
};

const columns: readonly Column<Pod>[] = [
  nameColumn,
  text("Ready", "How many of the pod's containers are ready.", (object) => {
    const { ready, total } = summaryOf(object);
    return `${ready}/${total}`;
  }),
  text("Status", "Phase of the pod, or why it is not further.", (object) => summaryOf(object).reason),
  text("Restarts", "How often containers were started again, and how long ago the last time was.", (object, nowMs) => {
    const { restarts, lastRestart } = summaryOf(object);
    return restarts === 0 || lastRestart === "" ? String(restarts) : `${restarts} (${ageOf(lastRestart, nowMs)} ago)`;
  }),
  ageColumn,
  wideText("IP", "Address of the pod.", ({ status }) => orNone(status.podIPs?.[0]?.ip)),
  wideText("Node", "Node that runs the pod.", ({ spec }) => orNone(spec.nodeName)),
  wideText("Nominated Node", "Node that is being cleared for the pod.", ({ status }) =>
    orNone(status.nominatedNodeName),
  ),
  wideText("Readiness Gates", "How many extra conditions for being ready are true.", ({ spec, status }) => {
    const { readinessGates = [] } = spec;
    if (readinessGates.length === 0) return "<none>";
    const ready = readinessGates.filter(({ conditionType }) => conditionOf(status, conditionType)?.status === "True");
    return `${ready.length}/${readinessGates.length}`;
  }),
];
