// What a tool call does, in the language of the page.

import type { Action, Phrase } from "../api/types";
import { visible } from "../parts/visible";
import { language, say, sayOr } from "../texts";

/** A phrase that code gives in both languages, or what a tool says of itself, which is quoted. */
export function phrase(text: Phrase | string | null): string {
  if (!text) return "";
  return typeof text === "string" ? say("action.quoted", { text: visible(text) }) : visible(text[language()]);
}

/** What a call does: in words where code has them, else by the name of its tool. */
export function titleOf({ tool, title }: Pick<Action, "tool" | "title">): string {
  return title && typeof title !== "string" ? phrase(title) : visible(tool);
}

/** The name of an argument as a person would write it. */
export function labelOf(name: string): string {
  return sayOr(`argument.${name}`, visible(name.replaceAll("_", " ")));
}

/** A JSON value as a person would write it. */
export function inWords(value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "string") return visible(value);
  if (typeof value === "boolean") return say(value ? "app.yes" : "app.no");
  if (isPhrase(value)) return visible(value[language()]);
  if (Array.isArray(value) && value.every((one) => typeof one !== "object")) return value.map(inWords).join(", ");
  return visible(JSON.stringify(value, null, 2));
}

/** Whether code gives a value in both languages. */
function isPhrase(value: unknown): value is Phrase {
  return typeof value === "object" && value !== null && Object.keys(value).sort().join() === "en,ru";
}
