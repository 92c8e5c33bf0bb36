// Node 18 has Web Crypto, but not the global `crypto` that some frameworks need.
import { webcrypto } from "node:crypto";

if (globalThis.crypto === undefined) Object.defineProperty(globalThis, "crypto", { value: webcrypto });
