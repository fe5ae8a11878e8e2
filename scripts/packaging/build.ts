// Makes executables that need nothing else: no runtime, no source, no console beside them. `npm run package` runs it.
// Usage: build.ts <JSON of a Build>
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { basename, dirname, join, normalize, resolve } from 'node:path'
import { compileProgram, type Standalone } from '../compile.ts'

interface Build {
  commit: string | null
  date: string | null
  executables: (Pick<Standalone, 'runtime' | 'bunTarget' | 'isWindows'> & { outfile: string })[]
}

/** Files that modules name. Worker threads are code; a folder with a slash at its end is that of the source. */
const namedFile = /new URL\('([^']+?)(?<!-worker\.ts|\/)', import\.meta\.url\)/g
const minFiles = 4

const { commit, date, executables }: Build = JSON.parse(Bun.argv[2] ?? '')
mkdirSync('.cache', { recursive: true })
const staging = mkdtempSync(resolve('.cache', 'package-'))
try {
  const files = join(staging, 'files')
  const paths = await listFiles()
  if (paths.length < minFiles) throw new Error(`Only ${paths.length} files are named by modules.`)
  for (const path of paths) cpSync(path, join(files, path), { recursive: true })
  for (const { outfile, ...platform } of executables) {
    process.stderr.write(`Making ${outfile}...\n`)
    const constants = { HEADGATE_BUILD: JSON.stringify({ commit, date }) }
    // Source maps are written beside it.
    const built = join(staging, basename(outfile))
    await compileProgram({
      outfile: built,
      entry: 'scripts/packaging/entry.ts',
      standalone: { ...platform, files, constants },
    })
    copyFileSync(built, outfile)
    rmSync(built)
  }
} finally {
  rmSync(staging, { recursive: true, force: true })
}

async function listFiles(): Promise<string[]> {
  const paths = new Set<string>()
  for (const module of new Bun.Glob('src/**/*.ts').scanSync()) {
    if (module.endsWith('.test.ts')) continue
    for (const [, name = ''] of (await Bun.file(module).text()).matchAll(namedFile))
      paths.add(normalize(join(dirname(module), name)))
  }
  return [...paths]
}
