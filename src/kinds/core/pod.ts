/** Pod: defaults, first status, columns and the checks of containers. Most other checks come with the workloads. */
import type { PodSpec } from "#api/core/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { duplicate, type FieldError, forbidden, goQuote, invalid, required } from "#meta/field-error.ts";
import { dns1123Label } from "#meta/names.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { timestamp } from "#meta/time.ts";
import { type Int64, nearestNumber } from "#std/int64.ts";
import type { Column } from "#registry/resource-definition.ts";
import { age, ageColumn, inside, nameColumn, orNone, text, wideText } from "../cells.ts";
import {
  editField,
  int64Field,
  type Json,
  listField,
  noFields,
  numberField,
  objectField,
  textField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { inStep } from "../in-step.ts";
import { qosClass } from "./pod-qos.ts";
import { resized, validateResize } from "./pod-resize.ts";
import { defaultPod } from "./pod-spec.ts";
import { validateActiveDeadline, validatePodSpecUpdate } from "./pod-update.ts";

export function pods(environment: KindEnvironment): KindBehaviour {
  const resizePolicy = environment.gate("InPlacePodVerticalScaling");
  return {
    metadataRepeats: 1,
    returnsDeleted: true,
    columns,
    statusKeeps: ["ownerReferences", "deletionTimestamp"],
    strategy: {
      defaults: (object) =>
        editField(
          editField(
            object,
            "spec",
            (spec) => defaultPod(spec as unknown as PodSpec, { resizePolicy }) as unknown as Json,
          ),
          "status",
          (status) => inStep(status, addresses),
        ),
      prepareForCreate: (object) => ({
        ...object,
        status: firstStatus(specOf(object), timestamp(environment.now())),
      }),
      validate: (object) => [
        ...validate(object),
        ...(listField(specOf(object), ephemeral).length === 0
          ? []
          : [forbidden(`spec.${ephemeral}`, "cannot be set on create")]),
      ],
      validateUpdate: (object, old) => [...validate(object), ...validatePodSpecUpdate(specOf(object), specOf(old))],
      subresources: {
        status: {},
        binding: {},
        eviction: {},
        ephemeralcontainers: {
          prepareForUpdate: (object, old) => withEphemeralContainers(old, object),
          validateUpdate: (object, old) => validateEphemeralContainers(specOf(object), specOf(old)),
        },
        resize: { prepareForUpdate: (object, old) => resized(old, object), validateUpdate: validateResize },
      },
      graceSeconds,
      fields,
    },
  };
}

const addresses = {
  one: "podIP",
  all: "podIPs",
  text: (item: unknown) => (item as { readonly ip?: string }).ip, // by its schema
  item: (ip: unknown) => ({ ip }),
};

const specOf = (object: Unstructured): Json => objectField(object, "spec") ?? noFields;
const statusOf = (object: Unstructured): Json => objectField(object, "status") ?? noFields;

/** The pod as it is, with the ephemeral containers of another: nothing else is written through their subresource. */
function withEphemeralContainers(pod: Unstructured, from: Unstructured): Unstructured {
  const given = listField(specOf(from), ephemeral);
  const { [ephemeral]: _old, ...rest } = specOf(pod);
  return { ...pod, spec: given.length === 0 ? rest : { ...rest, [ephemeral]: given } };
}

const ephemeral = "ephemeralContainers";

/** They are added for good. The line feeds are upstream's. */
function validateEphemeralContainers(next: Json, old: Json): FieldError[] {
  const given = new Map(listField(next, ephemeral).map((container) => [textField(container, "name"), container]));
  const errors: FieldError[] = [];
  for (const container of listField(old, ephemeral)) {
    const name = textField(container, "name");
    const now = given.get(name);
    if (now !== undefined && jsonEquals(now, container)) continue;
    const what = now === undefined ? "removed" : "changed";
    errors.push(forbidden(`spec.${ephemeral}`, `existing ephemeral containers ${goQuote(name)} may not be ${what}\n`));
  }
  return errors;
}

/** Field order is that of the wire. */
function firstStatus(spec: Json, now: string): Json {
  const isGated = listField(spec, "schedulingGates").length > 0;
  const condition = {
    type: "PodScheduled",
    status: "False",
    lastProbeTime: null,
    lastTransitionTime: now,
    reason: "SchedulingGated",
    message: "Scheduling is blocked due to non-empty scheduling gates",
  };
  return { phase: "Pending", ...(isGated ? { conditions: [condition] } : {}), qosClass: qosClass(spec) };
}

/** A pod that no node has, or that is over, goes at once. */
function graceSeconds(object: Unstructured, requested: Int64 | undefined): Int64 {
  const phase = textField(statusOf(object), "phase");
  if (textField(specOf(object), "nodeName") === "" || phase === "Failed" || phase === "Succeeded") return 0;
  const grace = requested ?? int64Field(specOf(object), "terminationGracePeriodSeconds") ?? 30;
  return nearestNumber(grace) < 0 ? 1 : grace;
}

function fields(object: Unstructured): Readonly<Record<string, string>> {
  const spec = specOf(object);
  const status = statusOf(object);
  return {
    "spec.nodeName": textField(spec, "nodeName"),
    "spec.restartPolicy": textField(spec, "restartPolicy"),
    "spec.schedulerName": textField(spec, "schedulerName"),
    "spec.serviceAccountName": textField(spec, "serviceAccountName"),
    "spec.hostNetwork": String(spec["hostNetwork"] === true),
    "status.phase": textField(status, "phase"),
    "status.podIP": textField(listField(status, "podIPs")[0], "ip") || textField(status, "podIP"),
    "status.nominatedNodeName": textField(status, "nominatedNodeName"),
  };
}

const validate = (object: Unstructured): FieldError[] => [
  ...validateContainers(specOf(object), "spec"),
  ...validateActiveDeadline(specOf(object)),
];

/** Names and images of containers; findings below `field`. */
export function validateContainers(spec: Json, field: string): FieldError[] {
  const containers = listField(spec, "containers");
  if (containers.length === 0) return [required(`${field}.containers`)];
  const errors: FieldError[] = [];
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const path = `${field}.containers[${index}]`;
    const name = textField(container, "name");
    if (name === "") errors.push(required(`${path}.name`));
    else {
      for (const message of dns1123Label(name)) errors.push(invalid(`${path}.name`, name, message));
      if (names.has(name)) errors.push(duplicate(`${path}.name`, name));
      names.add(name);
    }
    const image = textField(container, "image");
    if (image === "") errors.push(required(`${path}.image`));
    else if (image.trim() !== image) {
      errors.push(invalid(`${path}.image`, image, "must not have leading or trailing whitespace"));
    }
  }
  return errors;
}

