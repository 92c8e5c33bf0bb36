import { mergeConfig } from "vitest/config";
import base from "./vitest.config.js";

export default mergeConfig(base, { test: { include: ["zoo/**/*.zoo.ts"], testTimeout: 120_000 } });
