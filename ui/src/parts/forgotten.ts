// Words that were forgotten. A request stays with its times and costs; the server keeps a mark where its words were.

import { say } from "../texts";
import { visible } from "./visible";

export const FORGOTTEN = "[forgotten]";

/** What stands for the words of a request: they themselves, or that they were forgotten. */
export function wordsOf(text: string): string {
  return text === FORGOTTEN ? say("chat.forgotten") : visible(text);
}

/** The words of an answer in one line: what Markdown makes of them, without its signs. */
export function lineOf(text: string): string {
  return wordsOf(text)
    .replace(/^[ \t]*(?:#{1,6}|>|[-*+])[ \t]+/gm, "")
    .replace(/^[ \t]*\|?[-:|][-:| ]*$/gm, "") // between the head of a table and its rows
    .replace(/\*\*|__|`+|\|/g, "");
}
