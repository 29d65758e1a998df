/**
 * A table of the server, kept up to date: the list is read in pages, then watched from its version. Changes wait for the
 * next frame, which takes a bounded number of them: of several changes of a row the last one alone. When the server no
 * longer has that version (410), the list is read again.
 */
import { signal } from "@preact/signals";
import { type Api, ApiFailure } from "./api.ts";
import { compareSortKeys, type RowChange, type SortKey, SortedRows } from "./sorted-rows.ts";

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

/** The order in which rows are shown, and which of them are. */
export interface TableOrder {
  fits(row: FeedRow): boolean;
  sortKeyOf(row: FeedRow): SortKey;
  readonly isDown: boolean;
}

/** The order in which the server lists. */
const listed: TableOrder = { fits: () => true, sortKeyOf: ({ key }) => key, isDown: false };

/** The maximum changes, and rows of a new order, of a frame. */
const changesMax = 500;
const arrangedMax = 2000;

/** The maximum events that are read at once, without leaving time for frames. */
const eventsMax = 200;

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
  /** The rows that are shown, and the changes that wait: at most one for each row that is there or will be. */
  readonly #byKey = new Map<string, FeedRow>();
  readonly #waiting = new Map<string, FeedRow | undefined>();
  #sorted = sortedBy(listed);
  /** The rows in a new order, which are not all there yet, and the keys of those that are missing. */
  #arranging: { readonly sorted: SortedRows<FeedRow>; readonly missing: IterableIterator<string> } | undefined;
  #isFrameDue = false;

  constructor(options: FeedOptions) {
    this.#options = options;
    void this.#run();
  }

  close(): void {
    this.#abort.abort();
  }

  /** Returns the rows that fit, in their order. The array must not be changed. */
  rows(): readonly FeedRow[] {
    return this.#sorted.rows;
  }

  /** The number of rows, whether they fit or not. */
  get count(): number {
    return this.#byKey.size;
  }

  /** Arranges the rows anew over the next frames; the former order is shown until then. `undefined` is the server's. */
  arrange(order: TableOrder | undefined): void {
    this.#arranging = { sorted: sortedBy(order ?? listed), missing: [...this.#byKey.keys()].values() };
    this.#requestFrame();
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
        if (isRefused) return;
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
    const keys = new Set<string>();
    const later: FeedRow[] = [];
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
      const rows = (page.rows ?? []).map(rowOf);
      for (const { key } of rows) keys.add(key);
      resourceVersion = page.metadata?.resourceVersion ?? "";
      next = page.metadata?.continue ?? "";
      this.remaining.value = page.metadata?.remainingItemCount ?? 0;
      if (isFirst) for (const row of rows) this.#change(row.key, row);
      else later.push(...rows);
    } while (next !== "");
    for (const row of later) this.#change(row.key, row);
    for (const key of [...this.#byKey.keys(), ...this.#waiting.keys()])
      if (!keys.has(key)) this.#change(key, undefined);
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
    let events = 0;
    try {
      for await (const line of linesOf(response.body!)) {
        const { type, object } = JSON.parse(line) as TableEvent; // the server watches a table
        if (type === "ERROR") {
          if (object.code === 410) return undefined;
          throw new ApiFailure(object.code ?? 0, object);
        }
        resourceVersion = versionOf(object) ?? resourceVersion;
        for (const wire of type === "BOOKMARK" ? [] : (object.rows ?? [])) {
          const row = rowOf(wire);
          this.#change(row.key, type === "DELETED" ? undefined : row);
        }
        events += 1;
        if (events % eventsMax === 0) await pause(0, this.#abort.signal);
      }
    } catch (error) {
      if (error instanceof ApiFailure || this.#abort.signal.aborted) throw error;
      // The connection was lost: the next watch goes on from here.
      await pause(pauseMs.first, this.#abort.signal);
    }
    return resourceVersion;
  }

  #change(key: string, row: FeedRow | undefined): void {
    // A row that was never shown leaves nothing behind: a page in the background gets no frames.
    if (row === undefined && !this.#byKey.has(key)) this.#waiting.delete(key);
    else this.#waiting.set(key, row);
    this.#requestFrame();
  }

  #requestFrame(): void {
    if (this.#isFrameDue) return;
    this.#isFrameDue = true;
    requestAnimationFrame(() => {
      this.#isFrameDue = false;
      this.#frame();
    });
  }

  /** Takes what waits, up to the bounds of a frame, and tells the page. */
  #frame(): void {
    const changes = [...firstOf(this.#waiting.entries(), changesMax)].map(
      ([key, row]): RowChange<FeedRow> => ({ key, row }),
    );
    for (const { key, row } of changes) {
      this.#waiting.delete(key);
      if (row === undefined) this.#byKey.delete(key);
      else this.#byKey.set(key, row);
    }
    if (changes.length > 0) this.#sorted.change(changes);
    const arranging = this.#arranging;
    if (arranging !== undefined) {
      const keys = [...firstOf(arranging.missing, arrangedMax)];
      arranging.sorted.change([...keys.map((key) => ({ key, row: this.#byKey.get(key) })), ...changes]);
      if (keys.length < arrangedMax) {
        this.#sorted = arranging.sorted;
        this.#arranging = undefined;
      }
    }
    this.version.value += 1;
    if (this.#waiting.size > 0 || this.#arranging !== undefined) this.#requestFrame();
  }
}

const sortedBy = ({ fits, sortKeyOf, isDown }: TableOrder): SortedRows<FeedRow> =>
  new SortedRows({
    fits,
    sortKeyOf,
    compare: isDown ? (one, other) => compareSortKeys(other, one) : compareSortKeys,
  });

/** Takes at most `max` values of an iterator, which goes on behind them later. */
function* firstOf<T>(values: IterableIterator<T>, max: number): Generator<T> {
  for (let taken = 0; taken < max; taken++) {
    const { value, done } = values.next();
    if (done === true) return;
    yield value;
  }
}

function rowOf({ cells, object }: WireRow): FeedRow {
  const { name = "", namespace = "", creationTimestamp: created, deletionTimestamp } = object?.metadata ?? {};
  return { key: `${namespace}/${name}`, namespace, name, cells, created, isDeleting: deletionTimestamp !== undefined };
}

/** Returns the version of an event: that of its row, or of the bookmark. */
function versionOf(table: Table): string | undefined {
  const row = table.rows?.[0]?.object?.metadata as { readonly resourceVersion?: string } | undefined;
  return row?.resourceVersion ?? (table.metadata?.resourceVersion || undefined);
}

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
    const end = (): void => {
      clearTimeout(timer);
      abort.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    abort.addEventListener("abort", end);
  });
}
