import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.MAAS_URL ?? `http://127.0.0.1:${process.env.MAAS_PORT ?? 8000}`;

export default defineConfig({
  base: "/ui/",
  plugins: [react(), tailwindcss()],
  build: {
    outDir: "../maas/http/ui",
    emptyOutDir: true,
    license: { fileName: "licenses.md" },
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 700, // kB, before compression
    rolldownOptions: {
      // What is not used of the editor is left out: its modules do nothing but define.
      treeshake: { moduleSideEffects: [{ test: /@(codemirror|lezer)/, sideEffects: false }] },
      // What is needed at first is one file: the pages that come later share parts of it, and would split it by what they share.
      output: { codeSplitting: { groups: [{ name: "first", tags: ["$initial"] }] } },
    },
  },
  server: {
    proxy: Object.fromEntries(["/v1", "/auth", "/ui/config.json"].map((path) => [path, server])),
  },
});
