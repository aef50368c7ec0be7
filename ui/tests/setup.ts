// What a test waits for comes late on a busy machine: it gets seconds, and a test that fails says so later.
// Charts draw on a canvas, some time after they are shown, and jsdom has none.

import { configure } from "@testing-library/react";
import { vi } from "vitest";

import { chooseLanguage, withTexts } from "../src/texts";

configure({ asyncUtilTimeout: 10_000 });
vi.mock("uplot", () => ({
  default: class {
    setSize = () => undefined;
    destroy = () => undefined;
  },
}));

// A test says at once which language it speaks: the sentences are there.
await withTexts(chooseLanguage("ru"), "ads");
await withTexts(chooseLanguage("en"), "ads");
await chooseLanguage(null);