/** What the columns Ready, Status and Restarts say. */
interface Summary {
  readonly ready: number;
  readonly total: number;
  readonly reason: string;
  readonly restarts: number;
  /** When a counted container last ended; empty when none did. */
  readonly lastRestart: string;
}

class Counter {
  restarts = 0;
  lastRestart = "";

  count(status: Json): void {
    this.restarts += numberField(status, "restartCount");
    const ended = textField(inside(status, "lastState", "terminated"), "finishedAt");
    if (ended > this.lastRestart) this.lastRestart = ended;
  }
}

/** Source: upstream's `printPod`. */
function summaryOf(object: Unstructured): Summary {
  const spec = specOf(object);
  const status = statusOf(object);
  const sidecars = new Set(
    listField(spec, "initContainers")
      .filter((container) => textField(container, "restartPolicy") === "Always")
      .map((container) => textField(container, "name")),
  );
  const isSidecar = (of: Json): boolean => sidecars.has(textField(of, "name"));
  let reason = textField(status, "reason") || textField(status, "phase");
  if (textField(conditionOf(status, "PodScheduled"), "reason") === "SchedulingGated") reason = "SchedulingGated";
  const all = new Counter();
  const ofSidecars = new Counter();
  let ready = 0;
  let initializing: string | undefined;
  const inits = listField(status, "initContainerStatuses");
  for (const [index, init] of inits.entries()) {
    all.count(init);
    if (isSidecar(init)) ofSidecars.count(init);
    const terminated = inside(init, "state", "terminated");
    if (terminated !== undefined && numberField(terminated, "exitCode") === 0) continue;
    if (isSidecar(init) && init["started"] === true) {
      if (init["ready"] === true) ready++;
      continue;
    }
    initializing = initReason(init, index, listField(spec, "initContainers").length);
    break;
  }
  let counted = all;
  if (initializing === undefined || textField(conditionOf(status, "Initialized"), "status") === "True") {
    counted = ofSidecars;
    let isRunning = false;
    for (const container of listField(status, "containerStatuses").toReversed()) {
      counted.count(container);
      reason = containerReason(container) ?? reason;
      if (container["ready"] === true && inside(container, "state", "running") !== undefined) {
        isRunning = true;
        ready++;
      }
    }
    if (reason === "Completed" && isRunning) {
      reason = textField(conditionOf(status, "Ready"), "status") === "True" ? "Running" : "NotReady";
    }
  } else reason = initializing;
  if (object.metadata.deletionTimestamp !== undefined) {
    const phase = textField(status, "phase");
    if (textField(status, "reason") === "NodeLost") reason = "Unknown";
    else if (phase !== "Failed" && phase !== "Succeeded") reason = "Terminating";
  }
  return {
    ready,
    total: listField(spec, "containers").length + sidecars.size,
    reason,
    restarts: counted.restarts,
    lastRestart: counted.lastRestart,
  };
}

