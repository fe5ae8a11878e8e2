// Compiles the command line and its worker threads into one program, so that a start reads no source: see compiled.mjs.
// Usage: compile.ts <program> [<entry> [<module that each worker thread loads first>]]
import { relative, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const source = resolve('src')

/** A program that runs without the source: with files inside, for a platform, which may be another one. */
export interface Standalone {
  /** The folder that becomes part of the program. */
  files: string
  /** The Bun binary of the platform. */
  runtime: string
  bunTarget: Bun.Build.CompileTarget
  isWindows: boolean
  /** Constants of the source, as JSON. */
  constants: Record<string, string>
}

interface Program {
  outfile: string
  entry?: string | undefined
  /** A module that each worker thread loads first. */
  preload?: string | undefined
  /** Null: files other than code stay next to their source. */
  standalone: Standalone | null
}

export async function compileProgram({
  outfile,
  entry = 'src/cli.ts',
  preload,
  standalone,
}: Program): Promise<void> {
  const workers = [...new Bun.Glob('src/**/*-worker.ts').scanSync()]
  const isWindows = standalone?.isWindows ?? process.platform === 'win32'
  /** URL at which the program finds its own modules. */
  const embedded = isWindows ? 'file:///B:/~BUN/root/' : 'file:///$bunfs/root/'
  const urlOf = (path: string) =>
    standalone ? `${embedded}files/${toUrlPath(relative('.', path))}` : pathToFileURL(path).href

  await Bun.build({
    entrypoints: [entry, ...workers],
    root: resolve('.'),
    target: 'bun',
    format: 'esm',
    splitting: true,
    bytecode: true,
    sourcemap: 'inline',
    define: standalone?.constants ?? {},
    compile: {
      outfile,
      ...(standalone && {
        assets: [standalone.files],
        target: standalone.bunTarget,
        executablePath: standalone.runtime,
        autoloadBunfig: false,
      }),
    },
    plugins: [
      {
        name: 'addresses of files',
        setup: ({ onLoad }) => {
          onLoad({ filter: /\.ts$/, namespace: 'file' }, async ({ path }) => {
            if (!path.startsWith(source)) return undefined
            const code = placeWorkers(path, await Bun.file(path).text(), embedded)
            const contents =
              preloadInto(path, preload) + code.replaceAll('import.meta.url', JSON.stringify(urlOf(path)))
            return { contents, loader: 'ts' }
          })
        },
      },
    ],
  })
}

function preloadInto(path: string, preload: string | undefined): string {
  return preload && path.endsWith('-worker.ts') ? `import ${JSON.stringify(resolve(preload))};` : ''
}

/** Worker threads are in the program. */
function placeWorkers(path: string, code: string, embedded: string): string {
  return code.replace(/new URL\('(?:\.\/)?([\w-]+-worker)\.ts', import\.meta\.url\)/g, (_, name: string) => {
    const folder = toUrlPath(relative('.', resolve(path, '..')))
    return `new URL(${JSON.stringify(`${embedded}${folder}/${name}.js`)})`
  })
}

function toUrlPath(path: string): string {
  return path.replaceAll('\\', '/')
}

if (import.meta.main) {
  const [outfile = '', entry, preload] = Bun.argv.slice(2)
  await compileProgram({ outfile, entry, preload, standalone: null })
}
