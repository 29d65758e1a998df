/** The versions of an object that the server keeps, with what each changed, and the way back to them. */
import type { PastItem, PastPage } from "#meta/past-item.ts";
import { useSignal } from "@preact/signals";
import type { Unstructured } from "#meta/object-meta.ts";
import { failureText, hasNoHistory } from "./api.ts";
import { Confirm } from "./confirm.tsx";
import { Difference } from "./difference.tsx";
import { whoOf } from "./history.ts";
import { historyPath } from "./kinds.ts";
import { useLoaded } from "./load.ts";
import type { ObjectProps } from "./object-props.ts";
import { Age, plainText, Text } from "./text.tsx";

const pageSize = 50;

export function HistoryTab(props: ObjectProps) {
  const { app, kind, namespace, name, object } = props;
  const path = historyPath(kind, namespace, name);
  const version = object?.metadata.resourceVersion;
  const [loaded, reload] = useLoaded(
    (abort) => app.api.get<PastPage>(`${path}?limit=${pageSize}`, abort),
    [path, version],
  );
  const { value, error } = loaded.value;
  if (error !== undefined) {
    return hasNoHistory(error) ? (
      <p class="notice">This server keeps no history: it is a feature of Binnacle.</p>
    ) : (
      <p role="alert" class="problem">
        <Text of={failureText(error)} />
      </p>
    );
  }
  if (value === undefined) return <p class="dim">Loading …</p>;
  const { items, since, metadata } = value;
  return (
    <>
      <ol class="events">
        {items.map((item, at) => (
          <Version key={item.resourceVersion} item={item} older={items[at + 1]} {...props} onRestored={reload} />
        ))}
      </ol>
      <p class="dim">
        {metadata.continue !== undefined
          ? `The newest ${items.length} versions; there are older ones.`
          : since.resourceVersion === "0"
            ? "No version has been dropped."
            : `The server keeps versions since ${plainText(since.time ?? `version ${since.resourceVersion}`)}.`}
      </p>
    </>
  );
}

interface VersionProps extends ObjectProps {
  readonly item: PastItem;
  readonly older: PastItem | undefined;
  readonly onRestored: () => void;
}

function Version({ item, older, ...rest }: VersionProps) {
  const isOpen = useSignal(false);
  const isKnown = item.event === "created" || older?.object !== undefined;
  return (
    <li>
      <details onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>
          <span class={`event ${item.event}`}>{plainText(item.event)}</span> by {plainText(whoOf(item))},{" "}
          <Age of={item.time} now={Date.now()} /> ago, version {plainText(item.resourceVersion)}
        </summary>
        {isOpen.value && item.problem !== undefined && <p class="problem">{plainText(item.problem)}</p>}
        {isOpen.value && item.object !== undefined && isKnown && (
          <Difference before={item.event === "created" ? undefined : older?.object} after={item.object} />
        )}
        {isOpen.value && !isKnown && item.event !== "deleted" && (
          <p class="dim">The version before is no longer kept.</p>
        )}
        {isOpen.value && item.object !== undefined && <Restore item={item} {...rest} />}
      </details>
    </li>
  );
}

/** The way back to a version: the server is asked first what it would do. */
function Restore({ app, kind, namespace, name, object, item, reload, onRestored }: Omit<VersionProps, "older">) {
  const planned = useSignal<Unstructured | undefined>(undefined);
  const problem = useSignal("");
  const send = (isDry: boolean): Promise<Unstructured> =>
    app.api.json<Unstructured>({
      method: "POST",
      path: `${historyPath(kind, namespace, name)}/restore?fieldManager=console${isDry ? "&dryRun=All" : ""}`,
      body: JSON.stringify({
        resourceVersion: item.resourceVersion,
        ...(object === undefined ? {} : { overwrite: true }),
      }),
    });
  const attempt = async (isDry: boolean): Promise<void> => {
    problem.value = "";
    try {
      const answer = await send(isDry);
      planned.value = isDry ? answer : undefined;
      if (isDry) return;
      reload();
      onRestored();
    } catch (error) {
      planned.value = undefined;
      problem.value = failureText(error);
    }
  };
  if (object !== undefined && object.metadata.resourceVersion === item.resourceVersion) return null;
  return (
    <p>
      <button type="button" onClick={() => void attempt(true)}>
        Restore this version …
      </button>
      {planned.value !== undefined && (
        <Confirm
          title={object === undefined ? "Bring the object back?" : "Replace the object by this version?"}
          action="Restore"
          onYes={() => void attempt(false)}
          onNo={() => (planned.value = undefined)}
        >
          <Difference before={object} after={planned.value} />
        </Confirm>
      )}
      {problem.value !== "" && (
        <span role="alert" class="problem">
          <Text of={problem.value} />
        </span>
      )}
    </p>
  );
}
