/** StatefulSet: pods with names and storage of their own. */
import type { PodTemplateSpec } from "#api/core/v1.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { type FieldError, forbidden } from "#meta/field-error.ts";
import { ageColumn, containerColumns, inside, nameColumn, text } from "../cells.ts";
import {
  editField,
  editItems,
  fillAbsent,
  fillZero,
  isAbsent,
  type Json,
  noFields,
  numberField,
  objectField,
  textField,
  withField,
} from "../json-edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { specOf, statusNumber } from "./workload.ts";

export function statefulSets(environment: KindEnvironment): KindBehaviour {
  const hasMaxUnavailable = environment.gate("MaxUnavailableStatefulSet");
  return {
    columns: [
      nameColumn,
      text(
        "Ready",
        "How many of the wanted pods are ready.",
        (object) => `${statusNumber(object, "readyReplicas")}/${numberField(specOf(object), "replicas")}`,
      ),
      ageColumn,
      ...containerColumns<Unstructured>((object) => inside(object, "spec", "template") as PodTemplateSpec | undefined),
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => defaultSpec(spec, hasMaxUnavailable)),
      validateUpdate: (object, old) => validateSpecKept(specOf(object), specOf(old)),
      subresources: { status: {} },
    },
  };
}

function defaultSpec(spec: Json, hasMaxUnavailable: boolean): Json {
  let next = fillZero(spec, { podManagementPolicy: "OrderedReady" });
  next = fillAbsent(next, { replicas: 1, revisionHistoryLimit: 10 });
  next = withField(next, "updateStrategy", defaultStrategy(objectField(next, "updateStrategy"), hasMaxUnavailable));
  const retention = objectField(next, "persistentVolumeClaimRetentionPolicy") ?? noFields;
  next = withField(
    next,
    "persistentVolumeClaimRetentionPolicy",
    fillZero(retention, { whenDeleted: "Retain", whenScaled: "Retain" }),
  );
  next = editField(next, "template", defaultPodTemplate);
  return editItems(next, "volumeClaimTemplates", defaultClaim);
}

/** A rolling update that was asked for by name keeps its details absent; one that was not gets them. */
function defaultStrategy(strategy: Json | undefined, hasMaxUnavailable: boolean): Json {
  const wasNamed = textField(strategy, "type") !== "";
  let next = fillZero(strategy ?? noFields, { type: "RollingUpdate" });
  if (textField(next, "type") !== "RollingUpdate") return next;
  if (!wasNamed) next = fillAbsent(next, { rollingUpdate: {} });
  return editField(next, "rollingUpdate", (rolling) =>
    fillAbsent(rolling, { partition: 0, ...(hasMaxUnavailable ? { maxUnavailable: 1 } : {}) }),
  );
}

function defaultClaim(claim: Json): Json {
  const named = fillZero(claim, { apiVersion: "v1", kind: "PersistentVolumeClaim" });
  const next = editField(named, "spec", (spec) => fillAbsent(spec, { volumeMode: "Filesystem" }));
  const status = objectField(next, "status") ?? noFields;
  return isAbsent(status["phase"]) ? withField(next, "status", fillZero(status, { phase: "Pending" })) : next;
}

const changeable = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

/** Most of the spec names or makes what exists by now. */
function validateSpecKept(spec: Json, old: Json): FieldError[] {
  const names = new Set([...Object.keys(spec), ...Object.keys(old)]);
  for (const name of changeable) names.delete(name);
  if ([...names].every((name) => jsonEquals(spec[name] ?? null, old[name] ?? null))) return [];
  const shown = changeable.map((name) => `'${name}'`);
  const list = `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
  return [forbidden("spec", `updates to statefulset spec for fields other than ${list} are forbidden`)];
}
