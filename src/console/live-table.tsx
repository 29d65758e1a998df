/**
 * A table of any length: only the rows that are in sight, and some around them, are in the document. All rows have the
 * same height. The arrow keys go from row to row.
 */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { ServedKind } from "./kinds.ts";
import { asPart, hrefOf } from "./routes.ts";
import type { FeedColumn, FeedState, FeedRow, TableFeed, TableOrder } from "./table-feed.ts";
import { ageText, plainText, Text } from "./text.tsx";

interface LiveTableProps {
  readonly feed: TableFeed;
  readonly kind: ServedKind;
  readonly isWide: boolean;
  /** Rows whose name has this part are shown. */
  readonly word: string;
  readonly showsNamespace: boolean;
}

/** The height of a row in pixels, as in the style sheet. */
const rowHeight = 28;
/** The rows above and below those in sight. */
const margin = 12;
/** The rows that a frame adds to the document at most: those of a whole window would make it a long one. */
const addedMax = 16;
/** The time after which ages are written anew. */
const agesMs = 10_000;

/** The column by which rows are sorted. */
interface Order {
  readonly at: number;
  readonly isDown: boolean;
  /** Whether its cells are ages, which the time of creation says exactly. */
  readonly isAge: boolean;
}

/** A column with its position in the cells. */
interface ShownColumn extends FeedColumn {
  readonly at: number;
}

export function LiveTable({ feed, kind, isWide, word, showsNamespace }: LiveTableProps) {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(600);
  const now = useSignal(Date.now());
  const order = useSignal<Order | undefined>(undefined);
  useLayoutEffect(() => {
    const element = box.current!;
    const sized = new ResizeObserver(() => (height.value = element.clientHeight));
    sized.observe(element);
    return () => sized.disconnect();
  }, []);
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), agesMs);
    return () => clearInterval(timer);
  }, []);
  const columns = feed.columns.value
    .map((column, at): ShownColumn => ({ ...column, at }))
    .filter(({ priority = 0 }) => isWide || priority === 0);
  useEffect(() => feed.arrange(tableOrder(word, order.value)), [feed, word, order.value]);
  // The rows are read anew with each version.
  const rows = feed.version.value >= 0 ? feed.rows() : [];
  const first = Math.max(0, Math.floor(top.value / rowHeight) - margin);
  const wanted = Math.min(rows.length - first, Math.ceil(height.value / rowHeight) + 2 * margin);
  const last = first + useGradual(wanted);
  const drawn = useRef<DrawnRows>({ first: 0, keys: [], slots: new Map() });
  const shown = rows.slice(first, last);
  const slots = slotsOf(drawn.current, shown, focusedIndex(box.current));
  drawn.current = { first, keys: shown.map(({ key }) => key), slots };
  const widths = useMemo(() => columnWidths(columns, rows), [columns.length, rows.length > 0]);
  return (
    <>
      <Status feed={feed} shown={rows.length} />
      <div
        class="rows"
        ref={box}
        onScroll={(event) => (top.value = event.currentTarget.scrollTop)}
        onKeyDown={(event) => moveFocus(event, rowHeight)}
      >
        <table aria-rowcount={rows.length + 1} aria-label={plainText(kind.kind)}>
          <Head columns={columns} widths={widths} showsNamespace={showsNamespace} order={order} />
          <tbody>
            <Gap rows={first} />
            {shown.map((row, at) => (
              <TableRow
                key={slots.get(row.key)!}
                row={row}
                index={first + at + 2}
                columns={columns}
                href={objectHref(kind, row)}
                showsNamespace={showsNamespace}
                now={now.value}
              />
            ))}
            <Gap rows={rows.length - last} />
          </tbody>
        </table>
      </div>
    </>
  );
}

/** Returns a number that grows to the wanted one by `addedMax` in each frame, and shrinks at once. */
function useGradual(wanted: number): number {
  const reached = useSignal(0);
  const count = Math.min(wanted, reached.value + addedMax);
  useLayoutEffect(() => {
    const frame = requestAnimationFrame(() => (reached.value = count));
    return () => cancelAnimationFrame(frame);
  }, [count]);
  return count;
}

