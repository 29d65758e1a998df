/** Tables as servers make them for people, and their lines. Source of the form: `meta.k8s.io/v1` Table. */
import type { Unstructured } from "#meta/object-meta.ts";
import { printable } from "#std/printable.ts";

/**
 * The media type that asks for tables. Servers of every API domain know the group by this name; those that make no table
 * of a kind answer with its objects.
 */
export const acceptTable = "application/json;as=Table;g=meta.k8s.io;v=v1,application/json";

export interface ServerTable {
  readonly kind: "Table";
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly columnDefinitions?: readonly Column[] | null;
  readonly rows?: readonly Row[] | null;
}

interface Column {
  readonly name: string;
  /** Above 0 for columns of wide tables. */
  readonly priority?: number;
}

interface Row {
  readonly cells: readonly unknown[];
  /** The metadata of the object. */
  readonly object?: Unstructured;
}

interface TableOptions {
  readonly isWide: boolean;
  /** Whether lines begin with the namespace. */
  readonly hasNamespaces: boolean;
  readonly noHeaders: boolean;
  /** The text before each name, such as `pod/` when several kinds are printed. */
  readonly namePrefix: string;
}

/** Returns lines of tables of one kind, with the same columns. It remembers the columns, which later tables may lack. */
export class TablePrinter {
  readonly #options: TableOptions;
  #columns: readonly Column[] = [];
  #widths: number[] = [];
  #hasHead = false;

  constructor(options: TableOptions) {
    this.#options = options;
  }

  /** Returns the lines of the rows, with the head before the first of them. */
  lines({ columnDefinitions, rows }: ServerTable): string {
    if (columnDefinitions !== undefined && columnDefinitions !== null && columnDefinitions.length > 0) {
      this.#columns = columnDefinitions;
    }
    const { isWide, hasNamespaces, noHeaders, namePrefix } = this.#options;
    const shown = this.#columns.map(({ priority = 0 }) => isWide || priority === 0);
    const names = this.#columns.filter((_, i) => shown[i] === true).map(({ name }) => name.toUpperCase());
    const cells = (rows ?? []).map(({ cells: all, object }) => {
      const own = all.filter((_, i) => shown[i] === true).map(cellText);
      if (namePrefix !== "") own[0] = `${namePrefix}${own[0] ?? ""}`;
      return hasNamespaces ? [object?.metadata.namespace ?? "", ...own] : own;
    });
    if (cells.length === 0) return "";
    const head = this.#hasHead || noHeaders ? [] : [hasNamespaces ? ["NAMESPACE", ...names] : names];
    this.#hasHead = true;
    const all = [...head, ...cells];
    for (const row of all) {
      for (const [i, cell] of row.entries()) this.#widths[i] = Math.max(this.#widths[i] ?? 0, cell.length);
    }
    return all.map((row) => `${this.#line(row)}\n`).join("");
  }

  #line(row: readonly string[]): string {
    return row
      .map((cell, i) => cell.padEnd(this.#widths[i]! + 3))
      .join("")
      .trimEnd();
  }
}

function cellText(cell: unknown): string {
  if (cell === null || cell === undefined) return "<none>";
  const [line = "", ...more] = (typeof cell === "string" ? cell : JSON.stringify(cell)).split("\n");
  return printable(more.length > 0 ? `${line}...` : line);
}