const conditionOf = (status: Json, type: string): Json | undefined =>
  listField(status, "conditions").find((condition) => condition["type"] === type);

function initReason(init: Json, index: number, count: number): string {
  const terminated = inside(init, "state", "terminated");
  if (terminated !== undefined) return `Init:${textField(terminated, "reason") || exitText(terminated)}`;
  const waiting = textField(inside(init, "state", "waiting"), "reason");
  return waiting !== "" && waiting !== "PodInitializing" ? `Init:${waiting}` : `Init:${index}/${count}`;
}

function containerReason(container: Json): string | undefined {
  const waiting = textField(inside(container, "state", "waiting"), "reason");
  if (waiting !== "") return waiting;
  const terminated = inside(container, "state", "terminated");
  return terminated === undefined ? undefined : textField(terminated, "reason") || exitText(terminated);
}

function exitText(terminated: Json): string {
  const signal = numberField(terminated, "signal");
  return signal === 0 ? `ExitCode:${numberField(terminated, "exitCode")}` : `Signal:${signal}`;
}

const columns: readonly Column[] = [
  nameColumn,
  text("Ready", "How many of the pod's containers are ready.", (object) => {
    const { ready, total } = summaryOf(object);
    return `${ready}/${total}`;
  }),
  text("Status", "Phase of the pod, or why it is not further.", (object) => summaryOf(object).reason),
  text("Restarts", "How often containers were started again, and how long ago the last time was.", (object, nowMs) => {
    const { restarts, lastRestart } = summaryOf(object);
    return restarts === 0 || lastRestart === "" ? String(restarts) : `${restarts} (${age(lastRestart, nowMs)} ago)`;
  }),
  ageColumn,
  wideText("IP", "Address of the pod.", (object) => orNone(textField(listField(statusOf(object), "podIPs")[0], "ip"))),
  wideText("Node", "Node that runs the pod.", (object) => orNone(textField(specOf(object), "nodeName"))),
  wideText("Nominated Node", "Node that is being cleared for the pod.", (object) =>
    orNone(textField(statusOf(object), "nominatedNodeName")),
  ),
  wideText("Readiness Gates", "How many extra conditions for being ready are true.", (object) => {
    const gates = listField(specOf(object), "readinessGates");
    if (gates.length === 0) return "<none>";
    const isTrue = (gate: Json): boolean =>
      textField(conditionOf(statusOf(object), textField(gate, "conditionType")), "status") === "True";
    return `${gates.filter(isTrue).length}/${gates.length}`;
  }),
];
