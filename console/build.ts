// Builds the console into dist: assets with a hash in their name, compressed ahead of time, and a manifest of them.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'
import { readFont, readUsedStyles } from './build-assets.ts'

const folder = import.meta.dir
const [sourceHash = ''] = process.argv.slice(2)
/** Smaller files are not worth a second copy. */
const minCompressedBytes = 1024

/** What this many screens share is one script: a request for each small part costs more than its bytes. */
const minSharingScreens = 3

/** The screen that most visits begin with. It loads of the shared script only what it needs. */
const firstScreen = 'home-screen.tsx'

const font = readFont()
const first = await bundle([], '')
const built = await bundle(findShared(first), readUsedStyles(metafileOf(first)))

const target = join(folder, 'dist')
const staging = `${target}.${process.pid}`
mkdirSync(join(staging, 'assets'), { recursive: true })
const files: Record<string, { type: string; encodings: string[] }> = {}
for (const output of built.outputs) {
  const name = basename(output.path)
  const bytes = new Uint8Array(await output.arrayBuffer())
  files[name] = { type: output.type, encodings: writeAsset(name, bytes) }
}
for (const { name, bytes } of font.files) {
  // They are compressed already.
  writeFileSync(join(staging, 'assets', name), bytes)
  files[name] = { type: 'font/woff2', encodings: [] }
}
const entry = built.outputs.find(({ kind }) => kind === 'entry-point')
const script = basename(entry?.path ?? '')
const styles = built.outputs.filter(({ path }) => path.endsWith('.css')).map(({ path }) => basename(path))
const [latinFont = ''] = font.files.map(({ name }) => name).filter((name) => name.endsWith('-latin.woff2'))
const preload = findFirstScreen(built).filter((name) => name !== script)
const manifest = { source: sourceHash, script, styles, font: latinFont, preload, files }
writeFileSync(join(staging, 'manifest.json'), JSON.stringify(manifest, null, 2))
// A server that is running finds the old console or the new one, never a part of it.
rmSync(target, { recursive: true, force: true })
renameSync(staging, target)

/** Returns the encodings in which the file exists. */
function writeAsset(name: string, bytes: Uint8Array): string[] {
  const path = join(staging, 'assets', name)
  writeFileSync(path, bytes)
  if (bytes.length < minCompressedBytes) return []
  const quality = { [zlib.BROTLI_PARAM_QUALITY]: 11 }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  return ['br', 'gzip']
}

/** Each screen loads `shared` at once, and the rest of what it needs. */
function bundle(shared: readonly string[], componentStyles: string): Promise<Bun.BuildOutput> {
  return Bun.build({
    entrypoints: [join(folder, 'src/main.tsx')],
    target: 'browser',
    splitting: true,
    minify: true,
    metafile: true,
    naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
    define: { 'process.env.NODE_ENV': '"production"' },
    plugins: [
      {
        name: 'shared modules',
        setup: (build) =>
          void build.onLoad({ filter: /-screen\.tsx$/ }, async ({ path }) => {
            const isFirst = basename(path) === firstScreen
            const imports = isFirst ? [] : shared.map((module) => `import ${JSON.stringify(module)}`)
            return { loader: 'tsx', contents: [await Bun.file(path).text(), ...imports].join('\n') }
          }),
      },
      {
        name: 'styles',
        setup: (build) => {
          build.onLoad({ filter: /@mantine\/core\/styles\.css$/ }, () => ({
            loader: 'css',
            contents: componentStyles,
          }))
          build.onLoad({ filter: /@fontsource-variable\/inter\/wght\.css$/ }, () => ({
            loader: 'css',
            contents: font.css,
          }))
          // The bundler would put the files into the styles.
          build.onResolve({ filter: /\.woff2$/ }, ({ path }) => ({ path, external: true }))
        },
      },
    ],
  })
}

function metafileOf({ metafile }: Bun.BuildOutput): Bun.BuildMetafile {
  if (!metafile) throw new Error('The bundler has not described what it built')
  return metafile
}

/** The modules of chunks that several screens import. */
function findShared(built: Bun.BuildOutput): string[] {
  const chunks = metafileOf(built).outputs
  const screens = Object.keys(chunks).filter((name) => name.endsWith('.js') && chunks[name]?.entryPoint)
  const reached = screens.flatMap((screen) => [...findReached(chunks, screen)])
  const counts = Map.groupBy(reached, (name) => name)
  return (
    [...counts]
      .filter(([name, { length }]) => length >= minSharingScreens && !chunks[name]?.entryPoint)
      .flatMap(([name]) => Object.keys(chunks[name]?.inputs ?? {}))
      // Their paths are relative to the folder of the process.
      .map((module) => resolve(module))
      .sort()
  )
}

/** The files of the first screen. */
function findFirstScreen(built: Bun.BuildOutput): string[] {
  const chunks = metafileOf(built).outputs
  const name = Object.keys(chunks).find((name) => chunks[name]?.entryPoint?.endsWith(`/${firstScreen}`))
  if (name === undefined) throw new Error(`There is no ${firstScreen} in the build`)
  return [...findReached(chunks, name)].map((path) => basename(path))
}

function findReached(
  chunks: Bun.BuildMetafile['outputs'],
  name: string,
  reached = new Set<string>(),
): Set<string> {
  if (reached.has(name)) return reached
  reached.add(name)
  for (const { path, kind } of chunks[name]?.imports ?? [])
    if (kind === 'import-statement') findReached(chunks, path, reached)
  return reached
}
