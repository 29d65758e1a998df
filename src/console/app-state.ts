/** The parts that all pages share: the API, the address of the page, the kinds of the server. */
import { computed, type ReadonlySignal, signal } from "@preact/signals";
import { Api, type SignedIn, failureText } from "./api.ts";
import { type ServedKind, kindOf, readKinds } from "./kinds.ts";
import { readRoute } from "./routes.ts";

/** The maximum delay of a timer of a browser, which fires at once after a longer one. */
const timerMaxMs = 2 ** 31 - 1;

export class App {
  readonly api: Api;
  readonly route = signal(readRoute(location.hash));
  readonly kinds = signal<readonly ServedKind[]>([]);
  /** Groups that could not be asked, or why nothing could. */
  readonly missing = signal<readonly string[]>([]);
  readonly areKindsRead = signal(false);
  /** The namespace that pages are about; empty for all. */
  readonly namespace: ReadonlySignal<string>;
  readonly #lastNamespace = signal("");
  readonly #enter: (access: SignedIn | undefined) => void;
  readonly #ended = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** `enter` goes on with another access, or signs out without one. */
  constructor(access: SignedIn, enter: (access: SignedIn | undefined) => void) {
    this.api = new Api(access, true);
    this.#enter = enter;
    this.#expectEnd();
    this.namespace = computed(() => this.route.value.query.get("ns") ?? this.#lastNamespace.value);
    const { signal: ended } = this.#ended;
    addEventListener("hashchange", () => (this.route.value = readRoute(location.hash)), { signal: ended });
    void this.readKinds();
  }

  async readKinds(): Promise<void> {
    try {
      const { kinds, missing } = await readKinds(this.api);
      this.kinds.value = kinds;
      this.missing.value = missing;
    } catch (error) {
      this.missing.value = [failureText(error)];
    }
    this.areKindsRead.value = true;
  }

  /** Returns a kind by the parts of an address. */
  kind(group: string, version: string, resource: string): ServedKind | undefined {
    const same = this.kinds.value.filter((one) => one.group === group && one.resource === resource);
    return same.find((one) => one.version === version) ?? same[0];
  }

  kindOf(apiVersion: string, kind: string): ServedKind | undefined {
    return kindOf(this.kinds.value, apiVersion, kind);
  }

  /** Changes parameters of the address; empty ones are left out. The page before stays in the history of the browser. */
  setQuery(changes: Readonly<Record<string, string>>): void {
    const { hash } = location;
    const query = new URLSearchParams(this.route.value.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === "") query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    location.hash = `${hash.split("?", 1)[0] || "#/"}${text === "" ? "" : `?${text}`}`;
  }

  setNamespace(namespace: string): void {
    this.#lastNamespace.value = namespace;
    if (this.route.value.query.has("ns") || namespace !== "") this.setQuery({ ns: namespace });
  }

  /** Goes on with a new token: on the same page for the same user, from the start for another one. */
  renew(access: SignedIn): void {
    if (access.provided?.subject === this.api.access.provided?.subject) {
      this.api.renew(access);
      this.#expectEnd();
    } else {
      this.#end();
      this.#enter(access);
    }
  }

  /** Tells when the token ends: a watch that is under way goes on, and would not notice. */
  #expectEnd(): void {
    clearTimeout(this.#timer);
    const leftMs = (this.api.access.provided?.expiresMs ?? Number.POSITIVE_INFINITY) - Date.now();
    if (leftMs > timerMaxMs) return;
    this.#timer = setTimeout(() => (this.api.isSignedOut.value = true), Math.max(0, leftMs));
  }

  #end(): void {
    clearTimeout(this.#timer);
    this.#ended.abort();
  }

  /** Forgets the token, also where the server keeps it for this page only. */
  signOut(): void {
    this.#end();
    if (this.api.access.kind === "code")
      void this.api.fetch({ method: "DELETE", path: "session" }).catch(() => undefined);
    this.#enter(undefined);
  }
}
