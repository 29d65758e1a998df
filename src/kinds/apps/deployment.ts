/** Deployment: a declared version of an application, rolled out by replica sets. */
import type { Deployment, DeploymentSpec, DeploymentStrategy } from "#api/apps/v1.ts";
import { templateRules } from "../core/pod-validation/rules.ts";
import { ageColumn, nameColumn, text } from "../cells.ts";
import { defaultPodTemplate } from "../core/pod-spec.ts";
import { templateWarnings } from "../core/pod-warnings.ts";
import { editField, fillAbsent, fillZero, withField } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { validateDeployment, validateDeploymentStatus } from "./deployment-validation.ts";
import { templateColumns } from "./workload.ts";
import { validateSelectorUpdate } from "./workload-validation.ts";

export function deployments(environment: KindEnvironment): KindBehaviour<Deployment> {
  const { domain } = environment;
  const rulesOf = templateRules<Deployment>(environment, ({ spec }) => spec.template);
  return {
    // Upstream: the error about a missing object names the scale.
    missingScale: { group: "apps", resource: "deployments/scale" },
    generationMetadata: ["annotations"],
    statusKeeps: ["labels"],
    columns: [
      nameColumn,
      text(
        "Ready",
        "How many of the wanted pods are ready.",
        ({ spec, status }) => `${status.readyReplicas ?? 0}/${spec.replicas ?? 0}`,
      ),
      text("Up-to-date", "How many pods have the present template.", ({ status }) => status.updatedReplicas ?? 0),
      text(
        "Available",
        "How many pods have been ready for long enough.",
        ({ status }) => status.availableReplicas ?? 0,
      ),
      ageColumn,
      ...templateColumns,
    ],
    strategy: {
      defaults: (object) => editField(object, "spec", defaultSpec),
      validate: (object) => validateDeployment(object, rulesOf(object)),
      validateUpdate: (object, old) => [
        ...validateDeployment(object, rulesOf(object, old)),
        ...validateSelectorUpdate(object, old),
      ],
      ...templateWarnings<Deployment>(({ spec }) => spec.template, { domain, namesPods: true }),
      subresources: { status: { validateUpdate: validateDeploymentStatus } },
    },
  };
}

function defaultSpec(spec: DeploymentSpec): DeploymentSpec {
  const next = fillAbsent(spec, { replicas: 1, revisionHistoryLimit: 10, progressDeadlineSeconds: 600 });
  return editField(editField(next, "strategy", defaultStrategy), "template", defaultPodTemplate);
}

function defaultStrategy(strategy: DeploymentStrategy): DeploymentStrategy {
  const next = fillZero(strategy, { type: "RollingUpdate" });
  if (next.type !== "RollingUpdate") return next;
  const { rollingUpdate = {} } = next;
  return withField(next, "rollingUpdate", fillAbsent(rollingUpdate, { maxUnavailable: "25%", maxSurge: "25%" }));
}
