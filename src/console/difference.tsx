/** The lines in which two states of an object differ. Values of Secrets are masked. */
import { FieldOwners } from "#meta/field-owners.ts";
import { masked } from "#meta/masked-secret.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { lineDiff } from "#std/line-diff.ts";
import { withoutManagers } from "./fields-tab.tsx";
import { Text } from "./text.tsx";
import { yamlLines, yamlText } from "./yaml-lines.ts";

interface DifferenceProps {
  readonly before: Unstructured | undefined;
  readonly after: Unstructured | undefined;
}

const marks: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "@": "hunk" };
const linesMax = 3000;

export function Difference({ before, after }: DifferenceProps) {
  const [one, other] = masked(before, after);
  const text = lineDiff(textOf(one), textOf(other));
  if (text === "") return <p class="dim">No line differs.</p>;
  const lines = text.trimEnd().split("\n");
  return (
    <pre class="difference" tabIndex={0} role="region" aria-label="Differences">
      {lines.slice(0, linesMax).map((line, at) => (
        <span key={at} class={marks[line.charAt(0)]}>
          <Text of={line} max={1000} />
          {"\n"}
        </span>
      ))}
      {lines.length > linesMax && `… and ${lines.length - linesMax} lines more\n`}
    </pre>
  );
}

/** Returns the text of an object without the fields that change with every write. */
function textOf(object: Unstructured | undefined): string {
  if (object === undefined) return "";
  const { resourceVersion: _version, generation: _generation, ...metadata } = withoutManagers(object).metadata;
  return yamlText(yamlLines({ ...object, metadata }, FieldOwners.of([])));
}
