/** FlowSchema and PriorityLevelConfiguration: which requests wait where when there are many. */
import type { Unstructured } from "#meta/object-meta.ts";
import { ageColumn, inside, nameColumn, orNone, text } from "../cells.ts";
import {
  editField,
  fillAbsent,
  fillZero,
  type Json,
  listField,
  noFields,
  numberField,
  objectField,
  textField,
} from "../json-edit.ts";
import type { Strategy } from "#registry/resource-definition.ts";
import type { KindBehaviour, KindEnvironment } from "../generic.ts";
import { type Check, flowControlChecks } from "./validation.ts";

/** Hooks of both kinds. The status is written by itself: metadata is not part of it. */
const hooks = (validate: Check, validateStatus: Check): Strategy => ({
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

export function flowSchemas({ domain }: KindEnvironment): KindBehaviour {
  const { schema, status } = flowControlChecks(domain);
  return {
    unconditionalUpdate: true,
    columns: [
      nameColumn,
      text("PriorityLevel", "Level that matching requests belong to.", (object) =>
        textField(inside(object, "spec", "priorityLevelConfiguration"), "name"),
      ),
      text("MatchingPrecedence", "The lowest number that matches decides.", (object) =>
        numberField(objectField(object, "spec"), "matchingPrecedence"),
      ),
      text("DistinguisherMethod", "What tells the flows of a level apart.", (object) =>
        orNone(textField(inside(object, "spec", "distinguisherMethod"), "type")),
      ),
      ageColumn,
      text("MissingPL", "Whether the level does not exist.", (object) => {
        const conditions = listField(objectField(object, "status") ?? noFields, "conditions");
        return (
          textField(
            conditions.find((condition) => condition["type"] === "Dangling"),
            "status",
          ) || "?"
        );
      }),
    ],
    statusResetsMetadata: true,
    strategy: {
      defaults: (object) => editField(object, "spec", (spec) => fillZero(spec, { matchingPrecedence: 1000 })),
      ...hooks(schema, status),
    },
  };
}

export function priorityLevelConfigurations({ domain }: KindEnvironment): KindBehaviour {
  const { level, status } = flowControlChecks(domain);
  const limited = (object: Unstructured): Json | undefined => inside(object, "spec", "limited");
  const queuing = (name: string) => (object: Unstructured) =>
    orNone(inside(limited(object), "limitResponse", "queuing")?.[name]);
  return {
    unconditionalUpdate: true,
    columns: [
      nameColumn,
      text("Type", "Whether requests are limited or exempt.", (object) =>
        textField(objectField(object, "spec"), "type"),
      ),
      text("NominalConcurrencyShares", "Share of the requests that may run.", (object) =>
        orNone(limited(object)?.["nominalConcurrencyShares"]),
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

function defaultLevel(spec: Json): Json {
  const next = editField(spec, "exempt", (exempt) =>
    fillAbsent(exempt, { nominalConcurrencyShares: 0, lendablePercent: 0 }),
  );
  return editField(next, "limited", (limited) =>
    editField(fillAbsent(limited, { nominalConcurrencyShares: 30, lendablePercent: 0 }), "limitResponse", (response) =>
      editField(response, "queuing", (queuing) => fillZero(queuing, { handSize: 8, queues: 64, queueLengthLimit: 50 })),
    ),
  );
}
