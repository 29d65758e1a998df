/** Job: pods that run to completion. Its selector and pod labels are generated from the job's uid. */
import type { Job, JobSpec } from "#api/batch/v1.ts";
import { humanDuration } from "#meta/human-duration.ts";
import { formatLabelSelector } from "#meta/label-selector.ts";
import type { ObjectMeta } from "#meta/object-meta.ts";
import { momentOf } from "#meta/time.ts";
import type { Column } from "#registry/resource-definition.ts";
import { templateRules } from "../core/pod-validation/rules.ts";
import { ageColumn, containerColumns, nameColumn, text, wideText } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { templateWarnings } from "../core/pod-warnings.ts";
import { withTemplateLabels } from "../apps/replication-controller.ts";
import { editField, editItems, fillAbsent, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateJobStatus } from "./job-status-validation.ts";
import { validateJobUpdate } from "./job-update.ts";
import { jobLabels, validateJob } from "./job-validation.ts";

const unlimited = 2147483647;
const orphansWarning =
  "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning";

export function jobs(environment: KindEnvironment): KindBehaviour<Job> {
  const complete = (object: Job): Job => withTemplateLabels(object, templateLabels(object));
  const { domain, gate } = environment;
  const rulesOf = templateRules<Job>(environment, ({ spec }) => spec.template);
  const hasReplacement = gate("JobPodReplacementPolicy");
  const statusRules = {
    checksConsistency: gate("JobManagedBy"),
    allowsAnySuccessCriteria: gate("JobManagedBy") || hasReplacement,
  };
  const { uid: uidLabel, name: nameLabel } = jobLabels(domain);
  return {
    namesKindOfFields: true,
    columns,
    strategy: {
      defaults: (object) =>
        withTemplateLabels(
          editField(object, "spec", (spec) => defaultSpec(spec, hasReplacement)),
          templateLabels(object),
        ),
      canonicalize(object, isGenerated) {
        const next = editField(object, "spec", (spec) => selectOwnPods(spec, object.metadata, { uidLabel, nameLabel }));
        if (next === object) return object;
        // A job without labels got those of its template as the same map. Labels that the client gave are another map.
        // Upstream: a job whose name is generated is copied before, so that it does not share the map any more.
        const { labels } = object.metadata;
        return !isGenerated && labels !== undefined && labels === templateLabels(object)
          ? { ...next, metadata: withField(next.metadata, "labels", templateLabels(next)) }
          : next;
      },
      warningsOnDelete: ({ propagationPolicy, orphanDependents }) =>
        propagationPolicy === undefined && orphanDependents === undefined ? [orphansWarning] : [],
      complete,
      validate: (object) => validateJob(object, rulesOf(object)),
      validateUpdate: (object, old) => [
        ...validateJob(object, rulesOf(object, old), old),
        ...validateJobUpdate(object, old),
      ],
      ...templateWarnings<Job>(({ spec }) => spec.template, { domain, namesPods: true }),
      // A status that is sent without a template gives no labels either, and the stored template still does.
      subresources: {
        status: { validateUpdate: (object, old) => validateJobStatus(object, old, statusRules), complete },
      },
      fields: ({ status }) => ({ "status.successful": String(status.succeeded ?? 0) }),
    },
  };
}

const templateLabels = ({ spec }: Job): ObjectMeta["labels"] => spec.template.metadata.labels;

function defaultSpec(spec: JobSpec, hasReplacement: boolean): JobSpec {
  let next = spec;
  if (next.completions === undefined && next.parallelism === undefined) next = { ...next, completions: 1 };
  next = fillAbsent(next, {
    parallelism: 1,
    backoffLimit: next.backoffLimitPerIndex === undefined ? 6 : unlimited,
    completionMode: "NonIndexed",
    suspend: false,
    manualSelector: false,
  });
  if (hasReplacement) {
    const podReplacementPolicy = next.podFailurePolicy === undefined ? "TerminatingOrFailed" : "Failed";
    next = fillAbsent(next, { podReplacementPolicy });
  }
  next = editField(next, "podFailurePolicy", (policy) =>
    editItems(policy, "rules", (rule) =>
      editItems(rule, "onPodConditions", (condition) => fillZero(condition, { status: "True" })),
    ),
  );
  return editField(next, "template", defaultPodTemplate);
}

/**
 * Returns the spec with a generated selector and pod labels. This happens on creates only, when name and uid are known
 * (the name is empty if it is missing, which is a finding of its own). The short labels are those of earlier releases.
 */
function selectOwnPods(
  spec: JobSpec,
  { uid = "", name = "" }: ObjectMeta,
  { uidLabel, nameLabel }: { readonly uidLabel: string; readonly nameLabel: string },
): JobSpec {
  if (spec.manualSelector === true) return spec;
  const { labels = {} } = spec.template.metadata;
  const { matchLabels = {} } = spec.selector ?? {};
  const ownLabels = { [uidLabel]: uid, [nameLabel]: name, "controller-uid": uid, "job-name": name };
  const labelled = editField(spec, "template", (template) =>
    editField(template, "metadata", (metadata) => withField(metadata, "labels", fillAbsent(labels, ownLabels))),
  );
  const selector = { ...spec.selector, matchLabels: fillAbsent(matchLabels, { [uidLabel]: uid }) };
  return withField(labelled, "selector", selector);
}

function statusText({ metadata, status: { conditions = [] } }: Job): string {
  const isTrue = (wanted: string): boolean =>
    conditions.some(({ type, status }) => type === wanted && status === "True");
  if (isTrue("Complete")) return "Complete";
  if (isTrue("Failed")) return "Failed";
  if (metadata.deletionTimestamp !== undefined) return "Terminating";
  if (isTrue("Suspended")) return "Suspended";
  return isTrue("FailureTarget") ? "FailureTarget" : "Running";
}

function completionsText({ spec: { completions, parallelism = 0 }, status: { succeeded = 0 } }: Job): string {
  if (completions !== undefined) return `${succeeded}/${completions}`;
  return parallelism > 1 ? `${succeeded}/1 of ${parallelism}` : `${succeeded}/1`;
}

function durationText({ status: { startTime, completionTime } }: Job, nowMs: number): string {
  if (startTime === undefined) return "";
  return humanDuration((completionTime === undefined ? nowMs : momentOf(completionTime)) - momentOf(startTime));
}

const columns: readonly Column<Job>[] = [
  nameColumn,
  text("Status", "Whether the job runs, is over or has failed.", statusText),
  text("Completions", "How many pods have succeeded, of how many that must.", completionsText),
  text("Duration", "How long the job has run.", durationText),
  ageColumn,
  ...containerColumns<Job>(({ spec }) => spec.template),
  wideText("Selector", "Labels of the pods.", ({ spec }) => formatLabelSelector(spec.selector)),
];
