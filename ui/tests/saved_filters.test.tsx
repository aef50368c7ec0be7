// Filters that are kept by name: saved as they stand, found again, deleted.

import { cleanup, fireEvent, screen, waitFor } from "@testing-library/react";
import { afterEach, beforeEach, expect, test } from "vitest";

import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { openDesk, prepareBrowser } from "./page";
import { type Asked, CONFIG, serve } from "./server";

const ME = "00000000-0000-4000-8000-000000000001";

let asked: Asked[];
let saved: { list: string; name: string; query: string }[];
beforeEach(async () => {
  chooseLanguage("en");
  prepareBrowser();
  saved = [{ list: "users", name: "mine", query: "q=me" }];
  asked = serve(({ path, method, body }) => {
    if (path === "/ui/config.json") return { body: { ...CONFIG, auth: "none", local_user_id: ME } };
    const [list, name] = path.split("/").slice(4).map(decodeURIComponent);
    if (method === "PUT") saved = [...saved, { list: list!, name: name!, query: body.query }];
    if (method === "DELETE") {
      saved = saved.filter((one) => one.name !== name);
      return { status: 204 };
    }
    if (path === "/v1/admin/filters") return { body: { results: saved } };
    return { body: { results: [], next: null } };
  });
  await session.start();
});
afterEach(cleanup);

test("filters are saved as they stand in the address, chosen and deleted", async () => {
  const places = openDesk("/admin/runs?status=FAILED&error=timeout");
  fireEvent.click(await screen.findByRole("button", { name: "Save these filters" }));
  fireEvent.change(screen.getByLabelText("Name of the filters"), { target: { value: "late / today" } });
  fireEvent.click(screen.getByRole("button", { name: "Save" }));
  const choice = await screen.findByLabelText<HTMLSelectElement>("Saved filters");
  expect([...choice.options].map((one) => one.text)).toEqual(["–", "late - today"]); // not those of users
  await waitFor(() => expect(choice.value).toBe("late - today"));
  expect(saved.at(-1)).toEqual({ list: "runs", name: "late - today", query: "status=FAILED&error=timeout" });
  fireEvent.change(screen.getByLabelText("Status"), { target: { value: "" } });
  await waitFor(() => expect(choice.value).toBe(""));
  fireEvent.change(choice, { target: { value: "late - today" } });
  expect(places.at(-1)).toBe("/admin/runs?status=FAILED&error=timeout");
  fireEvent.click(await screen.findByRole("button", { name: "Delete these filters" }));
  await waitFor(() => expect(screen.queryByLabelText("Saved filters")).toBeNull());
  expect(asked.filter(({ method }) => method === "DELETE").map(({ path }) => path)).toEqual([
    "/v1/admin/filters/runs/late%20-%20today",
  ]);
});

test("without any there is nothing to choose, and nothing to save", async () => {
  saved = [];
  openDesk("/admin/users");
  await screen.findByRole("heading", { name: "Users" });
  await waitFor(() => expect(asked.some(({ path }) => path === "/v1/admin/filters")).toBe(true));
  expect(screen.queryByRole("button", { name: "Save these filters" })).toBeNull();
  expect(screen.queryByLabelText("Saved filters")).toBeNull();
});
