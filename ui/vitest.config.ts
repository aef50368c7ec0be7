import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

export default defineConfig({
  plugins: [react()],
  test: {
    environment: "jsdom",
    environmentOptions: { jsdom: { url: "http://maas.intern/ui/" } },
    setupFiles: ["tests/setup.ts"],
    testTimeout: 20_000,
    include: ["tests/**/*.test.{ts,tsx}"],
    isolate: false, // files share a window, and leave it as they found it
    restoreMocks: true,
    unstubGlobals: true,
  },
});
