/**
 * A table of the server, kept up to date: the list is read in pages, then watched from its version. Changes are shown
 * once a frame, however many come. When the server no longer has that version (410), the list is read again.
 */
import { signal } from "@preact/signals";
import { type Api, ApiFailure } from "./api.ts";

export interface FeedColumn {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  /** Columns above 0 are for wide tables. */
  readonly priority?: number;
}

export interface FeedRow {
  /** Namespace and name, which order the rows. */
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
  readonly cells: readonly unknown[];
  readonly created: string | undefined;
  readonly isDeleting: boolean;
}

interface WireRow {
  readonly cells: readonly unknown[];
  readonly object?: {
    readonly metadata?: {
      readonly name?: string;
      readonly namespace?: string;
      readonly creationTimestamp?: string;
      readonly deletionTimestamp?: string;
    };
  };
}

interface Table {
  readonly kind: string;
  readonly columnDefinitions?: readonly FeedColumn[] | null;
  readonly rows?: readonly WireRow[] | null;
  readonly metadata?: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

interface TableEvent {
  readonly type: string;
  readonly object: Table & { readonly code?: number; readonly message?: string };
}

const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

const pageSize = 500;
const pauseMs = { first: 500, most: 15_000 };

export type FeedState = "reading" | "live" | "waiting" | "refused";

interface FeedOptions {
  readonly api: Api;
  /** The path of the collection, without its query. */
  readonly path: string;
  readonly labelSelector: string;
  readonly fieldSelector: string;
}

export class TableFeed {
  readonly columns = signal<readonly FeedColumn[]>([]);
  /** Changes with the rows. */
  readonly version = signal(0);
  readonly state = signal<FeedState>("reading");
  readonly problem = signal("");
  /** The number of rows that the server has and that are not read yet. */
  readonly remaining = signal(0);
  readonly #options: FeedOptions;
  readonly #abort = new AbortController();
  #byKey = new Map<string, FeedRow>();
  #sorted: FeedRow[] = [];
  #isFrameDue = false;
  #areRowsOld = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#abort.abort();
  }

  /** Returns the rows by namespace and name. The array must not be changed. */
  rows(): readonly FeedRow[] {
    if (this.#areRowsOld) {
      this.#sorted = [...this.#byKey.values()].sort(byKey);
      this.#areRowsOld = false;
    }
    return this.#sorted;
  }

  async #run(): Promise<void> {
    let wait = pauseMs.first;
    while (!this.#abort.signal.aborted) {
      try {
        let resourceVersion: string | undefined = await this.#list();
        wait = pauseMs.first;
        while (resourceVersion !== undefined) resourceVersion = await this.#watch(resourceVersion);
      } catch (error) {
        if (this.#abort.signal.aborted) return;
        this.problem.value = error instanceof Error ? error.message : String(error);
        const isRefused = error instanceof ApiFailure && [400, 401, 403, 404, 405].includes(error.code);
        this.state.value = isRefused ? "refused" : "waiting";
        if (isRefused && error.code !== 401) return;
        if (isRefused) {
          await this.#options.api.renewed(this.#abort.signal);
          continue;
        }
        await pause(wait, this.#abort.signal);
        wait = Math.min(wait * 2, pauseMs.most);
      }
    }
  }

  #query(more: Readonly<Record<string, string>>): string {
    const { path, labelSelector, fieldSelector } = this.#options;
    const query = new URLSearchParams(more);
    if (labelSelector !== "") query.set("labelSelector", labelSelector);
    if (fieldSelector !== "") query.set("fieldSelector", fieldSelector);
    return `${path}?${query}`;
  }

  /** Reads all pages. Returns the version of the list. */
  async #list(): Promise<string> {
    this.state.value = "reading";
    const rows = new Map<string, FeedRow>();
    // The first list is shown page by page; a later one replaces the rows when it is complete.
    const isFirst = this.#byKey.size === 0;
    let resourceVersion = "";
    let next = "";
    do {
      const page: Table = await this.#options.api.json<Table>({
        path: this.#query({ limit: String(pageSize), ...(next === "" ? {} : { continue: next }) }),
        accept: asTable,
        signal: this.#abort.signal,
      });
      if (page.kind !== "Table")
        throw new ApiFailure(400, { message: "this server does not make tables of this kind" });
      if (page.columnDefinitions) this.columns.value = page.columnDefinitions;
      for (const wire of page.rows ?? []) add(rows, wire);
      resourceVersion = page.metadata?.resourceVersion ?? "";
      next = page.metadata?.continue ?? "";
      this.remaining.value = page.metadata?.remainingItemCount ?? 0;
      if (isFirst || next === "") {
        this.#byKey = rows;
        this.#changed();
      }
    } while (next !== "");
    return resourceVersion;
  }

  /** Watches until the stream ends. Returns the version to go on from; `undefined` when the list has to be read again. */
  async #watch(from: string): Promise<string | undefined> {
    const { api } = this.#options;
    let resourceVersion = from;
    const response = await api.send({
      path: this.#query({ watch: "true", allowWatchBookmarks: "true", resourceVersion }),
      accept: asTable,
      signal: this.#abort.signal,
    });
    this.state.value = "live";
    this.problem.value = "";
    try {
      for await (const line of linesOf(response.body!)) {
        const { type, object } = JSON.parse(line) as TableEvent; // the server watches a table
        if (type === "ERROR") {
          if (object.code === 410) return undefined;
          throw new ApiFailure(object.code ?? 0, object);
        }
        resourceVersion = versionOf(object) ?? resourceVersion;
        for (const wire of object.rows ?? []) {
          if (type === "DELETED") this.#byKey.delete(keyOf(wire));
          else if (type !== "BOOKMARK") add(this.#byKey, wire);
        }
        if (type !== "BOOKMARK") this.#changed();
      }
    } catch (error) {
      if (error instanceof ApiFailure || this.#abort.signal.aborted) throw error;
      // The connection was lost: the next watch goes on from here.
      await pause(pauseMs.first, this.#abort.signal);
    }
    return resourceVersion;
  }

  /** Tells the page about changes, once a frame. */
  #changed(): void {
    this.#areRowsOld = true;
    if (this.#isFrameDue) return;
    this.#isFrameDue = true;
    requestAnimationFrame(() => {
      this.#isFrameDue = false;
      this.version.value += 1;
    });
  }
}

function keyOf({ object }: WireRow): string {
  const { name = "", namespace = "" } = object?.metadata ?? {};
  return `${namespace}/${name}`;
}

function add(rows: Map<string, FeedRow>, wire: WireRow): void {
  const { name = "", namespace = "", creationTimestamp: created, deletionTimestamp } = wire.object?.metadata ?? {};
  const key = `${namespace}/${name}`;
  const isDeleting = deletionTimestamp !== undefined;
  rows.set(key, { key, namespace, name, cells: wire.cells, created, isDeleting });
}

/** Returns the version of an event: that of its row, or of the bookmark. */
function versionOf(table: Table): string | undefined {
  const row = table.rows?.[0]?.object?.metadata as { readonly resourceVersion?: string } | undefined;
  return row?.resourceVersion ?? (table.metadata?.resourceVersion || undefined);
}

const byKey = (one: FeedRow, other: FeedRow): number => (one.key < other.key ? -1 : one.key > other.key ? 1 : 0);

/** The maximum characters of a line; an event has one object. */
const lineMax = 64 * 1024 * 1024;

async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const piece of body) {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = lines.pop()!;
    if (rest.length > lineMax) throw new Error("a line of the watch is too long");
    for (const line of lines) if (line !== "") yield line;
  }
}

function pause(ms: number, abort: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    abort.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });
}
