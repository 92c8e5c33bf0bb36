// Node 18 has Web Crypto but no global of that name, which some frameworks want.
import { webcrypto } from "node:crypto";

if (globalThis.crypto === undefined) Object.defineProperty(globalThis, "crypto", { value: webcrypto });
