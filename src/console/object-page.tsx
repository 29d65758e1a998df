/** One object: its fields with their owners, its history, what it owns, what happened to it, and who may do what. */
import { useSignal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiFailure, failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { Confirm } from "./confirm.tsx";
import { EventsTab } from "./events-tab.tsx";
import { FieldsTab } from "./fields-tab.tsx";
import { HistoryTab } from "./history-tab.tsx";
import { objectPath, resourceName } from "./kinds.ts";
import { type Loaded, useLoaded } from "./load.ts";
import type { ObjectProps } from "./object-props.ts";
import { asPart, hrefOf, ofPart } from "./routes.ts";
import { TreeTab } from "./tree-tab.tsx";
import { plainText, Text } from "./text.tsx";

type Tab = ComponentType<ObjectProps>;

const tabs: readonly (readonly [name: string, title: string])[] = [
  ["", "Fields"],
  ["edit", "Edit"],
  ["history", "History"],
  ["events", "Events"],
  ["tree", "Owners"],
  ["access", "Who may"],
];

const present: Readonly<Record<string, Tab>> = { "": FieldsTab, history: HistoryTab, events: EventsTab, tree: TreeTab };

/** Tabs with code of their own, which is loaded when somebody goes there. */
const later: Readonly<Record<string, () => Promise<Tab>>> = {
  access: async () => (await import("./who-tab.tsx")).WhoTab,
  edit: async () => (await import("./edit-tab.tsx")).EditTab,
};

export function ObjectPage({ app }: { readonly app: App }) {
  const [group, version = "", resource = "", namespace, name = ""] = app.route.value.parts;
  const kind = app.kind(ofPart(group), version, resource);
  if (kind !== undefined) return <OneObject app={app} kind={kind} namespace={ofPart(namespace)} name={name} />;
  return app.areKindsRead.value ? <h1>The server has no {plainText(resource)}</h1> : <p class="dim">Loading …</p>;
}

function OneObject({ app, kind, namespace, name }: Omit<ObjectProps, "path" | "object" | "reload">) {
  const path = objectPath(kind, namespace, name);
  const [loaded, reload] = useLoaded((abort) => app.api.get<Unstructured>(path, abort), [path]);
  const tab = app.route.value.query.get("tab") ?? "";
  const { value, error, isLoading } = loaded.value;
  const isGone = error instanceof ApiFailure && error.code === 404;
  const props: ObjectProps = { app, kind, namespace, name, path, object: value, reload };
  const listHref = hrefOf("kind", [asPart(kind.group), kind.version, kind.resource], { ns: namespace });
  return (
    <>
      <div class="title">
        <h1>
          <a href={listHref}>{plainText(kind.kind)}</a> <Text of={name} max={253} />
        </h1>
        {namespace !== "" && <span class="dim">in {plainText(namespace)}</span>}
        <button type="button" onClick={reload}>
          Reload
        </button>
        {value !== undefined && kind.verbs.includes("delete") && <DeleteButton {...props} />}
      </div>
      <Tabs app={app} tab={tab} />
      {isGone && tab !== "history" && <p class="notice">This object does not exist (any more).</p>}
      {!isGone && error !== undefined && (
        <p role="alert" class="problem">
          <Text of={failureText(error)} />
        </p>
      )}
      {isLoading && value === undefined ? <p class="dim">Loading …</p> : <CurrentTab tab={tab} {...props} />}
    </>
  );
}

function Tabs({ app, tab }: { readonly app: App; readonly tab: string }) {
  const { page, parts } = app.route.value;
  return (
    <nav class="tabs" aria-label="Views of the object">
      {tabs.map(([name, title]) => (
        <a key={name} href={hrefOf(page, parts, { tab: name })} aria-current={name === tab ? "page" : undefined}>
          {title}
        </a>
      ))}
    </nav>
  );
}

function CurrentTab({ tab, ...props }: ObjectProps & { readonly tab: string }) {
  const loaded = useSignal<Loaded<{ readonly Tab: Tab }>>({ isLoading: true });
  useEffect(() => {
    later[tab]?.().then(
      (Tab) => (loaded.value = { value: { Tab }, isLoading: false }),
      (error: unknown) => (loaded.value = { error, isLoading: false }),
    );
  }, [tab]);
  if (props.object === undefined && tab !== "history" && tab !== "access") return null;
  const Present = Object.hasOwn(present, tab) ? present[tab] : undefined;
  if (Present !== undefined) return <Present {...props} />;
  const { value, error } = loaded.value;
  if (error !== undefined) return <p role="alert">This part of the console could not be loaded.</p>;
  return value === undefined ? <p class="dim">Loading …</p> : <value.Tab {...props} />;
}

function DeleteButton({ app, kind, name, path, object, reload }: ObjectProps) {
  const problem = useSignal("");
  const isAsking = useSignal(false);
  const remove = async (): Promise<void> => {
    isAsking.value = false;
    problem.value = "";
    try {
      const { uid } = object!.metadata;
      await app.api.json({ method: "DELETE", path, body: JSON.stringify({ preconditions: { uid } }) });
      reload();
    } catch (error) {
      problem.value = failureText(error);
    }
  };
  return (
    <>
      <button type="button" class="danger" onClick={() => (isAsking.value = true)}>
        Delete
      </button>
      {isAsking.value && (
        <Confirm
          title={`Delete ${resourceName(kind)} ${plainText(name)}?`}
          action="Delete"
          onYes={() => void remove()}
          onNo={() => (isAsking.value = false)}
        >
          What it owns is deleted with it. On Binnacle its history stays, and can bring it back.
        </Confirm>
      )}
      {problem.value !== "" && (
        <span role="alert" class="problem">
          <Text of={problem.value} />
        </span>
      )}
    </>
  );
}
