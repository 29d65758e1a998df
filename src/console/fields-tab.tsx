/** The fields of an object as YAML, with the manager of each in the margin. Values of Secrets are masked until asked. */
import { useSignal } from "@preact/signals";
import { FieldOwners } from "#meta/field-owners.ts";
import { masked } from "#meta/masked-secret.ts";
import type { ManagedFieldsEntry, Unstructured } from "#meta/object-meta.ts";
import type { ObjectProps } from "./object-props.ts";
import { ageText, plainText, Text } from "./text.tsx";
import { type YamlLine, yamlLines } from "./yaml-lines.ts";

/** The number of lines that are shown at first, and more at a time. */
const linesStep = 2000;

export function FieldsTab({ object, kind }: ObjectProps) {
  const isRevealed = useSignal(false);
  const shownMax = useSignal(linesStep);
  if (object === undefined) return null;
  const isSecret = kind.group === "" && kind.kind === "Secret";
  const shown = isSecret && !isRevealed.value ? masked(object, object)[0]! : object;
  const lines = yamlLines(withoutManagers(shown), FieldOwners.of(object.metadata.managedFields ?? []));
  const more = lines.length - shownMax.value;
  return (
    <>
      {isSecret && (
        <label class="check">
          <input
            type="checkbox"
            checked={isRevealed.value}
            onChange={(event) => (isRevealed.value = event.currentTarget.checked)}
          />
          show the values
        </label>
      )}
      <div class="fields" role="region" aria-label="Fields" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Manager</th>
              <th scope="col">Field</th>
            </tr>
          </thead>
          <tbody>
            {lines.slice(0, shownMax.value).map((line, at) => (
              <FieldLine key={at} line={line} before={lines[at - 1]} />
            ))}
          </tbody>
        </table>
      </div>
      {more > 0 && (
        <button type="button" onClick={() => (shownMax.value += linesStep)}>
          Show more of {more.toLocaleString("en")} further lines
        </button>
      )}
    </>
  );
}

/** Returns the object without the list of managers, which stand in the margin. */
export function withoutManagers(object: Unstructured): Unstructured {
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata };
}

function FieldLine({ line, before }: { readonly line: YamlLine; readonly before: YamlLine | undefined }) {
  const names = managerNames(line.managers);
  const isSame = before !== undefined && managerNames(before.managers) === names;
  return (
    <tr>
      <td class="manager" title={names === "" ? undefined : managerTitle(line.managers)}>
        {isSame ? "" : plainText(names)}
      </td>
      <td>
        <code>
          <Text of={line.text} max={1000} />
        </code>
      </td>
    </tr>
  );
}

const managerNames = (managers: readonly ManagedFieldsEntry[]): string =>
  [...new Set(managers.map(managerText))].join(", ");

/** Returns the name of a manager, with the subresource that it writes through. */
const managerText = ({ manager = "unknown", subresource = "" }: ManagedFieldsEntry): string =>
  subresource === "" ? manager : `${manager} (${subresource})`;

const managerTitle = (managers: readonly ManagedFieldsEntry[]): string =>
  managers
    .map((one) => {
      const when = one.time === undefined ? "" : `, ${ageText(one.time, Date.now())} ago (${one.time})`;
      return plainText(`${managerText(one)}: ${one.operation ?? "?"}${when}`);
    })
    .join("\n");
