/** Completion in the editor, by the schema of the kind, which is read when it is first needed. Loaded after the editor. */
import { autocompletion, type CompletionContext, type CompletionResult } from "@codemirror/autocomplete";
import type { Extension } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { fieldOptions } from "./field-options.ts";
import type { KindSchema } from "./field-schema.ts";
import { plainText } from "./text.tsx";
import { yamlPosition } from "./yaml-position.ts";

/** Reads the schema of the kind that is edited; `undefined` if there is none. */
export type ReadSchema = () => Promise<KindSchema | undefined>;

const theme = EditorView.theme({
  ".cm-tooltip": { color: "var(--text)", backgroundColor: "var(--back)", border: "1px solid var(--dim)" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "14em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "#fff", backgroundColor: "var(--accent)" },
  ".cm-completionDetail": { marginLeft: "1.5em", fontStyle: "normal", color: "var(--dim)" },
  "li[aria-selected] .cm-completionDetail": { color: "#fff" },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "bold" },
  ".cm-completionInfo": { maxWidth: "26rem", maxHeight: "16em", overflow: "auto", whiteSpace: "pre-wrap" },
});

export function completion(readSchema: ReadSchema): Extension {
  let reading: Promise<KindSchema | undefined> | undefined;
  const source = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const { state, pos, explicit } = context;
    const line = state.doc.lineAt(pos);
    const lines = { count: state.doc.lines, line: (at: number) => state.doc.line(at + 1).text };
    const position = yamlPosition(lines, line.number - 1, pos - line.from);
    // Without a word or a question the editor would offer fields on each new line.
    if (position === undefined || (!explicit && position.word === "" && !position.isValue)) return null;
    reading ??= readSchema();
    const kind = await reading.catch(() => undefined);
    // A server that did not answer is asked again by the next question.
    if (kind === undefined) reading = explicit ? undefined : reading;
    if (kind === undefined || context.aborted) return null;
    const hasColon = !position.isValue && state.sliceDoc(pos, line.to).trimStart().startsWith(":");
    const options = fieldOptions(kind, position).map(({ label, text, detail, description, isRequired }) => ({
      label: plainText(label),
      apply: hasColon ? text.slice(0, text.lastIndexOf(":")) : text,
      detail: plainText(detail),
      boost: isRequired ? 1 : 0,
      ...(description === "" ? {} : { info: () => textNode(plainText(description)) }),
    }));
    return { from: pos - position.word.length, options, filter: false };
  };
  return [autocompletion({ override: [source], icons: false, maxRenderedOptions: 50 }), theme];
}

function textNode(text: string): Node {
  const node = document.createElement("div");
  node.textContent = text;
  return node;
}
