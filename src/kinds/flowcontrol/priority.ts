/** FlowSchema and PriorityLevelConfiguration: the configuration of priority and fairness. */
import type {
  FlowSchema,
  PriorityLevelConfiguration,
  PriorityLevelConfigurationSpec,
  QueuingConfiguration,
} from "#api/flowcontrol/v1.ts";
import type { Strategy } from "#registry/resource-definition.ts";
import { ageColumn, nameColumn, orNone, text } from "../cells.ts";
import { editField, fillAbsent, fillZero } from "../edit.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { type Check, flowControlChecks } from "./validation.ts";

/** Makes the hooks of both kinds. Writes of the status do not change metadata. */
const hooks = <T extends FlowSchema | PriorityLevelConfiguration>(
  validate: Check<T>,
  validateStatus: Check<T>,
): Strategy<T> => ({
  validate,
  validateUpdate: (object) => validate(object),
  subresources: {
    status: {
      prepareForUpdate: (object, old) => ({
        ...object,
        metadata: { ...old.metadata, managedFields: object.metadata.managedFields ?? [] },
      }),
      validateUpdate: (object) => validateStatus(object),
    },
  },
});

export function flowSchemas({ domain }: KindEnvironment): KindBehaviour<FlowSchema> {
  const { schema, status } = flowControlChecks(domain);
  return {
    unconditionalUpdate: true,
    columns: [
      nameColumn,
      text(
        "PriorityLevel",
        "Level that matching requests belong to.",
        ({ spec }) => spec.priorityLevelConfiguration.name,
      ),
      text("MatchingPrecedence", "The lowest number that matches decides.", ({ spec }) => spec.matchingPrecedence),
      text("DistinguisherMethod", "What tells the flows of a level apart.", ({ spec }) =>
        orNone(spec.distinguisherMethod?.type),
      ),
      ageColumn,
      text(
        "MissingPL",
        "Whether the level does not exist.",
        ({ status }) => status.conditions?.find(({ type }) => type === "Dangling")?.status || "?",
      ),
    ],
    rowOrder: ({ metadata: one, spec }, { metadata: other, spec: otherSpec }) =>
      (spec.matchingPrecedence ?? 0) - (otherSpec.matchingPrecedence ?? 0) ||
      ((one.name ?? "") < (other.name ?? "") ? -1 : 1),
    statusResetsMetadata: true,
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => fillZero(spec, { matchingPrecedence: 1000 })),
      ...hooks(schema, status),
    },
  };
}

export function priorityLevelConfigurations({ domain }: KindEnvironment): KindBehaviour<PriorityLevelConfiguration> {
  const { level, status } = flowControlChecks(domain);
  const queuing = (name: keyof QueuingConfiguration) => (object: PriorityLevelConfiguration) =>
    orNone(object.spec.limited?.limitResponse.queuing?.[name]);
  return {
    unconditionalUpdate: true,
    columns: [
      nameColumn,
      text("Type", "Whether requests are limited or exempt.", ({ spec }) => spec.type),
      text("NominalConcurrencyShares", "Share of the requests that may run.", ({ spec }) =>
        orNone(spec.limited?.nominalConcurrencyShares),
      ),
      text("Queues", "How many queues there are.", queuing("queues")),
      text("HandSize", "How many queues a flow may use.", queuing("handSize")),
      text("QueueLengthLimit", "How many requests a queue holds.", queuing("queueLengthLimit")),
      ageColumn,
    ],
    statusResetsMetadata: true,
    strategy: {
      defaults: (object) => editField(object, "spec", defaultLevel),
      ...hooks(level, status),
    },
  };
}

function defaultLevel(spec: PriorityLevelConfigurationSpec): PriorityLevelConfigurationSpec {
  const next = editField(spec, "exempt", (exempt) =>
    fillAbsent(exempt, { nominalConcurrencyShares: 0, lendablePercent: 0 }),
  );
  return editField(next, "limited", (limited) =>
    editField(fillAbsent(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 }), "limitResponse", (response) =>
      editField(response, "queuing", (queuing) => fillZero(queuing, { handSize: 8, queues: 64, queueLengthLimit: 50 })),
    ),
  );
}
