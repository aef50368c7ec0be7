// Errors of the server are said in the language of the page.

import { render, screen } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import { ApiError } from "../src/api/error";
import { ErrorNotice } from "../src/parts/notice";
import { chooseLanguage } from "../src/texts";

afterEach(() => chooseLanguage(null));

test("an error is said in the page's language, with the server's sentence as a detail", async () => {
  await chooseLanguage("ru");
  render(<ErrorNotice error={new ApiError(403, "forbidden", "only administrators may list users", "r-1")} />);
  expect(screen.getByText("У вас нет прав на это действие.")).toBeTruthy();
  expect(screen.getByText("only administrators may list users").lang).toBe("en");
  expect(screen.getByText("Запрос r-1")).toBeTruthy();
});

test("a detail that the sentence holds is not said again, however it begins and ends", () => {
  const { container } = render(
    <ErrorNotice error={new ApiError(503, "database_unreachable", "the database does not answer.", null)} />,
  );
  expect(container.textContent!.match(/database does not answer/gi)).toHaveLength(1);
});

test("an error whose code has no text is said once, in the server's words", () => {
  render(<ErrorNotice error={new ApiError(418, "http_418", "I'm a teapot", null)} />);
  expect(screen.getAllByText("I'm a teapot")).toHaveLength(1);
});
