#!/usr/bin/env node
// The commands `digd` and `digctl` of the npm package: they run the program of the platform's package.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { constants } from "node:os";
import { basename, dirname, join } from "node:path";

const platform = `@digd/${process.platform}-${process.arch}`;
// A link in node_modules/.bin starts either file; its name says which program is meant.
const name = basename(process.argv[1]).startsWith("digctl") ? "digctl" : "digd";

function programFolder() {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${platform}/package.json`));
  } catch {
    console.error(
      `digd: the package ${platform} is not installed. digd runs on 64-bit Linux with glibc 2.36 or later.`,
    );
    process.exit(2);
  }
}

// OpenSSL of Debian looks for certificates in /usr/lib/ssl. Other systems keep them here.
const certificates = ["/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"];
const environment = { ...process.env };
if (!environment.SSL_CERT_FILE && !existsSync("/usr/lib/ssl/certs")) {
  const file = certificates.find((path) => existsSync(path));
  if (file) environment.SSL_CERT_FILE = file;
}

const program = join(programFolder(), "bin", name);
const child = spawn(program, process.argv.slice(2), { stdio: "inherit", env: environment });
child.on("error", (error) => {
  console.error(`digd: ${program}: ${error.message}`);
  process.exit(2);
});
// In a terminal Ctrl-C reaches the program as well, so it gets no second SIGINT from here: that would end it at once.
process.on("SIGINT", () => {
  if (!process.stdin.isTTY) child.kill("SIGINT");
});
for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
child.on("exit", (status, signal) => process.exit(status ?? 128 + constants.signals[signal]));
