/** DaemonSet: one pod on every node. */
import type { DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy } from "#api/apps/v1.ts";
import { jsonEquals } from "#apply/json-value.ts";
import { goQuote } from "#meta/field-error.ts";
import { badRequest, type StatusError } from "#meta/status-error.ts";
import { templateRules } from "../core/pod-validation/rules.ts";
import { ageColumn, integer, labelsText, nameColumn, text } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { templateWarnings } from "../core/pod-warnings.ts";
import { editField, fillAbsent, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateDaemonSet, validateDaemonSetStatus } from "./daemon-set-validation.ts";
import { templateColumns } from "./workload.ts";
import { validateSelectorUpdate } from "./workload-validation.ts";

export function daemonSets(environment: KindEnvironment): KindBehaviour<DaemonSet> {
  const { domain } = environment;
  const rulesOf = templateRules<DaemonSet>(environment, ({ spec }) => spec.template);
  const counter = domain.rename("deprecated.daemonset.template.generation");
  const countOf = ({ metadata }: DaemonSet): bigint => parseCount(metadata.annotations?.[counter] ?? "") ?? 0n;
  return {
    fieldAnnotations: [counter],
    columns: [
      nameColumn,
      integer("Desired", "How many nodes should run the pod.", ({ status }) => status.desiredNumberScheduled),
      integer("Current", "How many nodes run the pod and should.", ({ status }) => status.currentNumberScheduled),
      integer("Ready", "How many of the pods are ready.", ({ status }) => status.numberReady),
      integer(
        "Up-to-date",
        "How many pods have the present template.",
        ({ status }) => status.updatedNumberScheduled ?? 0,
      ),
      integer(
        "Available",
        "How many pods have been ready for long enough.",
        ({ status }) => status.numberAvailable ?? 0,
      ),
      text("Node Selector", "Labels of the nodes.", ({ spec }) => labelsText(spec.template.spec.nodeSelector)),
      ageColumn,
      ...templateColumns,
    ],
    strategy: {
      defaults: (object) => {
        const { annotations } = object.metadata;
        const counted = annotations?.[counter] === undefined ? withCount(object, counter, 0n) : object;
        return editField(counted, "spec", defaultSpec);
      },
      prepareForCreate: (object) => {
        const text = object.metadata.annotations?.[counter] ?? "";
        const count = parseCount(text);
        if (count === undefined) throw cannotCount(text);
        return withCount(object, counter, count < 1n ? 1n : count);
      },
      prepareForUpdate: (object, old) => {
        const isChanged = !jsonEquals(object.spec.template, old.spec.template);
        return withCount(object, counter, countOf(old) + (isChanged ? 1n : 0n));
      },
      validate: (object) => validateDaemonSet(object, rulesOf(object)),
      validateUpdate: (object, old) => [
        ...validateDaemonSet(object, rulesOf(object, old)),
        ...validateSelectorUpdate(object, old),
      ],
      // Upstream: warnings depend on the counter of template changes.
      ...templateWarnings<DaemonSet>(({ spec }) => spec.template, { domain, generationOf: countOf }),
      subresources: {
        status: {
          prepareForUpdate: (object, old) => withCount(object, counter, countOf(old)),
          validateUpdate: validateDaemonSetStatus,
        },
      },
    },
  };
}

function defaultSpec(spec: DaemonSetSpec): DaemonSetSpec {
  const next = fillAbsent(editField(spec, "updateStrategy", defaultStrategy), { revisionHistoryLimit: 10 });
  return editField(next, "template", defaultPodTemplate);
}

function defaultStrategy(strategy: DaemonSetUpdateStrategy): DaemonSetUpdateStrategy {
  const next = fillZero(strategy, { type: "RollingUpdate" });
  if (next.type !== "RollingUpdate") {
    // Upstream: the numbers have defaults even though they are not used.
    return editField(next, "rollingUpdate", (rolling) => fillAbsent(rolling, { maxUnavailable: 0, maxSurge: 0 }));
  }
  const { rollingUpdate = {} } = next;
  return withField(next, "rollingUpdate", fillAbsent(rollingUpdate, { maxUnavailable: 1, maxSurge: 0 }));
}

/**
 * Returns the object with the number of its template changes. Upstream: an annotation holds this number, which was a
 * field in old versions.
 */
function withCount(object: DaemonSet, counter: string, count: bigint): DaemonSet {
  const { annotations } = object.metadata;
  if (annotations?.[counter] === String(count)) return object;
  return { ...object, metadata: { ...object.metadata, annotations: { ...annotations, [counter]: String(count) } } };
}

function parseCount(text: string): bigint | undefined {
  if (!/^[-+]?\d{1,19}$/.test(text)) return undefined;
  const count = BigInt(text.replace("+", ""));
  return BigInt.asIntN(64, count) === count ? count : undefined;
}

const cannotCount = (text: string): StatusError =>
  badRequest(
    `DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing ${goQuote(text)}: invalid syntax`,
  );
