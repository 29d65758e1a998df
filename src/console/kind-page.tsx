/** The objects of a kind, as the server's own table, live. */
import { useComputed, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { App } from "./app-state.ts";
import { collectionPath, type ServedKind, resourceName } from "./kinds.ts";
import { asPart, hrefOf, ofPart } from "./routes.ts";
import { LiveTable } from "./live-table.tsx";
import { TableFeed } from "./table-feed.ts";
import { plainText } from "./text.tsx";

export function KindPage({ app }: { readonly app: App }) {
  const [group, version = "", resource = ""] = app.route.value.parts;
  const kind = app.kind(ofPart(group), version, resource);
  if (kind !== undefined) return <Objects key={resourceName(kind)} app={app} kind={kind} />;
  return app.areKindsRead.value ? <h1>The server has no {plainText(resource)}</h1> : <p class="dim">Loading …</p>;
}

function Objects({ app, kind }: { readonly app: App; readonly kind: ServedKind }) {
  const { query } = app.route.value;
  const namespace = kind.namespaced ? app.namespace.value : "";
  const labels = query.get("labels") ?? "";
  const fields = query.get("fields") ?? "";
  const feed = useSignal<TableFeed | undefined>(undefined);
  const isWide = useSignal(false);
  const name = useSignal("");
  useEffect(() => {
    const path = collectionPath(kind, namespace);
    const opened = new TableFeed({ api: app.api, path, labelSelector: labels, fieldSelector: fields });
    feed.value = opened;
    return () => opened.close();
  }, [kind, namespace, labels, fields]);
  const word = useComputed(() => name.value.trim().toLowerCase());
  return (
    <>
      <div class="title">
        <h1>{plainText(kind.kind)}</h1>
        <span class="dim">
          {plainText(resourceName(kind))} {kind.version}
        </span>
        {kind.verbs.includes("create") && (
          <a href={hrefOf("new", [asPart(kind.group), kind.version, kind.resource])}>New</a>
        )}
        <a href={hrefOf("definitions", [asPart(kind.group), kind.version, kind.kind])}>Definition</a>
      </div>
      <form class="filters" onSubmit={(event) => event.preventDefault()}>
        <Filter label="Name" value={name.value} onInput={(value) => (name.value = value)} />
        <Filter
          label="Labels"
          value={labels}
          hint="app=web,!old"
          onChange={(value) => app.setQuery({ labels: value })}
        />
        <Filter
          label="Fields"
          value={fields}
          hint="metadata.name=web"
          onChange={(value) => app.setQuery({ fields: value })}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isWide.value}
            onChange={(event) => (isWide.value = event.currentTarget.checked)}
          />
          all columns
        </label>
      </form>
      {feed.value !== undefined && (
        <LiveTable
          key={`${namespace} ${labels} ${fields}`}
          feed={feed.value}
          kind={kind}
          isWide={isWide.value}
          word={word.value}
          showsNamespace={kind.namespaced && namespace === ""}
        />
      )}
    </>
  );
}

interface FilterProps {
  readonly label: string;
  readonly value: string;
  readonly hint?: string;
  readonly onInput?: (value: string) => void;
  readonly onChange?: (value: string) => void;
}

function Filter({ label, value, hint = "", onInput, onChange }: FilterProps) {
  return (
    <label>
      {label}
      <input
        type="search"
        value={value}
        placeholder={hint}
        spellcheck={false}
        onInput={(event) => onInput?.(event.currentTarget.value)}
        onChange={(event) => onChange?.(event.currentTarget.value.trim())}
      />
    </label>
  );
}
