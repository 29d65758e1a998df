/** Matches LabelSelector objects without compiling them, for programs that have to be small. */
import type { LabelSelectorObject } from "./label-selector.ts";

type Labels = Readonly<Record<string, string>>;

/** Whether all that a selector says holds; an empty one matches everything, and an unknown operator nothing. */
export function matchesSelector({ matchLabels, matchExpressions }: LabelSelectorObject, labels: Labels = {}): boolean {
  const valueOf = (key: string): string | undefined => (Object.hasOwn(labels, key) ? labels[key] : undefined);
  return (
    Object.entries(matchLabels ?? {}).every(([key, value]) => valueOf(key) === value) &&
    (matchExpressions ?? []).every(({ key = "", operator, values }) => {
      const value = valueOf(key);
      const isListed = value !== undefined && values?.includes(value) === true;
      if (operator === "In") return isListed;
      if (operator === "NotIn") return !isListed;
      if (operator === "Exists") return value !== undefined;
      return operator === "DoesNotExist" && value === undefined;
    })
  );
}
