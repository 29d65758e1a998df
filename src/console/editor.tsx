/** An editor for YAML: CodeMirror, in a shadow root of its own, where it may add its style without breaking the rules of the page. */
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from "@codemirror/language";
import { Compartment, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { ReadSchema } from "./completion.ts";

interface EditorProps {
  /** The text at first. */
  readonly text: string;
  readonly label: string;
  /** Is given the editor's text on demand. */
  readonly content: RefObject<(() => string) | null>;
  /** Reads the schema by which the editor completes. */
  readonly readSchema: ReadSchema;
}

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--link)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--green)" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--amber)" },
  { tag: tags.comment, color: "var(--dim)", fontStyle: "italic" },
]);

const theme = EditorView.theme({
  "&": { height: "100%", color: "var(--text)", backgroundColor: "var(--back)", fontSize: "12.5px" },
  "&.cm-focused": { outline: "2px solid var(--link)" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-gutters": { color: "var(--dim)", backgroundColor: "var(--side)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--side) 60%, transparent)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-selectionBackground": { backgroundColor: "color-mix(in srgb, var(--link) 25%, transparent) !important" },
  ".cm-specialChar": { color: "var(--red)" },
});

/** Characters that turn the direction of a line, or that are not seen, beside those that the editor marks by itself. */
const unseen = /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

/**
 * Replaces a selection by typed text. Left to the browser, lines would be joined with inline styles, which the page's rules
 * forbid.
 */
const typedOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing } = event;
    if (isComposing || inputType !== "insertText" || data === null || view.state.readOnly) return false;
    if (view.state.selection.main.empty && !data.includes("\n")) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(data), { userEvent: "input.type", scrollIntoView: true });
    return true;
  },
});

export function Editor({ text, label, content, readSchema }: EditorProps) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = host.current!.shadowRoot ?? host.current!.attachShadow({ mode: "open", delegatesFocus: true });
    const completing = new Compartment();
    const view = new EditorView({
      root,
      parent: root as unknown as Element, // it takes nodes like an element
      state: EditorState.create({
        doc: text,
        extensions: [
          lineNumbers(),
          highlightSpecialChars({ addSpecialChars: unseen }),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          highlightActiveLine(),
          syntaxHighlighting(colours),
          yaml(),
          theme,
          typedOverSelection,
          completing.of([]),
          EditorState.tabSize.of(2),
          EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false" }),
          // The tabulator leaves the editor, so that the keyboard alone suffices.
          keymap.of([...defaultKeymap, ...historyKeymap]),
        ],
      }),
    });
    content.current = () => view.state.doc.toString();
    let isOpen = true;
    // One can write before it is there, and without it.
    import("./completion.ts").then(
      ({ completion }) => isOpen && view.dispatch({ effects: completing.reconfigure(completion(readSchema)) }),
      () => undefined,
    );
    return () => {
      isOpen = false;
      view.destroy();
    };
  }, [text]);
  return <div class="editor" ref={host} />;
}
