/**
 * Records events about owner references to another namespace, which are invalid. To find them, a live read looks for
 * the owner's name in all namespaces: rarely, one at a time, from a bounded queue. Reason and message: upstream's.
 */
import { goQuote } from "#meta/field-error.ts";
import type { WorkQueue } from "#client/work-queue.ts";
import { escapeFieldValue } from "#meta/selector.ts";
import type { ControllerEnvironment } from "../controller.ts";
import { eventTeller, type TellEvent } from "../events.ts";
import { inPages } from "../pages.ts";
import { workQueue } from "../reconcile.ts";
import type { OwnerClaim } from "./absent-owners.ts";
import type { Coordinates } from "./graph.ts";
import { metadataTypes } from "../metadata-types.ts";
import { collectionPath, type ServedResource } from "./served.ts";

/** An object that names an owner. */
interface Dependent extends Coordinates {
  readonly uid: string;
}

interface Question {
  readonly owner: OwnerClaim;
  readonly of: ServedResource;
  readonly dependents: Map<string, Dependent>;
}

const ownersMax = 1000;
const dependentsMax = 100;

export class MisplacedOwners {
  readonly #environment: ControllerEnvironment;
  readonly #questions = new Map<string, Question>();
  readonly #tellEvent: TellEvent;
  readonly #queue: WorkQueue;
  readonly #accept: string;

  constructor(environment: ControllerEnvironment) {
    this.#environment = environment;
    this.#tellEvent = eventTeller(environment, "garbage-collector-controller");
    this.#accept = metadataTypes(environment.domain).list;
    this.#queue = workQueue(environment, {
      name: "garbage_collector_misplaced_owners",
      workersMax: 1,
      work: (uid) => this.#look(uid),
      logKey: "owner",
      failure: "could not tell of an owner in another namespace; trying again",
    });
  }

  /** Finds out whether an owner that is not in the namespace of its dependent is in another one. */
  ask({ uid, apiVersion, kind, namespace, name }: Dependent, owner: OwnerClaim, of: ServedResource): void {
    let question = this.#questions.get(owner.uid);
    if (question === undefined) {
      if (this.#questions.size >= ownersMax) return;
      question = { owner, of, dependents: new Map() };
      this.#questions.set(owner.uid, question);
    }
    if (question.dependents.size >= dependentsMax) return;
    question.dependents.set(uid, { uid, apiVersion, kind, namespace, name });
    this.#queue.add(owner.uid);
  }

  async #look(uid: string): Promise<void> {
    const question = this.#questions.get(uid);
    if (question === undefined) return;
    const home = await this.#namespaceOf(question);
    this.#questions.delete(uid);
    if (home === undefined) return;
    for (const dependent of question.dependents.values()) {
      if (home !== dependent.namespace) this.#tell(dependent, question.owner);
    }
  }

  /** Finds the namespace of the object with this uid; `undefined` when there is no such object. */
  async #namespaceOf({ owner: { uid, name }, of }: Question): Promise<string | undefined> {
    const { client } = this.#environment;
    // Dependents may claim any text as the name of their owner.
    const fieldSelector = `metadata.name=${escapeFieldValue(name)}`;
    for await (const { metadata } of inPages(client, collectionPath(of), { fieldSelector, accept: this.#accept })) {
      if (metadata.uid === uid) return metadata.namespace;
    }
    return undefined;
  }

  #tell({ apiVersion, kind, namespace, name, uid }: Dependent, owner: OwnerClaim): void {
    const claimed = `[${owner.apiVersion}/${owner.kind}, namespace: ${namespace}, name: ${owner.name}, uid: ${owner.uid}]`;
    const message = `ownerRef ${claimed} does not exist in namespace ${goQuote(namespace)}`;
    this.#tellEvent(
      { apiVersion, kind, metadata: { namespace, name, uid } },
      "Warning",
      "OwnerRefInvalidNamespace",
      message,
    );
  }
}
