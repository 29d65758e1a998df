/** The calls on a subresource of the objects of one kind. */
import type { ApiObject } from "#meta/object-meta.ts";
import type { Apply, DeepPartial, Mutable, Patch, Replacement } from "../draft.ts";
import { type Applied, apply, type ApplyCallOptions, change, create, get, patch, replace } from "./calls.ts";
import { type CallOptions, objectPath, type OutgoingObject, type CallTarget, type WriteCallOptions } from "./target.ts";

/** The calls on a subresource; `T` is the type of its objects. They do what those of `KindClient` do. */
export class SubresourceClient<T extends ApiObject> {
  readonly #target: CallTarget;

  constructor(target: CallTarget) {
    this.#target = target;
  }

  get(name: string, options: CallOptions = {}): Promise<T> {
    return get(this.#target, name, options);
  }

  /** Sends an object to the subresource of the object `name`, such as a token request or a binding. */
  async create(name: string, object: DeepPartial<T>, options: WriteCallOptions = {}): Promise<T> {
    options.signal?.throwIfAborted();
    const target = this.#target;
    const sent = object as OutgoingObject; // objects of all kinds have these fields
    const path = await objectPath(target, name, options, sent);
    return create<T>(target, path, sent, options);
  }

  replace(object: Replacement<T>, options: WriteCallOptions = {}): Promise<T> {
    return replace(this.#target, object, options);
  }

  apply(object: Apply<T>, options: ApplyCallOptions = {}): Promise<Applied<T>> {
    return apply(this.#target, object, options);
  }

  patch(name: string, body: Patch<T>, options: WriteCallOptions = {}): Promise<T> {
    return patch(this.#target, name, body, options);
  }

  change(name: string, edit: (object: Mutable<T>) => unknown, options: WriteCallOptions = {}): Promise<T> {
    return change<T>(this.#target, name, edit, options);
  }
}
