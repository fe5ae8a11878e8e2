// Compiles the command line and its worker threads into one program, so that a start reads no source: see compiled.mjs.
// Usage: compile.ts <program> [<entry> [<module that each worker thread loads first>]]
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const [outfile = '', entry = 'src/cli.ts', preload] = Bun.argv.slice(2)
const source = resolve('src')
const workers = [...new Bun.Glob('src/**/*-worker.ts').scanSync()]

/** URL at which the program finds its own modules. */
const embedded = process.platform === 'win32' ? 'file:///B:/~BUN/root/' : 'file:///$bunfs/root/'

await Bun.build({
  entrypoints: [entry, ...workers],
  root: resolve('.'),
  target: 'bun',
  format: 'esm',
  splitting: true,
  bytecode: true,
  sourcemap: 'inline',
  compile: { outfile },
  plugins: [
    {
      name: 'addresses of files',
      setup: ({ onLoad }) => {
        onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path }) =>
          path.startsWith(source)
            ? { contents: preloadInto(path) + placeFiles(path, await Bun.file(path).text()), loader: 'ts' }
            : undefined,
        )
      },
    },
  ],
})

function preloadInto(path: string): string {
  return preload && path.endsWith('-worker.ts') ? `import ${JSON.stringify(resolve(preload))};` : ''
}

/** Worker threads are in the program; other files that modules name stay next to their source. */
function placeFiles(path: string, code: string): string {
  return code
    .replace(/new URL\('(?:\.\/)?([\w-]+-worker)\.ts', import\.meta\.url\)/g, (_, name: string) => {
      const folder = relative('.', resolve(path, '..'))
      return `new URL(${JSON.stringify(`${embedded}${folder}/${name}.js`)})`
    })
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(path).href))
}