/** The rows that are in the document, and the number of the element of each. */
interface DrawnRows {
  readonly first: number;
  readonly keys: readonly string[];
  readonly slots: ReadonlyMap<string, number>;
}

/**
 * Returns the number of the element of each row. A row keeps its element while it is in the document, and the focus with it;
 * elements of rows that have left are used for those that come, which is faster than making them. The one with the
 * focus is not: whoever presses Enter must not open another object.
 */
function slotsOf(drawn: DrawnRows, rows: readonly FeedRow[], focused: number | undefined): ReadonlyMap<string, number> {
  const wanted = new Set(rows.map(({ key }) => key));
  const focusedKey = focused === undefined ? undefined : drawn.keys[focused - drawn.first];
  const free = [...drawn.slots].filter(([key]) => !wanted.has(key) && key !== focusedKey).map(([, slot]) => slot);
  let unused = Math.max(-1, ...drawn.slots.values()) + 1;
  // The order of the elements stays as it is where all rows are new.
  const taken = free.values();
  return new Map(rows.map(({ key }) => [key, drawn.slots.get(key) ?? taken.next().value ?? unused++]));
}

/** Returns the index of the row that has the focus; `undefined` if none has. */
function focusedIndex(box: HTMLElement | null): number | undefined {
  const row = box?.querySelector("tbody tr:focus-within")?.ariaRowIndex;
  return row === null || row === undefined ? undefined : Number(row) - 2;
}

const objectHref = ({ group, version, resource }: ServedKind, { namespace, name }: FeedRow): string =>
  hrefOf("object", [asPart(group), version, resource, asPart(namespace), name]);

/** Returns the order for rows whose name has `word`; `undefined` for all rows in the order of the server. */
function tableOrder(word: string, order: Order | undefined): TableOrder | undefined {
  if (word === "" && order === undefined) return undefined;
  const { at = -1, isDown = false, isAge = false } = order ?? {};
  return {
    fits: ({ name }) => word === "" || name.toLowerCase().includes(word),
    sortKeyOf(row) {
      if (order === undefined) return row.key;
      // An object without a time counts as made long ago.
      return isAge ? -(Date.parse(row.created ?? "") || 0) : sortKey(row.cells[at]);
    },
    isDown,
  };
}

/** Returns what a cell is sorted by. Numbers in texts count as numbers, in the form of a text: comparing is fast then. */
const sortKey = (cell: unknown): string | number =>
  typeof cell === "number"
    ? cell
    : cellText(cell)
        .toLowerCase()
        .replace(/\d+/g, (digits) => digits.padStart(12, "0"));

const cellText = (cell: unknown): string =>
  cell === null || cell === undefined ? "" : typeof cell === "string" ? cell : JSON.stringify(cell);

/** Returns the share of each column in hundredths, by the texts of the first rows. */
function columnWidths(columns: readonly ShownColumn[], rows: readonly FeedRow[]): readonly number[] {
  const sizes = columns.map(({ name, at }) =>
    rows
      .slice(0, 100)
      .reduce((most, { cells }) => Math.max(most, Math.min(cellText(cells[at]).length, 48)), name.length + 2),
  );
  const sum = sizes.reduce((all, size) => all + size + 3, 0);
  return sizes.map((size) => Math.round(((size + 3) / sum) * 10_000) / 100);
}

interface HeadProps {
  readonly columns: readonly ShownColumn[];
  readonly widths: readonly number[];
  readonly showsNamespace: boolean;
  readonly order: Signal<Order | undefined>;
}

