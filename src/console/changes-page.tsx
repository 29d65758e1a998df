/** The changes of a namespace or of the cluster, the newest first: who did what, and which lines differ. */
import type { PastItem, PastPage } from "#meta/past-item.ts";
import { useSignal } from "@preact/signals";
import { ApiFailure, failureText, hasNoHistory } from "./api.ts";
import type { App } from "./app-state.ts";
import { Difference } from "./difference.tsx";
import { whoOf } from "./history.ts";
import { historyPath, type ServedKind } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import { asPart, hrefOf } from "./routes.ts";
import { Age, plainText, Text } from "./text.tsx";

interface Change {
  readonly kind: ServedKind;
  readonly item: PastItem;
}

interface Changes {
  readonly items: readonly Change[];
  readonly refused: readonly string[];
  readonly hasHistory: boolean;
}

/** Kinds that change all the time, which nobody looks for here. */
const busyKinds: ReadonlySet<string> = new Set(["events", "leases"]);
const pageSize = 50;
const shownMax = 200;

export function ChangesPage({ app }: { readonly app: App }) {
  const { query } = app.route.value;
  const since = query.get("since") ?? "10m";
  const isOnlyDeleted = query.get("deleted") === "true";
  const namespace = app.namespace.value;
  const kinds = app.kinds.value;
  const [loaded, reload] = useLoaded(
    (abort) => readChanges(app, namespace, { since, isOnlyDeleted }, abort),
    [kinds, namespace, since, isOnlyDeleted],
  );
  const { value, error, isLoading } = loaded.value;
  return (
    <>
      <div class="title">
        <h1>Changes</h1>
        <span class="dim">{namespace === "" ? "of the whole cluster" : `in ${plainText(namespace)}`}</span>
      </div>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <label>
          Since
          <input
            value={since}
            placeholder="10m, 2d, 2026-01-31T12:00:00Z"
            onChange={(event) => app.setQuery({ since: event.currentTarget.value.trim() })}
          />
        </label>
        <label class="check">
          <input
            type="checkbox"
            checked={isOnlyDeleted}
            onChange={(event) => app.setQuery({ deleted: event.currentTarget.checked ? "true" : "" })}
          />
          deletions only
        </label>
        <button type="button" onClick={reload}>
          Reload
        </button>
      </form>
      {error !== undefined && (
        <p role="alert" class="problem">
          <Text of={failureText(error)} />
        </p>
      )}
      {isLoading && <p class="dim">Reading the history of all kinds …</p>}
      {value !== undefined && <ChangeList changes={value} />}
    </>
  );
}

function ChangeList({ changes: { items, refused, hasHistory } }: { readonly changes: Changes }) {
  if (!hasHistory) return <p class="notice">This server keeps no history: it is a feature of Binnacle.</p>;
  return (
    <>
      {items.length === 0 && <p class="dim">Nothing has changed.</p>}
      <ol class="events">
        {items.slice(0, shownMax).map(({ kind, item }) => (
          <OneChange key={`${kind.resource} ${item.name} ${item.resourceVersion}`} kind={kind} item={item} />
        ))}
      </ol>
      {items.length > shownMax && <p class="dim">and {items.length - shownMax} more: choose a later time</p>}
      {refused.length > 0 && <p class="problem">You may not list {refused.map(plainText).join(", ")}.</p>}
    </>
  );
}

function OneChange({ kind, item }: Change) {
  const isOpen = useSignal(false);
  const { group, version, resource } = kind;
  const { name = "", namespace = "" } = item;
  const href = hrefOf("object", [asPart(group), version, resource, asPart(namespace), name], { tab: "history" });
  return (
    <li>
      <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>
          {plainText(kind.kind)} {plainText(name)} {namespace !== "" && `in ${plainText(namespace)} `}
          <span class={`event ${item.event}`}>{plainText(item.event)}</span> by {plainText(whoOf(item))},{" "}
          <Age of={item.time} now={Date.now()} /> ago
        </summary>
        {isOpen.value && <a href={href}>Its history</a>}
        {isOpen.value && <Difference before={item.previous} after={item.object} />}
      </details>
    </li>
  );
}

interface Wanted {
  readonly since: string;
  readonly isOnlyDeleted: boolean;
}

/** Reads the history of each kind in turn, since a server reads one for a user at a time. */
async function readChanges(
  app: App,
  namespace: string,
  { since, isOnlyDeleted }: Wanted,
  abort: AbortSignal,
): Promise<Changes> {
  const items: Change[] = [];
  const refused: string[] = [];
  for (const kind of app.kinds.value) {
    if (busyKinds.has(kind.resource) || !kind.verbs.includes("watch") || (namespace !== "" && !kind.namespaced))
      continue;
    const query = new URLSearchParams({
      since,
      previous: "true",
      limit: String(pageSize),
      ...(isOnlyDeleted ? { deleted: "true" } : {}),
    });
    try {
      const page = await app.api.get<PastPage>(`${historyPath(kind, namespace)}?${query}`, abort);
      items.push(...page.items.map((item) => ({ kind, item })));
    } catch (error) {
      if (hasNoHistory(error) && items.length === 0 && refused.length === 0)
        return { items, refused, hasHistory: false };
      if (!(error instanceof ApiFailure) || ![403, 404].includes(error.code)) throw error;
      if (error.code === 403) refused.push(kind.resource);
    }
  }
  const versionOf = ({ item }: Change): number => Number(item.resourceVersion);
  items.sort((one, other) => versionOf(other) - versionOf(one));
  return { items, refused, hasHistory: true };
}
