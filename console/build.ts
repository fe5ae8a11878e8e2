// Builds the console into dist: assets with a hash in their name, compressed ahead of time, and a manifest of them.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { brotliCompressSync, gzipSync, constants as zlib } from 'node:zlib'

const folder = import.meta.dir
const [sourceHash = ''] = process.argv.slice(2)
/** Smaller files are not worth a second copy. */
const minCompressedBytes = 1024

const { outputs } = await Bun.build({
  entrypoints: [join(folder, 'src/main.tsx')],
  target: 'browser',
  splitting: true,
  minify: true,
  naming: { entry: '[name]-[hash].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
  define: { 'process.env.NODE_ENV': '"production"' },
})

const target = join(folder, 'dist')
const staging = `${target}.${process.pid}`
mkdirSync(join(staging, 'assets'), { recursive: true })
const files: Record<string, { type: string; encodings: string[] }> = {}
for (const output of outputs) {
  const name = basename(output.path)
  const bytes = new Uint8Array(await output.arrayBuffer())
  files[name] = { type: output.type, encodings: writeAsset(name, bytes) }
}
const entry = outputs.find(({ kind }) => kind === 'entry-point')
const styles = outputs.filter(({ path }) => path.endsWith('.css')).map(({ path }) => basename(path))
const manifest = { source: sourceHash, script: basename(entry?.path ?? ''), styles, files }
writeFileSync(join(staging, 'manifest.json'), JSON.stringify(manifest, null, 2))
// A server that is running finds the old console or the new one, never a part of it.
rmSync(target, { recursive: true, force: true })
renameSync(staging, target)

/** Returns the encodings in which the file exists. */
function writeAsset(name: string, bytes: Uint8Array): string[] {
  const path = join(staging, 'assets', name)
  writeFileSync(path, bytes)
  if (bytes.length < minCompressedBytes) return []
  const quality = { [zlib.BROTLI_PARAM_QUALITY]: 10 }
  writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: quality }))
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  return ['br', 'gzip']
}
