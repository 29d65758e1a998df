/**
 * Field ownership of custom resources whose versions a webhook converts. The code of field ownership is synchronous: a
 * missing conversion is thrown as a request, converted, and the code runs again with all conversions so far.
 */
import { checkApplied } from "#apply/check-applied.ts";
import { ConversionProblem, type ObjectVersions, type OwnedObject } from "#apply/managed-fields.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { WebhookConversion } from "#registry/resource-definition.ts";
import { withRawNumbers } from "#schema/json-values.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** Conversions for one write; its managers may have written in as many versions as the definition ever had. */
const conversionsMax = 200;

class Lacking {
  readonly id: string;
  readonly object: Unstructured;
  readonly apiVersion: string;

  constructor(id: string, object: Unstructured, apiVersion: string) {
    this.id = id;
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

/** The versions of one write's object. */
export class RemoteVersions {
  readonly #versions: ObjectVersions;
  readonly #remote: WebhookConversion;
  readonly #signal: AbortSignal | undefined;
  readonly #made = new Map<string, OwnedObject | ConversionProblem>();

  /** `signal` gives calls up. */
  constructor(versions: ObjectVersions, remote: WebhookConversion, signal: AbortSignal | undefined) {
    this.#versions = versions;
    this.#remote = remote;
    this.#signal = signal;
  }

  /** Code that runs in `settled` uses these. */
  get versions(): ObjectVersions {
    return { ...this.#versions, convert: (object, from, to) => (from === to ? object : this.#converted(object, to)) };
  }

  /** The result of `work`, which may run several times. */
  settled<T>(work: () => T): MaybePromise<T> {
    try {
      return work();
    } catch (error) {
      if (error instanceof Lacking) return this.#convert(error).then(() => this.settled(work));
      throw error;
    }
  }

  #converted(object: OwnedObject, apiVersion: string): OwnedObject {
    const { managedFields: _managers, ...metadata } = object.metadata ?? {};
    const sent = withRawNumbers({ ...object, metadata }) as Unstructured; // the same with other numbers
    const id = `${apiVersion} ${JSON.stringify(sent)}`;
    const made = this.#made.get(id);
    if (made === undefined) throw new Lacking(id, sent, apiVersion);
    if (made instanceof ConversionProblem) throw made;
    return made;
  }

  async #convert({ id, object, apiVersion }: Lacking): Promise<void> {
    this.#made.set(id, await this.#ask(object, apiVersion));
  }

  async #ask(object: Unstructured, apiVersion: string): Promise<OwnedObject | ConversionProblem> {
    if (this.#made.size >= conversionsMax) return new ConversionProblem("its field managers need too many conversions");
    try {
      const [made] = await this.#remote.convertRaw([object], apiVersion, this.#signal);
      const { metadata: _metadata, ...content } = made!; // as many as were sent
      const schema = this.#versions.schemaFor(apiVersion);
      const problem = schema === undefined ? undefined : checkApplied(schema, content);
      return problem === undefined ? made! : new ConversionProblem(problem);
    } catch (error) {
      if (this.#signal?.aborted === true) throw error;
      return new ConversionProblem(error instanceof Error ? error.message : String(error));
    }
  }
}
