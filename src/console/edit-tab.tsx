/**
 * Changes an object: the text is edited, the server says what would become of it and which fields belong to others, and
 * only then it is written.
 */
import { useSignal } from "@preact/signals";
import { useMemo, useRef } from "preact/hooks";
import { FieldOwners } from "#meta/field-owners.ts";
import type { Unstructured } from "#meta/object-meta.ts";
import { ApiFailure, failureText } from "./api.ts";
import { Difference } from "./difference.tsx";
import { type OwnedField, type Plan, planOf, write } from "./edit-plan.ts";
import { Editor } from "./editor.tsx";
import { readKindSchema } from "./field-schema.ts";
import { withoutManagers } from "./fields-tab.tsx";
import type { ObjectProps } from "./object-props.ts";
import { readYaml } from "./read-yaml.ts";
import { plainText, Text } from "./text.tsx";
import { yamlLines, yamlText } from "./yaml-lines.ts";

export function EditTab(props: ObjectProps) {
  const { object, kind } = props;
  const isRevealed = useSignal(false);
  if (object === undefined) return null;
  if (kind.group === "" && kind.kind === "Secret" && !isRevealed.value) {
    return (
      <p>
        <button type="button" onClick={() => (isRevealed.value = true)}>
          Show the values, and edit them
        </button>
      </p>
    );
  }
  return <Edit key={object.metadata.resourceVersion ?? ""} {...props} object={object} />;
}

function Edit({ app, path, kind, object, reload }: ObjectProps & { readonly object: Unstructured }) {
  const text = useMemo(() => yamlText(yamlLines(withoutManagers(object), FieldOwners.of([]))), [object]);
  const content = useRef<() => string>(null);
  const plan = useSignal<Plan | undefined>(undefined);
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    isBusy.value = true;
    problem.value = "";
    try {
      await work();
    } catch (error) {
      plan.value = undefined;
      problem.value = isOutdated(error)
        ? "Somebody has changed the object since you read it: reload it first."
        : failureText(error);
    }
    isBusy.value = false;
  };
  const review = () =>
    attempt(async () => {
      plan.value = undefined;
      const after = readYaml(content.current!());
      const found = await planOf(app.api, path, object, after);
      if (found === undefined) problem.value = "Nothing has changed.";
      plan.value = found;
    });
  const apply = (wanted: Plan) =>
    attempt(async () => {
      await write(app.api, path, wanted, false);
      plan.value = undefined;
      reload();
    });
  return (
    <>
      <Editor text={text} label="Object as YAML" content={content} readSchema={() => readKindSchema(app.api, kind)} />
      <p class="buttons start">
        <button type="button" class="main" disabled={isBusy.value} onClick={() => void review()}>
          Review the changes
        </button>
      </p>
      {problem.value !== "" && (
        <p role="alert" class="problem">
          <Text of={problem.value} />
        </p>
      )}
      {plan.value !== undefined && (
        <Review plan={plan.value} before={object} isBusy={isBusy.value} onApply={(wanted) => void apply(wanted)} />
      )}
    </>
  );
}

/** Whether a write was refused because the object is another one by now. */
const isOutdated = (error: unknown): boolean =>
  error instanceof ApiFailure && error.code === 409 && (error.status.details?.causes ?? []).length === 0;

interface ReviewProps {
  readonly plan: Plan;
  readonly before: Unstructured;
  readonly isBusy: boolean;
  readonly onApply: (plan: Plan) => void;
}

function Review({ plan, before, isBusy, onApply }: ReviewProps) {
  const isTaken = useSignal(false);
  const { conflicts, result } = plan;
  return (
    <section aria-label="Review">
      <h2>What would change</h2>
      <Difference before={before} after={result} />
      {conflicts.length > 0 && (
        <>
          <h2>Fields of others</h2>
          <Conflicts conflicts={conflicts} />
          <label class="check">
            <input
              type="checkbox"
              checked={isTaken.value}
              onChange={(event) => (isTaken.value = event.currentTarget.checked)}
            />
            take these fields from them: their next apply will meet a conflict
          </label>
        </>
      )}
      <p class="buttons start">
        <button
          type="button"
          class="main"
          disabled={isBusy || (conflicts.length > 0 && !isTaken.value)}
          onClick={() => onApply(plan)}
        >
          Apply
        </button>
      </p>
    </section>
  );
}

const Conflicts = ({ conflicts }: { readonly conflicts: readonly OwnedField[] }) => (
  <div class="scroll">
    <table class="plain">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Managed by</th>
        </tr>
      </thead>
      <tbody>
        {conflicts.map(({ field, by }) => (
          <tr key={`${field} ${by}`}>
            <td>
              <code>{plainText(field)}</code>
            </td>
            <td>{plainText(by)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);
