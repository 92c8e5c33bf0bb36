import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { alias: { "#transport": fileURLToPath(new URL("./src/transport-node.ts", import.meta.url)) } },
  test: { include: ["test/**/*.test.ts"], setupFiles: ["test/crypto.mjs"], testTimeout: 30_000, hookTimeout: 30_000 },
});
