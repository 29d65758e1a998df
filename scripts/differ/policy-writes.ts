/** Random writes of objects to which admission policies apply. */
import type { Random } from "#std/random.ts";
import { maybe, pick, upTo } from "./choices.ts";
import type { Subject } from "./policy-subjects.ts";
import type { Json } from "./servers.ts";

/** A request of a case. `{ns}` in a path stands for the namespace of the case. */
export interface PolicyRequest {
  readonly method: "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: Json;
  /** The type of a patch: `merge`, `json` or `apply`. */
  readonly patch?: string;
  /** The name of the user who sends the request; by default the owner of the token. */
  readonly user?: string;
}

/** Makes random requests about objects of one kind. */
class SubjectRequests {
  readonly #random: Random;
  readonly #subject: Subject;

  constructor(random: Random, subject: Subject) {
    this.#random = random;
    this.#subject = subject;
  }

  create(name: string): PolicyRequest {
    const version = this.#version();
    const path = `${this.#path(version)}${this.#query()}`;
    return { method: "POST", path, body: this.#object(version, name), ...this.#user() };
  }

  replace(name: string): PolicyRequest {
    const version = this.#version();
    const path = `${this.#path(version, name)}${this.#query()}`;
    return { method: "PUT", path, body: this.#object(version, name), ...this.#user() };
  }

  patch(name: string): PolicyRequest {
    const { apiVersion: _version, kind: _kind, ...body } = this.#object(this.#version(), name);
    const path = `${this.#path(this.#version(), name)}${this.#query()}`;
    return { method: "PATCH", patch: "merge", path, body, ...this.#user() };
  }

  apply(name: string): PolicyRequest {
    const version = this.#version();
    const path = `${this.#path(version, name)}?fieldManager=applier&force=true`;
    return { method: "PATCH", patch: "apply", path, body: this.#object(version, name), ...this.#user() };
  }

  /** Returns patches of the subresources. */
  patchParts(name: string): PolicyRequest[] {
    return this.#subject.subresources.map((part) => ({
      method: "PATCH",
      patch: "merge",
      path: `${this.#path(this.#version(), name, part)}${this.#query()}`,
      body:
        part === "scale"
          ? { spec: { replicas: upTo(this.#random, 5) } }
          : { status: { replicas: upTo(this.#random, 3) } },
      ...this.#user(),
    }));
  }

  remove(name: string): PolicyRequest {
    const path = `${this.#path(this.#version(), name)}${pick(this.#random, ["", "?dryRun=All"])}`;
    return { method: "DELETE", path, ...this.#user() };
  }

  #version(): string {
    return pick(this.#random, this.#subject.versions);
  }

  /** Returns the path of the collection, or of an object or subresource. */
  #path(version: string, ...below: readonly string[]): string {
    const { group, namespaced, resource } = this.#subject;
    const base = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    return [base, ...(namespaced ? ["namespaces/{ns}"] : []), resource, ...below].join("/");
  }

  #object(version: string, name: string): Json {
    const { group, kind } = this.#subject;
    const apiVersion = group === "" ? version : `${group}/${version}`;
    return { apiVersion, kind, metadata: this.#metadata(name), ...this.#subject.body(this.#random) };
  }

  #metadata(name: string): Json {
    const random = this.#random;
    const labels = (): Json => ({
      ...maybe(random, 0.7, () => ({ env: pick(random, ["prod", "dev"]) })),
      ...maybe(random, 0.3, () => ({ a: "b" })),
    });
    return {
      name,
      ...maybe(random, 0.6, () => ({ labels: labels() })),
      ...maybe(random, 0.3, () => ({ annotations: { note: pick(random, ["", "n"]) } })),
    };
  }

  #query(): string {
    return pick(this.#random, ["", "", "", "?dryRun=All", "?fieldManager=differ", "?fieldValidation=Strict"]);
  }

  #user(): Pick<PolicyRequest, "user"> {
    return maybe(this.#random, 0.3, () => ({ user: "bob" }));
  }
}

/** Returns requests about objects of one kind, in their order. */
export function requestsAbout(random: Random, subject: Subject): PolicyRequest[] {
  const requests = new SubjectRequests(random, subject);
  return [
    requests.create("one"),
    requests.create("one"),
    requests.create("two"),
    requests.create("other"),
    requests.patch("one"),
    requests.replace("one"),
    requests.patch("two"),
    requests.apply("two"),
    requests.apply("third"),
    ...requests.patchParts("one"),
    ...requests.patchParts("two"),
    requests.remove("one"),
    requests.remove("two"),
    requests.remove("other"),
    requests.remove("third"),
    requests.create("one"),
  ];
}
