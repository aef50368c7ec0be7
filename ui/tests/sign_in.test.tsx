// The form of sign-up: the code of the first administrator is asked of nobody, and taken from who has it.

import { cleanup, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { afterEach, expect, test } from "vitest";

import { SignInPage } from "../src/pages/sign_in";
import { session } from "../src/session/session";
import { chooseLanguage } from "../src/texts";
import { CONFIG, serve, tokensOf } from "./server";

afterEach(async () => {
  cleanup();
  await session.signOut();
});

test("the administrator's code is behind a line that who needs it opens", async () => {
  await chooseLanguage("en");
  const asked = serve(({ path }) => ({ body: path === "/ui/config.json" ? CONFIG : tokensOf("ann") }));
  await session.start();
  render(<SignInPage config={{ ...CONFIG, auth: "local" }} />);
  fireEvent.click(screen.getByRole("button", { name: "Sign up" }));
  const code = screen.getByLabelText(/^Administrator code/);
  expect(code.closest("details")!.open).toBe(false);
  for (const [label, value] of [
    [/^Email/, "ann@example.org"],
    [/^Password/, "the cello of Lisbon"],
    [/^Administrator code/, "abc"],
  ] as const)
    fireEvent.change(screen.getByLabelText(label), { target: { value } });
  fireEvent.submit(code.closest("form")!);
  await waitFor(() => expect(asked.some(({ path }) => path.startsWith("/auth/v1/signup"))).toBe(true));
  expect(asked.find(({ path }) => path.startsWith("/auth/v1/signup"))!.body.data.admin_code).toBe("abc");
});
