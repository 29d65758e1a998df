/**
 * Declares Kubernetes' functions on semantic versions: `semver(text)`, `isSemver`, comparison and parts. Only selectors
 * of devices use them, which schedulers evaluate: the functions have no values here.
 */
import type { CelType } from "../types.ts";
import type { Library, Overload } from "../functions.ts";
import { bool, int, opaque, string } from "../types.ts";

const semverType = opaque("kubernetes.Semver");

const declared = (name: string, isMember: boolean, id: string, args: readonly CelType[], result: CelType) => ({
  name,
  overloads: [{ id, isMember, args, result } satisfies Overload],
});

export const semverLibrary: Library = {
  name: "kubernetes.Semver",
  functions: [
    declared("semver", false, "string_to_semver", [string], semverType),
    declared("isSemver", false, "is_semver_string", [string], bool),
    declared("isGreaterThan", true, "semver_is_greater_than", [semverType, semverType], bool),
    declared("isLessThan", true, "semver_is_less_than", [semverType, semverType], bool),
    declared("compareTo", true, "semver_compare_to", [semverType, semverType], int),
    declared("major", true, "semver_major", [semverType], int),
    declared("minor", true, "semver_minor", [semverType], int),
    declared("patch", true, "semver_patch", [semverType], int),
  ],
};
