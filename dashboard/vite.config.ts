import {readdirSync, readFileSync, writeFileSync} from 'node:fs';
import {gzipSync} from 'node:zlib';
import type {Plugin} from 'vite';
import {defineConfig} from 'vitest/config';

// Beside each file the same compressed: digd has both in its binary. Node writes no time into it, so a build repeats itself.
const zipped: Plugin = {
  name: 'zipped',
  apply: 'build',
  closeBundle() {
    for (const one of readdirSync('dist', {recursive: true, withFileTypes: true})) {
      if (!one.isFile() || one.name.endsWith('.gz')) continue;
      const file = `${one.parentPath ?? one.path}/${one.name}`;
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), {level: 9}));
    }
  },
};

export default defineConfig({
  base: '/',
  plugins: [zipped],
  esbuild: {jsx: 'automatic', jsxImportSource: 'preact'},
  build: {
    target: 'es2022', outDir: 'dist', assetsInlineLimit: 0, modulePreload: false, reportCompressedSize: false,
  },
  test: {
    fileParallelism: false,
    projects: [
      {test: {name: 'unit', include: ['tests/unit/**/*.test.ts']}},
      {test: {name: 'browser', include: ['tests/browser/**/*.test.ts'], testTimeout: 60_000, hookTimeout: 60_000}},
    ],
  },
});
