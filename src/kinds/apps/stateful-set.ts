/** StatefulSet: pods with names and storage of their own. */
import type { StatefulSet, StatefulSetSpec, StatefulSetUpdateStrategy } from "#api/apps/v1.ts";
import type { PersistentVolumeClaim } from "#api/core/v1.ts";
import { FieldPath } from "#meta/field-path.ts";
import { ageColumn, containerColumns, nameColumn, text } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { claimSpecWarnings, templateWarnings } from "../core/pod-warnings.ts";
import { editField, editItems, fillAbsent, fillZero } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import {
  validateStatefulSet,
  validateStatefulSetStatus,
  validateStatefulSetUpdate,
} from "./stateful-set-validation.ts";

export function statefulSets({ domain, gate }: KindEnvironment): KindBehaviour<StatefulSet> {
  const hasMaxUnavailable = gate("MaxUnavailableStatefulSet");
  const ofTemplate = templateWarnings<StatefulSet>(({ spec }) => spec.template, { domain });
  return {
    columns: [
      nameColumn,
      text(
        "Ready",
        "How many of the wanted pods are ready.",
        ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
      ),
      ageColumn,
      ...containerColumns<StatefulSet>(({ spec }) => spec.template),
    ],
    selectableFields: [],
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => defaultSpec(spec, hasMaxUnavailable)),
      validate: validateStatefulSet,
      validateUpdate: (object, old) => [...validateStatefulSet(object), ...validateStatefulSetUpdate(object, old)],
      warningsOnCreate: (object) => [
        ...ofTemplate.warningsOnCreate(object),
        ...claimWarnings(object, (claim) => claim),
      ],
      warningsOnUpdate: (object, old) => [
        ...ofTemplate.warningsOnUpdate(object, old),
        // Upstream: the path differs from that of a creation.
        ...claimWarnings(object, (claim) => claim.child("Spec")),
      ],
      subresources: { status: { validateUpdate: validateStatefulSetStatus } },
    },
  };
}

const claimsPath = FieldPath.of("spec", "volumeClaimTemplates");

const claimWarnings = (
  { spec: { volumeClaimTemplates = [] } }: StatefulSet,
  pathOf: (claim: FieldPath) => FieldPath,
): string[] => volumeClaimTemplates.flatMap(({ spec }, i) => claimSpecWarnings(spec, pathOf(claimsPath.index(i))));

function defaultSpec(spec: StatefulSetSpec, hasMaxUnavailable: boolean): StatefulSetSpec {
  let next = fillZero(spec, { podManagementPolicy: "OrderedReady" });
  next = fillAbsent(next, { replicas: 1, revisionHistoryLimit: 10, persistentVolumeClaimRetentionPolicy: {} });
  next = editField(next, "updateStrategy", (strategy) => defaultStrategy(strategy, hasMaxUnavailable));
  next = editField(next, "persistentVolumeClaimRetentionPolicy", (retention) =>
    fillZero(retention, { whenDeleted: "Retain", whenScaled: "Retain" }),
  );
  next = editField(next, "template", defaultPodTemplate);
  return editItems(next, "volumeClaimTemplates", defaultClaim);
}

/**
 * Fills the defaults of the update strategy. A strategy that names the type RollingUpdate gets no `rollingUpdate`, a
 * strategy without a type does.
 */
function defaultStrategy(strategy: StatefulSetUpdateStrategy, hasMaxUnavailable: boolean): StatefulSetUpdateStrategy {
  const { type = "" } = strategy;
  if (type !== "" && type !== "RollingUpdate") return strategy;
  const next = type === "" ? fillAbsent({ ...strategy, type: "RollingUpdate" }, { rollingUpdate: {} }) : strategy;
  return editField(next, "rollingUpdate", (rolling) =>
    fillAbsent(rolling, { partition: 0, ...(hasMaxUnavailable ? { maxUnavailable: 1 } : {}) }),
  );
}

function defaultClaim(claim: PersistentVolumeClaim): PersistentVolumeClaim {
  // The type is set even if the body has another one.
  const named = { ...claim, apiVersion: "v1", kind: "PersistentVolumeClaim" };
  const next = editField(named, "spec", (spec) => fillAbsent(spec, { volumeMode: "Filesystem" }));
  return editField(next, "status", (status) => fillAbsent(status, { phase: "Pending" }));
}
