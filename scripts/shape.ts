// Measures the shape of the source: who imports whom, how long things are, where names and side effects live.
import { readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { Glob } from 'bun'
import { destinations } from '../src/destinations/all.ts'
import { providers } from '../src/providers/all.ts'
import { signInSchemes } from '../src/sign-in/all.ts'

/** Each folder of src, or a file of one, by its distance from the ground. Imports go down, never up. */
const layers: Record<string, number> = {
  'config.ts': 0,
  errors: 0,
  lib: 0,
  db: 1,
  call: 2,
  catalogue: 2,
  ledger: 2,
  'sign-in': 2,
  account: 3,
  destinations: 3,
  policy: 3,
  dialects: 4,
  providers: 4,
  routing: 5,
  app: 6,
  pipeline: 7,
  http: 8,
  areas: 9,
  'app/jobs.ts': 10,
  'main.ts': 11,
  commands: 12,
  'cli.ts': 13,
}

const minModules = 50
const maxFileLines = 350
const maxFunctionLines = 60
const bannedNames = /(^|\/)(index|utils|helpers|types)\.ts$/
/** Tables of facts: they may be long, and are where names belong. */
const dataFiles =
  /^src\/(providers|db\/migrations)\/|^src\/(catalogue\/vocabulary|db\/schema|areas\/byok\/providers)\.ts$/
/** The two ways out: to the providers the operator set up, and to addresses that users name. */
const egressModules = new Set(['src/pipeline/upstream/exchange.ts', 'src/lib/egress-client.ts'])
const queryCall = /\.(selectFrom|insertInto|updateTable|deleteFrom)\(/
const queryHomes = /(^|\/)store\.ts$|^src\/(account|ledger|catalogue|db)\//

interface Module {
  path: string
  text: string
  imports: string[]
}

const problems: string[] = []
const modules = readModules()

if (modules.length < minModules) problems.push(`only ${modules.length} modules seen: the check is blind`)
for (const module of modules) {
  checkLayers(module)
  checkNames(module)
  checkSideEffects(module)
  checkLengths(module)
}
checkCycles()

if (problems.length > 0) {
  process.stderr.write(`${problems.join('\n')}\n`)
  process.exit(1)
}
process.stdout.write(`shape: ${modules.length} modules, no complaint\n`)

function readModules(): Module[] {
  const transpiler = new Bun.Transpiler({ loader: 'ts' })
  const paths = [...new Glob('src/**/*.ts').scanSync('.')].filter((path) => !path.endsWith('.test.ts')).sort()
  return paths.map((path) => {
    const text = readFileSync(path, 'utf8')
    // Type-only imports are arrows too: the transpiler drops them, so their text is read as well.
    const typeImports = [...text.matchAll(/from '(\.[^']+)'/g)].map((match) => match[1] ?? '')
    const all = [...transpiler.scanImports(text).map((found) => found.path), ...typeImports]
    const local = all.filter((target) => target.startsWith('.') && target.endsWith('.ts'))
    return {
      path,
      text,
      imports: [...new Set(local.map((target) => normalize(join(dirname(path), target))))],
    }
  })
}

function layerOf(path: string): number {
  const inSource = relative('src', path)
  const folder = inSource.split('/')[0] ?? ''
  const layer = layers[inSource] ?? layers[folder]
  if (layer === undefined) problems.push(`${path}: ${folder} has no layer in scripts/shape.ts`)
  return layer ?? 0
}

function areaOf(path: string): string | undefined {
  return /^src\/areas\/([^/]+)\//.exec(path)?.[1]
}

function checkLayers({ path, imports }: Module): void {
  for (const target of imports) {
    if (layerOf(target) > layerOf(path)) problems.push(`${path}: imports upwards, ${target}`)
    const [from, to] = [areaOf(path), areaOf(target)]
    if (from && to && from !== to) problems.push(`${path}: an area imports another, ${target}`)
  }
}

function checkCycles(): void {
  const byPath = new Map(modules.map((module) => [module.path, module]))
  const done = new Set<string>()
  const visit = (path: string, trail: string[]): void => {
    if (trail.includes(path))
      problems.push(`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(' -> ')}`)
    if (trail.includes(path) || done.has(path)) return
    for (const target of byPath.get(path)?.imports ?? []) visit(target, [...trail, path])
    done.add(path)
  }
  for (const { path } of modules) visit(path, [])
}

/** Shared code reads properties of providers, destinations and sign-in schemes; it never checks which one it has. */
function checkNames({ path, text }: Module): void {
  if (bannedNames.test(path)) problems.push(`${path}: a name that says nothing`)
  if (dataFiles.test(path)) return
  for (const { slug } of providers) {
    if (new RegExp(`['"\`]${slug.replace('/', '\\/')}['"\`]`).test(text)) {
      problems.push(`${path}: names the provider ${slug}`)
    }
  }
  checkSchemeNames({ path, text })
  if (path.startsWith('src/destinations/')) return
  for (const { type } of destinations) {
    if (new RegExp(`['"\`]${type}['"\`]`).test(text)) problems.push(`${path}: names the destination ${type}`)
  }
}

/** Schemes with options: `none` and `token` are what every provider has. */
function checkSchemeNames({ path, text }: Pick<Module, 'path' | 'text'>): void {
  if (path.startsWith('src/sign-in/')) return
  for (const { kind, format } of signInSchemes) {
    if (!format) continue
    const fields = Object.keys(format.overrides?.fields ?? {})
    if (new RegExp(`['"\`]${kind}['"\`]${fields.map((name) => `|\\b${name}\\b`).join('')}`).test(text))
      problems.push(`${path}: names the sign-in scheme ${kind}`)
  }
}

function checkSideEffects({ path, text }: Module): void {
  if (path !== 'src/config.ts' && /process\.env|Bun\.env/.test(text))
    problems.push(`${path}: reads the environment`)
  if (queryCall.test(text) && !queryHomes.test(path)) problems.push(`${path}: a query outside a store`)
  if (/insertInto\('ledger_entries'\)/.test(text) && !path.startsWith('src/ledger/')) {
    problems.push(`${path}: writes ledger entries`)
  }
  if (!egressModules.has(path) && /(?<![.\w])fetch\(|from 'node:https?'/.test(text)) {
    problems.push(`${path}: sends requests of its own`)
  }
}

/** The formatter puts the end of a function at the indentation of its start. */
function checkLengths({ path, text }: Module): void {
  const lines = text.split('\n')
  if (lines.length > maxFileLines && !dataFiles.test(path)) {
    problems.push(`${path}: ${lines.length} lines`)
  }
  lines.forEach((line, start) => {
    const indent = /^(\s*)(?:export )?(?:async )?(?:function\b|(?:async )?#?\w+\([^)]*\).*\{$)/.exec(
      line,
    )?.[1]
    if (indent === undefined || /^\s*(if|for|while|switch|return)\b/.test(line)) return
    const length = lines.slice(start).indexOf(`${indent}}`)
    if (length > maxFunctionLines) problems.push(`${path}:${start + 1}: a function of ${length} lines`)
  })
}
