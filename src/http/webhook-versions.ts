/**
 * Field ownership of custom resources whose versions a webhook converts. The code of field ownership is synchronous: a
 * missing conversion is thrown as a request, converted, and the code runs again with all conversions so far.
 */
import { checkApplied } from "#apply/check-applied.ts";
import { ConversionProblem, type ObjectVersions, type OwnedObject } from "#apply/managed-fields.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import type { ConversionCaller, WebhookConversion } from "#registry/resource-definition.ts";
import { withRawNumbers } from "#schema/json-values.ts";
import type { MaybePromise } from "#std/maybe-promise.ts";

/** The maximum number of conversions for one write, whose field managers may have written in many versions. */
const conversionsMax = 200;

class MissingConversion {
  readonly id: string;
  readonly object: Unstructured;
  readonly apiVersion: string;

  constructor(id: string, object: Unstructured, apiVersion: string) {
    this.id = id;
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

/** Converts the object of one write between its versions. */
export class WebhookVersions {
  readonly #versions: ObjectVersions;
  readonly #webhook: WebhookConversion;
  readonly #caller: ConversionCaller;
  readonly #conversions = new Map<string, OwnedObject | ConversionProblem>();

  /** The signal of the caller aborts the calls. */
  constructor(versions: ObjectVersions, webhook: WebhookConversion, caller: ConversionCaller) {
    this.#versions = versions;
    this.#webhook = webhook;
    this.#caller = caller;
  }

  /** The versions for code that runs in `withConversions`. */
  get versions(): ObjectVersions {
    return {
      ...this.#versions,
      convert: (object, from, to) => (from === to ? object : this.#conversionOf(object, to)),
    };
  }

  /** Returns the result of `work`, which may run several times. */
  withConversions<T>(work: () => T): MaybePromise<T> {
    try {
      return work();
    } catch (error) {
      if (error instanceof MissingConversion) return this.#convert(error).then(() => this.withConversions(work));
      throw error;
    }
  }

  #conversionOf(object: OwnedObject, apiVersion: string): OwnedObject {
    const { managedFields: _managers, ...metadata } = object.metadata ?? {};
    const sent = withRawNumbers({ ...object, metadata }) as Unstructured; // the same with other numbers
    const id = `${apiVersion} ${JSON.stringify(sent)}`;
    const converted = this.#conversions.get(id);
    if (converted === undefined) throw new MissingConversion(id, sent, apiVersion);
    if (converted instanceof ConversionProblem) throw converted;
    return converted;
  }

  async #convert({ id, object, apiVersion }: MissingConversion): Promise<void> {
    this.#conversions.set(id, await this.#callWebhook(object, apiVersion));
  }

  async #callWebhook(object: Unstructured, apiVersion: string): Promise<OwnedObject | ConversionProblem> {
    if (this.#conversions.size >= conversionsMax)
      return new ConversionProblem("its field managers need too many conversions");
    try {
      const [converted] = await this.#webhook.convertRaw([object], apiVersion, this.#caller);
      const { metadata: _metadata, ...content } = converted!; // as many as were sent
      const schema = this.#versions.schemaFor(apiVersion);
      const problem = schema === undefined ? undefined : checkApplied(schema, content);
      return problem === undefined ? converted! : new ConversionProblem(problem);
    } catch (error) {
      if (this.#caller.signal?.aborted === true) throw error;
      return new ConversionProblem(error instanceof Error ? error.message : String(error));
    }
  }
}