function Head({ columns, widths, showsNamespace, order }: HeadProps) {
  const sort = ({ at, name }: ShownColumn): void => {
    const { value } = order;
    const isAge = name === "Age";
    order.value =
      value?.at !== at ? { at, isDown: false, isAge } : value.isDown ? undefined : { at, isDown: true, isAge };
  };
  return (
    <>
      <colgroup>
        {showsNamespace && <col class="namespace-column" />}
        {columns.map(({ name }, at) => (
          <col key={name} style={{ width: `${widths[at]}%` }} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          {showsNamespace && <th scope="col">Namespace</th>}
          {columns.map((column) => {
            const { name, description = "", at } = column;
            const own = order.value?.at === at ? order.value : undefined;
            const direction = own === undefined ? "none" : own.isDown ? "descending" : "ascending";
            return (
              <th key={name} scope="col" aria-sort={direction} title={plainText(description)}>
                <button type="button" class="sort" onClick={() => sort(column)}>
                  {plainText(name)} {own === undefined ? "" : own.isDown ? "▾" : "▴"}
                </button>
              </th>
            );
          })}
        </tr>
      </thead>
    </>
  );
}

interface RowProps {
  readonly row: FeedRow;
  readonly index: number;
  readonly columns: readonly ShownColumn[];
  readonly href: string;
  readonly showsNamespace: boolean;
  readonly now: number;
}

function TableRow({ row, index, columns, href, showsNamespace, now }: RowProps) {
  return (
    <tr aria-rowindex={index} class={row.isDeleting ? "deleting" : undefined}>
      {showsNamespace && <td>{plainText(row.namespace)}</td>}
      {columns.map(({ name, at }, position) => {
        const text = name === "Age" && row.created !== undefined ? ageText(row.created, now) : cellText(row.cells[at]);
        return (
          <td key={name} title={text.length > 40 ? plainText(text.slice(0, 1000)) : undefined}>
            {position === 0 ? <a href={href}>{plainText(text.slice(0, 300))}</a> : plainText(text.slice(0, 300))}
          </td>
        );
      })}
    </tr>
  );
}

/** The room of rows that are not in the document. */
const Gap = ({ rows }: { readonly rows: number }) =>
  rows <= 0 ? null : (
    <tr aria-hidden="true" class="gap" style={{ height: `${rows * rowHeight}px` }}>
      <td />
    </tr>
  );

const stateTexts: Readonly<Record<FeedState, string>> = {
  reading: "reading",
  live: "live",
  waiting: "disconnected, trying again",
  refused: "refused",
};

function Status({ feed, shown }: { readonly feed: TableFeed; readonly shown: number }) {
  const { state, problem, remaining } = feed;
  const all = feed.version.value >= 0 ? feed.count : 0;
  const left = remaining.value > 0 ? `, ${remaining.value.toLocaleString("en")} more to come` : "";
  return (
    <p class="status" role="status">
      <span class={`dot ${state.value}`} /> {stateTexts[state.value]}:{" "}
      {shown === all ? "" : `${shown.toLocaleString("en")} of `}
      {all.toLocaleString("en")} {all === 1 ? "object" : "objects"}
      {left}
      {problem.value !== "" && state.value !== "live" && (
        <span class="problem">
          {" "}
          <Text of={problem.value} max={500} />
        </span>
      )}
    </p>
  );
}

/** Moves the focus to the link of another row. */
function moveFocus(event: KeyboardEvent & { readonly currentTarget: HTMLElement }, step: number): void {
  const box = event.currentTarget;
  const row = (document.activeElement as HTMLElement | null)?.closest("tbody tr");
  if (row === null || row === undefined) return;
  const target =
    event.key === "ArrowDown" ? row.nextElementSibling : event.key === "ArrowUp" ? row.previousElementSibling : null;
  const link = target?.querySelector("a");
  if (target === null || link === null || link === undefined) return;
  event.preventDefault();
  // The head of the table covers what is above.
  const head = box.querySelector("thead")!.clientHeight;
  const offset = (target as HTMLElement).offsetTop;
  if (offset < box.scrollTop + head) box.scrollTop = offset - head;
  if (offset + step > box.scrollTop + box.clientHeight) box.scrollTop = offset + step - box.clientHeight;
  link.focus({ preventScroll: true });
}
