// The budget of a day, of one user or of all who have none of their own: changed without a restart.

import { useQuery, useQueryClient } from "@tanstack/react-query";

import { get, put, remove } from "../api/http";
import { keys } from "../api/keys";
import { refresh } from "../api/refresh";
import { Field, Form } from "../pages/sign_in";
import { ConfirmButton } from "../parts/confirm";
import { ErrorNotice, Skeleton } from "../parts/notice";
import { Time } from "../parts/time";
import { visible } from "../parts/visible";
import { formatDollars, say } from "../texts";

/** Without a user the budget of all. */
export function Budget({ userId }: { userId: string | null }) {
  const queries = useQueryClient();
  const path = userId === null ? "/v1/admin/budget" : (`/v1/admin/users/${userId}/budget` as const);
  const { data, error } = useQuery({
    queryKey: keys.budget(userId),
    queryFn: ({ signal }) => get(path, {}, signal),
  });
  const readAgain = () => refresh(queries, ["budgets", "spending"]);
  if (!data) return error ? <ErrorNotice error={error} /> : <Skeleton lines={1} />;
  const limits = [
    data.daily_tokens === null ? null : say("profile.tokens", { n: data.daily_tokens }),
    data.daily_dollars === null ? null : formatDollars(data.daily_dollars),
  ].filter((one) => one !== null);
  const number = (text: string | undefined) => (text?.trim() ? Number(text) : null);
  return (
    <details className="card">
      <summary>
        {say(userId === null ? "budget.ofAll" : "budget.ofUser")}: {limits.join(", ") || say("profile.none")}
      </summary>
      <div className="mt-3 flex max-w-md flex-col gap-3">
        <p className="text-small text-quiet">
          {data.changed_by === null ? (
            say("budget.fromSettings")
          ) : (
            <>
              {say(data.is_own ? "budget.setBy" : "budget.setForAll", { name: visible(data.changed_by) })}{" "}
              {data.updated_at && <Time at={data.updated_at} isExact />}
            </>
          )}
          {". "}
          {say("budget.what")}
        </p>
        <Form
          key={`${data.daily_tokens} ${data.daily_dollars}`}
          submit={say("app.save")}
          onSubmit={async (form) => {
            await put(path, { daily_tokens: number(form.get("tokens")), daily_dollars: number(form.get("dollars")) });
            await readAgain();
          }}
        >
          <Field
            label={say("budget.tokens")}
            name="tokens"
            type="number"
            min={1}
            step={1}
            defaultValue={data.daily_tokens ?? ""}
          />
          <Field
            label={say("budget.dollars")}
            name="dollars"
            type="number"
            min={0.000001}
            step="any"
            defaultValue={data.daily_dollars ?? ""}
          />
        </Form>
        {data.is_own && (
          <div>
            <ConfirmButton
              label={say("budget.drop")}
              title={say("budget.dropAsk")}
              what={say(userId === null ? "budget.dropWhatAll" : "budget.dropWhat")}
              onConfirm={() => remove(path).then(readAgain)}
            />
          </div>
        )}
      </div>
    </details>
  );
}
