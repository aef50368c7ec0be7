// Arguments as a form, by the JSON Schema of their tool.

import { visible } from "../parts/visible";
import { say } from "../texts";
import { labelOf } from "./action_words";
import type { ArgumentField } from "./argument_fields";

const LONG_CHARS = 60;

interface Props {
  fields: ArgumentField[];
  texts: Record<string, string>;
  wrong: string[];
  onChange: (name: string, text: string) => void;
}

export function ArgumentForm({ fields, texts, wrong, onChange }: Props) {
  return (
    <div className="flex flex-col gap-3">
      {fields.map((field) => (
        <label key={field.name} className="field">
          <span>
            {labelOf(field.name)}
            {field.isRequired && " *"}
          </span>
          <Input
            field={field}
            text={texts[field.name] ?? field.text}
            isWrong={wrong.includes(field.name)}
            onChange={(text) => onChange(field.name, text)}
          />
          {field.help && <span>{visible(field.help)}</span>}
          {field.kind === "lines" && <span>{say("action.lines")}</span>}
          {wrong.includes(field.name) && (
            <span role="alert" className="text-bad!">
              {say(field.kind === "json" ? "action.notJson" : "action.notValue")}
            </span>
          )}
        </label>
      ))}
    </div>
  );
}

function Input({
  field,
  text,
  isWrong,
  onChange,
}: {
  field: ArgumentField;
  text: string;
  isWrong: boolean;
  onChange: (text: string) => void;
}) {
  const shared = {
    value: text,
    required: field.isRequired,
    "aria-invalid": isWrong,
    onChange: (event: { target: { value: string } }) => onChange(event.target.value),
  };
  switch (field.kind) {
    case "choice":
    case "flag":
      return (
        <select {...shared}>
          {(!field.isRequired || !field.text) && <option value="" />}
          {field.kind === "flag" ? (
            <>
              <option value="true">{say("app.yes")}</option>
              <option value="false">{say("app.no")}</option>
            </>
          ) : (
            field.options.map((one) => (
              <option key={one} value={one}>
                {visible(String(one))}
              </option>
            ))
          )}
        </select>
      );
    case "number":
      return <input {...shared} type="number" step={field.isInteger ? 1 : "any"} />;
    case "date":
      return <input {...shared} type="date" />;
    case "time":
      return <input {...shared} type="datetime-local" />;
    case "text":
      if (field.text.length <= LONG_CHARS && !field.text.includes("\n")) return <input {...shared} type="text" />;
  }
  return (
    <textarea
      {...shared}
      className={field.kind === "json" ? "font-mono text-small" : ""}
      rows={Math.min(12, text.split("\n").length + 1)}
    />
  );
}
