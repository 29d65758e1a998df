/** Creates an object of a kind: the text is written, the server checks it, and then makes it. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import type { Unstructured } from "#meta/object-meta.ts";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { Difference } from "./difference.tsx";
import { consoleManager } from "./edit-changes.ts";
import { Editor } from "./editor.tsx";
import { readKindSchema } from "./field-schema.ts";
import { collectionPath, type ServedKind } from "./kinds.ts";
import { readYaml } from "./read-yaml.ts";
import { asPart, hrefOf, ofPart } from "./routes.ts";
import { plainText, Text } from "./text.tsx";

export function NewPage({ app }: { readonly app: App }) {
  const [group, version = "", resource = ""] = app.route.value.parts;
  const kind = app.kind(ofPart(group), version, resource);
  if (kind !== undefined) return <New app={app} kind={kind} />;
  return app.areKindsRead.value ? <h1>The server has no {plainText(resource)}</h1> : <p class="dim">Loading …</p>;
}

function template({ group, version, kind, namespaced }: ServedKind, namespace: string): string {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const home = namespaced ? `\n  namespace: ${namespace === "" ? "default" : namespace}` : "";
  return `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata:\n  name: ${kind.toLowerCase()}-1${home}\n`;
}

function New({ app, kind }: { readonly app: App; readonly kind: ServedKind }) {
  const content = useRef<() => string>(null);
  const planned = useSignal<Unstructured | undefined>(undefined);
  const problem = useSignal("");
  const text = useRef(template(kind, app.namespace.value)).current;
  const create = async (isDry: boolean): Promise<void> => {
    problem.value = "";
    try {
      const object = readYaml(content.current!());
      const { namespace = "default" } = object.metadata;
      const made = await app.api.json<Unstructured>({
        method: "POST",
        path: `${collectionPath(kind, namespace)}?fieldManager=${consoleManager}${isDry ? "&dryRun=All" : ""}`,
        body: JSON.stringify(object),
      });
      planned.value = made;
      const { group, version, resource, namespaced } = kind;
      const home = namespaced ? (made.metadata.namespace ?? "") : "";
      if (!isDry)
        location.hash = hrefOf("object", [asPart(group), version, resource, asPart(home), made.metadata.name ?? ""]);
    } catch (error) {
      planned.value = undefined;
      problem.value = failureText(error);
    }
  };
  return (
    <>
      <h1>New {plainText(kind.kind)}</h1>
      <Editor
        text={text}
        label="New object as YAML"
        content={content}
        readSchema={() => readKindSchema(app.api, kind)}
      />
      <p class="buttons start">
        <button type="button" onClick={() => void create(true)}>
          Review
        </button>
        <button type="button" class="main" disabled={planned.value === undefined} onClick={() => void create(false)}>
          Create
        </button>
      </p>
      {problem.value !== "" && (
        <p role="alert" class="problem">
          <Text of={problem.value} />
        </p>
      )}
      {planned.value !== undefined && <Difference before={undefined} after={planned.value} />}
    </>
  );
}
