// Monaco with nothing but plain text and comparison, bundled here: it asks no other server for anything.

import * as monaco from "monaco-editor/editor/editor.api";
import "monaco-editor/editor/browser/widget/diffEditor/diffEditor.contribution";
import "monaco-editor/editor/contrib/find/browser/findController";
import EditorWorker from "monaco-editor/editor/editor.worker?worker";
import { useEffect, useEffectEvent, useRef } from "react";

Object.assign(self, { MonacoEnvironment: { getWorker: () => new EditorWorker() } });

const DISPOSAL_MS = 10_000;

interface Props {
  value: string; // shown at first, and again with each new revision; typing is faster than a controlled value
  revision: number;
  original: string | null; // what it is compared with
  label: string;
  onChange: (value: string) => void;
}

export function Editor({ value, revision, original, label, onChange }: Props) {
  const place = useRef<HTMLDivElement>(null);
  const model = useRef<monaco.editor.ITextModel>(null);
  const open = useEffectEvent(() => {
    const made = monaco.editor.createModel(value, "plaintext");
    model.current = made;
    const listening = made.onDidChangeContent(() => onChange(made.getValue()));
    return () => {
      listening.dispose();
      disposeLater(made);
    };
  });
  const show = useEffectEvent(() => {
    if (model.current && model.current.getValue() !== value) model.current.setValue(value);
  });
  useEffect(() => open(), []);
  useEffect(() => show(), [revision]);
  useEffect(() => {
    const options = {
      theme: isDark() ? "vs-dark" : "vs",
      wordWrap: "on" as const,
      minimap: { enabled: false },
      automaticLayout: true,
      scrollBeyondLastLine: false,
      fontSize: 13,
      ariaLabel: label,
      lineNumbers: "on" as const,
    };
    if (original === null) {
      const editor = monaco.editor.create(place.current!, { ...options, model: model.current });
      return () => editor.dispose();
    }
    const before = monaco.editor.createModel(original, "plaintext");
    const editor = monaco.editor.createDiffEditor(place.current!, {
      ...options,
      originalEditable: false,
      renderSideBySide: window.innerWidth > 900,
    });
    editor.setModel({ original: before, modified: model.current! });
    return () => {
      editor.setModel(null);
      editor.dispose();
      disposeLater(before);
    };
  }, [original, label]);
  return <div ref={place} className="h-[60dvh] min-h-64 overflow-hidden rounded border border-line" data-editor />;
}

/** A comparison in progress goes on for a moment without its editor, and fails without its models. */
function disposeLater(model: monaco.editor.ITextModel) {
  window.setTimeout(() => model.dispose(), DISPOSAL_MS);
}

function isDark(): boolean {
  const { scheme } = document.documentElement.dataset;
  return scheme ? scheme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}
