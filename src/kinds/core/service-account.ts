/** ServiceAccount: an identity for programs. Its tokens and the default account of a namespace are controllers'. */
import { ageColumn, nameColumn, text } from "../cells.ts";
import { listField } from "../edit.ts";
import type { KindBehaviour } from "../generic.ts";

export function serviceAccounts(): KindBehaviour {
  return {
    columns: [
      nameColumn,
      text("Secrets", "Number of secrets the account may use.", (object) => listField(object, "secrets").length),
      ageColumn,
    ],
  };
}
