// The text of a prompt while it is edited. The editor comes in a chunk of its own.

import {
  cursorDocEnd,
  cursorDocStart,
  cursorPageDown,
  cursorPageUp,
  history,
  historyKeymap,
  insertNewlineKeepIndent,
  selectAll,
  selectDocEnd,
  selectDocStart,
  selectPageDown,
  selectPageUp,
} from "@codemirror/commands";
import { EditorSelection, EditorState, type SelectionRange } from "@codemirror/state";
import {
  type Command,
  Decoration,
  type DecorationSet,
  EditorView,
  keymap,
  MatchDecorator,
  ViewPlugin,
  type ViewUpdate,
} from "@codemirror/view";
import { useEffect, useEffectEvent, useRef } from "react";

import { VARIABLE } from "./variables";

interface Props {
  label: string;
  value: string;
  known: string[]; // names that may stand in braces
  maxChars: number; // more is not taken
  onChange: (value: string) => void;
}

// The colours are those of the page, in both schemes.
const THEME = EditorView.theme({
  "&": { height: "100%", fontSize: "13px" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "2px" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", lineHeight: "1.5", overflow: "auto" },
  ".cm-content": { padding: "8px 0", caretColor: "var(--ink)" },
  ".cm-line": { padding: "0 12px" },
  ".cm-known": { color: "var(--accent)", background: "var(--raised)" },
  ".cm-unknown": { color: "var(--bad)", textDecoration: "underline wavy" },
});
// Those that the browser has of itself, which knows only the lines that are drawn, and those that lines need.
const KEYS = [
  { key: "Mod-a", run: selectAll },
  { key: "Mod-Home", mac: "Cmd-ArrowUp", run: cursorDocStart, shift: selectDocStart, preventDefault: true },
  { key: "Mod-End", mac: "Cmd-ArrowDown", run: cursorDocEnd, shift: selectDocEnd, preventDefault: true },
  { key: "PageUp", run: cursorPageUp, shift: selectPageUp },
  { key: "PageDown", run: cursorPageDown, shift: selectPageDown },
  { key: "Enter", run: insertNewlineKeepIndent, shift: insertNewlineKeepIndent },
  { key: "Backspace", run: erase((view, range) => view.moveByChar(range, false), "delete.backward") },
  { key: "Delete", run: erase((view, range) => view.moveByChar(range, true), "delete.forward") },
  {
    key: "Mod-Backspace",
    mac: "Alt-Backspace",
    run: erase((view, range) => view.moveByGroup(range, false), "delete.backward"),
  },
  {
    key: "Mod-Delete",
    mac: "Alt-Delete",
    run: erase((view, range) => view.moveByGroup(range, true), "delete.forward"),
  },
];

/** An editor of plain text that marks what stands in braces; Tab leaves it, Ctrl-Z takes back. */
export default function Editor({ label, value, known, maxChars, onChange }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const update = useEffectEvent((changed: ViewUpdate) => {
    if (changed.docChanged) onChange(changed.state.doc.toString());
  });
  const open = useEffectEvent(
    () =>
      new EditorView({
        parent: box.current!,
        doc: value,
        extensions: [
          THEME,
          history(),
          keymap.of([...KEYS, ...historyKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            "aria-label": label,
            spellcheck: "false",
            autocapitalize: "off",
            tabindex: "0",
          }),
          EditorState.changeFilter.of(
            ({ newDoc, startState }) => newDoc.length <= Math.max(maxChars, startState.doc.length),
          ),
          marksOf(known),
          EditorView.updateListener.of((changed) => update(changed)),
        ],
      }),
  );
  useEffect(() => {
    const opened = open();
    view.current = opened;
    return () => opened.destroy();
  }, []);
  useEffect(() => {
    const { state, dispatch } = view.current!;
    if (!state.toText(value).eq(state.doc)) dispatch({ changes: { from: 0, to: state.doc.length, insert: value } });
  }, [value]);
  return (
    <div ref={box} className="h-full overflow-hidden rounded border border-line has-focus-visible:overflow-visible" />
  );
}

/** Marks of names in braces: whether their role knows them. */
function marksOf(known: string[]) {
  const matches = new MatchDecorator({
    regexp: VARIABLE,
    decoration: ([, name]) => Decoration.mark({ class: known.includes(name!) ? "cm-known" : "cm-unknown" }),
  });
  return ViewPlugin.define(
    (view): { marks: DecorationSet; update: (changed: ViewUpdate) => void } => ({
      marks: matches.createDeco(view),
      update(changed) {
        this.marks = matches.updateDeco(changed, this.marks);
      },
    }),
    { decorations: ({ marks }) => marks },
  );
}

/** Deletes what is selected, else up to where `move` leads. */
function erase(move: (view: EditorView, range: SelectionRange) => SelectionRange, userEvent: string): Command {
  return (view) => {
    const changes = view.state.changeByRange((range) => {
      const { from, to } = range.empty ? EditorSelection.range(range.head, move(view, range).head) : range;
      return { changes: { from, to }, range: EditorSelection.cursor(from) };
    });
    if (!changes.changes.empty) view.dispatch(changes, { userEvent, scrollIntoView: true });
    return true;
  };
}
