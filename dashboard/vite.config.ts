import {readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {gzipSync} from 'node:zlib';
import type {Plugin} from 'vite';
import {defineConfig} from 'vitest/config';

// Writes a compressed copy beside each file; digd embeds both. Node writes no time stamp, so builds are reproducible.
const compressedCopies: Plugin = {
  name: 'zipped',
  apply: 'build',
  closeBundle() {
    for (const entry of readdirSync('dist', {recursive: true, withFileTypes: true})) {
      if (!entry.isFile() || entry.name.endsWith('.gz')) continue;
      const file = `${entry.parentPath ?? entry.path}/${entry.name}`;
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), {level: 9}));
    }
  },
};

export default defineConfig({
  base: '/',
  plugins: [compressedCopies],
  esbuild: {jsx: 'automatic', jsxImportSource: 'preact'},
  build: {target: 'es2022', outDir: 'dist', assetsInlineLimit: 0, modulePreload: false, reportCompressedSize: false},
  test: {
    fileParallelism: false,
    projects: [
      {test: {name: 'unit', include: ['tests/unit/**/*.test.ts']}},
      {test: {name: 'browser', include: ['tests/browser/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000}},
    ],
  },
});
